/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's counting on real counters: single, grouped, multiplexed, per thread, inherited, attached. */
#include "tests/vm/truth.h"

#include <pthread.h>
#include <sys/wait.h>

int failures;

#define LOOP 10000000u

static double scaled(struct reading r)
{
    return (double)r.value * (double)r.enabled_ns / (double)r.running_ns;
}

static void inherited(struct perf_event_attr *attr)
{
    attr->inherit = 1;
}

static void counts_a_known_loop(void)
{
    int instructions = open_event(INSTRUCTIONS, 0, -1, NULL), cycles = open_event(CYCLES, 0, -1, NULL);
    uint64_t i0 = read_event(instructions).value, c0 = read_event(cycles).value;
    spin(LOOP);
    uint64_t c1 = read_event(cycles).value, i1 = read_event(instructions).value;
    expect_instructions("instructions-of-a-loop", 2.0 * LOOP, (double)(i1 - i0), SLACK);
    expect_cycles("cycles-of-a-loop", 2.0 * LOOP, (double)(c1 - c0), 2 * SLACK);
    close(instructions);
    close(cycles);
}

static void group_format(struct perf_event_attr *attr)
{
    attr->read_format = PERF_FORMAT_GROUP;
}

static void counts_in_a_group(void)
{
    int leader = open_event(CYCLES, 0, -1, group_format),
        member = open_event(INSTRUCTIONS, 0, leader, group_format);
    uint64_t a[3] = {0}, b[3] = {0};
    bool whole = read(leader, a, sizeof a) == sizeof a;
    spin(LOOP);
    whole &= read(leader, b, sizeof b) == sizeof b;
    expect("group-has-two-members", 2, (double)b[0], 0);
    expect("group-read-is-whole", 1, whole, 0);
    expect("group-cycles-an-instruction-x1000", 1000 * CYCLES_AN_INSTRUCTION,
           1000.0 * (double)(b[1] - a[1]) / (double)(b[2] - a[2]), 1);
    close(member);
    close(leader);
}

static void multiplexes_with_scaling(void)
{
    enum { EVENTS = 12, ROUNDS = 20 };
    int fds[EVENTS];
    for (int i = 0; i < EVENTS; i++)
        fds[i] = open_event(i % 2 ? CYCLES : INSTRUCTIONS, 0, -1, NULL);
    for (int i = 0; i < ROUNDS; i++)
        spin(LOOP);
    double worst_instructions = 0, worst_cycles = 0;
    bool multiplexed = false;
    for (int i = 0; i < EVENTS; i++) {
        struct reading r = read_event(fds[i]);
        multiplexed |= r.running_ns < r.enabled_ns;
        double error = scaled(r) / ((i % 2 ? 2.0 * CYCLES_AN_INSTRUCTION : 2.0) * ROUNDS * LOOP) - 1,
               *worst = i % 2 ? &worst_cycles : &worst_instructions;
        if (error * error > *worst * *worst)
            *worst = error;
        close(fds[i]);
    }
    expect("twelve-events-share-the-counters", 1, multiplexed, 0);
    expect("multiplexed-instructions-worst-error-ppm", 0, 1e6 * worst_instructions, 5000);
    expect("multiplexed-cycles-worst-error-ppm", 0, 1e6 * worst_cycles, 5000);
}

static void *spin_thread(void *n)
{
    spin((uint64_t)(uintptr_t)n);
    return NULL;
}

static void counts_per_thread_and_inherited(void)
{
    int own = open_event(INSTRUCTIONS, 0, -1, NULL), all = open_event(INSTRUCTIONS, 0, -1, inherited);
    uint64_t own0 = read_event(own).value, all0 = read_event(all).value;
    pthread_t thread;
    pthread_create(&thread, NULL, spin_thread, (void *)(uintptr_t)LOOP);
    pthread_join(thread, NULL);
    expect("other-thread-is-not-counted", 0, (double)(read_event(own).value - own0), 100000);
    expect_instructions("inherited-thread-is-counted", 2.0 * LOOP, (double)(read_event(all).value - all0),
                        100000);
    close(own);
    close(all);
}

static void counts_an_attached_process(void)
{
    int go[2];
    if (pipe(go) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        char c;
        if (read(go[0], &c, 1) == 1)
            spin(LOOP);
        _exit(0);
    }
    int fd = open_event(INSTRUCTIONS, child, -1, NULL);
    if (write(go[1], "g", 1) != 1)
        failures++;
    waitpid(child, NULL, 0);
    expect_instructions("attached-process", 2.0 * LOOP, (double)read_event(fd).value, SLACK);
    close(fd);
    close(go[0]);
    close(go[1]);
}

int main(void)
{
    if (!has_pmu())
        return 77;
    counts_a_known_loop();
    counts_in_a_group();
    multiplexes_with_scaling();
    counts_per_thread_and_inherited();
    counts_an_attached_process();
    return failures != 0;
}
