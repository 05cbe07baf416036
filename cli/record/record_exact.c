/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting events on the command, inherited by what it starts. The fixed loop has two halves: dependent additions,
 * which depend on the core's clock, and a chase through 8 MB of memory. */
#include "cli/record/record_exact.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ADDITIONS 8000000
#define CHASED (1U << 20) /* words of 8 bytes: 8 MB */
#define STEPS 200000

static const struct {
    const char *counter;
    uint32_t type;
    uint64_t config;
    bool user_only;
} counted[EXACT_COUNTS] = {
    {"exact.task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false},
    {"exact.page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false},
    {"exact.context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false},
    {"exact.system-calls", PERF_TYPE_TRACEPOINT, 0, false},
    {"exact.instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true},
};

/* 0: tracefs isn't mounted, or not for us. */
static uint64_t tracepoint_of_system_calls(void)
{
    static const char *const at[] = {"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
                                     "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id"};
    for (unsigned i = 0; i < 2; i++) {
        const long id = cs_kernel_number(0, "%s", at[i]);
        if (id > 0)
            return (uint64_t)id;
    }
    return 0;
}

static uint64_t time_loop(void)
{
    uint64_t *next = malloc(CHASED * sizeof *next), x = 1;
    if (!next)
        return 0;
    /* A full cycle through all words: the multiplier is 5 modulo 8, the increment odd. */
    for (uint64_t i = 0; i < CHASED; i++)
        next[i] = (i * 1664525 + 1013904223) % CHASED;
    const clockid_t clock = CLOCK_THREAD_CPUTIME_ID; /* the time of other programs is no matter of pace */
    uint64_t began = cs_clock_ns(clock);
    for (unsigned i = 0; i < ADDITIONS; i++) {
        x += i;
        __asm__ volatile("" : "+r"(x));
    }
    for (unsigned i = 0; i < STEPS; i++)
        x = next[x % CHASED];
    __asm__ volatile("" ::"r"(x));
    uint64_t took = cs_clock_ns(clock) - began;
    free(next);
    return took;
}

void record_exact_open(struct exact_counts *exact, pid_t command, bool calibrate)
{
    exact->calibrate = calibrate;
    if (calibrate)
        exact->loop_ns = time_loop();
    for (unsigned i = 0; i < EXACT_COUNTS; i++) {
        struct perf_event_attr attr = {.type = counted[i].type,
                                       .size = sizeof attr,
                                       .config = counted[i].config,
                                       .disabled = 1,
                                       .enable_on_exec = 1,
                                       .inherit = 1,
                                       .exclude_kernel = counted[i].user_only,
                                       .exclude_hv = counted[i].user_only};
        exact->fd[i] = -1;
        if (attr.type == PERF_TYPE_TRACEPOINT && !(attr.config = tracepoint_of_system_calls()))
            continue;
        exact->fd[i] = (int)syscall(SYS_perf_event_open, &attr, command, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
}

int record_exact_keep(struct exact_counts *exact, double seconds, struct cs_store *store,
                      struct cs_error *err)
{
    assert(seconds >= 0);
    struct cs_counter counter[EXACT_COUNTS + 3];
    size_t n = 0;
    for (unsigned i = 0; i < EXACT_COUNTS; i++) {
        uint64_t value;
        if (exact->fd[i] > 0 && read(exact->fd[i], &value, sizeof value) == sizeof value &&
            (value || counted[i].type == PERF_TYPE_SOFTWARE))
            counter[n++] = (struct cs_counter){counted[i].counter, value};
        if (exact->fd[i] > 0)
            close(exact->fd[i]);
        exact->fd[i] = -1;
    }
    if (n)
        counter[n++] = (struct cs_counter){"exact.elapsed", (uint64_t)(seconds * 1e9)};
    if (exact->calibrate && exact->loop_ns)
        counter[n++] = (struct cs_counter){"machine.loop", (exact->loop_ns + time_loop()) / 2};
    return n ? cs_store_count_all(store, counter, n, err) : 0;
}
