/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A piece of another process' code alone in a loop (analysis/experiment), in a child of ours that took over the other's
 * registers and, page by page when they are touched, copies of its memory. For _cost_truth.c. */
#pragma once

#include "analysis/experiment/piece.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES_MOST = 4096, BYTES_MAX = 15 * PIECE_OPS_MAX };

struct chosen {
    uint64_t start; /* in the image */
    unsigned n;     /* instructions there; 0: it can't run alone */
    struct piece piece;
    uint8_t original;     /* the byte under the breakpoint */
    bool wanted, planted; /* to be looked at; the breakpoint is there */
};

static struct user_regs_struct registers;
static _Alignas(64) uint8_t vector_state[BARE_STATE_BYTES];
static pid_t target;
static volatile unsigned n_pages;
static struct result {
    struct bare_time time;
    char why[48];
} * shared;

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

static _Noreturn void measure(const struct chosen *k, uint64_t bias)
{
    const struct piece *p = &k->piece;
    const uint64_t begin = p->first + bias, first = begin & ~(uint64_t)(PAGE - 1),
                   size = ((begin + p->n) | (PAGE - 1)) + 1 - first;
    struct sigaction action = {.sa_sigaction = at_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 6; i++)
        sigaction((int[]){SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGTRAP, SIGALRM}[i], &action, NULL);
    alarm(3);
    uint8_t *routine = mmap(NULL, BARE_ROUTINE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *code = mmap((void *)first, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (routine == MAP_FAILED || code == MAP_FAILED)
        give_up("address taken");
    struct iovec own = {code, size}, its = {code, size};
    process_vm_readv(target, &own, 1, &its, 1, 0);
    const struct user_regs_struct *r = &registers;
    const uint64_t from[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                             r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    const struct bare_loop loop = {begin + p->head, p->counter, vector_state};
    memcpy(code + (begin - first), p->code, p->n);
    const uint64_t leave = bare_prepare(routine, &loop);
    memcpy(code + (begin - first) + p->exit_at, &leave, sizeof leave);
    bare_measure(from, &n_pages, &shared->time);
    _exit(0);
}
