/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/visits.h"
#include "observer/loop/throttle.h"
#include "observer/observation.h"
#include "observer/pause.h"
#include "observer/source/clock.h"
#include "store/base/kernel_files.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 5000000  /* at least; up to twice as long again, uniform: no rhythm of the program is met */
#define THREADS_MOST 256 /* whose CPUs are looked up in proc(5) a second */
#define LOOK_PERIODS 8   /* or as long as so many samples take */

struct visits {
    struct cs_observation *o;
    struct cs_topology *topology;
    struct cs_pause pause;
    cpu_set_t possible; /* the observer may be there, and knows who runs */
    cpu_set_t used;     /* by its threads, as proc(5) has it */
    uint64_t due;       /* when that is looked up again */
    unsigned cpu;       /* watched now */
};

static const volatile struct cs_os_line *line(const struct visits *v, unsigned cpu)
{
    return cs_os_line(v->o->os, cpu);
}

static bool runs_on(const struct visits *v, unsigned cpu)
{
    return line(v, cpu)->process == (unsigned)v->o->seen.pid;
}

/* Where a thread is: field 39 of proc(5)'s stat; with `active` only of one that runs or waits to run (field 3). */
static unsigned cpu_of(pid_t pid, pid_t tid, bool active, unsigned otherwise)
{
    char text[1024];
    cs_kernel_text(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    const char *state = cs_stat_field(text, 3), *cpu = cs_stat_field(text, 39);
    return cpu && (!active || *state == 'R') ? (unsigned)strtoul(cpu, NULL, 10) : otherwise;
}

/* A thread may not have run yet: it may wait for the very CPU that the observer has. */
static void add_waiting(struct visits *v)
{
    pid_t *tids;
    const int n = cs_tasks_of(v->o->seen.pid, &tids);
    for (int i = 0; i < n && i < THREADS_MOST; i++) {
        const unsigned cpu = cpu_of(v->o->seen.pid, tids[i], true, CS_VISITS_CPUS_MAX);
        if (cpu < CS_VISITS_CPUS_MAX)
            CPU_SET(cpu, &v->used);
    }
    free(tids);
}

static bool has_run_on(const struct visits *v, unsigned cpu)
{
    return runs_on(v, cpu) || line(v, cpu)->ran_ns > 0 || CPU_ISSET(cpu, &v->used);
}

/* The next one that the program uses; of one thread alone, that on which it is. */
static unsigned next_cpu(struct visits *v)
{
    const pid_t only = v->o->options.thread;
    const unsigned its = only ? cpu_of(v->o->seen.pid, only, false, v->cpu) : 0;
    const uint64_t now = cs_clock();
    if (now >= v->due) {
        add_waiting(v);
        v->due = now + (uint64_t)v->o->seen.cycles_per_second;
    }
    for (unsigned i = 1; i <= CS_VISITS_CPUS_MAX; i++) {
        const unsigned cpu = (v->cpu + i) % CS_VISITS_CPUS_MAX;
        if (!CPU_ISSET(cpu, &v->possible) || (int)cpu == v->o->options.observer_cpu)
            continue;
        if (only ? cpu == its : has_run_on(v, cpu))
            return cpu;
    }
    return v->cpu;
}

/* Beside the CPU that is watched: where the program never was, else where it isn't now. Where it is everywhere, the observer takes
 * by turns the CPU that it watched before, so that each thread loses as much as any other. */
static int place(struct visits *v, unsigned before, struct cs_placement *at, struct cs_error *err)
{
    static bool (*const avoided[])(const struct visits *v, unsigned cpu) = {has_run_on, runs_on};
    const struct cs_observe_options *o = &v->o->options;
    const bool turns = !o->smt && o->observer_cpu == CS_ANY_CPU && before != v->cpu;
    for (unsigned i = 0; i < 2; i++) {
        struct cs_cpu_set taken = {0};
        for (unsigned cpu = 0; cpu < CS_VISITS_CPUS_MAX; cpu++)
            if (cpu != v->cpu && CPU_ISSET(cpu, &v->possible) && avoided[i](v, cpu))
                taken.bits[cpu / (8 * sizeof taken.bits[0])] |= 1ul << cpu % (8 * sizeof taken.bits[0]);
        if (cs_placement_choose(v->topology, (int)v->cpu, o->observer_cpu, o->smt, &taken, at, err) == 0)
            return 0;
    }
    return cs_placement_choose(v->topology, (int)v->cpu, turns ? (int)before : o->observer_cpu, o->smt, NULL,
                               at, err);
}

static int go_on(struct visits *v)
{
    struct cs_observation *o = v->o;
    const unsigned before = v->cpu;
    cpu_set_t there;
    v->cpu = next_cpu(v);
    const int rc = place(v, before, &o->seen.placement, &o->err);
    if (rc < 0)
        return rc;
    CPU_ZERO(&there);
    CPU_SET(o->seen.placement.observer, &there);
    sched_setaffinity(0, sizeof there, &there);
    cs_follow_line(&o->loop, line(v, v->cpu));
    return 0;
}

/* Each has the same time from when the program was first seen there. */
static void note_uneven(struct cs_observation *o)
{
    const uint64_t *cycles = o->seen.visits.cycles;
    unsigned most = 0, least = CS_VISITS_CPUS_MAX;
    for (unsigned cpu = 0; cpu < CS_VISITS_CPUS_MAX; cpu++) {
        most = cycles[cpu] > cycles[most] ? cpu : most;
        if (cycles[cpu] && (least == CS_VISITS_CPUS_MAX || cycles[cpu] < cycles[least]))
            least = cpu;
    }
    const double second = o->seen.cycles_per_second;
    if (least == CS_VISITS_CPUS_MAX || (double)cycles[most] < 1.5 * (double)cycles[least] + 0.1 * second)
        return;
    char sentence[320];
    snprintf(sentence, sizeof sentence,
             "CPU %u was watched for %.1f s and CPU %u for %.1f s, because the program came there later: "
             "shares favour the threads that ran before.",
             most, (double)cycles[most] / second, least, (double)cycles[least] / second);
    cs_observation_note(o, sentence);
}

static int visit_all(struct visits *v)
{
    struct cs_observation *o = v->o;
    const double hz = o->seen.cycles_per_second;
    const uint64_t by_periods =
        (uint64_t)(LOOK_PERIODS * (double)(o->options.period_cycles + o->options.jitter_cycles) * 1e9 / hz);
    const uint64_t least = by_periods > LOOK_NS ? by_periods : LOOK_NS;
    while (cs_pause_goes_on(&v->pause)) {
        const int rc = go_on(v);
        if (rc < 0)
            return rc;
        const uint64_t since = cs_clock();
        cs_pause_look(&v->pause, least + cs_jitter(&o->loop.random, 2 * least));
        o->seen.visits.cycles[v->cpu] += cs_clock() - since;
        if (o->log)
            cs_observe_log_flush(o->log); /* no interval goes from one CPU to the next */
    }
    return 0;
}

int cs_visits_run(struct cs_observation *o)
{
    struct visits v = {.o = o, .possible = o->before, .cpu = o->seen.placement.target};
    cpu_set_t its;
    if (sched_getaffinity(o->seen.pid, sizeof its, &its) == 0) {
        CPU_AND(&its, &its, &v.possible);
        if (CPU_COUNT(&its) == 0)
            return cs_fail(&o->err, EINVAL,
                           "process %d runs on none of the CPUs on which observe may run: start observe with "
                           "another affinity (taskset)",
                           (int)o->seen.pid);
    }
    int rc = cs_topology_open(NULL, &v.topology, &o->err);
    if (rc < 0)
        return rc;
    rc = cs_pause_open(&v.pause, o);
    if (rc == 0) {
        rc = visit_all(&v);
        cs_pause_close(&v.pause);
        note_uneven(o);
    } else {
        cs_fail(&o->err, -rc, "no timer for the observer: %s", strerror(-rc));
    }
    cs_topology_close(v.topology);
    return rc;
}
