/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits of known kinds, by name of the case, for SECONDS. Logs what its threads waited by their own clocks:
 * "lived SECONDS" and "waited REASON SECONDS" at the end.
 *
 *   sleeping-lock    a thread sleeps with the lock held that others want
 *   short-sleeps     the same, by many sleeps that are each too short to be kept
 *   convoy           all want a lock, each computes with it held
 *   pipe             a stage that reads what a slow one writes
 *   run-queue        more threads that compute than CPUs
 *   inversion        on one CPU the holder of a lock hardly runs, for another thread that has a better priority computes
 *   file             fsync again and again, of argument 3
 *   phases           a thread goes through phases, each of a seventh of the time: computes, sleeps, reads a pipe, sleeps often and
 *                    shortly, computes, waits for a mutex, sleeps; logs "phase WHAT BEGIN END CPU-SECONDS" since the first
 *   switches         two threads hand a byte to and fro by pipes: as many switches as there can be; logs "ran SECONDS", too
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double until;
static _Atomic uint64_t waited_ns, switches, ran_ns;
static int ends[2], back[2];

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static int is_over(void)
{
    return (double)now_ns(CLOCK_MONOTONIC) * 1e-9 > until;
}

static void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

__attribute__((noinline)) static void compute_ms(unsigned ms)
{
    uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ULL;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

__attribute__((noinline)) static void hold_and_sleep(void)
{
    pthread_mutex_lock(&lock);
    sleep_ms(20);
    pthread_mutex_unlock(&lock);
    __asm__ volatile(""); /* no tail call: the chain is to have this function */
}

__attribute__((noinline)) static void hold_and_doze(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < 100; i++)
        nanosleep(&(struct timespec){0, 50000}, NULL);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

__attribute__((noinline)) static void take_lock(void)
{
    uint64_t before = now_ns(CLOCK_MONOTONIC);
    pthread_mutex_lock(&lock);
    waited_ns += now_ns(CLOCK_MONOTONIC) - before;
}

static void *sleeper(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "guilty");
    while (!is_over()) {
        hold_and_sleep();
        compute_ms(1);
    }
    return NULL;
}

static void *dozer(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "guilty");
    while (!is_over()) {
        hold_and_doze();
        compute_ms(1);
    }
    return NULL;
}

__attribute__((noinline)) static void want_the_lock(void)
{
    take_lock();
    pthread_mutex_unlock(&lock);
}

static void *wanter(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "victim");
    while (!is_over()) {
        want_the_lock();
        sleep_ms(1);
    }
    return NULL;
}

__attribute__((noinline)) static void compute_under_lock(void)
{
    take_lock();
    compute_ms(2);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

static void *member(void *arg)
{
    (void)arg;
    while (!is_over()) {
        compute_under_lock();
        sched_yield();
    }
    return NULL;
}

__attribute__((noinline)) static void produce_slowly(void)
{
    char byte = 1;
    compute_ms(10);
    if (write(ends[1], &byte, 1) != 1)
        abort();
}

static void *producer(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "guilty");
    while (!is_over())
        produce_slowly();
    close(ends[1]);
    return NULL;
}

__attribute__((noinline)) static int consume(void)
{
    char byte;
    uint64_t before = now_ns(CLOCK_MONOTONIC);
    ssize_t n = read(ends[0], &byte, 1);
    waited_ns += now_ns(CLOCK_MONOTONIC) - before;
    return n == 1;
}

static void *consumer(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "victim");
    while (consume())
        ;
    return NULL;
}

static void *computer(void *arg)
{
    uint64_t before = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)arg;
    while (!is_over())
        compute_ms(1);
    waited_ns += now_ns(CLOCK_MONOTONIC) - before - (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
    return NULL;
}

/* ---- priority inversion, all on one CPU ---- */

static void begin_inverted(const char *name, int nicer)
{
    cpu_set_t all, one;
    unsigned cpu = 0;
    pthread_setname_np(pthread_self(), name);
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + nicer); /* of the thread */
}

__attribute__((noinline)) static void hold_and_compute(void)
{
    pthread_mutex_lock(&lock);
    compute_ms(10);
    pthread_mutex_unlock(&lock);
    __asm__ volatile("");
}

static void *low(void *arg)
{
    (void)arg;
    begin_inverted("low", 12);
    while (!is_over()) {
        hold_and_compute();
        sleep_ms(5);
    }
    return NULL;
}

static void *middle(void *arg)
{
    (void)arg;
    begin_inverted("middle", 0);
    while (!is_over())
        compute_ms(1);
    return NULL;
}

static void *high(void *arg)
{
    (void)arg;
    begin_inverted("high", -5);
    while (!is_over()) {
        want_the_lock();
        sleep_ms(5);
    }
    return NULL;
}

static void *syncer(void *path)
{
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    while (fd >= 0 && !is_over()) {
        if (write(fd, "0123456789abcdef", 16) != 16)
            abort();
        uint64_t before = now_ns(CLOCK_MONOTONIC);
        fsync(fd);
        waited_ns += now_ns(CLOCK_MONOTONIC) - before;
    }
    return NULL;
}

/* ---- one after the other ---- */

static double phase_s;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void sleep_s(double s)
{
    nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL);
}

/* Writes and lets the lock go when it is told to: at the beginning of a phase by a byte. */
static void *other_side(void *arg)
{
    char byte;
    (void)arg;
    pthread_mutex_lock(&held);
    for (unsigned i = 0; i < 2 && read(back[0], &byte, 1) == 1; i++) {
        sleep_s(phase_s);
        if (i == 1)
            pthread_mutex_unlock(&held);
        else if (write(ends[1], &byte, 1) != 1)
            abort();
    }
    return NULL;
}

static void go_through(unsigned phase)
{
    char byte = 1;
    if (phase == 0 || phase == 4) {
        compute_ms((unsigned)(phase_s * 1e3));
    } else if (phase == 2) {
        if (write(back[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
            abort();
    } else if (phase == 3) {
        for (uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(phase_s * 1e9);
             now_ns(CLOCK_MONOTONIC) < end;)
            nanosleep(&(struct timespec){0, 200000}, NULL);
    } else if (phase == 5) {
        if (write(back[1], &byte, 1) != 1)
            abort();
        pthread_mutex_lock(&held);
        pthread_mutex_unlock(&held);
    } else {
        sleep_s(phase_s);
    }
}

static void *in_phases(void *arg)
{
    static const char *const names[] = {"running", "sleep", "pipe", "short", "running", "mutex", "sleep"};
    double begin[7], end[7], cpu[7];
    (void)arg;
    pthread_setname_np(pthread_self(), "phases");
    uint64_t start = now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < 7; i++) {
        uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
        begin[i] = (double)(now_ns(CLOCK_MONOTONIC) - start) * 1e-9;
        go_through(i);
        end[i] = (double)(now_ns(CLOCK_MONOTONIC) - start) * 1e-9;
        cpu[i] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - before) * 1e-9;
    }
    for (unsigned i = 0; i < 7; i++)
        printf("phase %s %.6f %.6f %.6f\n", names[i], begin[i], end[i], cpu[i]);
    return NULL;
}

static void *to_and_fro(void *arg)
{
    int *from = arg ? ends : back, *to = arg ? back : ends;
    char byte = 1;
    while (!is_over()) {
        if (arg && read(from[0], &byte, 1) != 1)
            break;
        if (write(to[1], &byte, 1) != 1)
            break;
        if (!arg && read(from[0], &byte, 1) != 1)
            break;
        switches++;
    }
    close(to[1]);
    ran_ns += now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void run(unsigned n, void *(*const starts[])(void *), void *arg)
{
    pthread_t threads[16];
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, starts[i], starts[i] == to_and_fro ? (i ? arg : NULL) : arg);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *reason = "lock";
    const double began = (double)now_ns(CLOCK_MONOTONIC) * 1e-9;
    until = began + atof(argv[2]);
    if (pipe(ends) != 0 || pipe(back) != 0)
        return 1;
    if (strcmp(argv[1], "sleeping-lock") == 0) {
        run(3, (void *(*[])(void *)){sleeper, wanter, wanter}, NULL);
    } else if (strcmp(argv[1], "short-sleeps") == 0) {
        run(3, (void *(*[])(void *)){dozer, wanter, wanter}, NULL);
    } else if (strcmp(argv[1], "convoy") == 0) {
        run(6, (void *(*[])(void *)){member, member, member, member, member, member}, NULL);
    } else if (strcmp(argv[1], "pipe") == 0) {
        reason = "pipe";
        run(2, (void *(*[])(void *)){producer, consumer}, NULL);
    } else if (strcmp(argv[1], "run-queue") == 0) {
        reason = "run-queue";
        run(6, (void *(*[])(void *)){computer, computer, computer, computer, computer, computer}, NULL);
    } else if (strcmp(argv[1], "inversion") == 0) {
        run(3, (void *(*[])(void *)){low, middle, high}, NULL);
    } else if (strcmp(argv[1], "file") == 0 && argc > 3) {
        reason = "file";
        run(1, (void *(*[])(void *)){syncer}, argv[3]);
    } else if (strcmp(argv[1], "phases") == 0) {
        phase_s = atof(argv[2]) / 7;
        run(2, (void *(*[])(void *)){other_side, in_phases}, NULL);
    } else if (strcmp(argv[1], "switches") == 0) {
        reason = "pipe";
        run(2, (void *(*[])(void *)){to_and_fro, to_and_fro}, ends);
        printf("switches %llu\n", (unsigned long long)switches);
        printf("ran %.6f\n", (double)ran_ns * 1e-9);
    } else {
        return 2;
    }
    printf("lived %.6f\n", (double)now_ns(CLOCK_MONOTONIC) * 1e-9 - began);
    printf("waited %s %.6f\n", reason, (double)waited_ns * 1e-9);
    return 0;
}
