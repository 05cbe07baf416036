/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time off the CPU: what threads wait for, and who ends it.
 *
 * Files of this module:
 *   waits          this header: what a driver offers
 *   wait_descriptors.bpf  of the kernel's part: what lies behind a descriptor
 *   blame          what those who ended a wait did meanwhile
 *   objects        what a wait was for, in words
 *   reasons        system calls and the reasons of waits; their names
 *   record_rate    how many waits are recorded
 *   thread_rows    the threads' rows of totals, read and freed
 *   wait_records   what the BPF program and its reader share
 *   wait_rows.bpf  of the kernel's part: tables, a thread's row
 *   wait_wakers.bpf  of the kernel's part: whose doing a wake-up is
 *   waits.bpf      the kernel's part
 *
 * Exact are the totals of each thread, by reason; single waits are a sample (wait_records.h). One owner. */
#pragma once

#include "sampler/waits/reasons.h"
#include "sampler/waits/wait_records.h"

#include <stddef.h>
#include <stdint.h>

/* The kernel's side, as a driver offers it; `rows` NULL: it can't. */
struct cs_wait_kernel {
    struct cs_wait_thread *rows; /* CS_WAIT_THREADS */
    struct cs_wait_free *free;
    __u32 *interval_ns; /* T: the reader sets it */
    __u64 *began_ns;    /* the reader sets it: from then on */
    const __u64 *lost, *no_row;
    char refused[160]; /* where the driver can't, the kernel's own words; empty: it has none */
    void *arg;
    void (*give)(void *arg, uint32_t row); /* a row is free again; NULL: `free` has them */
    /* Hands on what came since the last call; `n` bytes. */
    void (*records)(void *arg, void (*each)(void *arg, const struct cs_wait_record *record, size_t n),
                    void *each_arg);
    /* The threads that are away now, with their registers (pc and reg of the copy): CS_WAIT_STANDS. */
    void (*standing)(void *arg,
                     void (*each)(void *arg, const struct cs_wait_record *record,
                                  const struct cs_chain_copy *registers),
                     void *each_arg);
};

#define CS_WAIT_STANDING_MAX 4096 /* threads */
