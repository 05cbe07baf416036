/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which loops of a recording may be run, and what is said of those that were. */
#include "analysis/culprit/removed.h"
#include "cli/command/figures.h"
#include "cli/procedure/calc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char *const removed[CS_N_EXPERIMENT_VARIANTS] = {
    [CS_EXPERIMENT_NO_LOCK] = "locks",   [CS_EXPERIMENT_NO_DIVISION] = "divisions",
    [CS_EXPERIMENT_NO_CHAIN] = "chains", [CS_EXPERIMENT_NO_FORWARD] = "forwards",
    [CS_EXPERIMENT_ALIGNED] = "offset",
};
enum { MOST = 200 }; /* in one report: those with the samples for it are far fewer */

struct cs_experiments *calc_experiments(const struct parsed *args, enum cs_isa isa,
                                        const struct cs_machine *machine, bool recorded)
{
    struct cs_machine here;
    char processor[200];
    if (isa != CS_ISA_X86_64 || !recorded || option_given(args, "no-experiments") || option(args, "cpu"))
        return NULL;
    cs_machine_detect(&here);
    if (!cs_machine_alike(machine, &here) || access("/sys/devices/cpu_atom", F_OK) == 0)
        return NULL;
    snprintf(processor, sizeof processor, "%s, %s, features %" PRIx32, here.stated, here.cpu, here.features);
    return cs_experiments_open(processor, MOST);
}

const char *experiments_told(const struct cs_cycle_account *a, char *text, size_t size)
{
    unsigned all = 0, measured = a->n_experiments[CS_EXPERIMENT_DONE];
    int most = CS_EXPERIMENT_OFF;
    for (int why = 0; why < CS_N_EXPERIMENT_WHY; why++) {
        all += a->n_experiments[why];
        if (why != CS_EXPERIMENT_DONE && a->n_experiments[why] > a->n_experiments[most])
            most = why;
    }
    *text = 0;
    if (measured)
        snprintf(text, size, "; %u of %u hot loop%s measured on this machine", measured, all,
                 all == 1 ? "" : "s");
    else if (all > a->n_experiments[CS_EXPERIMENT_OFF])
        snprintf(text, size, "; of %u hot loop%s none could be measured (%s)", all, all == 1 ? "" : "s",
                 cs_experiment_why_names[most]);
    return text;
}

json_t *experiments_json(const struct cs_cycle_account *a)
{
    json_t *o = json_object();
    for (int why = 0; why < CS_N_EXPERIMENT_WHY; why++)
        if (a->n_experiments[why])
            json_object_set_new(o, cs_experiment_why_names[why], json_integer(a->n_experiments[why]));
    return o;
}

const char *removed_told(const struct cs_cycle_account *a, enum cs_culprit_cause cause, char *text,
                         size_t size)
{
    static const char *const without[CS_N_EXPERIMENT_VARIANTS] = {
        [CS_EXPERIMENT_NO_LOCK] = "Without the lock prefix",
        [CS_EXPERIMENT_NO_DIVISION] = "Without the division",
        [CS_EXPERIMENT_NO_CHAIN] = "Without the dependence on the turn before",
        [CS_EXPERIMENT_NO_FORWARD] = "Without loads from where it stores",
        [CS_EXPERIMENT_ALIGNED] = "Aligned to 64 bytes",
    };
    struct cs_culprit_removed gone;
    char cycles[48], less[48];
    *text = 0;
    if (cs_culprit_removed(a, cause, &gone) ||
        (cause < CS_N_CAUSES && cs_culprit_removed(a, CS_N_CAUSES, &gone)))
        snprintf(text, size, "%s the same loop takes %s instead of %s cycles a turn (measured here)",
                 without[gone.what], figures(gone.without, 3, less), figures(gone.cycles, 3, cycles));
    return text;
}

void bound_gain(const struct cs_cycle_account *a, enum cs_culprit_cause cause, struct cause_gain *gain)
{
    struct cs_culprit_removed gone;
    if (cause >= CS_N_CAUSES || !cs_culprit_removed(a, cause, &gone))
        return;
    const double saves = fmax(gone.saves, 0);
    /* Several chains in place of one save less than none, and a change of algorithm more. */
    if (cause == CS_CAUSE_DEPENDENCY && saves < gain->most) {
        gain->likely = fmin(gain->likely, (gain->likely + saves) / 2);
        gain->most = (gain->most + saves) / 2;
    } else if (cause != CS_CAUSE_DEPENDENCY) {
        gain->likely = saves;
    }
    gain->most = fmax(gain->most, gain->likely);
    gain->least = fmin(gain->least, gain->likely);
}

json_t *loops_json(const struct cs_cycle_account *a)
{
    json_t *all = json_array();
    for (unsigned k = 0; k < a->n_loops; k++) {
        const struct cs_cycle_account_loop *loop = &a->loops[k];
        double share;
        const double turn = cs_cycle_account_turn(a, k, &share);
        json_t *without = json_object();
        for (int w = 0; w < CS_N_EXPERIMENT_VARIANTS; w++)
            if (loop->without[w].why != CS_EXPERIMENT_ABSENT)
                json_object_set_new(without, removed[w],
                                    loop->without[w].why
                                        ? json_string(cs_experiment_why_names[loop->without[w].why])
                                        : json_real(loop->without[w].cycles));
        json_array_append_new(all, json_pack("{s:f, s:o, s:f, s:o}", "cycles", loop->cycles, "program_cycles",
                                             isfinite(turn) ? json_real(turn) : json_null(), "share",
                                             100 * share, "without", without));
    }
    return all;
}
