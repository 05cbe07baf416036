/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which loops of a recording may be run, and what is said of those that were. */
#include "cli/procedure/calc.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

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
