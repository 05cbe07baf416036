/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/pause.h"
#include "observer/observation.h"

#include <assert.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_SIGNAL (SIGRTMIN + 3)

static void on_timer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code == SI_TIMER) /* what the kernel sends for our timer only */
        __atomic_fetch_or((int *)info->si_value.sival_ptr, CS_LOOP_PAUSED, __ATOMIC_RELAXED);
}

int cs_pause_open(struct cs_pause *p, struct cs_observation *o)
{
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = PAUSE_SIGNAL};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    event.sigev_value.sival_ptr = &o->loop.stop;
    p->o = o;
    sigaction(PAUSE_SIGNAL, &action, &p->before);
    if (timer_create(CLOCK_MONOTONIC, &event, &p->timer) == 0)
        return 0;
    const int code = errno;
    sigaction(PAUSE_SIGNAL, &p->before, NULL);
    return -code;
}

bool cs_pause_goes_on(const struct cs_pause *p)
{
    return !(__atomic_load_n(&p->o->loop.stop, __ATOMIC_RELAXED) & ~CS_LOOP_PAUSED);
}

void cs_pause_look(struct cs_pause *p, uint64_t ns)
{
    assert(ns > 0);
    const struct itimerspec after = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)}};
    timer_settime(p->timer, 0, &after, NULL);
    p->o->run(&p->o->loop);
    __atomic_fetch_and(&p->o->loop.stop, ~CS_LOOP_PAUSED, __ATOMIC_RELAXED);
}

void cs_pause_close(struct cs_pause *p)
{
    timer_delete(p->timer);
    sigaction(PAUSE_SIGNAL, &p->before, NULL);
}
