/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cold part of double-time-error filtering: rules, names, sums. The judgement itself is inline in dte.h.
 */
#include "dte/dte.h"

#include <assert.h>

static const struct {
    const char *name, *meaning;
} verdicts[CS_DTE_VERDICTS] = {
    [CS_DTE_KEPT] = {"kept", "read undisturbed at both ends"},
    [CS_DTE_SKEW] = {"skew", "reading was disturbed at one of the ends"},
    [CS_DTE_DESCHEDULED] = {"descheduled", "the target did not run: another program or nobody had its CPU"},
    [CS_DTE_THREAD] = {"thread", "another thread ran at one end or in between"},
    [CS_DTE_TAG] = {"tag", "the tag changed between the ends"},
    [CS_DTE_UNREAD] = {"unread", "a counter was descheduled or changed while it was read"},
    [CS_DTE_WRAPPED] = {"wrapped", "a software counter went backwards"},
    [CS_DTE_GAP] = {"gap", "the observer was away"},
    [CS_DTE_BACKWARDS] = {"backwards", "the clock did not advance"},
};

uint64_t cs_dte_band(double band)
{
    if (!(band > 0))
        return 0;
    if (band >= 1)
        return CS_DTE_NO_BAND;
    double scaled = band * 4294967296.0 + 0.5;
    return scaled >= 4294967295.0 ? 4294967295u : (uint64_t)scaled;
}

struct cs_dte_rule cs_dte_paper_rule(void)
{
    return (struct cs_dte_rule){.band_q32 = cs_dte_band(0.01),
                                .slow_cycles = UINT64_MAX,
                                .gap_cycles = CS_DTE_CYCLES_MAX,
                                .same_thread = true,
                                .same_tag = false};
}

const char *cs_dte_name(enum cs_dte_verdict verdict)
{
    assert(verdict < CS_DTE_VERDICTS);
    return verdict < CS_DTE_VERDICTS ? verdicts[verdict].name : "";
}

const char *cs_dte_meaning(enum cs_dte_verdict verdict)
{
    return verdict < CS_DTE_VERDICTS ? verdicts[verdict].meaning : "";
}

static uint64_t sum(const uint64_t by_verdict[CS_DTE_VERDICTS])
{
    uint64_t total = 0;
    for (int v = 0; v < CS_DTE_VERDICTS; v++)
        total += by_verdict[v];
    return total;
}

uint64_t cs_dte_tally_intervals(const struct cs_dte_tally *tally)
{
    return sum(tally->intervals);
}

uint64_t cs_dte_tally_cycles(const struct cs_dte_tally *tally)
{
    return sum(tally->cycles);
}
