/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of installed binaries against libdw's own reading of the same descriptions. At each place where a rule begins
 * and at random ones, a step from random registers over random memory must come to the same caller. Usage with files of
 * your own: CS_UNWIND_FILES="A B" build/tests/unit/image/unwind/unwind_rows_test; CS_UNWIND_ALL=1 leaves no row out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/unwind/step.h"
#include "image/unwind/unwind.h"
#include "tests/unit/test.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#define PLACES 20000

static uint64_t hash(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Memory that is everywhere readable and holds plausible, different values. */
static bool read_word(void *arg, uint64_t addr, uint64_t *value)
{
    (void)arg;
    *value = hash(addr) >> 17 | UINT64_C(1) << 46;
    return true;
}

static const struct cs_unwind_header *no_table(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    (void)arg, (void)pc;
    *to_vaddr = 0;
    *code = true;
    return NULL;
}

/* What libdw says of a register (ops as dwarf_frame_register gives them) in that memory. */
static bool evaluate(const Dwarf_Op *ops, size_t n, const struct cs_unwind_frame *f, uint64_t cfa,
                     uint64_t *result, bool *is_register)
{
    uint64_t stack[16] = {0};
    unsigned depth = 0;
    bool value = false;
    *is_register = false;
    for (size_t i = 0; i < n; i++) {
        uint8_t op = ops[i].atom;
        if (depth > 14)
            return false;
        if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
            stack[depth++] =
                (op - DW_OP_breg0 == 16 ? f->pc : f->registers[op - DW_OP_breg0]) + ops[i].number;
        } else if (op == DW_OP_bregx) {
            if (ops[i].number >= CS_UNWIND_REGISTERS)
                return false;
            stack[depth++] = f->registers[ops[i].number] + ops[i].number2;
        } else if (op == DW_OP_regx || (op >= DW_OP_reg0 && op <= DW_OP_reg31)) {
            uint64_t reg = op == DW_OP_regx ? ops[i].number : (uint64_t)(op - DW_OP_reg0);
            if (reg >= CS_UNWIND_REGISTERS)
                return false;
            *result = f->registers[reg];
            *is_register = true;
            return true;
        } else if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
            stack[depth++] = op - DW_OP_lit0;
        } else if (op == DW_OP_const1u || op == DW_OP_const1s) {
            stack[depth++] = ops[i].number;
        } else if (op == DW_OP_call_frame_cfa) {
            stack[depth++] = cfa;
        } else if (op == DW_OP_plus_uconst && depth) {
            stack[depth - 1] += ops[i].number;
        } else if (op == DW_OP_deref && depth) {
            read_word(NULL, stack[depth - 1], &stack[depth - 1]);
        } else if (op == DW_OP_stack_value) {
            value = true;
        } else if (depth >= 2) {
            uint64_t b = stack[--depth], *a = &stack[depth - 1];
            if (op == DW_OP_plus)
                *a += b;
            else if (op == DW_OP_and)
                *a &= b;
            else if (op == DW_OP_ge)
                *a = (int64_t)*a >= (int64_t)b;
            else if (op == DW_OP_shl)
                *a <<= b;
            else
                return false;
        } else {
            return false;
        }
    }
    if (!depth)
        return false;
    *result = stack[depth - 1];
    if (!value)
        read_word(NULL, *result, result);
    return true;
}

struct tally {
    size_t places, equal, undescribed, outermost, unsupported, refused, lost, wrong;
    double seconds_of_libdw;
};

/* One register of the caller. */
static bool register_after(Dwarf_Frame *frame, int reg, const struct cs_unwind_frame *before, bool is_kept,
                           uint64_t cfa, uint64_t *value)
{
    Dwarf_Op memory[3], *ops;
    size_t n;
    bool is_register;
    if (dwarf_frame_register(frame, reg, memory, &ops, &n) < 0)
        return false;
    if (n == 0) {
        /* a register of which nothing is said is kept, if the called keep it at all */
        *value = before->registers[reg & 31];
        return ops == NULL || is_kept;
    }
    return evaluate(ops, n, before, cfa, value, &is_register);
}

static void compare(Dwarf_CFI *cfi[2], const struct cs_unwind_header *table, uint64_t at, struct tally *t,
                    const char *path)
{
    const bool arm = table->machine == EM_AARCH64;
    const int sp = arm ? 31 : 7, fp = arm ? 29 : 6;
    const struct cs_unwind_rule *rule = cs_unwind_rule_at(table, at);
    struct cs_unwind_frame before = {.pc = at, .known = CS_UNWIND_KNOWS_ALL, .leaf = true}, after;
    const struct cs_unwind_space space = {read_word, no_table, NULL, table->machine};
    Dwarf_Frame *frame = NULL;
    uint64_t cfa, value;
    bool is_register, signal = false;
    size_t n;
    Dwarf_Op *ops;
    int ra_reg;
    for (int i = 0; i < CS_UNWIND_REGISTERS; i++)
        before.registers[i] = (hash(at * 33 + (uint64_t)i) >> 20) & ~7ULL;
    before.registers[sp] &= 0xffffffff; /* the CFA of whatever register lies above it */
    t->places++;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    int rc = cfi[0] ? dwarf_cfi_addrframe(cfi[0], at, &frame) : -1;
    if (rc != 0 && cfi[1])
        rc = dwarf_cfi_addrframe(cfi[1], at, &frame);
    clock_gettime(CLOCK_MONOTONIC, &to);
    t->seconds_of_libdw += (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    if (rc != 0) {
        t->undescribed++;
        return;
    }
    ra_reg = dwarf_frame_info(frame, NULL, NULL, &signal);
    after = before;
    enum cs_unwind_end end = cs_unwind_step(&after, rule, &space);
    if (rule->cfa == CS_UNWIND_UNSUPPORTED) {
        t->unsupported++;
        goto out;
    }
    /* a register after an expression (libgcrypt's assembly): libdw refuses it, others go on with the offset before */
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0) {
        t->refused++;
        goto out;
    }
    bool ok = evaluate(ops, n, &before, 0, &cfa, &is_register);
    /* a CFA's ops give the address itself, not where it lies */
    if (ok && n && ops[n - 1].atom != DW_OP_stack_value) {
        Dwarf_Op copy[32];
        ok = n < 31;
        if (ok) {
            memcpy(copy, ops, n * sizeof *ops);
            copy[n] = (Dwarf_Op){.atom = DW_OP_stack_value};
            ok = evaluate(copy, n + 1, &before, 0, &cfa, &is_register);
        }
    }
    bool ra = register_after(frame, ra_reg, &before, arm, cfa, &value);
    if (rule->cfa == CS_UNWIND_OUTERMOST) {
        t->outermost++;
        Dwarf_Op memory[3];
        ok = dwarf_frame_register(frame, ra_reg, memory, &ops, &n) == 0 && n == 0;
    } else if (end == CS_UNWIND_GOES_ON) {
        ok = ok && ra && value == after.pc && cfa == after.registers[sp];
        if (after.known >> fp & 1)
            ok = ok && register_after(frame, fp, &before, true, cfa, &value) && value == after.registers[fp];
        else
            t->lost++;
        if (!arm && (after.known >> 3 & 1))
            ok = ok && register_after(frame, 3, &before, true, cfa, &value) && value == after.registers[3];
        else if (!arm)
            t->lost++;
    } else {
        ok = ok && end == CS_UNWIND_END_STUCK && cfa < before.registers[sp];
    }
    if (ok) {
        t->equal++;
    } else if (t->wrong++ < 5) {
        print_message(
            "%s at %#lx: rule %d: end %d, ra %d ok %d value %lx pc %lx cfa %lx sp %lx fp %lx bx %lx\n", path,
            (unsigned long)at, rule->cfa, (int)end, ra, ok, value, after.pc, cfa, after.registers[sp],
            after.registers[fp], after.registers[3]);
    }
out:
    free(frame);
}

static bool compare_file(const char *path, struct tally *t)
{
    struct cs_unwind *unwind;
    struct cs_error err;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    assert_int_equal(cs_unwind_open(path, &unwind, &err), 0);
    size_t bytes;
    const struct cs_unwind_header *table = cs_unwind_table(unwind, &bytes);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_CFI *cfi[2] = {dwarf_getcfi_elf(elf), dwarf ? dwarf_getcfi(dwarf) : NULL};
    const __u32 *first = cs_unwind_first(table);
    const struct cs_unwind_row *rows = cs_unwind_rows(table);
    uint32_t step = getenv("CS_UNWIND_ALL") ? 1 : 1 + table->n_rows / PLACES;
    *t = (struct tally){0};
    for (uint32_t block = 0, row = 0; block < table->n_blocks; block++)
        for (; row < first[block + 1]; row += step) {
            uint64_t offset = ((uint64_t)block << CS_UNWIND_BLOCK_BITS) + rows[row].at;
            if (offset < table->end)
                compare(cfi, table, table->base + offset, t, path);
        }
    for (uint64_t i = 0; i < PLACES / 2 && table->end; i++)
        compare(cfi, table, table->base + hash(i + 1) % table->end, t, path);
    if (t->places)
        print_message("%-58s %8u rows %5u rules %8.0f KB: %zu places, %zu equal, %zu undescribed, %zu "
                      "outermost, %zu unsupported, "
                      "%zu refused by libdw, %zu registers lost, %zu wrong; libdw %.2f us a place\n",
                      path, table->n_rows, table->n_rules, (double)bytes / 1024, t->places, t->equal,
                      t->undescribed, t->outermost, t->unsupported, t->refused, t->lost, t->wrong,
                      1e6 * t->seconds_of_libdw / (double)t->places);
    if (cfi[0])
        dwarf_cfi_end(cfi[0]);
    dwarf_end(dwarf);
    elf_end(elf);
    close(fd);
    cs_unwind_close(unwind);
    return true;
}

static void rows_say_what_libdw_says(void **unused)
{
    static const char *const usual[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/lib64/ld-linux-x86-64.so.2",
                                        "/usr/bin/python3.11",
                                        "/usr/bin/node",
                                        "/bin/bash",
                                        "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
                                        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                        "/usr/lib/chromium/chromium",
                                        "/usr/bin/perf",
                                        "/usr/bin/rustc",
                                        "/usr/bin/gdb",
                                        "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
                                        "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
                                        "/usr/bin/go",
                                        "/usr/aarch64-linux-gnu/lib/libc.so.6",
                                        "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
                                        "/proc/self/exe"};
    (void)unused;
    char *own = getenv("CS_UNWIND_FILES") ? strdup(getenv("CS_UNWIND_FILES")) : NULL, *rest = own;
    size_t files = 0;
    struct tally t;
    for (size_t i = 0;; i++) {
        const char *path = own                                ? strtok_r(NULL, " \n", &rest)
                           : i < sizeof usual / sizeof *usual ? usual[i]
                                                              : NULL;
        if (!path)
            break;
        if (!compare_file(path, &t))
            continue;
        files++;
        assert_int_equal(t.wrong, 0);
        assert_true((t.unsupported + t.refused) * 1000 <= t.places);
    }
    free(own);
    assert_true(files >= 1);
}

/* ---- a chain over code that nobody knows ---- */

extern void _start(void);

struct program {
    const struct cs_unwind_header *table;
    uint64_t base, unknown; /* where it is loaded, and one address that is in no image */
    uint64_t fp;
};

static int note_base(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uint64_t *)arg = info->dlpi_addr;
    return 1; /* the first one is the program */
}

/* A frame: the caller's frame pointer and a return address behind the first instruction of the program. */
static bool read_frame(void *arg, uint64_t addr, uint64_t *value)
{
    const struct program *p = arg;
    *value = addr == p->fp + 8 ? (uint64_t)(uintptr_t)_start + 4 : p->fp + 64;
    return true;
}

static const struct cs_unwind_header *own_table(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    const struct program *p = arg;
    *code = pc != p->unknown;
    *to_vaddr = 0 - p->base;
    return pc - (uint64_t)(uintptr_t)_start < 16 ? p->table : NULL;
}

static void a_chain_over_an_unknown_frame_is_told_from_a_complete_one(void **unused)
{
    struct program p = {.unknown = 0x1234, .fp = 0x7000};
    const struct cs_unwind_space space = {read_frame, own_table, &p, EM_X86_64};
    const uint64_t from[] = {0x5678, 0x1234}; /* code without a table, and an address in no code */
    struct cs_unwind *unwind;
    struct cs_error err;
    size_t bytes;
    (void)unused;
#ifndef __x86_64__
    skip(); /* the registers above */
#endif
    if (cs_unwind_open("/proc/self/exe", &unwind, &err) < 0)
        fail_msg("%s", err.text);
    p.table = cs_unwind_table(unwind, &bytes);
    dl_iterate_phdr(note_base, &p.base);
    for (unsigned i = 0; i < 2; i++) {
        struct cs_unwind_frame frame = {.pc = from[i], .known = CS_UNWIND_KNOWS_ALL, .leaf = true};
        uint64_t pcs[8];
        size_t n;
        frame.registers[6] = p.fp;
        frame.registers[7] = p.fp - 64;
        assert_int_equal(cs_unwind_chain(&frame, &space, pcs, 8, &n),
                         i ? CS_UNWIND_END_OVER_UNKNOWN : CS_UNWIND_END_COMPLETE);
        assert_int_equal(n, 2);
        assert_int_equal(pcs[0], from[i]);
        assert_int_equal(pcs[1], (uint64_t)(uintptr_t)_start + 4);
    }
    cs_unwind_close(unwind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_say_what_libdw_says),
        cmocka_unit_test(a_chain_over_an_unknown_frame_is_told_from_a_complete_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
