/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two builds by epochs of a daemon. What the program did in an epoch isn't counted, so its time as a whole can't be judged. The
 * shares of its functions can, as `fleet watch` judges them. A share must have changed by itself, and also when the factor that all
 * functions share is taken out. So "slower" is possible, "same" isn't. */
#include "cli/gate/builds/builds.h"
#include "cli/gate/evidence.h"
#include "cli/gate/gate.h"
#include "cli/gate/guilty.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EPOCHS_MIN 3
#define BY_EPOCHS_ALONE 0.01

/* Do the epochs by themselves agree that the share changed? */
static bool agree(const struct runs *runs, const struct run_row *row, double common_factor)
{
    struct gate_estimate estimate;
    struct gate_run *run = calloc(runs->n_runs + 1, sizeof *run);
    for (size_t r = 0; run && r < runs->n_runs; r++) {
        const struct run *from = &runs->run[r];
        run[r] = (struct gate_run){.side = from->set,
                                   .began_ms = from->began_ms,
                                   .value = row->samples[r] / fmax(from->total, 1) /
                                            (from->set ? common_factor : 1),
                                   .machine = (double)NAN};
    }
    const bool known = run && gate_estimate(run, runs->n_runs, GATE_DIFFERENCE, 0, &estimate);
    free(run);
    return known && estimate.chance < BY_EPOCHS_ALONE;
}

static int keep(struct gate *gate, const struct change *x, double common_factor, double growth)
{
    char *name = gate_readable(x->row->name);
    const struct gate_guilty one = {.function = name,
                                    .image = x->row->image,
                                    .kind = "function",
                                    .base = (double)NAN, /* seconds of a run: epochs are none */
                                    .head = (double)NAN,
                                    .weight = {x->cost_a, x->cost_b / common_factor},
                                    .share = growth,
                                    .ratio = x->ratio};
    const int rc = name ? gate_guilty_keep(gate, &one) : -ENOMEM;
    free(name);
    return rc;
}

/* Percent of the base's time that functions really grew by, less what others really shrank by. */
static int judge_functions(struct gate *gate, const struct runs *runs, double *net, struct cs_error *err)
{
    struct comparison c = {.least = gate->limits.ignore_below, .shares = true, .per_work = true};
    int rc = runs_compare(runs, &c);
    *net = 0;
    for (size_t i = 0; rc == 0 && i < c.n && c.change[i].significant; i++) {
        const struct change *x = &c.change[i];
        const double growth = x->cost_b / c.common_factor - x->cost_a;
        if (x->discovery >= GATE_CHANCE || !agree(runs, x->row, c.common_factor))
            continue;
        *net += growth;
        rc = growth > 0 ? keep(gate, x, c.common_factor, growth) : 0;
    }
    free(c.change);
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for %zu functions", runs->n_rows) : 0;
}

static int load(struct gate *gate, struct runs *runs, struct cs_error *err)
{
    int rc = 0;
    for (unsigned side = 0; rc == 0 && side < 2; side++) {
        runs->image = gate->builds->side[side]->id;
        rc = gate_runs_add(runs, gate, side, NULL, BY_PROCEDURE, err);
    }
    if (rc == 0 && runs_join_renamed(runs) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for %zu functions", runs->n_rows);
    return rc;
}

static int judge_pace(struct gate *gate, struct cs_error *err)
{
    const struct gate_builds *b = gate->builds;
    struct runs runs = {.n_runs = 0};
    struct gate_check *pace = gate_add(gate, "pace", "shares of the program's functions", "");
    double net = 0;
    if (!pace)
        return cs_fail(err, ENOMEM, "out of memory for a check");
    if (b->side[0]->n_used < EPOCHS_MIN || b->side[1]->n_used < EPOCHS_MIN) {
        snprintf(pace->sentence, sizeof pace->sentence,
                 "%zu epochs of the base's build and %zu of the head's: at least %d of each are needed. A "
                 "shorter epoch-length, or `daemon epoch`, gives more",
                 b->side[0]->n_used, b->side[1]->n_used, EPOCHS_MIN);
        return 0;
    }
    if (gate_is_nameless(gate)) {
        snprintf(pace->sentence, sizeof pace->sentence,
                 "functions of a build without its file have no names to be compared by");
        return 0;
    }
    int rc = load(gate, &runs, err);
    rc = rc < 0 ? rc : judge_functions(gate, &runs, &net, err);
    runs_fini(&runs);
    char change[32];
    if (net > gate->limits.ignore_below) {
        pace->verdict = GATE_SLOWER;
        snprintf(pace->sentence, sizeof pace->sentence,
                 "against the program's other functions, those that really changed grew by %s of its time in "
                 "sum",
                 gate_percent(net / 100, change));
    } else {
        snprintf(pace->sentence, sizeof pace->sentence,
                 "no function grew against the program's other ones by more than chance. A growth that all "
                 "share can't be seen: a daemon's epochs don't count what the program did. Recordings of one "
                 "command would tell");
    }
    return rc;
}

int gate_compare_shares(struct gate *gate, struct cs_error *err)
{
    struct gate_check *work = gate_add(gate, "work", "instructions in user mode", "instructions");
    if (!work)
        return cs_fail(err, ENOMEM, "out of memory for a check");
    snprintf(work->sentence, sizeof work->sentence, "a daemon's epochs don't count what the program did");
    const int rc = judge_pace(gate, err);
    struct gate_check *waits = gate_add(gate, "waits", "threads' waits, none for a CPU", "s");
    if (rc == 0 && !waits)
        return cs_fail(err, ENOMEM, "out of memory for a check");
    if (rc == 0)
        snprintf(
            waits->sentence, sizeof waits->sentence,
            "a daemon's epochs don't count what the program did, and waits depend on that. Recordings of "
            "one command with --waits would tell");
    return rc;
}
