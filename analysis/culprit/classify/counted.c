/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/classify/counted.h"
#include "analysis/culprit/classify/culprit.h"
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/classify/rules_internal.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/* Beginnings of names, in small letters and with ':' between words; those of a kind by how well they say it. Retired loads
 * are better than lines brought in, which prefetches and stores bring, too. "cache-misses" are the last level's on Intel, the
 * second's on AMD, the first's on Arm: what it says holds for the last. */
static const struct {
    const char *begins;
    enum cs_counted kind;
} names[] = {
    {"mem_load_retired:l1_miss", CS_COUNTED_L1D},
    {"mem_load_uops_retired:l1_miss", CS_COUNTED_L1D},
    {"l1-dcache-load-misses", CS_COUNTED_L1D},
    {"mem_load_retired:l2_miss", CS_COUNTED_L2},
    {"mem_load_uops_retired:l2_miss", CS_COUNTED_L2},
    {"mem_load_retired:l3_miss", CS_COUNTED_L3},
    {"mem_load_uops_retired:l3_miss", CS_COUNTED_L3},
    {"llc-load-misses", CS_COUNTED_L3},
    {"cache-misses", CS_COUNTED_L3},
    {"mem_load_retired:fb_hit", CS_COUNTED_FILLS},
    {"mem_load_uops_retired:hit_lfb", CS_COUNTED_FILLS},
    {"mem_load_retired:hit_lfb", CS_COUNTED_FILLS},
    {"dtlb_load_misses:miss_causes_a_walk", CS_COUNTED_DTLB},
    {"dtlb-load-misses", CS_COUNTED_DTLB},
    {"l1-icache-load-misses", CS_COUNTED_ICACHE},
    {"itlb_misses:miss_causes_a_walk", CS_COUNTED_ITLB},
    {"itlb-load-misses", CS_COUNTED_ITLB},
    {"br_misp_retired", CS_COUNTED_MISPREDICT},
    {"branch-misses", CS_COUNTED_MISPREDICT},
    {"perf_count_sw_page_faults", CS_COUNTED_PAGE_FAULT},
    {"page-faults", CS_COUNTED_PAGE_FAULT},
    {"instructions", CS_COUNTED_INSTRUCTIONS},
    {"perf_count_hw_instructions", CS_COUNTED_INSTRUCTIONS},
    {"inst_retired:any", CS_COUNTED_INSTRUCTIONS}, /* any_p, too */
    {"instruction_retired", CS_COUNTED_INSTRUCTIONS},
    {"instructions_retired", CS_COUNTED_INSTRUCTIONS},
    {"retired_instructions", CS_COUNTED_INSTRUCTIONS},
    {"inst_retired", CS_COUNTED_INSTRUCTIONS},
};

enum cs_counted cs_counted_kind(const char *event, unsigned *rank)
{
    const char *prefix = strstr(event, "::");
    char plain[64];
    size_t n = 0;
    for (const char *at = prefix ? prefix + 2 : event; *at && n + 1 < sizeof plain; at++)
        plain[n++] = *at == '.' ? ':' : (char)tolower((unsigned char)*at);
    plain[n] = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(plain, names[i].begins, strlen(names[i].begins)) == 0) {
            *rank = i;
            return names[i].kind;
        }
    return CS_N_COUNTED;
}

bool cs_counted_is_precise(const char *event)
{
    const char *last = strrchr(event, ':');
    unsigned rank;
    return cs_counted_kind(event, &rank) == CS_COUNTED_PAGE_FAULT || strstr(event, "precise=") ||
           (last && strspn(last + 1, "ukhp") == strlen(last + 1) && strchr(last, 'p'));
}

double cs_counted_most(double samples)
{
    assert(samples >= 0);
    double n = samples + 1, root = 1 - 1 / (9 * n) + 1.645 / (3 * sqrt(n));
    return n * root * root * root;
}

static double least_of(double a, double b)
{
    return a < b ? a : b;
}

/* Cycles of one access, of those that the counts leave at each level. */
static double data_cycles(const struct cs_culprit_stall *s, const double *rate, bool most,
                          const struct cs_machine *m)
{
    const struct cs_culprit_memory *f = rule_is(s->op, CS_ISA_OP_LOAD) ? &s->memory : &s->load_before_memory;
    if (rule_is(s->op, CS_ISA_OP_PREFETCH | CS_ISA_OP_GATHER) ||
        (rate[CS_COUNTED_L1D] < 0 && rate[CS_COUNTED_L2] < 0 && rate[CS_COUNTED_L3] < 0))
        return INFINITY;
    const bool complete = rate[CS_COUNTED_FILLS] >= 0 || (f->seen && f->steady < CS_MODEL_COUNTED_STEADY);
    double past_l1 = complete && rate[CS_COUNTED_L1D] >= 0 ? least_of(1, rate[CS_COUNTED_L1D]) : 1;
    double beyond_l1 = rate[CS_COUNTED_L1D] >= 0 ? least_of(past_l1, rate[CS_COUNTED_L1D]) : past_l1;
    double unknown_l2 =
        most ? beyond_l1 : fmax(0, rate[CS_COUNTED_L3]); /* not counted: all of them, or none */
    double past_l2 = least_of(past_l1, rate[CS_COUNTED_L2] >= 0 ? rate[CS_COUNTED_L2] : unknown_l2);
    double unknown_l3 = most ? past_l2 : 0;
    double past_l3 = least_of(past_l2, rate[CS_COUNTED_L3] >= 0 ? rate[CS_COUNTED_L3] : unknown_l3);
    double l1 = m->l1d.latency_cycles, l2 = m->l2.latency_cycles, l3 = fmax(l2, m->l3.latency_cycles);
    double fills = rate[CS_COUNTED_FILLS] >= 0 ? least_of(1, rate[CS_COUNTED_FILLS]) : 0;
    return past_l1 * (l2 - l1) + past_l2 * (l3 - l2) +
           (past_l3 + fills * (1 - past_l3)) * (m->memory_cycles - l3);
}

/* Walks alone are counted: an access may hit the last level of the TLB all the same. */
static double page_cycles(const struct cs_culprit_stall *s, const double *rate, const struct cs_machine *m)
{
    double walks = rate[CS_COUNTED_DTLB];
    if (walks < 0 || !rule_is(s->op, CS_ISA_OP_LOAD) || rule_is(s->op, CS_ISA_OP_STORE | CS_ISA_OP_GATHER))
        return INFINITY;
    return least_of(1, walks) * m->walk_cycles;
}

static double of_each(double rate, double cycles)
{
    return rate < 0 ? INFINITY : rate * cycles;
}

static double cycles_of(const struct cs_culprit_stall *s, const double *rate, int cause,
                        const struct cs_machine *m)
{
    switch (cause) {
    case CS_CAUSE_DCACHE:
        return data_cycles(s, rate, rate == s->event_rate, m);
    case CS_CAUSE_DTLB:
        return page_cycles(s, rate, m);
    case CS_CAUSE_ICACHE: /* dcpi-1997 section 6.3: a fill all the way from memory */
        return of_each(rate[CS_COUNTED_ICACHE], m->memory_cycles);
    case CS_CAUSE_ITLB:
        return of_each(rate[CS_COUNTED_ITLB], m->walk_cycles);
    case CS_CAUSE_MISPREDICT:
    case CS_CAUSE_RETURN:
        return of_each(rate[CS_COUNTED_MISPREDICT], m->mispredict_cycles[1]);
    case CS_CAUSE_PAGE_FAULT:
        return of_each(rate[CS_COUNTED_PAGE_FAULT], CS_MODEL_PAGE_FAULT_MAX);
    default:
        return INFINITY;
    }
}

double cs_counted_cycles_most(const struct cs_culprit_stall *s, int cause, const struct cs_machine *m)
{
    double cycles = cycles_of(s, s->event_rate, cause, m);
    return cause == CS_CAUSE_DCACHE ? CS_MODEL_MISS_HIGH * cycles
           : cause == CS_CAUSE_DTLB ? CS_MODEL_STLB_HIT + cycles
                                    : cycles;
}

/* Lines of code and page faults cost less than the most by a factor that no event tells. */
double cs_counted_cycles_likely(const struct cs_culprit_stall *s, int cause, const struct cs_machine *m)
{
    const bool told = cause == CS_CAUSE_DTLB || cause == CS_CAUSE_MISPREDICT ||
                      (cause == CS_CAUSE_DCACHE && s->event_likely[CS_COUNTED_L1D] >= 0);
    double cycles = told ? cycles_of(s, s->event_likely, cause, m) : INFINITY;
    return cause == CS_CAUSE_MISPREDICT ? cycles * (1 + m->mispredict_cycles[0] / m->mispredict_cycles[1]) / 2
                                        : cycles;
}
