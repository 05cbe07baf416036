/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The coordinator: joins placement, target, signals and a loop variant; runs the loop on its own thread. */
#include "observer/effect.h"
#include "observer/observation.h"
#include "observer/sample/rule.h"
#include "observer/source/clock.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void cs_observe_defaults(struct cs_observe_options *options)
{
    memset(options, 0, sizeof *options);
    options->target_cpu = options->observer_cpu = CS_ANY_CPU;
    options->rule = cs_dte_paper_rule();
    options->rule.same_tag = true;
    options->rule.gap_cycles = 0; /* chosen from the period */
    options->patience = -1;
}

/* The coordinator sleeps through the run, but must not wake up on the target's CPU. */
static void leave_target_cpu(struct cs_observation *o)
{
    cpu_set_t rest;
    if (sched_getaffinity(0, sizeof o->before, &o->before) < 0 || o->options.keep_cpus)
        return;
    rest = o->before;
    CPU_CLR(o->seen.placement.target, &rest);
    if (CPU_COUNT(&rest) && sched_setaffinity(0, sizeof rest, &rest) == 0)
        o->moved = true;
}

void cs_observation_note(struct cs_observation *o, const char *sentence)
{
    if (o->seen.n_notes < sizeof o->seen.notes / sizeof o->seen.notes[0])
        snprintf(o->seen.notes[o->seen.n_notes++], sizeof o->seen.notes[0], "%.319s", sentence);
}

/* A pair that no other observer has, where there is one. */
static int place(struct cs_observation *o, struct cs_error *err)
{
    struct cs_topology *topology;
    struct cs_cpu_set taken;
    int rc = cs_topology_open(NULL, &topology, err);
    if (rc < 0)
        return rc;
    cs_claims_taken((unsigned)sysconf(_SC_NPROCESSORS_CONF), &taken);
    rc = cs_placement_choose(topology, o->options.target_cpu, o->options.observer_cpu, o->options.smt, &taken,
                             &o->seen.placement, err);
    if (rc < 0) /* nonsense, or all are taken: the second is no reason to refuse */
        rc = cs_placement_choose(topology, o->options.target_cpu, o->options.observer_cpu, o->options.smt,
                                 NULL, &o->seen.placement, err);
    cs_topology_close(topology);
    if (rc == 0 && !o->options.keep_cpus && !cs_claims_open(&o->seen.placement, &o->claims))
        cs_observation_note(o, "another observer has these CPUs too: both see only part of the time, and "
                               "their programs share a CPU");
    return rc;
}

/* Longer than that between two samples and the observer was away, not slow: 10 us beyond twice what was
 * asked (an interrupt is shorter, having lost the CPU is not). */
static uint64_t gap_limit(const struct cs_observe_options *options)
{
    if (options->rule.gap_cycles)
        return options->rule.gap_cycles;
    return 2 * (options->period_cycles + options->jitter_cycles) + (uint64_t)(cs_clock_hz() * 10e-6);
}

static void describe_log(const struct cs_observation *o, struct cs_observe_log_head *head)
{
    *head = (struct cs_observe_log_head){
        .n_tags = o->seen.n_tags,
        .n_software = o->seen.n_software,
        .n_hardware = o->seen.n_counters - o->seen.n_software,
        .follow = o->seen.followed,
        .cycles_per_second = (uint64_t)o->seen.cycles_per_second,
        .period_cycles = o->options.period_cycles,
        .wall_ns = cs_clock_ns(CLOCK_REALTIME),
        .clock = cs_clock(),
        .pid = (uint32_t)o->seen.pid,
        .target_cpu = o->seen.placement.target,
        .observer_cpu = o->seen.placement.observer,
    };
    const char *base = strrchr(o->seen.program, '/');
    snprintf(head->program, sizeof head->program, "%.63s", base ? base + 1 : o->seen.program);
    for (unsigned t = 0; t < head->n_tags; t++)
        memcpy(head->tags[t], o->seen.tags[t], sizeof o->seen.tags[t]);
    for (unsigned c = 0; c < o->seen.n_counters; c++)
        memcpy(head->counters[c], o->seen.counters[c], sizeof o->seen.counters[c]);
}

static void look(struct cs_observation *o)
{
    struct cs_observe_cpu_wait waiting;
    if (cs_observe_cpu_wait(o->seen.pid, &waiting) == 0 && waiting.waited_ns >= o->waiting[1].waited_ns)
        o->waiting[1] = waiting;
    cs_observation_look_around(o);
    if (o->options.look && !cs_observe_target_ended(o->target))
        o->options.look(o->options.arg, o->seen.pid);
}

/* Of variables, each read by a system call; the words of signals are read in no time. */
static uint64_t usual_reading(struct cs_observation *o)
{
    uint64_t least = o->options.n_variables ? UINT64_MAX : 0;
    for (unsigned i = 0; o->options.n_variables && i < 64; i++) {
        uint64_t begin = cs_clock_ordered();
        cs_variables_read(&o->variables);
        uint64_t took = cs_clock_ordered() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static int open_sink(struct cs_observation *o, const struct cs_dte_rule *rule, struct cs_error *err)
{
    const char *counters[CS_COUNTERS_MAX];
    struct cs_ratio ratios[CS_RATIOS_MAX];
    unsigned n;
    for (unsigned c = 0; c < o->seen.n_counters; c++)
        counters[c] = o->seen.counters[c];
    int rc = cs_ratios_choose(o->options.ratios, o->options.n_ratios, counters, o->seen.n_counters, ratios,
                              &n, err);
    return rc < 0 ? rc
                  : cs_sink_open(o->seen.n_tags, o->seen.n_counters, ratios, n, rule, &o->seen.sink, err);
}

static int prepare(struct cs_observation *o, struct cs_error *err)
{
    struct cs_dte_rule rule = o->options.rule;
    rule.gap_cycles = gap_limit(&o->options);
    if (!o->options.paper_rule && o->seen.n_counters == o->seen.n_software)
        cs_observe_memory_rule(&rule, o->seen.cycles_per_second, usual_reading(o));
    struct cs_shape shape = {
        .tags = o->seen.n_tags,
        .software = o->seen.n_software,
        .hardware = o->seen.n_counters - o->seen.n_software,
        .follow = o->seen.followed,
        .throttled = o->options.period_cycles != 0,
        .sink = o->options.log_path ? CS_SINK_LOG : CS_SINK_AGGREGATE,
    };
    bool by_read = o->options.n_variables || (o->events && cs_events_by_read(o->events));
    o->run = by_read ? cs_loop_read : cs_loop_variant(&shape);
    o->loop.shape = shape;
    o->loop.events = o->events;
    o->loop.variables = o->options.n_variables ? &o->variables : NULL;
    if (!o->run)
        return cs_fail(err, E2BIG, "no loop for %u tags and %u counters", shape.tags, shape.software);
    o->seen.timed_each = o->run != cs_loop_tag_only;
    o->seen.throttled = shape.throttled;
    o->seen.period_cycles = o->loop.period_cycles = o->options.period_cycles;
    o->loop.jitter_cycles = o->options.jitter_cycles;
    o->loop.random = cs_clock() | 1;
    int rc = open_sink(o, &rule, err);
    if (rc == 0)
        cs_sink_period(o->seen.sink, o->options.period_cycles + o->options.jitter_cycles,
                       o->seen.cycles_per_second);
    if (rc == 0 && o->options.log_path) {
        struct cs_observe_log_head head;
        describe_log(o, &head);
        rc = cs_observe_log_create(o->options.log_path, &head, o->options.log_chunk_bytes, &o->log, err);
    }
    o->loop.sink = o->seen.sink;
    o->loop.log = o->log;
    return rc;
}

int cs_observe_start(const struct cs_observe_options *options, struct cs_observation **out,
                     struct cs_error *err)
{
    assert(options->n_signals <= CS_TAGS_MAX + CS_COUNTERS_MAX);
    struct cs_observation *o = aligned_alloc(128, (sizeof *o + 127) & ~(size_t)127);
    if (!o)
        return cs_fail(err, ENOMEM, "no memory for the observer");
    memset(o, 0, sizeof *o);
    o->options = *options;
    o->variables.memory = -1;
    o->wake = o->claims.target = o->claims.observer = -1;
    o->seen.exit_code = -1;
    o->seen.cycles_per_second = cs_clock_hz();
    int rc = place(o, err);
    if (rc == 0 && (o->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        rc = cs_fail(err, errno, "no file descriptor for the observer");
    if (rc == 0 && options->n_events)
        rc = cs_events_open(o->options.events, options->n_events, o->seen.placement.smt,
                            options->observer_effect, &o->events, err);
    if (rc == 0)
        rc = cs_observation_open_os(o, cs_observe_choose_needs_os(options), err);
    if (rc == 0) {
        const int cpu = options->keep_cpus ? CS_ANY_CPU : (int)o->seen.placement.target;
        rc = options->argv ? cs_observe_target_start(options->argv, cpu, &o->target, err)
                           : cs_observe_target_attach(options->pid, cpu, &o->target, err);
    }
    o->began_clock = cs_clock();
    if (rc == 0) {
        leave_target_cpu(o);
        o->seen.pid = cs_observe_target_pid(o->target);
        o->seen.program = cs_observe_target_program(o->target);
        if (!options->argv && !options->keep_cpus && options->moved)
            options->moved(options->arg, o->seen.program, cs_observe_target_moved(o->target),
                           o->seen.placement.target);
        if (options->leave_session)
            cs_observe_leave_session();
        rc = cs_observation_connect(o, err);
        look(o);
        o->waiting[0] = o->waiting[1];
        o->company[0] = o->company[1];
        o->looked_clock = cs_clock();
    }
    if (rc == 0)
        rc = prepare(o, err);
    if (rc < 0) {
        cs_observe_close(o);
        return rc;
    }
    *out = o;
    return 0;
}

/* The loop, and what the observer itself did of the core's events meanwhile. */
static void run_loop(struct cs_observation *o)
{
    uint64_t before[CS_COUNTERS_MAX], after, begin = cs_clock_ordered();
    bool told[CS_COUNTERS_MAX] = {false};
    for (unsigned e = 0; e < o->options.n_events; e++)
        told[e] = cs_events_own(o->events, e, &before[e]);
    if (o->options.keep_cpus) {
        o->seen.effect.known = o->options.look_away ? CS_EFFECT_VISITS : CS_EFFECT_NOT_ASKED;
        o->failed = cs_visits_run(o);
    } else {
        cs_effect_run(o);
    }
    cs_sink_total(o->seen.sink);
    for (unsigned e = 0; e < o->options.n_events; e++) {
        told[e] = told[e] && cs_events_own(o->events, e, &after);
        o->seen.own_rate[e] =
            told[e] ? (double)(after - before[e]) / (double)(cs_clock_ordered() - begin) : -1;
    }
}

static void *observer_thread(void *argument)
{
    struct cs_observation *o = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(o->seen.placement.observer, &set);
    sched_setaffinity(0, sizeof set, &set);
    /* Nice rather than real time: a spinning real-time thread would starve its CPU's kernel threads. Not where
     * it would be at the target's cost. */
    if (!cs_observe_same_group(o->seen.pid))
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -20);
    if (o->events)
        o->failed = cs_events_open_own(o->events, o->loop.hardware, &o->err);
    if (o->failed == 0)
        run_loop(o);
    if (o->failed < 0)
        cs_observe_stop(o);
    return NULL;
}

static void wait_for_the_end(struct cs_observation *o)
{
    struct pollfd on[2] = {{.fd = cs_observe_target_pidfd(o->target), .events = POLLIN},
                           {.fd = o->wake, .events = POLLIN}};
    double hz = o->seen.cycles_per_second;
    uint64_t begin = cs_clock(), limit = (uint64_t)(o->options.seconds * hz);
    const int *over = o->options.over;
    while (!__atomic_load_n(&o->stop, __ATOMIC_RELAXED) &&
           !(over && __atomic_load_n(over, __ATOMIC_RELAXED))) {
        int ms = 1000;
        if (o->options.seconds > 0) {
            uint64_t gone = cs_clock() - begin;
            if (gone >= limit)
                return;
            double left = (double)(limit - gone) / hz * 1000;
            ms = left < 1000 ? (int)left + 1 : 1000;
        }
        if (poll(on, 2, ms) > 0)
            return;
        cs_observe_target_repin(o->target);
        look(o);
    }
}

struct naming {
    struct cs_observation *o;
    struct cs_error *err;
};

static int name_in_log(unsigned signal, uint64_t value, const char *name, void *arg)
{
    struct naming *n = arg;
    for (unsigned t = 0; t < n->o->seen.n_tags; t++)
        if (n->o->seen.tag_signals[t] == signal && strlen(name) < 480)
            return cs_observe_log_name(n->o->log, t, value, name, n->err);
    return 0;
}

static int value_in_log(void *arg, unsigned tag, uint64_t value)
{
    struct naming *n = arg;
    const char *text = n->o->options.value_name(n->o->options.arg, tag, value);
    return text && strlen(text) < 480 ? cs_observe_log_name(n->o->log, tag, value, text, n->err) : 0;
}

/* The log ends with all names, so that it can be read without the program; of addresses and threads those that it saw. */
static int finish_log(struct cs_observation *o, struct cs_error *err)
{
    struct naming naming = {o, err};
    if (o->seen.signals)
        cs_reader_names(o->seen.signals, name_in_log, &naming);
    struct cs_error ignored;
    unsigned named = 0;
    for (unsigned t = 0; t < o->seen.n_tags; t++)
        named |= (unsigned)(o->seen.tag_is_address[t] || cs_observe_choose_is_os(&o->choice.tags[t])) << t;
    cs_observe_log_flush(o->log);
    if (named && o->options.value_name)
        cs_observe_log_values(o->options.log_path, named, value_in_log, &naming, &ignored);
    int rc = cs_observe_log_finish(o->log, err);
    o->seen.logged = cs_observe_log_samples(o->log);
    uint64_t first, covered = cs_observe_log_covered(o->log, &first);
    const double hz = o->seen.cycles_per_second;
    o->seen.log_seconds = (double)covered / hz;
    o->seen.log_of_seconds = (double)(o->ended_clock - o->began_clock) / hz;
    o->seen.log_late_seconds = first > o->began_clock ? (double)(first - o->began_clock) / hz : 0;
    return rc;
}

int cs_observe_run(struct cs_observation *o, struct cs_error *err)
{
    int rc = pthread_create(&o->thread, NULL, observer_thread, o);
    if (rc)
        return cs_fail(err, rc, "cannot start the observer's thread: %s", strerror(rc));
    wait_for_the_end(o);
    look(o);
    __atomic_store_n(&o->loop.stop, 1, __ATOMIC_RELAXED);
    o->ended_clock = cs_clock();
    pthread_join(o->thread, NULL);
    cs_observe_target_release(o->target);
    if (o->failed < 0) {
        *err = o->err;
        return o->failed;
    }
    cs_observation_note_waiting(o);
    if (o->events && cs_events_never_counted(o->events))
        cs_observation_note(o, "The events never had a counter on the program's CPU: busy, others (another "
                               "profiler, the NMI watchdog) hold them all. No interval has their rates.");
    o->seen.switches = o->follow.switches;
    if (cs_observe_target_started(o->target) && cs_observe_target_ended(o->target))
        o->seen.exit_code = cs_observe_target_wait(o->target);
    o->seen.target_cpu_seconds = cs_observe_target_cpu_seconds(o->target);
    return o->log ? finish_log(o, err) : 0;
}

void cs_observe_stop(struct cs_observation *o)
{
    int saved = errno;
    uint64_t one = 1;
    __atomic_store_n(&o->stop, 1, __ATOMIC_RELAXED);
    if (write(o->wake, &one, sizeof one) < 0)
        errno = saved;
    errno = saved;
}

const struct cs_observed *cs_observe_result(const struct cs_observation *o)
{
    return &o->seen;
}

void cs_observe_close(struct cs_observation *o)
{
    if (!o)
        return;
    cs_observe_target_close(o->target);
    cs_claims_close(&o->claims);
    if (o->moved)
        sched_setaffinity(0, sizeof o->before, &o->before);
    cs_observe_log_close(o->log);
    cs_sink_close(o->seen.sink);
    cs_events_close(o->events);
    cs_variables_close(&o->variables);
    cs_os_close(o->os);
    cs_reader_close(o->seen.signals);
    if (o->wake >= 0)
        close(o->wake);
    free(o);
}
