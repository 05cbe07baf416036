/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What observe.c and connect.c share; nobody else includes it. Each field is filled once, in the order of
 * cs_observe_start; connect.c fills those of the signals, the events and the os source. */
#pragma once

#include "observer/choose.h"
#include "observer/loop/follow.h"
#include "observer/observer.h"
#include "observer/source/os.h"
#include "observer/target/claims.h"
#include "observer/target/company.h"
#include "observer/target/fair_share.h"

#include <pthread.h>
#include <sched.h>

struct cs_observation {
    struct cs_observed seen;
    struct cs_observe_options options;
    struct cs_observe_target *target;
    struct cs_claims claims;
    struct cs_observe_choice choice;
    struct cs_loop loop;
    struct cs_os *os;
    struct cs_events *events; /* NULL where none was asked for */
    struct cs_variables variables;
    struct cs_follow follow;
    cs_loop_run *run;
    struct cs_observe_log *log;
    pthread_t thread;
    bool moved;
    double seconds;                    /* that the loop ran */
    uint64_t looked_clock;             /* of company[0] */
    uint64_t began_clock, ended_clock; /* the program was there, as far as it was to be observed */
    cpu_set_t before;                  /* where the calling thread was allowed */
    struct cs_observe_cpu_wait
        waiting[2];                       /* the target's: at the beginning, and when it was last looked at */
    struct cs_observe_company company[2]; /* at the same times */
    char began[256], became[256];         /* its executable then, and another one after an exec; "" */
    int stop, wake;                       /* asked to stop; eventfd */
    int failed;                           /* of the observer's thread, with err */
    struct cs_error err;
};

/* At the beginning, once a second, and at the end: what company the target has. */
void cs_observation_look_around(struct cs_observation *o);
/* Its waiting, by cause, and what ran unobserved; for after the run. */
void cs_observation_note_waiting(struct cs_observation *o);
/* A sentence that a report should show; the first few are kept. */
void cs_observation_note(struct cs_observation *o, const char *sentence);
/* The os source, where it is wanted and possible. */
int cs_observation_open_os(struct cs_observation *o, bool syscalls, struct cs_error *err);
/* Words that the loop reads: of one thread's line, or of whoever has the CPU. */
int cs_observation_connect(struct cs_observation *o, struct cs_error *err);
