/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child reads the clock without end while such a timer interrupts it. Where the handler ran between two readings,
 * their distance is what the sample took, the kernel's tick included. The median counts: a host that was away is no
 * cost. */
#include "sampler/timers/timers.h"
#include "store/base/clock.h"
#include "store/base/order.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 15
#define ROUNDS 2 /* of a timer, to a sample (signals/timers/timers.c) */
#define PERIOD_NS 1000000L
#define WAIT_NS 200000000ULL
#define ASSUMED_SECONDS 10e-6 /* where none could be measured */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct measured {
    timer_t timer;
    volatile sig_atomic_t met;
};

/* What the preloaded library's handler asks of the kernel: nothing. */
static void sample(int signal, siginfo_t *info, void *context)
{
    struct measured *m = info->si_value.sival_ptr;
    struct timespec t;
    (void)signal;
    (void)context;
    if (info->si_code != SI_TIMER)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    m->met++;
}

CS_ORDER(ascending, uint64_t, cs_order(*a, *b))

static _Noreturn void measure(int out)
{
    const struct itimerspec when = {{0, PERIOD_NS}, {0, PERIOD_NS}};
    const struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct measured m = {.met = 0};
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG, .sigev_value.sival_ptr = &m};
    uint64_t took[SAMPLES], begin = cs_monotonic_ns(), last = begin, median;
    int n = 0, seen = 0;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (sigaction(SIGURG, &action, NULL) != 0 ||
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &m.timer) != 0 ||
        timer_settime(m.timer, 0, &when, NULL) != 0)
        _exit(1);
    while (n < SAMPLES && last - begin < WAIT_NS) {
        uint64_t now = cs_monotonic_ns();
        if (m.met != seen) {
            seen = m.met;
            took[n++] = now - last;
        }
        last = now;
    }
    if (n == 0)
        _exit(1);
    cs_sort(took, (size_t)n, ascending);
    median = took[n / 2];
    _exit(write(out, &median, sizeof median) != (ssize_t)sizeof median);
}

double cs_timers_sample_seconds(void)
{
    uint64_t ns = 0;
    int ends[2];
    if (pipe(ends) != 0)
        return ASSUMED_SECONDS;
    pid_t child = fork();
    if (child == 0)
        measure(ends[1]);
    close(ends[1]);
    if (child < 0 || read(ends[0], &ns, sizeof ns) != (ssize_t)sizeof ns)
        ns = 0;
    close(ends[0]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    return ns > 0 && ns < 10000000 ? ROUNDS * (double)ns * 1e-9 : ASSUMED_SECONDS;
}
