/* SPDX-License-Identifier: MIT */
/* A JIT compiler of two methods, "shop.parse" and "shop.render", which it runs in turn. Each says by a tag that it runs
 * (for `observe`), and its code is registered (for `record`). The program prints how they shared its CPU time, by the
 * clock.
 *
 *      jit [--seconds S] [--names PARSE,RENDER] [--child] [--then PROGRAM [ARGUMENT...]]
 *
 * --child: a forked child runs what was compiled here. --then: becomes that program at the end. */
#include "signals/cyclescope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARSE, RENDER, N_METHODS };
static const char *names[] = {"shop.parse", "shop.render"};
#define CODE_BYTES 64
#define TURNS 200000 /* of parse's loop in a call; render does three times as many */

typedef void made_code(volatile uint64_t *line, uint64_t turns);

static cs_signal method;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Machine code of a method: tag, loop, return. Its size. */
static size_t emit(unsigned char *to, uint32_t id)
{
#if defined(__x86_64__)
    /* movq $id, 8*method(%rdi); 1: dec %rsi; jnz 1b; ret */
    const unsigned char code[] = {
        0x48, 0xc7, 0x47, (unsigned char)(8 * method), (unsigned char)id, 0, 0, 0, 0x48, 0xff, 0xce,
        0x75, 0xfb, 0xc3};
#elif defined(__aarch64__)
    /* mov x2, #id; str x2, [x0, #8*method]; 1: subs x1, x1, #1; b.ne 1b; ret */
    const uint32_t code[] = {0xd2800002 | id << 5, 0xf9000002 | method << 10, 0xf1000421, 0x54ffffe1,
                             0xd65f03c0};
#elif defined(__riscv)
    /* li a2, id; sd a2, 8*method(a0); 1: addi a1, a1, -1; bnez a1, 1b; ret */
    const uint32_t code[] = {0x00000613 | id << 20, 0x00c53023 | (method & 3) << 10 | (method >> 2) << 25,
                             0xfff58593, 0xfe059ee3, 0x00008067};
#endif
    memcpy(to, code, sizeof code);
    __builtin___clear_cache((char *)to, (char *)to + sizeof code);
    return sizeof code;
}

/* Ids begin with 1: 0 is what the tag is before anything ran. */
static made_code *compile(unsigned char *to, uint32_t which)
{
    const size_t bytes = emit(to, which + 1);
    cs_name_code(method, which + 1, names[which], to, bytes);
    return (made_code *)(uintptr_t)to;
}

/* Adds up the CPU time that each takes. */
static void run(made_code *const made[], double seconds, double spent[])
{
    volatile uint64_t *line = cs_attach();
    const double until = seconds_of(CLOCK_MONOTONIC) + seconds;
    while (seconds_of(CLOCK_MONOTONIC) < until)
        for (uint32_t which = PARSE; which < N_METHODS; which++) {
            const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
            made[which](line, which == PARSE ? TURNS : 3 * TURNS);
            spent[which] += seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
        }
}

static int usage(void)
{
    fprintf(stderr,
            "usage: jit [--seconds S] [--names PARSE,RENDER] [--child] [--then PROGRAM [ARGUMENT...]]\n");
    return 2;
}

int main(int argc, char **argv)
{
    double seconds = 2, spent[N_METHODS] = {0};
    int child = 0, i = 1;
    for (; i < argc && strcmp(argv[i], "--then") != 0; i++)
        if (strcmp(argv[i], "--child") == 0)
            child = 1;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--names") == 0 && i + 1 < argc && strchr(argv[i + 1], ',')) {
            names[PARSE] = strtok(argv[++i], ",");
            names[RENDER] = strtok(NULL, ",");
        } else
            return usage();
    unsigned char *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return perror("jit: memory that may be run"), 1;
    method = cs_define(CS_ANY_WORD, "method", CS_TAG);
    made_code *const made[] = {compile(memory, PARSE), compile(memory + CODE_BYTES, RENDER)};
    if (child && fork() > 0)
        return wait(NULL) < 0;
    run(made, seconds, spent);
    const double parse = 100 * spent[PARSE] / (spent[PARSE] + spent[RENDER]);
    printf("%s %.1f %%, %s %.1f %%\n", names[PARSE], parse, names[RENDER], 100 - parse);
    fflush(stdout);
    if (i + 1 < argc)
        execvp(argv[i + 1], argv + i + 1);
    return 0;
}
