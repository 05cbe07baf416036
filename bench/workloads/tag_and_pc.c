/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linked into a program built with the plugin: at random moments a timer's signal notes the tag of that
 * moment, the instruction that was interrupted, and from where it was called: what tags are judged by, with
 * no observer in the way. Written to descriptor 3 at the end, a line a moment: "tag pc caller caller ...",
 * hexadecimal offsets in the image (0 = outside of it). */
#define CS_EXECUTABLE
#include "signals/cyclescope.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

#define NOTES_MAX 100000
#define DEPTH 16
#define PERIOD_NS 100000u /* and up to as much again */

extern const char __ehdr_start[], _end[];
static struct {
    uint64_t ns, tag;
    void *pcs[DEPTH];
    int n;
} notes[NOTES_MAX];
static unsigned n_notes;
static timer_t timer;
static uint64_t last_ns;
static uint64_t seed = 88172645463325252u;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void arm(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    const struct itimerspec due = {.it_value = {.tv_nsec = PERIOD_NS + (long)(seed % PERIOD_NS)}};
    timer_settime(timer, 0, &due, NULL);
}

static void note(int signal, siginfo_t *info, void *context)
{
    const uint64_t tag = cs_get(CS_WORD_CODE);
    (void)signal;
    (void)info;
    void *frames[DEPTH + 2];
    const int n = backtrace(frames, DEPTH + 2) - 2; /* this function and the signal's return */
    if (n_notes < NOTES_MAX && n > 0) {
        const uint64_t now_ns = cpu_ns();
        notes[n_notes].ns = now_ns - last_ns;
        last_ns = now_ns;
        notes[n_notes].tag = tag;
        notes[n_notes].n = n;
        for (int i = 0; i < n; i++)
            notes[n_notes].pcs[i] = frames[i + 2];
        notes[n_notes++].pcs[0] = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    }
    arm();
}

__attribute__((constructor)) static void begin(void)
{
    void *first[1];
    backtrace(first, 1); /* it loads its library: not in a signal handler */
    last_ns = cpu_ns();
    const struct sigaction act = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &act, NULL);
    if (timer_create(CLOCK_MONOTONIC,
                     &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM}, &timer) == 0)
        arm();
}

static uint64_t offset(const void *address)
{
    const char *at = address;
    return at >= __ehdr_start && at < _end ? (uint64_t)(at - __ehdr_start) : 0;
}

__attribute__((destructor)) static void end(void)
{
    timer_delete(timer);
    cs_set(CS_WORD_CODE, 0); /* what comes now isn't noted */
    FILE *out = fdopen(3, "w");
    for (unsigned k = 0; out && k < n_notes; k++) {
        fprintf(out, "%ju %jx", (uintmax_t)notes[k].ns,
                (uintmax_t)((int64_t)notes[k].tag < 0 ? -notes[k].tag : notes[k].tag));
        for (int i = 0; i < notes[k].n; i++)
            fprintf(out, " %jx", (uintmax_t)offset(notes[k].pcs[i]));
        fprintf(out, "\n");
    }
    if (out)
        fclose(out);
}
