/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/daemon/account.h"

#include <assert.h>

#define MARGIN 0.85     /* of the budget that is planned: beginning a session again is paid, too */
#define OVERDRAFT_S 1.0 /* a session that rests begins again: not for less than this */
#define WORTH_S 3.0     /* of credit for the next one, or what can be saved */
#define WAITS_MOST 0.5  /* of the CPU time, for reading waits */
#define TABLES_MOST 0.3
#define LEAST 0.05 /* of each */
#define LEAN 0.75
#define DAY_S 86400.0
#define PRESSED 0.85 /* of the bound of memory */
#define FULL_AFTER_NS 60000000000ULL
#define NEAR 0.95
#define NAMES 0.25
#define GROWN 0.05 /* of the bound, that a new session gives back */

void cs_cpu_account_init(struct cs_cpu_account *a, double share, unsigned n_cpus, double now_s, double cpu_s)
{
    assert(share >= 0 && n_cpus > 0);
    const double rate = MARGIN * share * n_cpus, saved = rate * CS_ACCOUNT_SAVED_S;
    *a = (struct cs_cpu_account){
        .rate = rate, .credit_s = saved < WORTH_S ? saved : WORTH_S, .at_s = now_s, .cpu_s = cpu_s};
}

double cs_cpu_account_update(struct cs_cpu_account *a, double now_s, double cpu_s)
{
    if (a->rate <= 0)
        return 0;
    if (cpu_s > a->cpu_s) /* a process that nobody waits for takes its time with it */
        a->credit_s -= cpu_s - a->cpu_s;
    a->credit_s += a->rate * (now_s - a->at_s);
    if (a->credit_s > a->rate * CS_ACCOUNT_SAVED_S)
        a->credit_s = a->rate * CS_ACCOUNT_SAVED_S;
    a->at_s = now_s;
    a->cpu_s = cpu_s;
    if (a->credit_s > -OVERDRAFT_S)
        return 0;
    const double saved = a->rate * CS_ACCOUNT_SAVED_S, worth = saved < WORTH_S ? saved : WORTH_S;
    const double rest = (worth - a->credit_s) / a->rate;
    a->rested_s += rest;
    return rest;
}

static double part(const struct cs_cpu_account *a, double most)
{
    const double share = most * a->credit_s / WORTH_S;
    return a->rate * (share < LEAST ? LEAST : share > most ? most : share);
}

double cs_cpu_account_waits(const struct cs_cpu_account *a)
{
    return part(a, WAITS_MOST);
}

double cs_cpu_account_tables(const struct cs_cpu_account *a)
{
    return part(a, TABLES_MOST);
}

void cs_disk_account_init(struct cs_disk_account *a, double bytes_max, double now_s)
{
    *a = (struct cs_disk_account){.bytes_max = bytes_max, .day_began_s = now_s};
}

enum cs_disk_state cs_disk_account_update(struct cs_disk_account *a, double now_s, uint64_t epoch_bytes)
{
    a->now = epoch_bytes;
    if (now_s - a->day_began_s >= DAY_S) {
        a->day_began_s = now_s;
        a->before = 0;
        a->at_begin = epoch_bytes;
    }
    const double written = (double)a->before + (double)a->now - (double)a->at_begin;
    return a->bytes_max <= 0 || written < LEAN * a->bytes_max ? CS_DISK_ROOM
           : written < a->bytes_max                           ? CS_DISK_LEAN
                                                              : CS_DISK_FULL;
}

void cs_disk_account_epoch(struct cs_disk_account *a)
{
    a->before += a->now > a->at_begin ? a->now - a->at_begin : 0;
    a->now = a->at_begin = 0;
}

double cs_disk_account_day_left_s(const struct cs_disk_account *a, double now_s)
{
    const double left = a->day_began_s + DAY_S - now_s;
    return left > 0 ? left : 0;
}

enum cs_memory_state cs_memory_state(double bytes_max, uint64_t bytes, uint64_t may_come, uint64_t at_begin)
{
    const double soon = (double)bytes + (double)may_come;
    if (soon >= NEAR * bytes_max && (double)bytes >= (double)at_begin + GROWN * bytes_max)
        return CS_MEMORY_NEAR;
    return soon >= PRESSED * bytes_max ? CS_MEMORY_PRESSED : CS_MEMORY_ROOM;
}

uint64_t cs_memory_jit_bytes(double bytes_max)
{
    return (uint64_t)(NAMES * bytes_max);
}

bool cs_session_is_full(uint64_t age_ns, uint64_t images_cut, uint64_t interpreters_cut)
{
    return age_ns >= FULL_AFTER_NS && (images_cut > 0 || interpreters_cut > 0);
}
