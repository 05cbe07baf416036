/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From interrupts to counted (PID, PC, EVENT) entries: the table and its drivers.
 *
 * Files of this module:
 *   aggregate          what the BPF program and its reader share
 *   aggregate.bpf      the BPF program: counts a sample in the kernel
 *   aggregate_old.bpf  the same for older kernels
 *   attribute_maps     BPF maps of attributes
 *   chain_maps         BPF maps that the handler unwinds by
 *   driver             what a driver is
 *   driver_bpf         reads the table that the BPF program fills
 *   driver_ring        fills a table of ours from mmap rings
 *   entry              what a row of the table means
 *   generations        tells programs apart that ran under one PID
 *   hot_table          the table: one cache line a bucket, four ways
 *   programs           the BPF programs, as this kernel takes them
 *   wait_maps          BPF maps of waits
 *
 * A driver brings counted (PID, PC, EVENT) entries here. All have one result. In driver_bpf.c the table is in
 * the kernel. In driver_ring.c it is ours, fed by mmap rings. Two more are in timers/driver_timers.c.
 * A stack that the handler couldn't unwind comes later, as a copy (stack_copy.bpf.h). Internal to sampler/. */
#pragma once

#include "sampler/chains/chains.h"
#include "sampler/driver/generations.h"
#include "sampler/perf/cpus.h"
#include "store/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_driver_entry {
    uint64_t pc;
    uint64_t count;
    uint64_t from_ns, to_ns; /* taken within; of one incarnation of the PID */
    uint32_t pid;
    uint32_t tid;   /* where rows are by thread or attribute the row, else the PID */
    uint32_t label; /* the session's: it names what the row stood for */
    uint8_t event;
    bool kernel;
    bool uncertain; /* the incarnation is not known: a fork or exec record was lost */
    bool latest;    /* the PID's last incarnation up to `to_ns` */
    /* The call chain, innermost first: chain[0] is pc, the others lie within the calls that were under way. The first
     * `n_kernel` are the kernel's. NULL: none asked, or it had no room. */
    const uint64_t *chain;
    unsigned n_chain, n_kernel;
    uint8_t chain_end; /* enum cs_unwind_end, enum cs_chain_end: why it goes no further */
    /* Or what a chain is to be made of, once mappings and rows are known; taken at from_ns = to_ns. NULL: nothing. */
    const struct cs_chain_copy *copy;
};
typedef void (*cs_driver_entry_fn)(void *arg, const struct cs_driver_entry *entry);

struct cs_driver_config {
    const struct cs_cpus *cpus;
    unsigned n_events;
    bool chains;
    bool in_interrupts; /* no handler runs any more once its event is disabled: they run in interrupts */
    uint64_t keep_ns;   /* entries stay so long in the table to be counted up */
    struct cs_generations *generations;
    /* Rows by thread or attribute, not by process: says whose a row is, 0 = nobody knows. NULL: by process. */
    uint32_t (*process_of)(void *arg, uint32_t tid);
    void *process_of_arg;
    struct cs_wait_kernel *waits; /* waits too, beside chains: filled where the driver can; NULL: not asked */
    struct cs_attribute_kernel
        *attributes; /* rows by attribute: filled where the driver can; NULL: not asked */
    const struct cs_process_filter *filter; /* only these processes count; NULL: all that the events see */
};

struct cs_driver_counts {
    uint64_t delivered, lost, entries;
    uint64_t throttled;        /* times that the kernel stopped an event, by the driver's own records */
    uint64_t filtered_threads; /* that went under a filter of system calls, where they can't be sampled */
    double
        sample_seconds; /* that a sample takes of the program's time, where the driver measures it; else 0 */
};

enum cs_driver_drain {
    CS_DRIVER_DRAIN_SOME,  /* entries may stay in the table to be counted up */
    CS_DRIVER_DRAIN_FLUSH, /* all */
    CS_DRIVER_DRAIN_LAST,  /* all, and nothing will follow */
};

struct cs_driver_state;
struct cs_attribute_kernel;
struct cs_wait_kernel;
struct cs_process_filter;
struct perf_event_attr;

struct cs_driver {
    const char *name;
    int (*open)(const struct cs_driver_config *config, struct cs_driver_state **out, struct cs_error *err);
    /* Completes the attributes of an event before it is opened. */
    void (*prepare)(const struct cs_driver_state *state, struct perf_event_attr *attr);
    /* Wires an opened event; it isn't enabled yet. The driver does not own `fd`. */
    int (*attach)(struct cs_driver_state *state, int fd, unsigned event, unsigned cpu_index,
                  struct cs_error *err);
    /* The events of this CPU will be closed: it has gone. Its samples have been drained. */
    void (*detach)(struct cs_driver_state *state, unsigned cpu_index);
    /* Draws the line between this drain and the next: samples taken after the time returned belong to the
     * next one. */
    uint64_t (*begin_drain)(struct cs_driver_state *state, enum cs_driver_drain how);
    /* Hands on all entries before that line. All sideband records up to it have been applied by now. */
    int (*drain)(struct cs_driver_state *state, enum cs_driver_drain how, cs_driver_entry_fn emit, void *arg,
                 struct cs_error *err);
    /* No entry handed on from now on will have been taken before this. */
    uint64_t (*oldest)(const struct cs_driver_state *state);
    void (*counts)(const struct cs_driver_state *state, struct cs_driver_counts *out);
    /* Mean period of an event's samples up to now; 0: not known. */
    double (*mean_period)(const struct cs_driver_state *state, unsigned event);
    /* A clock's period from now on, for mean_period: the kernel's samples of a clock name the first one for ever. NULL: not needed. */
    void (*clock_period)(struct cs_driver_state *state, unsigned event, uint64_t period);
    /* Descriptors that become readable when it is time to drain; -1 at the end. */
    int (*fd)(const struct cs_driver_state *state, unsigned i);
    /* What the kernel unwinds by, to be filled; NULL: nothing is needed. */
    struct cs_chain_kernel *(*chains)(struct cs_driver_state *state);
    void (*close)(struct cs_driver_state *state);
    bool reports_chain_ends; /* its entries have `chain_end`, which nobody else counts */
};

extern const struct cs_driver cs_driver_ring;
extern const struct cs_driver cs_driver_bpf;
