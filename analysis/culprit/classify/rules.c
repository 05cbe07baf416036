/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all rules, and the words and figures that they share. */
#include "analysis/culprit/classify/rules.h"
#include "analysis/culprit/classify/rules_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void rule_report(struct cs_culprit_suspect *out, const char *format, ...)
{
    va_list args;
    if (out->terse)
        return;
    va_start(args, format);
    vsnprintf(out->reason, sizeof out->reason, format, args);
    va_end(args);
}

double rule_rest(const struct cs_culprit_stall *s)
{
    return s->cycles > s->m ? s->cycles - s->m : 0;
}

bool rule_is(const struct cs_isa_op *op, uint32_t flags)
{
    return op && (op->flags & flags);
}

void rule_say_bytes(char *text, size_t size, double bytes)
{
    assert(size > 0 && bytes >= 0);
    if (bytes >= 1 << 20)
        snprintf(text, size, "%.1f MB", bytes / (1 << 20));
    else
        snprintf(text, size, "%.0f KB", bytes / 1024);
}

const struct culprit_rule culprit_rules[] = {
    {CS_CAUSE_DCACHE, rule_d_cache, false},
    {CS_CAUSE_DTLB, rule_d_tlb, false},
    {CS_CAUSE_STORE_BUFFER, rule_store_buffer, false},
    {CS_CAUSE_FORWARD, rule_store_forward, false},
    {CS_CAUSE_ALIAS, rule_alias_4k, false},
    {CS_CAUSE_SPLIT, rule_split_line, false},
    {CS_CAUSE_ICACHE, rule_i_cache, false},
    {CS_CAUSE_ITLB, rule_i_tlb, false},
    {CS_CAUSE_MISPREDICT, rule_mispredict, false},
    {CS_CAUSE_RETURN, rule_return, false},
    {CS_CAUSE_LOCK, rule_lock, false},
    {CS_CAUSE_FALSE_SHARING, rule_false_sharing, false},
    {CS_CAUSE_TRUE_SHARING, rule_true_sharing, false},
    {CS_CAUSE_DIVIDER, rule_divider, false},
    {CS_CAUSE_SYSCALL, rule_system_call, false},
    {CS_CAUSE_DEPENDENCY, rule_memory_chain, false},
    {CS_CAUSE_DEPENDENCY, rule_chain_slack, false},
    {CS_CAUSE_PORT, rule_port_slack, false},
    {CS_CAUSE_DENORMAL, rule_denormal, true},
    {CS_CAUSE_PAGE_FAULT, rule_page_fault, false},
    {CS_CAUSE_DEPENDENCY, rule_merged_chain, true},
    {CS_CAUSE_DCACHE, rule_next_d_cache, true},
    {CS_CAUSE_DTLB, rule_next_d_tlb, true},
};
const size_t n_culprit_rules = sizeof culprit_rules / sizeof culprit_rules[0];
