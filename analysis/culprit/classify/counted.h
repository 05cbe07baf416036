/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counted events say of a cause: a bound on what it can cost, never more than the event tells.
 *
 * An event counts one level. Last-level misses say nothing of a load that hits the second level or the third. Such
 * loads keep the latency of those levels as their bound. A load whose line is on its way already is no miss of a
 * retired load. The first level's count clears only where such hits are counted, too, or bursts say that no prefetcher
 * follows. Events are sampled: `samples` of them are at most cs_counted_most(samples) by chance, and an interrupt comes
 * some instructions late. Pure. */
#pragma once

#include "analysis/machine/machine.h"

#include <stdbool.h>

enum cs_counted {
    CS_COUNTED_L1D,   /* loads that missed the first level */
    CS_COUNTED_L2,    /* ... the second */
    CS_COUNTED_L3,    /* ... the last */
    CS_COUNTED_FILLS, /* loads that hit a line on its way to the first level */
    CS_COUNTED_DTLB,  /* loads that walked the page table */
    CS_COUNTED_ICACHE,
    CS_COUNTED_ITLB,
    CS_COUNTED_MISPREDICT,
    CS_COUNTED_PAGE_FAULT,
    CS_COUNTED_INSTRUCTIONS, /* no cause: how often code ran */
    CS_N_COUNTED,
};

/* By an event's name, libpfm4's or perf's, with any prefix and modifiers; CS_N_COUNTED: none of these. Of several of one
 * kind the one with the lowest *rank says it best. */
enum cs_counted cs_counted_kind(const char *event, unsigned *rank);
/* Its samples name the instruction itself or the next: precise events, and those that the kernel takes where they are. */
bool cs_counted_is_precise(const char *event);

/* Not more events than this are behind so many samples (one-sided, 95 %; Poisson by Wilson and Hilferty 1931). */
double cs_counted_most(double samples);

struct cs_culprit_stall;
/* The most cycles an execution that a cause can cost, by all events that were counted; INFINITY: they don't bound it. */
double cs_counted_cycles_most(const struct cs_culprit_stall *stall, int cause,
                              const struct cs_machine *machine);
/* What it likely costs, by the events whose samples lie here; INFINITY: not all that it takes were counted. */
double cs_counted_cycles_likely(const struct cs_culprit_stall *stall, int cause,
                                const struct cs_machine *machine);
