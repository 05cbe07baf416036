/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layout: Go's runtime/symtab.go and cmd/link/internal/ld/pcln.go.
 *
 *   table      magic, 2 zeros, quantum, 8, n_functions, n_files, text, names, units, files, steps, functions (8 bytes each)
 *   functions  n_functions + 1 pairs (entry, place of the function's head), 4 bytes each
 *   head       entry, name, args, deferreturn, place of its SP steps, ... , flags
 *   steps      pairs (change of SP's distance, zigzag; bytes of code / quantum), variable length; starts at -1, 0 ends it
 *
 * A function whose flags say that it writes SP may change stacks: there the caller's frame pointer leads on. Three of the runtime's
 * begin on the scheduler's stack anew, as its own unwinder sees it too. The frame pointer is
 * saved just below the return address (x86-64) or below SP (AArch64), by all that have a frame.
 * Each fill looks at the functions from its start on: linear in their number and steps. */
#include "image/unwind_go.h"

#include "image/dwarf_reader.h"

#define NAME_MAX_READ 4096u /* bytes of a name, its end included */
#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U
#define HEAD_BYTES 44
enum { FLAG_TOP = 1, FLAG_WRITES_SP = 2 };

static uint64_t word(const struct unwind_go *go, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (at <= go->n && bytes <= go->n - at)
        memcpy(&value, go->table + at, bytes);
    return value;
}

bool unwind_go_init(struct unwind_go *go, const struct elf_file *file)
{
    const struct elf_section *section = elf_file_section(file, ".gopclntab");
    const struct elf_section *text = elf_file_section(file, ".text");
    *go = (struct unwind_go){.machine = file->header.e_machine};
    if (!section)
        section = elf_file_section(file, ".data.rel.ro.gopclntab");
    go->table = section ? elf_file_contents(file, section, &go->n) : NULL;
    if (!go->table || go->n < 72)
        return false;
    uint64_t magic = word(go, 0, 4);
    go->quantum = go->table[6];
    go->n_functions = word(go, 8, 8);
    go->text = word(go, 24, 8);
    go->steps = word(go, 56, 8);
    go->functions = word(go, 64, 8);
    go->flag_at = magic == MAGIC_1_18 ? 37 : 41;
    if (go->text == 0 && text &&
        !elf_file_section(file, ".eh_frame")) /* the loader would fill it in; no C code comes before */
        go->text = text->header.sh_addr;
    return (magic == MAGIC_1_18 || magic == MAGIC_1_20) && go->table[7] == 8 && go->quantum && go->text &&
           go->steps < go->n && go->functions < go->n && go->n_functions &&
           go->n_functions < (go->n - go->functions) / 8;
}

static uint64_t entry_of(const struct unwind_go *go, uint64_t i)
{
    return go->text + word(go, go->functions + 8 * i, 4);
}

bool unwind_go_function(const struct unwind_go *go, uint64_t i, uint64_t *start, uint64_t *end,
                        const char **name)
{
    uint64_t head = go->functions + word(go, go->functions + 8 * i + 4, 4);
    uint64_t at = word(go, 32, 8) + word(go, head + 4, 4);
    *start = entry_of(go, i);
    *end = entry_of(go, i + 1);
    if (i >= go->n_functions || head >= go->n || go->n - head < HEAD_BYTES || at >= go->n || *end <= *start ||
        !go->table[at] || !memchr(go->table + at, 0, go->n - at < NAME_MAX_READ ? go->n - at : NAME_MAX_READ))
        return false;
    *name = (const char *)go->table + at;
    return true;
}

/* Where SP lies `distance` below its place at the function's entry. */
static struct cs_unwind_rule rule_of(const struct unwind_go *go, int64_t distance)
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

static bool begins_anew(const struct unwind_go *go, uint64_t head)
{
    static const char *const names[] = {"runtime.mcall", "runtime.morestack", "runtime.gogo"};
    uint64_t at = word(go, 32, 8) + word(go, head + 4, 4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (at < go->n && go->n - at > strlen(names[i]) &&
            memcmp(go->table + at, names[i], strlen(names[i]) + 1) == 0)
            return true;
    return false;
}

static void fill_function(const struct unwind_go *go, struct unwind_build *build, uint64_t head, uint64_t end)
{
    const uint64_t flags = word(go, head + go->flag_at, 1), steps = word(go, head + 16, 4);
    uint64_t at = go->text + word(go, head, 4);
    int64_t distance = -1;
    if (head >= go->n || go->n - head < HEAD_BYTES || steps == 0 || steps >= go->n - go->steps)
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

void unwind_go_fill(const struct unwind_go *go, struct unwind_build *build, uint64_t to,
                    const struct cs_unwind_rule *between)
{
    uint64_t from = build->header.base + build->next, low = 0, high = go->n_functions;
    while (low < high) { /* the first that ends behind `from` */
        uint64_t middle = low + (high - low) / 2;
        if (entry_of(go, middle + 1) > from)
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < go->n_functions && entry_of(go, low) < to; low++) {
        uint64_t start = entry_of(go, low), end = entry_of(go, low + 1);
        if (start > build->header.base + build->next)
            unwind_build_up_to(build, start, between);
        if (end < build->header.base + build->next) /* entries that don't ascend: no table of Go's */
            break;
        end = end < to ? end : to;
        if (end > build->header.base + build->next)
            fill_function(go, build, go->functions + word(go, go->functions + 8 * low + 4, 4), end);
        unwind_build_up_to(build, end, between);
    }
    unwind_build_up_to(build, to, between);
}
