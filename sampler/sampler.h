/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupt sampler, as its callers see it.
 *
 * Files of this module:
 *   sampler           this header: rooms perf, rate, driver, images and session are behind it; burst and daemon use it
 *
 * The interrupt sampler: a session that counts (PID, PC, EVENT), places the counts on (image, offset) and
 * merges them into a profile store. See dcpi-1997 section 4, and sprof-1998 section 3 for several events.
 *
 * How it is used (record, the daemon, tests):
 *
 *     struct cs_sampler_config config = {.target = CS_TARGET_COMMAND, .command = argv, .store = store};
 *     cs_sampler_open(&config, &sampler, &err);
 *     while (cs_sampler_poll(sampler, 1000, &err) > 0)
 *         if (it is time)
 *             cs_sampler_merge(sampler, &err);
 *     cs_sampler_stop(sampler, &err);
 *     cs_sampler_merge(sampler, &err);
 *     cs_sampler_close(sampler);
 *
 * Invariant (tested): delivered = placed + unknown; what the kernel or we could not keep is in `lost`.
 * Samples in memory are dropped by nothing but a merge that succeeded.
 *
 * Threading: a session belongs to one thread; cs_sampler_held may be called from any. Sessions are
 * independent of each other. Nothing here prints; remarks for the user go through `notify`. May be used by cli/;
 * uses store/. */
#pragma once

#include "sampler/images/labels_unknowns.h"
#include "sampler/perf/target_kind.h"
#include "sampler/rate/cost.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_sampler;
struct cs_process_filter;

enum cs_sampler_driver {
    CS_SAMPLER_DRIVER_AUTO,
    CS_SAMPLER_DRIVER_BPF,
    CS_SAMPLER_DRIVER_RING,
    CS_SAMPLER_DRIVER_TIMERS, /* of a command's own threads, without perf_event_open (sampler/timers) */
    CS_SAMPLER_DRIVER_STOPS,  /* by ptrace, also of what runs already (the same room) */
};

struct cs_sampler_frame {
    const struct cs_store_image *image; /* valid until cs_sampler_close */
    uint64_t offset;
};

/* Counts that were placed, as `placed` sees them. */
struct cs_sampler_placed {
    const struct cs_store_image *image; /* valid until cs_sampler_close */
    uint64_t offset;
    uint64_t samples;
    unsigned event;          /* index, see cs_sampler_event */
    pid_t pid;               /* process, not thread; 0 = idle */
    uint64_t from_ns, to_ns; /* the samples were taken in this interval, CLOCK_MONOTONIC */
    const char *label;       /* "" = none */
    const struct cs_sampler_frame
        *callers; /* by `placed_callers`, where chains are taken, innermost first; valid during the call */
    unsigned n_callers;
};

struct cs_sampler_config {
    const char *const *events; /* libpfm4 names with modifiers; none: cycles, else cpu-clock */
    unsigned n_events;
    bool cpi; /* with none: instructions next to cycles, where they can be counted together */
    /* How often; the first of these that is not 0 counts. None: 1000 Hz. */
    double budget;            /* share of the profiled work's time that may be lost, 0.005 = 0.5 % */
    uint64_t period;          /* events (cpu-clock: ns) a sample, mean */
    double frequency_hz;      /* samples a second of a busy CPU */
    struct cs_rate_cost cost; /* of a sample, by a session before this one; zeros: measured for 0.2 s first */
    bool bursts;              /* there will be some: a part of the budget is theirs from the start */
    bool period_exact;        /* do not randomise: for experiments on aliasing only */

    enum cs_sampler_target target;
    pid_t pid;              /* CS_TARGET_PID: it ends the session by its end */
    const pid_t *more_pids; /* beside it, with all that they start; needs events of CPUs (root) */
    unsigned n_more_pids;
    char **command; /* CS_TARGET_COMMAND: argv */

    struct cs_store
        *store; /* writable and with an epoch when cs_sampler_merge is called; NULL: never merged */
    enum cs_sampler_driver driver;
    bool of_threads;       /* events of threads even where we might open them on CPUs: for tests */
    bool chains;           /* call chains too */
    bool waits;            /* and time off the CPU, where it can be had; with chains alone */
    double tables_cpu_max; /* CPU seconds a second for unwind tables of new files; 0: any */
    double waits_cpu_max;  /* CPU seconds a second that reading waits may take: fewer are recorded; 0: any */
    bool waits_by_name;    /* threads of one name are one: for who never ends */
    uint64_t
        keep_code_max; /* bytes: copies of the sampled files are kept in the store, up to this; 0: none */
    uint64_t jit_bytes_max; /* of the names of code that programs make; 0: cs_jit_limit's */
    enum cs_label label;
    const char *attribute; /* of CS_LABEL_ATTRIBUTE: its name, or "trace_id", "span_id" */
    uint64_t resolve_ms;   /* >0: counts leave the table as often, so that `placed` knows when they came */
    int wake_fd; /* >0: cs_sampler_poll returns early when it is readable (a control socket, a signalfd) */

    /* Callbacks, all optional, called from cs_sampler_* on the session's thread. */
    void *arg;
    /* Everything is ready and the command not yet let go: what must see its first fork is opened now. <0,
     * with its sentence, fails cs_sampler_open. */
    int (*ready)(void *arg, struct cs_sampler *sampler, struct cs_error *err);
    void (*notify)(void *arg, const char *sentence); /* a remark: fallbacks, losses, what was not permitted */
    void (*placed)(void *arg,
                   const struct cs_sampler_placed *placed); /* every count, before it goes into a profile */
    bool placed_callers; /* with its callers, which costs a search for each */
};

/* Bytes that names of code that programs make may yet take. */
uint64_t cs_sampler_jit_room(const struct cs_sampler *sampler);
/* As waits_cpu_max and tables_cpu_max, from now on. */
void cs_sampler_limit_waits(struct cs_sampler *sampler, double cpu_max);
void cs_sampler_limit_tables(struct cs_sampler *sampler, double cpu_max);

#define CS_SAMPLER_CHAIN_ENDS 14
struct cs_sampler_statistics {
    const char *driver; /* "bpf", "ring", "timers" or "stops" */
    uint64_t delivered; /* samples that reached us */
    uint64_t unknown;   /* of those, not placeable (by cause: cs_sampler_unknown) */
    uint64_t lost;      /* samples that the kernel or a full log dropped */
    uint64_t throttled; /* times that the kernel stopped an event until its next tick: too many samples */
    uint64_t map_records_lost; /* MMAP, FORK, ... records lost: some images may have been missed */
    uint64_t mappings_cut;     /* more than are remembered: of one process, or of all */
    uint64_t images_cut;       /* mappings of files that are more than are remembered */
    uint64_t interpreters_cut; /* files with an interpreter that are more than are followed */
    uint64_t unanswered; /* reads of memory and files that nobody served in time (store/base/foreign.h) */
    uint64_t image_conflicts;   /* images with another one's build-id and another owner: kept apart */
    uint64_t jit_cut;           /* processes that named more JIT code than is remembered */
    uint64_t entries;           /* table entries that were drained: delivered / entries = reduction */
    uint64_t merged;            /* samples in the store */
    uint64_t pending;           /* samples in memory, not merged yet */
    uint64_t images, processes; /* known now */
    uint64_t born, forks;       /* threads and processes that began since */
    uint64_t merges, merge_failures;
    bool user_only;        /* the kernel may not be sampled by us */
    double rate_hz;        /* asked of each busy CPU, now */
    double sample_cost_us; /* what a sample costs the profiled work, measured; 0 = not measured */
    double loss; /* share of the work's time that sampling takes now; NAN: not known, nothing measures it */
    double collector_cpu_seconds; /* used by this session in user and system mode */
    uint64_t held_ns;             /* reported through cs_sampler_held */
    bool chains;                  /* call chains are taken; by the BPF driver these tell how they ended */
    uint64_t chain_ends[CS_SAMPLER_CHAIN_ENDS]; /* samples */
    uint64_t chain_frames;                      /* of users, in all */
    uint64_t chain_tables, chain_bytes;         /* unwind tables in the kernel, and what they take there */
    bool waits;                                 /* time off the CPU is recorded */
    double wait_seconds;                        /* of it, estimated */
    uint64_t waits_kept, waits_lost;            /* lost: they came faster than they could be read */
    uint64_t waits_all_from_ns;                 /* shorter ones are a sample: each stands for several */
    uint64_t waits_uncounted;                   /* times that a thread was one too many at once */
    uint64_t
        without_counter; /* a bit an event that was on, and had no counter for a moment, when last merged */
};

/* What the ends of chains are called, and what they mean: "complete", "no-rows", ... */
const char *cs_sampler_chain_end(unsigned end);
const char *cs_sampler_chain_end_sentence(unsigned end);

/* Opens the events; a command is started, stopped before its exec until everything is ready, then let go.
 * Sampling runs from here on. Errors: -EINVAL unknown event, -ESRCH no such process, -EACCES/-EPERM not ours,
 * -ENOENT no such command, each with a sentence. */
int cs_sampler_open(const struct cs_sampler_config *config, struct cs_sampler **out, struct cs_error *err);

/* Waits up to `timeout_ms` for something to do, and does what is due: drain, new periods, budget. 1: go on;
 * 0: the target has ended; <0: error. */
int cs_sampler_poll(struct cs_sampler *sampler, int timeout_ms, struct cs_error *err);

/* Stops the events, drains the rest. The command (if any) is not waited for. */
int cs_sampler_stop(struct cs_sampler *sampler, struct cs_error *err);

/* Drains, then merges everything in memory into the store's current epoch, with the counters "samples",
 * "lost", "unknown", "unknown.CAUSE". On failure what was not merged stays in memory and is merged by the
 * next call. */
int cs_sampler_merge(struct cs_sampler *sampler, struct cs_error *err);

/* Drains if it is due: for a caller that is busy for long, with syncing files above all. */
void cs_sampler_keep_up(struct cs_sampler *sampler);

/* Counters that are not in the store, because writing them failed: for who closes the session all the same.
 * Names are static. Returns how many. */
#define CS_SAMPLER_COUNTERS (3 + CS_UNKNOWN_N)
size_t cs_sampler_uncounted(struct cs_sampler *sampler, struct cs_counter out[CS_SAMPLER_COUNTERS]);

void cs_sampler_close(struct cs_sampler *sampler);

void cs_sampler_statistics(struct cs_sampler *sampler, struct cs_sampler_statistics *out);
uint64_t cs_sampler_unknown(const struct cs_sampler *sampler, enum cs_unknown cause);

unsigned cs_sampler_events(const struct cs_sampler *sampler);
const char *cs_sampler_event(const struct cs_sampler *sampler, unsigned event);
/* How many of an event there were, when last merged; false: it never had a counter. */
bool cs_sampler_counted(const struct cs_sampler *sampler, unsigned event, uint64_t *events);
/* Process of CS_TARGET_COMMAND, and its wait status once cs_sampler_poll returned 0; -1 before. */
pid_t cs_sampler_child(const struct cs_sampler *sampler);
int cs_sampler_child_status(const struct cs_sampler *sampler);
/* Of a command that has ended, with the children that it waited for; else 0. */
double cs_sampler_child_cpu_seconds(const struct cs_sampler *sampler);

/* A burst took `ns` of the profiled work's time: that counts against the budget. Any thread. */
void cs_sampler_held(struct cs_sampler *sampler, uint64_t ns);
/* Seconds that a sample costs the profiled work; 0: not measured (no budget was asked). Any thread. */
double cs_sampler_sample_cost(const struct cs_sampler *sampler);
/* For the next session's config.cost. The owner's thread. */
struct cs_rate_cost cs_sampler_measured_cost(const struct cs_sampler *sampler);
/* Share of the budget (as a share of time, like config.budget) that bursts may use from now on; 0 when no
 * budget was asked. The sampling rate is chosen from the rest. */
double cs_sampler_burst_allowance(const struct cs_sampler *sampler);
/* CPUs that what is sampled keeps busy, by the samples of the last windows; all of them before the first one ends, and
 * where no budget was asked. Any thread. */
double cs_sampler_busy_cpus(const struct cs_sampler *sampler);

/* Who is sampled, where events of CPUs serve for them (perf/process_filter.h); NULL: not so. */
const struct cs_process_filter *cs_sampler_filter(const struct cs_sampler *sampler);

/* Image and offset of an address in a process at a time (of CLOCK_MONOTONIC; UINT64_MAX: now, as far as it
 * lives). 0, or -(1 + enum cs_unknown). Any thread. The image is valid until cs_sampler_close. */
int cs_sampler_locate(struct cs_sampler *sampler, pid_t pid, uint64_t addr, uint64_t time_ns,
                      const struct cs_store_image **image, uint64_t *offset);
