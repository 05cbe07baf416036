/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A piece of another process' code alone in a loop, in a child of ours that took over the other's registers and, page by page when
 * they are touched, copies of its memory. For _cost_truth.c. */
#pragma once

#include "image/isa/semantics.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    OPS_MAX = 128,
    BYTES_MAX = 15 * OPS_MAX,
    PASSES = 61,
    PAGES_WARM = 6,     /* data pages that a first-level cache holds */
    TICKS_MOST = 40000, /* of a pass: a host's interruptions are rare within */
    TURNS_LEAST = 64,
    PAGES_MOST = 4096,
    STATE_BYTES = 16384,
};

struct piece {
    uint64_t start;               /* in the image */
    unsigned n;                   /* instructions there; 0: it can't run alone */
    uint8_t code[BYTES_MAX + 64]; /* as it runs */
    size_t length;                /* without the jump out */
    uint8_t original;             /* the byte under the breakpoint */
    int counter;                  /* register that counts turns */
    bool planted;
};

static struct user_regs_struct registers;
static _Alignas(64) uint8_t vector_state[STATE_BYTES];
static pid_t target;
static volatile unsigned n_pages;
static struct result {
    double cycles, spread;
    unsigned turns, pages;
    char why[48];
} * shared;

static const uint8_t dec_of[16][3] = {
    {0x48, 0xff, 0xc8}, {0x48, 0xff, 0xc9}, {0x48, 0xff, 0xca}, {0x48, 0xff, 0xcb}, {0},
    {0x48, 0xff, 0xcd}, {0x48, 0xff, 0xce}, {0x48, 0xff, 0xcf}, {0x49, 0xff, 0xc8}, {0x49, 0xff, 0xc9},
    {0x49, 0xff, 0xca}, {0x49, 0xff, 0xcb}, {0x49, 0xff, 0xcc}, {0x49, 0xff, 0xcd}, {0x49, 0xff, 0xce},
    {0x49, 0xff, 0xcf}};

/* Of the code at its place: NULL, or why it can't run alone. */
static const char *make_loop(struct piece *p, const uint8_t *bytes, uint64_t address)
{
    struct cs_isa_op ops[OPS_MAX];
    size_t n = 0;
    for (size_t at = 0; n < p->n; at += ops[n++].length) {
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, BYTES_MAX - at, address + at, &ops[n]);
        if (ops[n].flags & CS_ISA_OP_INVALID)
            return "not decoded";
    }
    if (n && ops[n - 1].flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP | CS_ISA_OP_CALL | CS_ISA_OP_RETURN)) {
        const struct cs_isa_op *last = &ops[--n];
        if (n && last->flags & CS_ISA_OP_BRANCH && cs_isa_op_fused(&ops[n - 1], last) &&
            ops[n - 1].flags & CS_ISA_OP_FLAGS_ONLY && !(ops[n - 1].flags & CS_ISA_OP_LOAD))
            n--;
    }
    uint64_t used = CS_ISA_OP_REG_RSP;
    p->length = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cs_isa_op *op = &ops[i];
        struct cs_isa_insn insn;
        cs_isa_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &insn);
        if (op->flags & (CS_ISA_OP_CALL | CS_ISA_OP_RETURN | CS_ISA_OP_JUMP | CS_ISA_OP_SYSCALL |
                         CS_ISA_OP_REPEAT | CS_ISA_OP_SERIALISE))
            return "not straight";
        for (unsigned m = 0; m < insn.n_memory; m++)
            if (insn.memory[m].segment)
                return "thread's segment";
        used |= op->reads | op->writes | op->address_reads;
        memcpy(p->code + p->length, op->bytes, op->length);
        if (op->flags & CS_ISA_OP_BRANCH) {
            size_t opcode = op->length == 2 ? 1 : op->length - 4u;
            memset(p->code + p->length + opcode, 0, op->length - opcode);
        }
        p->length += op->length;
    }
    for (p->counter = 15; p->counter >= 0 && used >> p->counter & 1; p->counter--)
        ;
    if (!p->length)
        return "nothing left";
    if (p->counter < 0)
        return "no free register";
    memcpy(p->code + p->length, dec_of[p->counter], 3);
    p->length += 3;
    if (p->length + 2 <= 128) {
        p->code[p->length] = 0x75;
        p->code[p->length + 1] = (uint8_t)(-(int)p->length - 2);
        p->length += 2;
    } else {
        int32_t back = -(int32_t)p->length - 6;
        memcpy(p->code + p->length, (uint8_t[]){0x0f, 0x85}, 2);
        memcpy(p->code + p->length + 2, &back, 4);
        p->length += 6;
    }
    return NULL;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}
#define PUT(...) (at = put(at, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}))

static uint8_t *put_constant(uint8_t *at, int reg, uint64_t value)
{
    at = put(at, (const uint8_t[]){reg > 7 ? 0x49 : 0x48, (uint8_t)(0xb8 + (reg & 7))}, 2);
    return put(at, &value, 8);
}

static struct {
    uint64_t begin, end, stack;
} times;
static uint8_t *routine; /* a page that we write and run */

/* A function that takes the state over, runs so many turns at `head`, and comes back. */
static void write_routine(const struct piece *p, uint64_t head, uint64_t turns)
{
    static uint64_t values[16];
    const struct user_regs_struct *r = &registers;
    memcpy(values,
           (const uint64_t[]){r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8, r->r9,
                              r->r10, r->r11, r->r12, r->r13, r->r14, r->r15},
           sizeof values);
    uint8_t *at = routine;
    PUT(0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx rbp r12..r15 */
    at = put_constant(at, 1, (uint64_t)&times);
    PUT(0x48, 0x89, 0x61, 0x10); /* mov [rcx+16], rsp */
    at = put_constant(at, 6, (uint64_t)vector_state);
    PUT(0xb8, 0xe7, 0, 0, 0, 0x31, 0xd2, 0x48, 0x0f, 0xae, 0x2e);    /* xrstor64 [rsi] of all but MPX, PKRU */
    PUT(0x0f, 0xae, 0xf0, 0x0f, 0xae, 0xe8, 0x0f, 0x31);             /* mfence; lfence; rdtsc */
    PUT(0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x48, 0x89, 0x01); /* mov [rcx], rdx:rax */
    for (int reg = 0; reg < 16; reg++)
        at = put_constant(at, reg, reg == p->counter ? turns : values[reg]);
    PUT(0xff, 0x25, 0, 0, 0, 0); /* jmp head */
    at = put(at, &head, 8);
}

/* Where the piece leaves to. */
static uint8_t *make_exit(void)
{
    uint8_t *begin = routine + 1024, *at = begin;
    PUT(0x0f, 0x01, 0xf9, 0x0f, 0xae, 0xe8); /* rdtscp; lfence */
    at = put_constant(at, 1, (uint64_t)&times);
    PUT(0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x48, 0x89, 0x41, 0x08); /* mov [rcx+8], rdx:rax */
    PUT(0x48, 0x8b, 0x61, 0x10, 0xfc, 0xc5, 0xf8, 0x77); /* mov rsp, [rcx+16]; cld; vzeroupper */
    PUT(0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3);
    return begin;
}

static double run(const struct piece *p, uint64_t head, uint64_t turns)
{
    write_routine(p, head, turns);
    void (*function)(void);
    memcpy(&function, &routine, sizeof function);
    function();
    return (double)(times.end - times.begin);
}

/* Ticks of so many multiplications that wait for each other: 3 cycles each on all cores of both vendors. */
static double chain(unsigned turns)
{
    uint64_t begin, end, x = 3;
    __asm__ volatile("mfence; lfence; rdtsc; shl $32, %%rdx; or %%rdx, %%rax; mov %%rax, %0\n"
                     "1: .rept 100; imul %2, %2; .endr; dec %3; jnz 1b\n"
                     "rdtscp; lfence; shl $32, %%rdx; or %%rdx, %%rax; mov %%rax, %1"
                     : "=&r"(begin), "=&r"(end), "+r"(x), "+r"(turns)::"rax", "rcx", "rdx", "memory");
    return (double)(end - begin);
}

/* ---- the child ---- */

static _Noreturn void give_up(const char *why)
{
    snprintf(shared->why, sizeof shared->why, "%s", why);
    _exit(1);
}

static void at_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    uint64_t page = (uint64_t)info->si_addr & ~(uint64_t)(PAGE - 1);
    if (signal != SIGSEGV)
        give_up(signal == SIGFPE ? "division" : signal == SIGALRM ? "too slow" : "signal");
    if (info->si_code == SI_KERNEL || page < 16 * PAGE || page >= UINT64_C(1) << 47 || ++n_pages > PAGES_MOST)
        give_up("wild address");
    if (mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
             -1, 0) == MAP_FAILED)
        give_up("address taken");
    struct iovec own = {(void *)page, PAGE}, its = {(void *)page, PAGE};
    if (process_vm_readv(target, &own, 1, &its, 1, 0) != PAGE)
        memset((void *)page, 0, PAGE);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *values)
{
    qsort(values, PASSES, sizeof *values, ascending);
    return values[PASSES / 2];
}

static _Noreturn void measure(const struct piece *p, uint64_t bias)
{
    uint64_t head = p->start + bias, first = head & ~(uint64_t)(PAGE - 1),
             size = ((head + p->length + 64) | (PAGE - 1)) + 1 - first;
    struct sigaction action = {.sa_sigaction = at_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    for (int k = 0; k < 6; k++)
        sigaction((int[]){SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGTRAP, SIGALRM}[k], &action, NULL);
    alarm(3);
    routine = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *code = mmap((void *)first, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (routine == MAP_FAILED || code == MAP_FAILED)
        give_up("address taken");
    struct iovec own = {code, size}, its = {code, size};
    process_vm_readv(target, &own, 1, &its, 1, 0);
    uint8_t *at = put(code + (head - first), p->code, p->length);
    PUT(0xff, 0x25, 0, 0, 0, 0);
    uint8_t *leave = make_exit();
    put(at, &leave, 8);
    uint64_t turns = TURNS_LEAST;
    run(p, head, turns);
    while (turns < 100000 && run(p, head, turns) < TICKS_MOST / 2) {
        run(p, head, turns * 2); /* pages come */
        if (n_pages > PAGES_WARM)
            break;
        turns *= 2;
    }
    /* What memory holds may lead elsewhere in every pass: passes count from when no page has come for a while. */
    for (int quiet = 0, k = 0; quiet < 20 && k < 2000; k++, quiet++) {
        unsigned before = n_pages;
        run(p, head, turns);
        if (n_pages != before)
            quiet = 0;
    }
    double few[PASSES], many[PASSES], short_chain[PASSES], long_chain[PASSES];
    for (int k = -5; k < PASSES; k++) {
        int to = k < 0 ? 0 : k;
        long_chain[to] = chain(40);
        many[to] = run(p, head, turns);
        short_chain[to] = chain(10);
        few[to] = run(p, head, turns / 4);
    }
    double longest = middle(many), shortest = middle(few);
    double tick = (middle(long_chain) - middle(short_chain)) / (30 * 100 * 3);
    double each = (longest - shortest) / (double)(turns - turns / 4) / tick;
    double off = (many[PASSES * 3 / 4] - many[PASSES / 4]) + (few[PASSES * 3 / 4] - few[PASSES / 4]);
    *shared = (struct result){each, 100 * off / (longest - shortest), (unsigned)turns, n_pages, ""};
    _exit(0);
}
