/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs with a planted bottleneck, by name of the case: a fixed amount of work. With "mended" in place of "slow" the
 * function that is the bottleneck (bottleneck()) takes half its time. Prints the seconds that it took, by the clock.
 *
 *   serial      one thread: half of the time is the bottleneck's
 *   pool        two workers compute, the first thread joins them; the first one's work is longer
 *   lock        two workers: the bottleneck is under a lock that both want
 *   sleep-lock  the same, asleep with the lock held
 *   pipeline    three stages by pipes, the second is slow
 *   queue       a producer hands items over by a condition, and makes them slowly
 *   phases      first serial, then two workers behind a barrier each round
 *   server      the first thread asks by a pipe and waits for the answer
 *   file        fsync between computing
 *   hidden      a worker beside a longer one: mending it saves nothing
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double factor = 1; /* of the bottleneck's time */
static const char *scratch;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int items;

__attribute__((always_inline)) static inline uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* CPU time, so that what other programs take isn't work. */
__attribute__((noinline)) static void compute(double ms)
{
    uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(ms * 1e6);
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
    __asm__ volatile("");
}

__attribute__((noinline)) static void bottleneck(double ms)
{
    uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(ms * factor * 1e6);
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
    __asm__ volatile("");
}

__attribute__((noinline)) static void bottleneck_asleep(double ms)
{
    nanosleep(&(struct timespec){0, (long)(ms * factor * 1e6)}, NULL);
    __asm__ volatile("");
}

static pthread_t start(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, arg) != 0)
        exit(1);
    return thread;
}

static void name(const char *to)
{
    prctl(PR_SET_NAME, to);
}

/* Of a thread that never waits nobody knows where it began: some do once, when the recording knows the program. */
__attribute__((noinline)) static void rest(int turn)
{
    if (turn == 40)
        nanosleep(&(struct timespec){0, 6000000}, NULL);
    __asm__ volatile("");
}

static void serial(void)
{
    for (int i = 0; i < 100; i++) {
        bottleneck(10);
        compute(10);
    }
}

static void *long_worker(void *arg)
{
    (void)arg;
    name("long");
    for (int i = 0; i < 100; i++) {
        rest(i);
        compute(5);
        bottleneck(15);
    }
    return NULL;
}

static void *short_worker(void *arg)
{
    (void)arg;
    name("short");
    for (int i = 0; i < 80; i++) {
        rest(i);
        compute(10);
    }
    return NULL;
}

static void pool(void)
{
    pthread_t a = start(long_worker, NULL), b = start(short_worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void *locker(void *arg)
{
    name("locker");
    for (int i = 0; i < 80; i++) {
        compute(4);
        pthread_mutex_lock(&lock);
        if (arg)
            bottleneck_asleep(8);
        else
            bottleneck(8);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void locks(bool asleep)
{
    static int yes;
    pthread_t a = start(locker, asleep ? &yes : NULL), b = start(locker, asleep ? &yes : NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static int one[2], two[2];

static void *first_stage(void *arg)
{
    (void)arg;
    name("first");
    for (int i = 0; i < 150; i++) {
        compute(2);
        if (write(one[1], "x", 1) != 1)
            exit(1);
    }
    close(one[1]);
    return NULL;
}

static void *second_stage(void *arg)
{
    char c;
    (void)arg;
    name("second");
    while (read(one[0], &c, 1) == 1) {
        bottleneck(10);
        if (write(two[1], "x", 1) != 1)
            exit(1);
    }
    close(two[1]);
    return NULL;
}

static void pipeline(void)
{
    char c;
    if (pipe(one) != 0 || pipe(two) != 0)
        exit(1);
    pthread_t a = start(first_stage, NULL), b = start(second_stage, NULL);
    while (read(two[0], &c, 1) == 1)
        compute(1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void *producer(void *arg)
{
    (void)arg;
    name("producer");
    for (int i = 0; i < 150; i++) {
        bottleneck(10);
        pthread_mutex_lock(&lock);
        while (items == 4)
            pthread_cond_wait(&emptied, &lock);
        items++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void queue(void)
{
    pthread_t a = start(producer, NULL);
    for (int i = 0; i < 150; i++) {
        pthread_mutex_lock(&lock);
        while (items == 0)
            pthread_cond_wait(&filled, &lock);
        items--;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
        compute(3);
    }
    pthread_join(a, NULL);
}

static pthread_barrier_t barrier;

static void *side(void *arg)
{
    (void)arg;
    name("side");
    for (int i = 0; i < 60; i++) {
        pthread_barrier_wait(&barrier);
        bottleneck(20);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void phases(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t a = start(side, NULL);
    for (int i = 0; i < 60; i++) {
        compute(8);
        pthread_barrier_wait(&barrier);
        compute(6);
        pthread_barrier_wait(&barrier);
    }
    pthread_join(a, NULL);
}

static void *answerer(void *arg)
{
    char c;
    (void)arg;
    name("answerer");
    while (read(one[0], &c, 1) == 1) {
        compute(2);
        bottleneck(8);
        if (write(two[1], "x", 1) != 1)
            exit(1);
    }
    return NULL;
}

static void server(void)
{
    char c;
    if (pipe(one) != 0 || pipe(two) != 0)
        exit(1);
    pthread_t a = start(answerer, NULL);
    for (int i = 0; i < 120; i++) {
        compute(4);
        if (write(one[1], "x", 1) != 1 || read(two[0], &c, 1) != 1)
            exit(1);
    }
    close(one[1]);
    pthread_join(a, NULL);
}

static void file(void)
{
    int fd = open(scratch, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (fd < 0)
        exit(1);
    for (int i = 0; i < 100; i++) {
        bottleneck(12);
        if (write(fd, "line\n", 5) != 5 || fsync(fd) != 0)
            exit(1);
    }
    close(fd);
    unlink(scratch);
}

static void *hidden_worker(void *arg)
{
    (void)arg;
    name("hidden");
    for (int i = 0; i < 60; i++) {
        rest(i);
        bottleneck(10);
    }
    return NULL;
}

static void hidden(void)
{
    pthread_t a = start(hidden_worker, NULL);
    for (int i = 0; i < 150; i++)
        compute(10);
    pthread_join(a, NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"serial", serial}, {"pool", pool},     {"pipeline", pipeline}, {"queue", queue},
                 {"phases", phases}, {"server", server}, {"file", file},         {"hidden", hidden}};
    if (argc < 3) {
        fprintf(stderr, "usage: %s CASE slow|mended [FILE]\n", argv[0]);
        return 2;
    }
    factor = strcmp(argv[2], "mended") == 0 ? 0.5 : 1;
    scratch = argc > 3 ? argv[3] : "bottleneck.tmp";
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    if (strcmp(argv[1], "lock") == 0 || strcmp(argv[1], "sleep-lock") == 0)
        locks(argv[1][0] == 's');
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    printf("%.3f\n", (double)(now_ns(CLOCK_MONOTONIC) - begin) * 1e-9);
    return 0;
}
