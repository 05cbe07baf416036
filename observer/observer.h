/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SHIM-style observer: from what is asked to what was seen.
 *
 * Files of this module:
 *   observer       the observer's face (this header)
 *   observe        one run: place, start or attach, sample, end
 *   connect        joins a run to signals, events and threads
 *   observation    what these two share
 *   effect         how much it slows the program
 *   visits         one CPU after the other
 *   pause          runs the loop for a while
 *   waited         what a report says of the time in which the target waited
 *   choose         which signals a run reads, and from which thread's line
 *
 * A thread that spins on the CPU next to the target's. It reads signals and counters at a granularity of
 * tens to thousands of cycles (shim-2015). May use signals/, dte/ and store/; used by cli/.
 *
 *      struct cs_observe_options options;
 *      cs_observe_defaults(&options);
 *      options.argv = argv;
 *      struct cs_observation *o;
 *      if (cs_observe_start(&options, &o, &err) < 0 || cs_observe_run(o, &err) < 0)
 *          return failed(&err);
 *      const struct cs_observed *seen = cs_observe_result(o);
 *      ...
 *      cs_observe_close(o);
 *
 * One owner a struct; cs_observe_stop alone may be called from anywhere, signal handlers too. */
#pragma once

#include "observer/log/log.h"
#include "observer/loop/loop.h"
#include "observer/sample/sink.h"
#include "observer/source/events.h"
#include "observer/source/variables.h"
#include "observer/target/placement.h"
#include "observer/target/target.h"
#include "observer/visits.h"
#include "signals/segment.h"
#include "store/base/error.h"

#include <sys/types.h>

struct cs_reader;

/* Tags that need nothing of the program: the thread that has the target's CPU, and the system call it is in.
 */
#define CS_SIGNAL_OS_THREAD "os:thread"
#define CS_SIGNAL_OS_SYSCALL "os:syscall"
#define CS_WORD_OS_THREAD 1000u /* as cs_observed.tag_signals has them */
#define CS_WORD_OS_SYSCALL 1001u
#define CS_WORD_VARIABLE 2000u /* + the variable's number */

enum cs_observe_follow { CS_FOLLOW_IF_POSSIBLE, CS_FOLLOW_ALWAYS, CS_FOLLOW_NEVER };

/* A plain variable of the target, read as a tag or as a counter. */
struct cs_observe_variable {
    char name[128]; /* as asked */
    bool counter;
    uint64_t addr; /* from `locate` */
    unsigned bytes;
};

struct cs_observe_options {
    char *const *argv; /* program to start; NULL = attach to pid */
    pid_t pid;
    const char *signals[CS_TAGS_MAX + CS_COUNTERS_MAX]; /* names; none = all that the target defines */
    unsigned n_signals;
    struct cs_observe_event
        events[CS_COUNTERS_MAX]; /* beside the signals; names live as long as the options */
    unsigned n_events;
    struct cs_observe_variable variables[CS_VARIABLES_MAX]; /* in place of the program's signals */
    unsigned n_variables;
    /* Finds one in the target, which has just been started or attached to: addr and bytes. With n_variables. */
    int (*locate)(void *arg, pid_t pid, struct cs_observe_variable *variable, struct cs_error *err);
    const char *ratios[CS_RATIOS_MAX]; /* asked for beside IPC (sample/ratio.h) */
    unsigned n_ratios;
    bool look_away;                /* for a millisecond in ten, to measure how much the program is slowed */
    bool observer_effect;          /* count the observer's own share of each event too */
    pid_t thread;                  /* observe this thread only; 0 = choose or follow */
    enum cs_observe_follow follow; /* whoever has the target's CPU (os.h), else one thread's line */
    int target_cpu, observer_cpu;  /* or CS_ANY_CPU */
    bool smt;
    bool keep_cpus; /* threads stay where they are, and CPUs are watched one after the other (visits.h) */
    bool
        leave_session; /* the caller leads no process group: it may leave the target's session (fair_share.h) */
    uint64_t period_cycles, jitter_cycles; /* 0 = as fast as it goes */
    struct cs_dte_rule rule;
    bool paper_rule; /* keep to `rule` also where counters are in memory only (observer/sample/rule.h) */
    double seconds;  /* end after that long; 0 = when the target ends */
    double patience; /* seconds to wait for the target's signals */
    const int *over; /* not 0: it ends, be it while it starts; a signal's handler may set it. May be NULL */
    const char *log_path; /* write samples there; NULL = aggregates only */
    size_t log_chunk_bytes;
    /* Called when the target's signals were found, and about each second until it ends: for what a caller
     * wants to know of a process while it lives. May be NULL. */
    void (*look)(void *arg, pid_t pid);
    /* What a value of a tag means that the program itself doesn't name (an address, a thread), for the end of a log;
     * NULL = not known. May be NULL. */
    const char *(*value_name)(void *arg, unsigned tag, uint64_t value);
    /* All threads of a running process have just been moved to this CPU. */
    void (*moved)(void *arg, const char *program, unsigned threads, unsigned cpu);
    void *arg; /* of all these */
};

/* How much the observer slows the program, or why that isn't known. */
enum cs_effect_known {
    CS_EFFECT_NOT_ASKED,
    CS_EFFECT_MEASURED,
    CS_EFFECT_LOGGED,     /* a log would have gaps */
    CS_EFFECT_SLEEPS,     /* the observer sleeps between its samples */
    CS_EFFECT_VISITS,     /* it watches one CPU after the other */
    CS_EFFECT_NO_COUNTER, /* nothing counts the program's progress */
    CS_EFFECT_NO_GROWTH,  /* its counters stood still or fell, or threads came and went */
    CS_EFFECT_TOO_SHORT,
    CS_EFFECT_UNSTEADY, /* too large an error */
};

struct cs_observed {
    struct cs_placement placement; /* with keep_cpus: the last one */
    struct cs_visits visits;
    double cycles_per_second;
    pid_t pid, thread; /* thread: whose line was read; 0 = whichever ran (followed) */
    const char *program;
    unsigned n_tags, n_counters;   /* counters: software counters, then events, then the observer's own */
    unsigned n_software, n_events; /* of the counters; the rest is the observer's own */
    char tags[CS_TAGS_MAX][CS_SIGNAL_NAME_MAX], counters[CS_COUNTERS_MAX][CS_SIGNAL_NAME_MAX];
    unsigned tag_signals[CS_TAGS_MAX]; /* for cs_reader_name */
    bool tag_is_address[CS_TAGS_MAX];
    uint64_t period_cycles;
    unsigned threads; /* of the target, when observing began */
    bool followed;
    uint64_t switches;  /* seen while following */
    char notes[6][320]; /* sentences that a report should show */
    unsigned n_notes;
    bool throttled;
    double waited; /* of the time that the target wanted a CPU, the share that it waited for one */
    /* Of an event of the core that is read here, the observer's own part in 1 TSC cycle; negative: not separable. */
    double own_rate[CS_COUNTERS_MAX];
    struct {
        enum cs_effect_known known;
        uint64_t away_cycles;
        unsigned n;
        struct cs_effect_by {
            char counter[CS_SIGNAL_NAME_MAX];
            uint64_t pairs;       /* looks away */
            double slower, error; /* 0.04: the program takes 4 % longer while it is looked at */
        } by[CS_COUNTERS_MAX];
    } effect;
    bool timed_each;           /* the clock was read for each sample (not in the tag-only loop) */
    struct cs_sink *sink;      /* complete after cs_observe_run */
    struct cs_reader *signals; /* names of tags; NULL where the target publishes nothing */
    double target_cpu_seconds; /* of a program that we started and that ended */
    uint64_t logged;           /* samples in the log */
    /* that its samples cover; that the program was there; of that, before the first sample */
    double log_seconds, log_of_seconds, log_late_seconds;
    int exit_code; /* of a program that we started and that ended, else -1 */
};

struct cs_observation;

void cs_observe_defaults(struct cs_observe_options *options);
/* Places, starts or attaches, waits for the signals, prepares all memory. Nothing is sampled yet. */
int cs_observe_start(const struct cs_observe_options *options, struct cs_observation **out,
                     struct cs_error *err);
/* Samples until the target ends, the time is over, or cs_observe_stop. The target's threads have their CPUs back then. */
int cs_observe_run(struct cs_observation *o, struct cs_error *err);
void cs_observe_stop(struct cs_observation *o);
const struct cs_observed *cs_observe_result(const struct cs_observation *o);
/* Restores affinities, closes all. A program that we started and that runs still is left alone. */
void cs_observe_close(struct cs_observation *o);
