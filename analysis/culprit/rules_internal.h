/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of rules share: rules_memory.c, rules_core.c, and the table in rules.c. */
#pragma once

#include "analysis/culprit/rules.h"

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

bool rule_d_cache(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out);
bool rule_d_tlb(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out);
bool rule_store_buffer(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out);
bool rule_store_forward(const struct cs_culprit_stall *s, const struct cs_machine *m,
                        struct cs_culprit_suspect *out);
bool rule_alias_4k(const struct cs_culprit_stall *s, const struct cs_machine *m,
                   struct cs_culprit_suspect *out);
bool rule_split_line(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out);
bool rule_false_sharing(const struct cs_culprit_stall *s, const struct cs_machine *m,
                        struct cs_culprit_suspect *out);
bool rule_true_sharing(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out);
bool rule_i_cache(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out);
bool rule_i_tlb(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out);
bool rule_mispredict(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out);
bool rule_lock(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out);
bool rule_divider(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out);
bool rule_system_call(const struct cs_culprit_stall *s, const struct cs_machine *m,
                      struct cs_culprit_suspect *out);
bool rule_memory_chain(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out);
bool rule_chain_slack(const struct cs_culprit_stall *s, const struct cs_machine *m,
                      struct cs_culprit_suspect *out);
bool rule_port_slack(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out);
bool rule_denormal(const struct cs_culprit_stall *s, const struct cs_machine *m,
                   struct cs_culprit_suspect *out);
bool rule_page_fault(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out);
