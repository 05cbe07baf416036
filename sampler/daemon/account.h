/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon may use. The rate of sampling follows its budget (sampler/rate/), but records of processes, waits
 * and writing cost time whatever the rate. So all CPU time of its processes is paid from a token bucket that the
 * budget fills:
 *
 *     credit += budget · CPUs · time - CPU time       at most CS_ACCOUNT_SAVED_S of filling
 *     credit < -1 s                                   the session rests until there is some again
 *
 * The growth of its store in a day is bounded, too. Over three quarters of that bound call chains and waits are left
 * out, at the bound the session rests until the day ends. Pure: time comes in as seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CS_ACCOUNT_SAVED_S 300 /* a merge may take what was saved in five minutes */

struct cs_cpu_account {
    double rate;        /* CPU seconds a second; 0: no budget */
    double credit_s;    /* CPU seconds */
    double at_s, cpu_s; /* of the last update */
    double rested_s;    /* in all */
};

/* `cpu_s`: that was used until now and isn't paid from this. */
void cs_cpu_account_init(struct cs_cpu_account *account, double share, unsigned n_cpus, double now_s,
                         double cpu_s);
/* Returns how long to rest: 0 = go on. */
double cs_cpu_account_update(struct cs_cpu_account *account, double now_s, double cpu_s);

/* CPU seconds a second that reading waits may take: from a twentieth to half of the budget, by the credit. 0: any.
 * Unwind tables of new files: to 0.3 of it. */
double cs_cpu_account_waits(const struct cs_cpu_account *account);
double cs_cpu_account_tables(const struct cs_cpu_account *account);

enum cs_disk_state {
    CS_DISK_ROOM,
    CS_DISK_LEAN, /* call chains and waits are too much */
    CS_DISK_FULL, /* all is, until the day ends */
};

struct cs_disk_account {
    double bytes_max; /* a day; 0 = any */
    double day_began_s;
    uint64_t at_begin; /* bytes of the epoch that there were when the day began */
    uint64_t before;   /* of the day's epochs that have ended */
    uint64_t now;      /* of this one */
};

void cs_disk_account_init(struct cs_disk_account *account, double bytes_max, double now_s);
/* The epoch that is written has so many bytes. */
enum cs_disk_state cs_disk_account_update(struct cs_disk_account *account, double now_s,
                                          uint64_t epoch_bytes);
/* Another epoch begins. */
void cs_disk_account_epoch(struct cs_disk_account *account);
double cs_disk_account_day_left_s(const struct cs_disk_account *account, double now_s);

/* Its own memory and what one drain may add to it at once: names of code that programs make, a quarter of the bound
 * less those that there are. It is looked at after each drain: over 0.85 of the bound it merges early, and over 0.95 the
 * session starts anew, unless it began as large: then a new one would be, too. */
enum cs_memory_state {
    CS_MEMORY_ROOM,
    CS_MEMORY_PRESSED,
    CS_MEMORY_NEAR, /* its bound */
};

/* `at_begin`: of this session. */
enum cs_memory_state cs_memory_state(double bytes_max, uint64_t bytes, uint64_t may_come, uint64_t at_begin);
uint64_t cs_memory_jit_bytes(double bytes_max);

/* A session that has left something out, and is a minute old, ends: the next one has the numbers of what is gone. */
bool cs_session_is_full(uint64_t age_ns, uint64_t images_cut, uint64_t interpreters_cut);
