/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which way a thread goes, said from its registers and 512 bytes of stack, against which way it went: a child
 * is stopped at random moments and single-stepped. And each instruction that the interpreter knows against
 * the processor. */
#include "analysis/path_inside.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MOMENTS 1500
#define STACK_BYTES 512
#define NATIVE_STEPS 3000

/* ---- what the child does ---- */

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static __attribute__((noinline)) unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __attribute__((noinline)) int by_number(unsigned n, int x)
{
    switch (n % 9) {
    case 0:
        return x + 3;
    case 1:
        return x * 7;
    case 2:
        return x ^ 0x55;
    case 3:
        return x >> 3;
    case 4:
        return -x;
    case 5:
        return x / 3;
    case 6:
        return ~x;
    case 7:
        return x << 2 | 1;
    default:
        return (int)((unsigned)x * 2654435761U >> 5);
    }
}

static __attribute__((noreturn)) void work(void)
{
    static int numbers[500], copy[500];
    volatile unsigned sink = 0;
    unsigned random = 1;
    for (;;) {
        char text[64];
        for (unsigned i = 0; i < 500; i++) {
            random = random * 1103515245 + 12345;
            numbers[i] = (int)(random >> 8);
        }
        memcpy(copy, numbers, sizeof copy);
        for (unsigned i = 1; i < 200; i++) { /* an insertion sort */
            int x = copy[i];
            unsigned k = i;
            for (; k && copy[k - 1] > x; k--)
                copy[k] = copy[k - 1];
            copy[k] = x;
        }
        qsort(numbers, 500, sizeof *numbers, ascending);
        for (unsigned i = 0; i < 500; i++) {
            sink += (unsigned)by_number(random >> 7 ^ i, numbers[i]);
            sink += (unsigned)__builtin_popcount(sink) + (unsigned)__builtin_ctz(sink | 64);
        }
        snprintf(text, sizeof text, "%d %s %x", numbers[7], "text", sink);
        sink += (unsigned)strtoul(text, NULL, 10) + (unsigned)strlen(text) + fibonacci(12);
    }
}

/* ---- where its code is ---- */

struct mapped {
    uint64_t start, end, offset;
    struct cs_code *code;
};
static struct mapped maps[64];
static unsigned n_maps;

static void read_maps(pid_t pid)
{
    char name[64], line[600], path[512];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    while (n_maps < 64 && fgets(line, sizeof line, f)) {
        struct mapped *m = &maps[n_maps];
        struct cs_error err;
        char flags[8];
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &m->start, &m->end, flags, &m->offset, path) != 5 ||
            flags[2] != 'x' || path[0] != '/' || cs_code_open_file(path, &m->code, &err) < 0)
            continue;
        n_maps++;
    }
    fclose(f);
}

static struct cs_code *code_at(void *arg, uint64_t address, uint64_t *offset)
{
    (void)arg;
    for (unsigned i = 0; i < n_maps; i++)
        if (address >= maps[i].start && address < maps[i].end) {
            /* The linkers of the machines that this runs on place code where its offset in the file is. */
            *offset = address - maps[i].start + maps[i].offset;
            return maps[i].code;
        }
    return NULL;
}

/* ---- the comparison ---- */

static struct cs_path_start state_of(pid_t pid, uint8_t *stack)
{
    struct user_regs_struct r;
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &r), 0);
    struct cs_path_start start = {.pc = r.rip,
                                  .flags = r.eflags,
                                  .reg = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10,
                                          r.r11, r.r12, r.r13, r.r14, r.r15},
                                  .stack = stack};
    struct iovec here = {stack, STACK_BYTES}, there = {(void *)r.rsp, STACK_BYTES};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    start.stack_bytes = n > 0 ? (size_t)n : 0;
    return start;
}

static uint64_t step(pid_t pid)
{
    int status;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user_regs_struct, rip), NULL);
}

static void directions_are_those_that_the_thread_takes(void **unused)
{
    (void)unused;
    struct cs_path_walker *walker;
    struct cs_error err;
    unsigned resolved = 0, steps = 0, right = 0, wrong = 0;
    pid_t pid = fork();
    if (pid == 0)
        work();
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    assert_int_equal(cs_path_walker_open(code_at, NULL, &walker, &err), 0);
    srand(1);
    for (unsigned i = 0; i < MOMENTS; i++) {
        uint8_t stack[STACK_BYTES];
        struct cs_path path;
        int status;
        struct timespec rest = {0, 1000 + rand() % 200000};
        nanosleep(&rest, NULL);
        assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (i == 0)
            read_maps(pid);
        struct cs_path_start start = state_of(pid, stack);
        cs_path_walk(walker, &start, &path);
        resolved += path.n > 0;
        steps += path.n;
        uint64_t pc = start.pc;
        unsigned done = 0;
        for (unsigned k = 0; k < NATIVE_STEPS && done < path.n; k++) {
            uint64_t before = pc;
            pc = step(pid);
            if (before != path.step[done].from)
                continue;
            if (pc == path.step[done].to)
                right++;
            else {
                wrong++;
                if (wrong < 20)
                    print_message("from %#lx: %#lx → %#lx said, %#lx seen (step %u of %u)\n", start.pc, before,
                                  path.step[done].to, pc, done, path.n);
                break;
            }
            done++;
        }
        assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    print_message("%u of %u moments, %u steps; %u right, %u wrong\n", resolved, MOMENTS, steps, right, wrong);
    assert_int_equal(wrong, 0);
    assert_true(right > MOMENTS);
    cs_path_walker_close(walker);
    for (unsigned i = 0; i < n_maps; i++)
        cs_code_close(maps[i].code);
}

/* ---- single instructions ---- */

/* On rax, rcx and rdx alone. What it leaves undefined of the flags isn't compared. */
struct instruction {
    const char *name;
    const uint8_t *code;
    uint64_t defined;
};
#define ALL FLAGS_ALL
#define LOGIC FLAGS_ALL
#define NONE 0
#define CARRY FLAG_CARRY
#define SHIFTED (FLAGS_ALL & ~FLAG_OVERFLOW)
#define INSTRUCTIONS                                                                                         \
    X(add64, "add %rcx, %rax", ALL)                                                                          \
    X(add32, "add %ecx, %eax", ALL)                                                                          \
    X(add16, "add %cx, %ax", ALL)                                                                            \
    X(add8, "add %cl, %al", ALL)                                                                             \
    X(addh, "add %ch, %al", ALL)                                                                             \
    X(addi, "add $-3, %rax", ALL)                                                                            \
    X(adc64, "adc %rcx, %rax", ALL)                                                                          \
    X(adc8, "adc %cl, %ah", ALL)                                                                             \
    X(sub64, "sub %rcx, %rax", ALL)                                                                          \
    X(sub32, "sub %ecx, %eax", ALL)                                                                          \
    X(sub8i, "sub $0x81, %al", ALL)                                                                          \
    X(subsame, "sub %eax, %eax", ALL)                                                                        \
    X(sbb64, "sbb %rcx, %rax", ALL)                                                                          \
    X(sbb32, "sbb %ecx, %eax", ALL)                                                                          \
    X(sbbsame, "sbb %rax, %rax", ALL)                                                                        \
    X(cmp64, "cmp %rcx, %rax", ALL)                                                                          \
    X(cmp16, "cmp %cx, %ax", ALL)                                                                            \
    X(cmp32i, "cmp $-7, %eax", ALL)                                                                          \
    X(and64, "and %rcx, %rax", LOGIC)                                                                        \
    X(and32i, "and $0x7f00, %eax", LOGIC)                                                                    \
    X(or32, "or %ecx, %eax", LOGIC)                                                                          \
    X(or64i, "or $-1, %rax", LOGIC)                                                                          \
    X(xor64, "xor %rcx, %rax", LOGIC)                                                                        \
    X(xorsame, "xor %eax, %eax", LOGIC)                                                                      \
    X(test64, "test %rcx, %rax", LOGIC)                                                                      \
    X(test8i, "test $4, %al", LOGIC)                                                                         \
    X(not32, "not %eax", ALL)                                                                                \
    X(neg64, "neg %rax", ALL)                                                                                \
    X(neg8, "neg %al", ALL)                                                                                  \
    X(inc32, "inc %eax", ALL)                                                                                \
    X(inc8, "inc %ah", ALL)                                                                                  \
    X(dec64, "dec %rax", ALL)                                                                                \
    X(dec16, "dec %ax", ALL)                                                                                 \
    X(shl32, "shl $3, %eax", SHIFTED)                                                                        \
    X(shl64c, "shl %cl, %rax", SHIFTED)                                                                      \
    X(shl1, "shl %rax", SHIFTED)                                                                             \
    X(shr64, "shr $17, %rax", SHIFTED)                                                                       \
    X(shr32c, "shr %cl, %eax", SHIFTED)                                                                      \
    X(shr8, "shr $2, %al", SHIFTED)                                                                          \
    X(sar64, "sar $5, %rax", SHIFTED)                                                                        \
    X(sar32c, "sar %cl, %eax", SHIFTED)                                                                      \
    X(sar16, "sar $9, %ax", SHIFTED)                                                                         \
    X(imul64, "imul %rcx, %rax", NONE)                                                                       \
    X(imul32i, "imul $-77, %ecx, %eax", NONE)                                                                \
    X(imul1, "imul %rcx", NONE)                                                                              \
    X(mul1, "mul %ecx", NONE)                                                                                \
    X(bt32, "bt %ecx, %eax", CARRY)                                                                          \
    X(bt64i, "bt $41, %rax", CARRY)                                                                          \
    X(bts, "bts %rcx, %rax", NONE)                                                                           \
    X(bswap32, "bswap %eax", ALL)                                                                            \
    X(bswap64, "bswap %rax", ALL)                                                                            \
    X(tzcnt64, "rep bsf %rcx, %rax", FLAG_CARRY | FLAG_ZERO)                                                                   \
    X(bsr32, "bsr %ecx, %edx", NONE)                                                                         \
    X(mov8, "mov %ch, %al", ALL)                                                                             \
    X(mov16, "mov %cx, %ax", ALL)                                                                            \
    X(mov32, "mov %ecx, %eax", ALL)                                                                          \
    X(mov64i, "movabs $0x123456789abcdef0, %rax", ALL)                                                       \
    X(movzx8, "movzbl %ch, %eax", ALL)                                                                       \
    X(movzx16, "movzwl %cx, %eax", ALL)                                                                      \
    X(movsx8, "movsbq %cl, %rax", ALL)                                                                       \
    X(movsx16, "movswl %cx, %eax", ALL)                                                                      \
    X(movsxd, "movslq %ecx, %rax", ALL)                                                                      \
    X(lea64, "lea 0x11(%rax, %rcx, 4), %rdx", ALL)                                                           \
    X(lea32, "lea -8(%rcx, %rcx), %eax", ALL)                                                                \
    X(cbw, "cbtw", ALL)                                                                                      \
    X(cwde, "cwtl", ALL)                                                                                     \
    X(cdqe, "cltq", ALL)                                                                                     \
    X(cwd, "cwtd", ALL)                                                                                      \
    X(cdq, "cltd", ALL)                                                                                      \
    X(cqo, "cqto", ALL)                                                                                      \
    X(sete, "sete %al", ALL)                                                                                 \
    X(setg, "setg %ah", ALL)                                                                                 \
    X(seta, "seta %cl", ALL)                                                                                 \
    X(cmovl32, "cmovl %ecx, %eax", ALL)                                                                      \
    X(cmovbe, "cmovbe %rcx, %rax", ALL)                                                                      \
    X(cmovs, "cmovs %cx, %ax", ALL)                                                                          \
    X(cmovnp, "cmovnp %rcx, %rax", ALL)                                                                      \
    X(xchg, "xchg %rcx, %rax", ALL)                                                                          \
    X(xadd, "xadd %ecx, %eax", NONE)                                                                         \
    X(popcnt, "popcnt %rcx, %rax", NONE)

#define X(name, text, flags)                                                                                 \
    __asm__(".pushsection .text\ncode_" #name ": " text "\n ret\n.popsection");                             \
    extern const uint8_t code_##name[];
INSTRUCTIONS
#undef X
#define X(name, text, flags) {#name, code_##name, flags},
static const struct instruction instructions[] = {INSTRUCTIONS};
#undef X

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Small numbers, edges and any. */
static uint64_t random_value(void)
{
    uint64_t r = random_bits() >> 8;
    switch (random_bits() >> 60) {
    case 0:
        return 0;
    case 1:
        return ~UINT64_C(0) << r % 64;
    case 2:
        return UINT64_C(1) << r % 64;
    case 3:
    case 4:
    case 5:
        return r % 70;
    case 6:
        return (UINT64_C(1) << r % 64) - 1;
    default:
        return random_bits();
    }
}

static void run_natively(const uint8_t *code, uint64_t reg[3], uint64_t *flags)
{
    uint64_t f = *flags;
    __asm__ volatile("sub $128, %%rsp\n push %[f]\n popfq\n call *%[code]\n pushfq\n pop %[f]\n add $128, %%rsp"
                     : "+a"(reg[0]), "+c"(reg[1]), "+d"(reg[2]), [f] "+r"(f)
                     : [code] "r"(code)
                     : "cc", "memory");
    *flags = f;
}

static void interpret(const struct path_op *op, const uint64_t reg[3], const uint64_t mask[3], uint64_t flags,
                      uint64_t flags_mask, struct path_state *state)
{
    memset(state, 0, sizeof *state);
    for (unsigned i = 0; i < 3; i++)
        state->reg[i] = (struct path_value){reg[i] & mask[i], mask[i]};
    state->flags = (struct path_value){flags & flags_mask & FLAGS_ALL, flags_mask & FLAGS_ALL};
    path_execute(state, op, 0);
}

static void instructions_do_what_the_processor_does(void **unused)
{
    (void)unused;
    static struct path_state state;
    unsigned known = 0, all = 0;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        const struct instruction *one = &instructions[i];
        struct path_op op;
        assert_true(path_decode(one->code, 15, 0, &op));
        for (unsigned round = 0; round < 3000; round++) {
            uint64_t before[3] = {random_value(), random_value(), random_value()}, after[3], flags = 0x202, mask[3];
            uint64_t flags_mask = round % 3 ? ~UINT64_C(0) : random_bits();
            flags |= random_bits() & FLAGS_ALL;
            for (unsigned k = 0; k < 3; k++)
                mask[k] = round % 2 ? ~UINT64_C(0) : random_bits() | random_bits() | (round % 4 ? random_value() : 0);
            memcpy(after, before, sizeof after);
            uint64_t flags_after = flags;
            run_natively(one->code, after, &flags_after);
            interpret(&op, before, mask, flags, flags_mask, &state);
            for (unsigned k = 0; k < 3; k++) {
                if ((after[k] & state.reg[k].mask) != state.reg[k].bits)
                    fail_msg("%s: register %u is %#lx, not %#lx (known: %#lx); from %#lx %#lx %#lx", one->name, k, after[k],
                             state.reg[k].bits, state.reg[k].mask, before[0], before[1], before[2]);
            }
            uint64_t told = state.flags.mask & one->defined;
            if ((flags_after & told) != (state.flags.bits & told))
                fail_msg("%s: flags are %#lx, not %#lx (known: %#lx); from %#lx %#lx %#lx", one->name, flags_after & told,
                         state.flags.bits, told, before[0], before[1], before[2]);
            if (round % 6 == 5) {
                all++;
                known += state.reg[0].mask == ~UINT64_C(0);
            }
        }
    }
    print_message("of %u results with all known before, %u are known\n", all, known);
    assert_true(known * 10 > all * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_do_what_the_processor_does),
        cmocka_unit_test(directions_are_those_that_the_thread_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
