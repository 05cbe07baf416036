/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions are gathered from .eh_frame and .debug_frame, sorted by address, and run in that order, each up to where
 * the next begins. So an address has one rule, whatever a damaged file says. It is that of .eh_frame where both have
 * one. What lies between them is filled by what is known without descriptions.
 *
 * Bounds: memory and time are linear in the sections' bytes and in the bytes of code that the file holds. */
#include "image/unwind/cfi_rows.h"
#include "image/unwind/gaps.h"
#include "store/base/array.h"
#include "store/base/order.h"

#define FRAMES_BYTES_MAX ((size_t)1 << 30) /* of a section, decompressed */
#define WORK_A_BYTE 16 /* instructions run for each byte of a section: compilers' files take less than two */
#define WORK_LEAST 100000

static const struct cs_unwind_rule rule_none = {0}, rule_frame_pointer = {.cfa = CS_UNWIND_FRAME_POINTER};

/* One description, kept small: an image has up to a million. */
struct kept {
    uint32_t start, size; /* offset from the lowest code */
    uint32_t at, n;       /* of the instructions in the section */
    uint32_t common : 31, debug : 1;
};

struct gathered {
    CS_ARRAY(struct kept) kept;
    CS_ARRAY(struct cfi_common) common;
    const struct cfi_section *section;
    uint64_t base, end;
    bool sorted;
};

static int gather(const struct cfi_description *d, void *arg)
{
    struct gathered *g = arg;
    if (d->start < g->base || d->start >= g->end || d->size > g->end - d->start || g->common.n >= INT32_MAX)
        return 0;
    if (g->common.n == 0 || g->common.at[g->common.n - 1].place != d->common->place) {
        struct cfi_common *common = cs_array_add(&g->common);
        if (!common)
            return -ENOMEM;
        *common = *d->common;
    }
    struct kept *kept = cs_array_add(&g->kept);
    if (!kept)
        return -ENOMEM;
    *kept = (struct kept){(uint32_t)(d->start - g->base),
                          (uint32_t)d->size,
                          (uint32_t)(d->instructions.at - g->section->bytes),
                          (uint32_t)(d->instructions.end - d->instructions.at),
                          (uint32_t)(g->common.n - 1) & INT32_MAX,
                          g->section->is_debug_frame};
    if (g->kept.n > 1 && kept[-1].start >= kept->start)
        g->sorted = false;
    return 0;
}

CS_ORDER(by_start, struct kept, cs_order(a->start, b->start), cs_order(a->debug, b->debug),
         cs_order(a->at, b->at))

struct pending {
    struct unwind_build *build;
    struct cs_unwind_rule rule;
    uint64_t end; /* of the description, or where the next begins */
    bool some, go_frames;
};

static void take_row(uint64_t address, const struct cs_unwind_rule *rule, void *arg)
{
    struct pending *pending = arg;
    if (pending->some)
        unwind_build_up_to(pending->build, address < pending->end ? address : pending->end, &pending->rule);
    pending->rule = *rule;
    pending->some = true;
    /* Go's tables don't say where the frame pointer is saved; who has a frame has saved it as the ABI says */
    if (pending->go_frames && rule->cfa == CS_UNWIND_SP && rule->cfa_offset > 8)
        pending->rule = rule_frame_pointer;
}

static int run_all(struct gathered *g, const struct cfi_section sections[2], const struct unwind_gaps *gaps,
                   struct unwind_build *build)
{
    struct cfi_runner runner[2];
    for (int i = 0; i < 2; i++)
        runner[i] = (struct cfi_runner){.machine = gaps->file->header.e_machine,
                                        .work_left = sections[i].n * WORK_A_BYTE + WORK_LEAST,
                                        .section = &sections[i],
                                        .initial_of = UINT64_MAX};
    if (!g->sorted)
        cs_sort(g->kept.at, g->kept.n, by_start);
    for (size_t i = 0; i < g->kept.n; i++) {
        const struct kept *k = &g->kept.at[i];
        uint64_t start = g->base + k->start, end = start + k->size;
        if (i + 1 < g->kept.n && g->base + g->kept.at[i + 1].start < end)
            end = g->base + g->kept.at[i + 1].start;
        if (end <= build->header.base + build->next || end == start)
            continue;
        if (start > build->header.base + build->next)
            unwind_gaps_fill(gaps, build, start);
        const uint8_t *at = sections[k->debug].bytes + k->at;
        struct cfi_description d = {&g->common.at[k->common], start, k->size, {at, at + k->n, false}};
        struct pending pending = {build, rule_none, end, false, gaps->is_go && k->debug};
        cs_cfi_rows(&runner[k->debug], &d, take_row, &pending);
        if (pending.some)
            unwind_build_up_to(build, end, &pending.rule);
    }
    unwind_gaps_fill(gaps, build, build->header.base + build->header.end);
    return build->failed;
}

/* The bytes of a section that may be compressed: SHF_COMPRESSED, or GNU's older .zdebug. */
static bool frames_of(const struct elf_file *file, const char *name, const char *older,
                      struct cfi_section *out)
{
    const struct elf_section *section = elf_file_section(file, name);
    bool gnu = !section && older;
    if (gnu)
        section = elf_file_section(file, older);
    if (!section)
        return false;
    out->ident = file->header.e_ident;
    out->address = section->header.sh_addr;
    if (!gnu && !(section->header.sh_flags & SHF_COMPRESSED)) {
        out->bytes = elf_file_contents(file, section, &out->n);
        return out->bytes && out->n && out->n <= FRAMES_BYTES_MAX;
    }
    GElf_Chdr head;
    size_t n;
    const uint8_t *raw = elf_file_contents(file, section, &n);
    uint64_t plain = 0;
    if (gnu && raw && n > 12 && memcmp(raw, "ZLIB", 4) == 0)
        for (int i = 0; i < 8; i++)
            plain = plain << 8 | raw[4 + i];
    else if (!gnu && gelf_getchdr(section->section, &head))
        plain = head.ch_size;
    /* deflate makes at most some thousand bytes of one */
    if (!raw || plain == 0 || plain > FRAMES_BYTES_MAX || plain / 1100 > n ||
        (gnu ? elf_compress_gnu(section->section, 0, 0) : elf_compress(section->section, 0, 0)) < 0)
        return false;
    const Elf_Data *data = elf_rawdata(section->section, NULL);
    out->bytes = data ? data->d_buf : NULL;
    out->n = data ? data->d_size : 0;
    return out->bytes && out->n;
}

struct cs_unwind_header *unwind_of_elf(const struct elf_file *file, size_t *n, bool *other_debug,
                                       struct cs_error *err)
{
    struct cfi_section sections[2] = {{.ident = file->header.e_ident},
                                      {.ident = file->header.e_ident, .is_debug_frame = true}};
    struct unwind_gaps gaps;
    struct gathered g = {.sorted = true};
    struct unwind_build build = {0};
    struct elf_file *debug = NULL;
    struct cs_unwind_header *table = NULL;
    *other_debug = false;
    if (elf_file_isa(file) != CS_ISA_X86_64 && elf_file_isa(file) != CS_ISA_AARCH64) {
        cs_fail(err, ENOEXEC, "%s is of a machine whose frames aren't known here", file->path);
        return NULL;
    }
    unwind_gaps_init(&gaps, file);
    g.base = gaps.code[0].start;
    g.end = gaps.code[gaps.n_code - 1].end;
    bool eh = frames_of(file, ".eh_frame", NULL, &sections[0]);
    if (!eh)
        sections[0].n = 0;
    if (gaps.has_go_table) { /* which says more than the .debug_frame made from it */
        sections[1].n = 0;
    } else if (!frames_of(file, ".debug_frame", ".zdebug_frame", &sections[1])) {
        debug = eh ? NULL : elf_file_find_debug(file);
        *other_debug = debug && frames_of(debug, ".debug_frame", ".zdebug_frame", &sections[1]);
        if (!*other_debug)
            sections[1].n = 0;
    }
    int rc = unwind_build_init(&build, file->header.e_machine, g.base, g.end);
    for (int i = 0; i < 2 && rc == 0; i++) {
        g.section = &sections[i];
        if (sections[i].n)
            rc = cs_image_cfi_descriptions(&sections[i], gather, &g);
    }
    if (rc == 0)
        rc = run_all(&g, sections, &gaps, &build);
    if (rc == 0)
        table = unwind_build_table(&build, n);
    if (!table)
        cs_fail(err, ENOMEM, "no memory for the frame table of %s", file->path);
    cs_array_free(&g.kept);
    cs_array_free(&g.common);
    unwind_build_fini(&build);
    elf_file_close(debug);
    return table;
}
