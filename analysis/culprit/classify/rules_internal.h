/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of rules share: rules_memory.c, rules_core.c, and the table in rules.c. */
#pragma once

#include "analysis/culprit/classify/rules.h"

/* Writes the reason. */
__attribute__((format(printf, 2, 3))) void rule_report(struct cs_culprit_suspect *out, const char *format,
                                                       ...);
/* "12 KB", "3.1 MB". */
void rule_say_bytes(char *text, size_t size, double bytes);
/* Cycles an execution beyond M, not below 0. */
double rule_rest(const struct cs_culprit_stall *s);
/* Has it one of these flags? false for NULL. */
bool rule_is(const struct cs_isa_op *op, uint32_t flags);

struct memory_level {
    const char *name;
    double cycles; /* beyond the first level's latency, which M holds */
};
/* Which level answers a load's misses, by the lines it often comes back to and those it seldom does. */
struct memory_level rule_level(const struct cs_machine *m, const struct cs_culprit_memory *f);

/* rules_memory.c, rules_core.c */
rule_function rule_d_cache, rule_d_tlb, rule_next_d_cache, rule_next_d_tlb, rule_store_buffer,
    rule_store_forward, rule_alias_4k, rule_split_line, rule_false_sharing, rule_true_sharing;
rule_function rule_i_cache, rule_i_tlb, rule_mispredict, rule_return, rule_lock, rule_divider,
    rule_system_call, rule_memory_chain, rule_chain_slack, rule_port_slack, rule_denormal, rule_merged_chain,
    rule_page_fault;
