/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Problems whose reason the text or the waits prove, and their likes that aren't, for explain_reasons.sh:
 *     reasons total SECONDS     a running total in memory, through pointers that may be the same
 *     reasons local SECONDS     the same total in a register
 *     reasons flag SECONDS      a thread that loads a flag until another one sets it
 *     reasons search SECONDS    a loop that stores nothing either, but moves on through memory
 *     reasons clock SECONDS     a loop that another thread needn't end: it looks at the clock
 *     reasons children N        N processes, one after the other, each of which writes one word into a pipe
 *     reasons asleep N          a thread that waits N times for one that sleeps before it signals */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VALUES = 1000 };
static double until;
static long values[VALUES], totals[2], rounds;
static atomic_int flag;
static volatile long result;
static sem_t ready;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noipa)) static void add_to(long *sum, long *check, const long *of, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *sum += of[i];
        *check += *sum ^ i; /* total */
    }
}

__attribute__((noipa)) static void add_up(long *sum, long *check, const long *of, unsigned n)
{
    long s = *sum, c = *check;
    for (unsigned i = 0; i < n; i++) {
        s += of[i];
        c += s ^ i;
        __asm__ volatile("" : "+r"(s), "+r"(c)); /* no vectors: the same additions */
    }
    *sum = s;
    *check = c;
}

__attribute__((noinline)) static void wait_for_flag(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed)) /* flag */
        ;
}

__attribute__((noinline)) static const long *search(const long *v)
{
    while (!*(const volatile long *)v)
        v++;
    return v;
}

__attribute__((noinline)) static void wait_for_clock(void)
{
#ifdef __x86_64__
    const uint64_t ends = __builtin_ia32_rdtsc() + 100000;
    while (!atomic_load_explicit(&flag, memory_order_relaxed) && __builtin_ia32_rdtsc() < ends)
        ;
#endif
}

static void *set_flag(void *arg)
{
    while (now() < until)
        usleep(10000);
    atomic_store(&flag, 1);
    return arg;
}

static void children(long n)
{
    for (long i = 0; i < n; i++) {
        int ends[2];
        char c;
        if (pipe(ends))
            exit(1);
        const pid_t pid = fork();
        if (pid == 0) {
            usleep(2000);
            _exit(write(ends[1], "1", 1) != 1);
        }
        close(ends[1]);
        result += read(ends[0], &c, 1);
        close(ends[0]);
        waitpid(pid, NULL, 0);
    }
}

__attribute__((noinline)) static void look_for_work(void)
{
    usleep(3000);
}

static void *signal_late(void *arg)
{
    for (long i = 0; i < rounds; i++) {
        look_for_work();
        sem_post(&ready);
    }
    return arg;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t thread;
    until = now() + (argc > 2 ? atof(argv[2]) : 1);
    rounds = argc > 2 ? atol(argv[2]) : 1;
    if (strcmp(mode, "children") == 0) {
        children(rounds);
    } else if (strcmp(mode, "asleep") == 0) {
        sem_init(&ready, 0, 0);
        pthread_create(&thread, NULL, signal_late, NULL);
        for (long i = 0; i < rounds; i++)
            sem_wait(&ready);
        pthread_join(thread, NULL);
    } else if (strcmp(mode, "flag") == 0) {
        pthread_create(&thread, NULL, set_flag, NULL);
        wait_for_flag();
        pthread_join(thread, NULL);
    } else {
        values[VALUES - 1] = 1;
        while (now() < until)
            for (unsigned i = 0; i < 100; i++)
                if (strcmp(mode, "total") == 0)
                    add_to(totals, totals + 1, values, VALUES);
                else if (strcmp(mode, "local") == 0)
                    add_up(totals, totals + 1, values, VALUES);
                else if (strcmp(mode, "search") == 0)
                    result += *search(values);
                else
                    wait_for_clock();
    }
    return 0;
}
