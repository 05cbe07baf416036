/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that exchange numbered messages through sockets while a timer's signal interrupts them, and check every number, every
 * sum and every call. Whoever profiles it must not change one. usage: exchange SECONDS. Exit 0 and "unharmed", or 1 and
 * what was harmed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 3

static atomic_bool over;
static atomic_long ticks, messages;

_Noreturn static void harmed(const char *what)
{
    printf("harmed: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

struct message {
    uint64_t number, work;
};

static uint64_t work_of(uint64_t number)
{
    uint64_t x = number | 1;
    for (int i = 0; i < 3000; i++)
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return x;
}

/* The handler restarts what it interrupts: EINTR is ours to miss, never ours to see. */
static void move_all(int fd, struct message *m, bool out)
{
    for (size_t done = 0; done < sizeof *m;) {
        ssize_t n = out ? write(fd, (char *)m + done, sizeof *m - done)
                        : read(fd, (char *)m + done, sizeof *m - done);
        if (n <= 0)
            harmed(out ? "write" : "read");
        done += (size_t)n;
    }
}

static void *ask(void *arg)
{
    int fd = *(int *)arg;
    struct message m = {0, 0};
    for (uint64_t number = 1; !over; number++) {
        m = (struct message){number, 0};
        move_all(fd, &m, true);
        move_all(fd, &m, false);
        if (m.number != number + 1 || m.work != work_of(number))
            harmed("an answer");
        messages++;
    }
    m.number = 0;
    move_all(fd, &m, true);
    return NULL;
}

static void *answer(void *arg)
{
    int fd = *(int *)arg;
    struct message m;
    for (uint64_t number = 1;; number++) {
        move_all(fd, &m, false);
        if (m.number == 0)
            return NULL;
        if (m.number != number)
            harmed("a question");
        m = (struct message){number + 1, work_of(number)};
        move_all(fd, &m, true);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[2 * PAIRS];
    int ends[PAIRS][2];
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < PAIRS; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) ||
            pthread_create(&threads[2 * i], NULL, ask, &ends[i][0]) ||
            pthread_create(&threads[2 * i + 1], NULL, answer, &ends[i][1]))
            harmed("a beginning");
    setitimer(ITIMER_REAL, &every, NULL);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += argc > 1 ? atoi(argv[1]) : 3;
    int rc;
    while ((rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) == EINTR)
        ;
    if (rc)
        harmed("clock_nanosleep");
    over = true;
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    if (ticks == 0 || messages == 0)
        harmed("no ticks or messages");
    puts("unharmed");
    return 0;
}
