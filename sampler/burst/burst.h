/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts: at sparse random times (triggers) a thread of the target that runs its own code is stopped (record
 * prints for how long). The some 16,000 instructions ahead of it are followed over copies of the pages that they
 * touch. Then it goes on and runs them itself. That gives edge profiles, and what memory instructions and
 * branches do, of unmodified programs on any x86-64 machine. Events and columns: store/table/burst_schemas.h. How
 * a thread is followed: runner_process.h.
 *
 * Files of this module:
 *   burst            the session, for those who want bursts
 *   session          the thread that waits for triggers and has bursts made
 *   burst_model      constants that measurement chose
 *   budget           how often triggers become bursts
 *   burst_length     how long the next burst should be
 *   timing_share     which bursts are timed
 *   followed         the processes that have a runner
 *   triggers         when and whom to follow
 *   go_program       whether a process runs a Go program
 *   runner_process   starts a runner and talks to it
 *   runner_image     the runner's program, as bytes
 *   wire             what profiler and runner share
 *   rows             rows of bursts to profiles
 *   placed_rows      rows by image, gathered until they are merged
 *   shared_lines     cache lines that threads take from each other
 *   runs_beside      whether another thread runs just now
 *   page_sizes       which data are on huge pages
 *   counters         a session's counts as counters of the store
 *   paths            paths interpreted from timer samples instead of bursts
 *
 *     struct cs_burst_config config = {.sampler = sampler, .target = CS_TARGET_PID, .pid = pid};
 *     cs_burst_open(&config, &burst, &err);
 *     ... cs_burst_merge(burst, store, &err);
 *     cs_burst_stop(burst);
 *     cs_burst_merge(burst, store, &err);
 *     cs_burst_close(burst);
 *
 * Triggers are drawn in proportion to the CPU time that a thread spends in its own code, by a timer of its
 * own. They are thinned at random, and there is at most one burst at a time. The rate follows from the
 * budget and from what bursts are measured to cost.
 *
 * The target doesn't notice but by time. The target may notice one thing: for the fraction of a millisecond before
 * a burst it is traced (TracerPid). A debugger that attaches just then is refused. Some get no bursts, and are
 * counted: real-time threads, 32-bit programs, debugged processes, and threads that block or handle every
 * signal without effect (holder/alarm.c). Go's runtime gets a signal that it takes for its own.
 *
 * Threading: cs_burst_merge and cs_burst_statistics may be called from one thread in addition to the
 * session's own. The given sampler must outlive cs_burst_close. Nothing here prints. */
#pragma once

#include "sampler/burst/wire.h"
#include "sampler/sampler.h"

struct cs_burst;

struct cs_burst_config {
    struct cs_sampler *sampler;    /* places addresses; told how long threads were stopped */
    enum cs_sampler_target target; /* CS_TARGET_COMMAND: a process like CS_TARGET_PID */
    pid_t pid;
    double rate_hz; /* bursts a second of a busy CPU; 0: by the budget */
    double budget;  /* share of the target's time, 0.005 = 0.5 %; 0: what the sampler allows, else 0.5 % */
    uint32_t instructions;  /* of a burst; 0: 16,000 */
    bool real_time_too;     /* follow threads of a real-time policy, too, whose periods that may break */
    uint64_t runners_bytes; /* what runners may take together; 0: 96 MB */
};

/* Stops by how long they were: of class i from i to i + 1 times this, in us; the last class has all longer ones. */
#define CS_BURST_STOP_CLASS_US 100
#define CS_BURST_STOP_CLASSES 200

struct cs_burst_statistics {
    uint64_t bursts, instructions, stopped_ns;
    uint64_t denormal;                        /* bursts whose SSE or AVX arithmetic met denormal numbers */
    uint64_t triggers;                        /* when a burst was due */
    uint64_t end[CS_BURST_CAUSE_N];           /* by enum cs_burst_cause */
    uint64_t skip[CS_BURST_SKIP_N];           /* by enum cs_burst_skip: triggers without a burst */
    uint64_t unplaced;                        /* rows whose address is in no known image */
    uint64_t runners;                         /* processes followed */
    uint64_t runners_now, runners_bytes;      /* how many there are, what they take */
    double stopped_median_us, stopped_p99_us; /* of the last 1,024 */
    double stopped_max_us;                    /* of all */
    uint32_t stops[CS_BURST_STOP_CLASSES];    /* of all, triggers without a burst too */
    double cost_us;                           /* what a burst costs the target, estimated */
    double cpu_us;                            /* CPU time of runners and of our thread */
};

/* -ENOSYS: not on this machine; -EPERM, -EACCES: no timer on that target. */
int cs_burst_open(const struct cs_burst_config *config, struct cs_burst **out, struct cs_error *err);
/* No burst after this; one that is under way is finished first. */
void cs_burst_stop(struct cs_burst *burst);
/* Merges what was gathered into the store's epoch. On failure nothing is lost: it is merged by the next call.
 */
int cs_burst_merge(struct cs_burst *burst, struct cs_store *store, struct cs_error *err);
void cs_burst_statistics(struct cs_burst *burst, struct cs_burst_statistics *out);
void cs_burst_close(struct cs_burst *burst);
