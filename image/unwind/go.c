/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function whose flags say that it writes SP may change stacks: there the caller's frame pointer leads on. Three of
 * the runtime's functions begin a new chain on the scheduler's stack, as its own unwinder sees it too. The frame
 * pointer is saved just below the return address (x86-64) or below SP (AArch64), by all that have a frame. Each fill
 * looks at the functions from its start on: linear in their number and steps. */
#include "image/unwind/go.h"

#include "image/file/dwarf_reader.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <string.h>

enum { FLAG_TOP = 1, FLAG_WRITES_SP = 2 };

/* Where SP lies `distance` below its place at the function's entry. */
static struct cs_unwind_rule rule_of(const struct go_table *go, int64_t distance)
{
    struct cs_unwind_rule rule = {.cfa = CS_UNWIND_SP};
    if (distance < 0 || distance > INT32_MAX - 8)
        return (struct cs_unwind_rule){.cfa = CS_UNWIND_FRAME_POINTER};
    if (go->machine == EM_AARCH64) {
        if (distance > INT16_MAX - 8)
            return (struct cs_unwind_rule){.cfa = CS_UNWIND_UNSUPPORTED};
        rule.cfa_offset = (int32_t)distance;
        rule.ra = distance ? CS_UNWIND_SAVED : CS_UNWIND_KEPT;
        rule.ra_at = (int16_t)(distance ? -distance : 30);
        rule.fp = distance ? CS_UNWIND_SAVED : CS_UNWIND_KEPT;
        rule.fp_at = (int16_t)(distance ? -distance - 8 : 0);
        return rule;
    }
    rule.cfa_offset = (int32_t)distance + 8;
    rule.ra = CS_UNWIND_SAVED;
    rule.ra_at = -8;
    rule.fp = distance ? CS_UNWIND_SAVED : CS_UNWIND_KEPT;
    rule.fp_at = distance ? -16 : 0;
    return rule;
}

static bool begins_anew(const struct go_table *go, uint64_t head)
{
    static const char *const names[] = {"runtime.mcall", "runtime.morestack", "runtime.gogo"};
    uint64_t at = go_table_word(go, 32, 8) + go_table_word(go, head + 4, 4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (at < go->n && go->n - at > strlen(names[i]) &&
            memcmp(go->table + at, names[i], strlen(names[i]) + 1) == 0)
            return true;
    return false;
}

static void fill_function(const struct go_table *go, struct unwind_build *build, uint64_t head, uint64_t end)
{
    const uint64_t flags = go_table_word(go, head + go->flag_at, 1), steps = go_table_word(go, head + 16, 4);
    uint64_t at = go->text + go_table_word(go, head, 4);
    int64_t distance = -1;
    if (head >= go->n || go->n - head < GO_TABLE_HEAD_BYTES || steps == 0 || steps >= go->n - go->steps)
        return;
    if (flags & (FLAG_TOP | FLAG_WRITES_SP)) {
        const struct cs_unwind_rule rule = {
            .cfa = flags & FLAG_TOP || begins_anew(go, head) ? CS_UNWIND_OUTERMOST : CS_UNWIND_FRAME_POINTER};
        unwind_build_up_to(build, end, &rule);
        return;
    }
    struct reader r = {go->table + go->steps + steps, go->table + go->n, false};
    for (bool first = true; at < end; first = false) {
        uint64_t change = take_uleb(&r);
        if (r.bad || (change == 0 && !first))
            return;
        distance += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
        uint64_t bytes = take_uleb(&r) * go->quantum;
        if (r.bad || bytes == 0 || at + bytes < at)
            return;
        at += bytes;
        struct cs_unwind_rule rule = rule_of(go, distance);
        unwind_build_up_to(build, at < end ? at : end, &rule);
    }
}

void unwind_go_fill(const struct go_table *go, struct unwind_build *build, uint64_t to,
                    const struct cs_unwind_rule *between)
{
    assert(between);
    /* the first that ends behind `from` */
    uint64_t from = build->header.base + build->next;
    uint64_t low = cs_bisect(go->n_functions, i, go_table_entry(go, i + 1) <= from);
    for (; low < go->n_functions && go_table_entry(go, low) < to; low++) {
        uint64_t start = go_table_entry(go, low), end = go_table_entry(go, low + 1);
        if (start > build->header.base + build->next)
            unwind_build_up_to(build, start, between);
        if (end < build->header.base + build->next) /* entries that don't ascend: no table of Go's */
            break;
        end = end < to ? end : to;
        if (end > build->header.base + build->next)
            fill_function(go, build, go->functions + go_table_word(go, go->functions + 8 * low + 4, 4), end);
        unwind_build_up_to(build, end, between);
    }
    unwind_build_up_to(build, to, between);
}
