/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear in the bytes of code that the file holds; only what lies between descriptions is looked at. */
#include "image/unwind/gaps.h"
#include "image/isa/decode.h"
#include "image/unwind/code.h"
#include "store/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 32 /* of _start, where nothing describes it and its end can't be seen */
#define ENTRY_BYTES_MAX 128

static const struct cs_unwind_rule rule_none = {0}, rule_signal = {.cfa = CS_UNWIND_SIGNAL},
                                   rule_outermost = {.cfa = CS_UNWIND_OUTERMOST},
                                   rule_frame_pointer = {.cfa = CS_UNWIND_FRAME_POINTER};

CS_ORDER(by_address, struct unwind_stubs, cs_order(a->start, b->start))

/* The stubs of a linker that doesn't describe them (lld). */
static void find_stubs(struct unwind_gaps *gaps)
{
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
    const struct elf_file *file = gaps->file;
    bool arm = file->header.e_machine == EM_AARCH64;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct elf_section *section = elf_file_section(file, names[i]);
        size_t n;
        const uint8_t *bytes = section ? elf_file_contents(file, section, &n) : NULL;
        if (!bytes || n < 16 || section->header.sh_addr + n < n)
            continue;
        struct unwind_stubs *stubs = &gaps->stubs[gaps->n_stubs++];
        stubs->start = section->header.sh_addr;
        stubs->end = stubs->start + n;
        if (arm) {
            stubs->rule = (struct cs_unwind_rule){.cfa = CS_UNWIND_SP, .ra = CS_UNWIND_KEPT, .ra_at = 30};
            if (i == 0) { /* stp x16, x30, [sp, #-16]! and then the resolver is reached */
                stubs->first = (struct cs_unwind_rule){
                    .cfa = CS_UNWIND_SP, .cfa_offset = 16, .ra = CS_UNWIND_SAVED, .ra_at = -8};
                stubs->first_end = stubs->start + 32;
            }
            continue;
        }
        stubs->rule =
            (struct cs_unwind_rule){.cfa = CS_UNWIND_SP, .cfa_offset = 8, .ra = CS_UNWIND_SAVED, .ra_at = -8};
        if (i == 0 && bytes[0] == 0xff &&
            bytes[1] == 0x35) { /* push GOT[1]: a lazy PLT, its first entry finds the index pushed */
            bool endbr = n >= 20 && memcmp(bytes + 16, "\xf3\x0f\x1e\xfa", 4) == 0;
            stubs->rule.cfa = CS_UNWIND_PLT;
            stubs->rule.second = endbr ? 9 : 11;
            stubs->first = (struct cs_unwind_rule){
                .cfa = CS_UNWIND_PLT, .cfa_offset = 16, .second = 6, .ra = CS_UNWIND_SAVED, .ra_at = -8};
            stubs->first_end = stubs->start + 16;
        }
    }
    cs_sort(gaps->stubs, gaps->n_stubs, by_address);
}

/* Pieces of code, merged to a bounded number; false when there is none. */
static bool find_code(struct unwind_gaps *gaps)
{
    uint64_t held = 0;
    for (size_t i = 0; i < gaps->file->n_segments && gaps->n_code < UNWIND_CODE_PIECES_MAX; i++) {
        const GElf_Phdr *p = &gaps->file->segments[i];
        uint64_t n = p->p_offset > gaps->file->size                 ? 0
                     : p->p_filesz < gaps->file->size - p->p_offset ? p->p_filesz
                                                                    : gaps->file->size - p->p_offset;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || n == 0 || p->p_vaddr + n < n)
            continue;
        held += n;
        /* A file whose pieces lie far apart would need a table of the distance's size: those near the first are enough. */
        uint64_t low = gaps->n_code ? gaps->code[0].start : p->p_vaddr;
        if (p->p_vaddr < low || p->p_vaddr + n - low >= UINT32_MAX - CS_UNWIND_BLOCK ||
            p->p_vaddr + n - low > 4 * held + (64U << 20) ||
            (gaps->n_code && p->p_vaddr < gaps->code[gaps->n_code - 1].end))
            continue;
        gaps->code[gaps->n_code++] = (struct unwind_piece){p->p_vaddr, p->p_vaddr + n};
    }
    return gaps->n_code > 0;
}

static void plain(const struct unwind_gaps *gaps, struct unwind_build *build, uint64_t to)
{
    uint64_t from = build->header.base + build->next;
    size_t n = 0;
    if (gaps->has_go_table) {
        unwind_go_fill(&gaps->go, build, to, &rule_none);
    } else if (gaps->is_go) {
        unwind_build_up_to(build, to, &rule_frame_pointer);
    } else {
        const uint8_t *bytes = to > from && gaps->file->header.e_machine == EM_X86_64
                                   ? elf_file_at(gaps->file, from, &n, NULL)
                                   : NULL;
        if (bytes)
            unwind_code_fill(build, bytes, n < to - from ? n : to - from, from);
        unwind_build_up_to(build, to, &rule_none);
    }
}

/* _start: straight on to what it calls or jumps to for good. */
static uint64_t entry_end(const struct unwind_gaps *gaps, uint64_t entry)
{
    struct cs_isa_insn insn;
    size_t n = 0, at = 0;
    const uint8_t *bytes =
        gaps->file->header.e_machine == EM_X86_64 ? elf_file_at(gaps->file, entry, &n, NULL) : NULL;
    while (bytes && at < n && at < ENTRY_BYTES_MAX &&
           cs_isa_decode_flow(CS_ISA_X86_64, bytes + at, n - at, entry + at, &insn)) {
        at += insn.length;
        if (insn.flow != CS_ISA_FLOW_NEXT && insn.flow != CS_ISA_FLOW_CALL)
            return entry + at;
    }
    return entry + ENTRY_BYTES;
}

/* From `from` to `to` nothing is described; within one piece of code. */
static void fill_code(const struct unwind_gaps *gaps, struct unwind_build *build, uint64_t from, uint64_t to)
{
    static const uint8_t x86_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                         0,    0,    0x0f, 0x05}; /* mov $15, %rax; syscall */
    static const uint8_t arm_return[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}; /* mov x8, #139; svc #0 */
    bool arm = gaps->file->header.e_machine == EM_AARCH64;
    const uint8_t *wanted = arm ? arm_return : x86_return;
    size_t n = 0, n_wanted = arm ? sizeof arm_return : sizeof x86_return;
    uint64_t entry = gaps->file->header.e_entry;
    for (unsigned i = 0; i < gaps->n_stubs; i++) {
        const struct unwind_stubs *s = &gaps->stubs[i];
        if (s->start < from || s->end > to)
            continue;
        fill_code(gaps, build, from, s->start);
        unwind_build_up_to(build, s->first_end, &s->first);
        unwind_build_up_to(build, s->end, &s->rule);
        from = s->end;
    }
    if (entry >= from && entry < to && !gaps->is_go) {
        plain(gaps, build, entry);
        uint64_t end = entry_end(gaps, entry);
        unwind_build_up_to(build, end < to ? end : to, &rule_outermost);
    }
    const uint8_t *bytes =
        to > from && to - from >= n_wanted ? elf_file_at(gaps->file, from, &n, NULL) : NULL;
    n = bytes && n > to - from ? to - from : n;
    for (size_t at = 0; bytes && at + n_wanted <= n;) {
        const uint8_t *found = memmem(bytes + at, n - at, wanted, n_wanted);
        if (!found)
            break;
        at = (size_t)(found - bytes);
        /* it is looked up by what is a return address for all one knows: the byte before belongs to it */
        plain(gaps, build, from + at - (at > 0));
        at += n_wanted;
        unwind_build_up_to(build, from + at, &rule_signal);
    }
    plain(gaps, build, to);
}

void unwind_gaps_fill(const struct unwind_gaps *gaps, struct unwind_build *build, uint64_t to)
{
    for (unsigned i = 0; i < gaps->n_code; i++) {
        const struct unwind_piece *piece = &gaps->code[i];
        uint64_t at = build->header.base + build->next, end = to < piece->end ? to : piece->end;
        if (piece->start > at && piece->start < to)
            unwind_build_up_to(build, piece->start, &rule_none);
        at = build->header.base + build->next;
        if (at >= piece->start && at < end)
            fill_code(gaps, build, at, end);
    }
    unwind_build_up_to(build, to, &rule_none);
}

void unwind_gaps_init(struct unwind_gaps *gaps, const struct elf_file *file)
{
    *gaps = (struct unwind_gaps){.file = file};
    if (!find_code(gaps))
        gaps->n_code = 1;
    gaps->is_go = elf_file_section(file, ".gopclntab") || elf_file_section(file, ".data.rel.ro.gopclntab") ||
                  elf_file_section(file, ".note.go.buildid");
    gaps->has_go_table = gaps->is_go && go_table_init(&gaps->go, file);
    assert(gaps->n_code >= 1 && gaps->n_code <= UNWIND_CODE_PIECES_MAX);
    find_stubs(gaps);
}
