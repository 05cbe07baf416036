/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Double-time-error filtering: which intervals between two readings of the observer are to be believed.
 *
 * Files of this module:
 *   dte            the judgement of an interval, its causes and their counts
 *   bins           histogram bins that need no range beforehand, and quantiles
 *   moments        weighted mean and variance
 *
 * shim-2015 section 4.1. A reading takes the clock twice, before (start) and
 * after (end) it reads the counters. Two consecutive readings make an interval; its rates are right only if
 * the time to read was the same at both ends, that is if
 *
 *     CPC = (end1 - end0) / (start1 - start0)   lies within 1 ± band   (0.01 in the paper).
 *
 * Beyond the paper, four more reasons refuse an interval. Another thread ran at one end, the tag differs
 * between the ends, a counter could not be read, or the observer was away. Each cause is counted by its
 * name, in intervals and in cycles, and every interval has exactly one verdict.
 *
 * Pure: no state but what the caller holds, no I/O, nothing of ours included. Cost of cs_dte_judge inlined
 * with a constant rule: about ten instructions, no division. Thread-safe as plain values are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cs_dte_verdict {
    CS_DTE_KEPT = 0,
    CS_DTE_SKEW,        /* a reading was disturbed: CPC outside the band, or it took too long */
    CS_DTE_DESCHEDULED, /* the target did not run: another program or nobody had its CPU */
    CS_DTE_THREAD,      /* another thread ran at one of the ends, or there was a switch between them */
    CS_DTE_TAG,         /* the tag differs between the ends (only where the rule asks for it) */
    CS_DTE_UNREAD,      /* a counter was not scheduled or changed while it was read */
    CS_DTE_WRAPPED,     /* a software counter went backwards: it was reset, or wrapped */
    CS_DTE_GAP,         /* longer than the rule's limit, by either clock: the observer was away */
    CS_DTE_BACKWARDS,   /* the clock did not advance */
    CS_DTE_VERDICTS
};

/* Intervals of this many cycles or more are gaps whatever the rule says; it keeps the arithmetic in 64 bits.
 */
#define CS_DTE_CYCLES_MAX ((uint64_t)1 << 31)

/* Two tests for skew. The paper's compares the times that both ends took. It is right where the time to read
 * does not depend on what is read: hardware counters. It is wrong for a counter in memory that the target
 * writes: the reading takes longer when the line was just written, so equal times select intervals by what
 * happened in them (measured: rates off by 20 to 30 % at 200 to 1200 cycles). There `slow_cycles` bounds the
 * reading alone, above what any transfer of a line takes; what lies above is an interrupt, whatever was read.
 */
struct cs_dte_rule {
    uint64_t band_q32;    /* half-width of the band times 2^32, below 2^32; see cs_dte_band */
    uint64_t slow_cycles; /* a reading that took longer is disturbed */
    uint64_t gap_cycles;  /* longer intervals are gaps; 1 to CS_DTE_CYCLES_MAX */
    bool same_thread, same_tag;
};

struct cs_dte_reading {
    uint64_t start, end; /* clock, in cycles; start <= end */
    uint64_t thread;     /* identity of what ran: any number that changes when something else did */
    uint64_t tag;
    bool complete;    /* every counter could be read */
    bool descheduled; /* what ran was not the target */
};

/* Intervals and cycles by verdict. */
struct cs_dte_tally {
    uint64_t intervals[CS_DTE_VERDICTS], cycles[CS_DTE_VERDICTS];
};

/* Half-width of the band as a rule holds it; 1 and above = no test (the band is then as wide as can be). */
#define CS_DTE_NO_BAND UINT64_MAX

uint64_t cs_dte_band(double band);
/* The paper's rule: band 0.01, no limit on gaps or readings, one thread, any tag. */
struct cs_dte_rule cs_dte_paper_rule(void);
/* One word, and a clause for people, for each verdict. */
const char *cs_dte_name(enum cs_dte_verdict verdict);
const char *cs_dte_meaning(enum cs_dte_verdict verdict);
uint64_t cs_dte_tally_intervals(const struct cs_dte_tally *tally); /* over all verdicts */
uint64_t cs_dte_tally_cycles(const struct cs_dte_tally *tally);

/* The skew test alone; 0 < starts < 2^31, 0 < ends < 2^32. */
static inline bool cs_dte_in_band(uint64_t starts, uint64_t ends, uint64_t band_q32)
{
    if (band_q32 == CS_DTE_NO_BAND)
        return true;
    /* Which is larger is a coin's toss: no branch on it. */
    int64_t more = (int64_t)(ends - starts), sign = more >> 63;
    return (uint64_t)((more ^ sign) - sign) << 32 <= starts * band_q32;
}

static inline enum cs_dte_verdict cs_dte_judge(const struct cs_dte_rule *rule,
                                               const struct cs_dte_reading *from,
                                               const struct cs_dte_reading *to)
{
    uint64_t starts = to->start - from->start, ends = to->end - from->end;
    /* Two compares for both of an interval's clocks: less than a cycle wraps to more than any limit. */
    uint64_t limit = rule->gap_cycles < CS_DTE_CYCLES_MAX ? rule->gap_cycles : CS_DTE_CYCLES_MAX;
    if (__builtin_expect(starts - 1 >= limit - 1 || ends - 1 >= limit - 1, 0))
        return to->start <= from->start || to->end <= from->end ? CS_DTE_BACKWARDS : CS_DTE_GAP;
    if (from->descheduled && to->descheduled)
        return CS_DTE_DESCHEDULED;
    if (!from->complete || !to->complete)
        return CS_DTE_UNREAD;
    if (rule->same_thread && from->thread != to->thread)
        return CS_DTE_THREAD;
    if (from->end - from->start > rule->slow_cycles || to->end - to->start > rule->slow_cycles)
        return CS_DTE_SKEW;
    if (!cs_dte_in_band(starts, ends, rule->band_q32))
        return CS_DTE_SKEW;
    if (rule->same_tag && from->tag != to->tag)
        return CS_DTE_TAG;
    return CS_DTE_KEPT;
}

static inline void cs_dte_count(struct cs_dte_tally *tally, enum cs_dte_verdict verdict, uint64_t cycles)
{
    tally->intervals[verdict]++;
    tally->cycles[verdict] += cycles;
}
