/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the evidence of two stores to the three measures. */
#include "cli/gate/apart.h"
#include "cli/gate/builds/builds.h"
#include "cli/gate/counted.h"
#include "cli/gate/evidence.h"
#include "cli/gate/gate.h"
#include "cli/gate/guilty.h"
#include "cli/gate/in_kernel.h"
#include "cli/gate/notes.h"
#include "cli/gate/off_cpu.h"
#include "cli/gate/wait_places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of what the kernel takes for one. More of them are a verdict only if the lower alone is a growth that counts, and
 * as good as none only if the upper isn't one either: the pace tells what lies between. */
struct cheap {
    enum gate_count count;
    const char *name;
    double least_ns, most_ns;
};
static const struct cheap cheap[] = {{GATE_FAULTS, "page faults", 500, 5000},
                                     {GATE_SYSTEM_CALLS, "system calls", 100, 2000}};
#define N_CHEAP (sizeof cheap / sizeof cheap[0])
#define OTHER_LEAST 0.25  /* of the growth: what functions with other instructions must have grown by */
#define WAITS_OF_PACE 0.1 /* of the pace's growth: waits that grew by less have little to do with it */
#define LAYOUT_MAX 0.15   /* a larger change is a loss, whatever placed code and data */

/* Of runs in turn, with all that recording takes: from one's begin to the next one's, twice. */
static double seconds_a_pair(const struct gate_run *run, size_t n)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t r = 0; r < n; r++) {
        const uint64_t began = run[r].began_ms;
        first = began < first ? began : first;
        last = began > last ? began : last;
    }
    return n > 1 ? 2e-3 * (double)(last - first) / (double)(n - 1) : 0;
}

static struct gate_check *check_count(struct gate *gate, const struct gate_evidence *e, enum gate_count count,
                                      const char *name, const char *what, double scale, const char *unit)
{
    const bool timed = count == GATE_CPU && e->timed.n;
    const struct gate_run *run = timed ? e->timed.run : e->count[count];
    const size_t n = timed ? e->timed.n : e->functions.n_runs;
    struct gate_check *c = gate_add(gate, name, what, unit);
    if (!c)
        return NULL;
    const double base = gate_mean(run, n, 0);
    c->base = base * scale;
    c->head = gate_mean(run, n, 1) * scale;
    const struct comparison *samples = &e->comparison;
    const double grain = count == GATE_CPU && e->cpu_is_sampled && !timed
                             ? sqrt(1 / fmax(samples->side[0].total, 1) + 1 / fmax(samples->side[1].total, 1))
                         : count >= GATE_FAULTS && base > 0 ? 1 / base
                                                            : 0;
    c->known = gate_estimate(run, n, GATE_RATIO, grain, &c->estimate);
    gate_judge(&gate->limits, c, seconds_a_pair(run, n));
    if (!c->known)
        snprintf(c->sentence, sizeof c->sentence,
                 isnan(base) ? "not counted in these recordings"
                             : "too few runs: at least three of each are needed");
    return c;
}

/* Counts of what costs little: their growth is a verdict only where it must take time. */
static bool check_cheap(struct gate *gate, const struct gate_evidence *e, const struct cheap *of)
{
    const size_t n = e->functions.n_runs;
    const double cpu = gate_mean(e->count[GATE_CPU], n, 0), least = gate->limits.ignore_below / 100;
    if (isnan(gate_mean(e->count[of->count], n, 0)) || isnan(gate_mean(e->count[of->count], n, 1)))
        return true;
    struct gate_check *c = check_count(gate, e, of->count, of->name, "per run", 1, "");
    if (!c)
        return false;
    const double more = (c->head - c->base) / cpu;
    char change[32], part[2][32];
    if (!c->known || c->verdict == GATE_SAME || fabs(more) * of->least_ns > least)
        return true;
    gate_percent(c->estimate.change, change);
    if (fabs(more) * of->most_ns <= least) {
        c->verdict = GATE_SAME;
        snprintf(c->sentence, sizeof c->sentence, "%s, which is below %g %% of the CPU time", change,
                 gate->limits.ignore_below);
    } else {
        c->verdict = GATE_CANT_TELL;
        snprintf(c->sentence, sizeof c->sentence,
                 "%s: by what one may cost, %s to %s of the CPU time, which the pace has to show", change,
                 gate_percent(more * of->least_ns, part[0]), gate_percent(more * of->most_ns, part[1]));
    }
    return true;
}

static bool check_work(struct gate *gate, const struct gate_evidence *e, const struct gate_counted *counted)
{
    struct gate_check *work = check_count(gate, e, GATE_INSTRUCTIONS, "work",
                                          "instructions in user mode per run", 1, "instructions");
    if (!work)
        return false;
    if (!work->known && counted->known)
        gate_counted_judge(gate, counted, work);
    else if (isnan(work->base) || isnan(work->head))
        snprintf(work->sentence, sizeof work->sentence, "no instructions were counted");
    for (size_t i = 0; i < N_CHEAP; i++)
        if (!check_cheap(gate, e, &cheap[i]))
            return false;
    return true;
}

static void say_net(struct gate_check *pace, const char *what, double net)
{
    char change[2][32];
    pace->verdict = GATE_SLOWER;
    snprintf(pace->sentence, sizeof pace->sentence,
             "%s grew by %s of the CPU time in sum; the total alone (%s) can't tell", what,
             gate_percent(net, change[0]),
             pace->known ? gate_percent(pace->estimate.change, change[1]) : "?");
}

/* *in_kernel: what time in the kernel, and no other measure, shows to have grown; 0: nothing. */
static bool check_pace(struct gate *gate, const struct gate_evidence *e, double *in_kernel,
                       struct cs_error *err, int *rc)
{
    double net, net_user;
    struct gate_check *pace = check_count(gate, e, GATE_CPU, "pace",
                                          e->timed.n          ? "CPU time per run, not recorded"
                                          : e->cpu_is_sampled ? "CPU time per run, by samples"
                                                              : "CPU time per run",
                                          1e-9, "s");
    if (!pace)
        return false;
    gate_apart_doubt(pace);
    if (gate_is_nameless(gate))
        return true;
    *rc = gate_guilty_functions(gate, e, pace->verdict == GATE_SLOWER, &net, &net_user, err);
    if (*rc < 0)
        return true;
    const double least = gate->limits.ignore_below / 100;
    const bool may_be = pace->verdict != GATE_SLOWER &&
                        (!pace->known || !pace->estimate.in_turn || pace->estimate.high > least);
    if (may_be && net > least)
        say_net(pace, "functions that really changed", net);
    else if (may_be && pace->verdict == GATE_CANT_TELL &&
             (net = net_user + gate_net_in_kernel(gate, e)) > least) {
        say_net(pace, "functions that really changed, with their time in the kernel,", net);
        *in_kernel = net;
    }
    return true;
}

/* Their changes aren't shares of the waits themselves, of which a base may have none. */
static void say_of_waits(struct gate *gate, const char *what, double whole_ns)
{
    char of[40] = "";
    if (whole_ns > 0)
        snprintf(of, sizeof of, " of %.3g s", whole_ns * 1e-9);
    snprintf(gate->of_waits, sizeof gate->of_waits, "%s; changes in %% of a run%s", what, of);
}

/* What the many runs say that nothing recorded, where the few recorded ones can't tell. */
static void take_off_cpu(struct gate *gate, struct gate_check *c, const struct gate_off_cpu *off,
                         double whole_ns)
{
    char change[32], range[2][32];
    say_of_waits(gate,
                 off->exact ? "time off the CPU per run, not recorded"
                            : "elapsed time per run, not recorded, but for more CPU time",
                 whole_ns);
    c->what = gate->of_waits;
    c->known = true;
    c->estimate = off->estimate;
    c->base = off->base_ns * 1e-9;
    c->head = off->head_ns * 1e-9;
    c->verdict = off->grew ? GATE_SLOWER : GATE_SAME;
    if (!off->grew) /* the way that has most is the one to bound */
        c->estimate.high = off->high;
    bool named = !off->grew;
    for (size_t i = 0; i < gate->n_guilty; i++)
        named |= gate_is_wait(&gate->guilty[i]);
    snprintf(c->sentence, sizeof c->sentence, "%s (between %s and %s)%s",
             gate_percent(c->estimate.change, change), gate_percent(c->estimate.low, range[0]),
             gate_percent(c->estimate.high, range[1]),
             named ? "" : "; the recorded runs can't tell which wait has most of it");
}

static void take_places(struct gate_check *c, double net)
{
    char change[32];
    c->verdict = GATE_SLOWER;
    snprintf(c->sentence, sizeof c->sentence, "waits that really changed grew by %s of a run's time in sum",
             gate_percent(net, change));
}

/* That is what is judged, then. */
static void take_kind(struct gate *gate, struct gate_check *c, const struct gate_wait_kind *kind,
                      double whole_ns)
{
    char change[32];
    c->verdict = GATE_SLOWER;
    say_of_waits(gate, "threads' waits of one kind per run", whole_ns);
    c->base = kind->base_ns * 1e-9;
    c->head = kind->head_ns * 1e-9;
    c->estimate = kind->estimate;
    snprintf(c->sentence, sizeof c->sentence,
             "waits of the kind %s grew by %s of a run's time%s; those of all kinds vary too much to "
             "show it",
             kind->kind, gate_percent(kind->estimate.change, change),
             kind->by_ranks ? " (sure by their ranks, because they vary much)" : "");
}

static bool check_waits(struct gate *gate, const struct gate_evidence *e, struct cs_error *err, int *rc)
{
    struct gate_off_cpu off;
    const size_t n = e->functions.n_runs;
    const double elapsed = gate_whole(e);
    struct gate_check *c =
        gate_add(gate, "waits",
                 e->waited ? gate->of_waits : "elapsed time beyond CPU time; changes in % of a run", "s");
    struct gate_run *run = calloc(n + 1, sizeof *run);
    double net = 0;
    say_of_waits(gate, "threads' waits per run, none for a CPU", elapsed);
    if (!c || !run || !gate_off_cpu(&e->timed, elapsed, gate->limits.ignore_below / 100, &off)) {
        free(run);
        return false;
    }
    for (size_t r = 0; r < n; r++) {
        run[r] = e->count[GATE_ELAPSED][r];
        run[r].value = e->waited ? gate_waited_in(e, r) : run[r].value - e->count[GATE_CPU][r].value;
        run[r].machine = (double)NAN;
    }
    c->base = gate_mean(run, n, 0) * 1e-9;
    c->head = gate_mean(run, n, 1) * 1e-9;
    for (size_t r = 0; r < n; r++)
        run[r].value /= elapsed;
    c->known = gate_estimate(run, n, GATE_DIFFERENCE, 0, &c->estimate);
    free(run);
    gate_judge(&gate->limits, c, seconds_a_pair(e->count[GATE_ELAPSED], n));
    if (c->known && !e->waited && !c->estimate.in_turn) {
        c->verdict = GATE_CANT_TELL;
        snprintf(c->sentence, sizeof c->sentence,
                 "base and head didn't take turns, and other programs' load counts here; record --waits "
                 "would tell");
    } else if (!c->known) {
        snprintf(c->sentence, sizeof c->sentence,
                 isnan(elapsed) ? "not recorded: record of a command, with --waits, would tell"
                                : "too few runs: at least three of each are needed");
    } else if (!e->waited && c->verdict == GATE_CANT_TELL) {
        strncat(c->sentence, "; so would record --waits", sizeof c->sentence - strlen(c->sentence) - 1);
    }
    const struct gate_check *pace = gate_find(gate, "pace");
    gate->waits_grew = c->known && e->waited && c->estimate.in_turn && c->estimate.change > 0 &&
                       c->estimate.chance < GATE_CHANCE && pace->verdict == GATE_SLOWER &&
                       c->estimate.change > WAITS_OF_PACE * pace->estimate.change;
    const double least = gate->limits.ignore_below / 100, by_kinds = gate_wait_kinds_net(&e->kinds);
    const struct gate_wait_kind *kind = gate_wait_kinds_first(&e->kinds, least);
    const bool may_grow = c->known && c->estimate.high > least,
               kinds_grew = may_grow && kind && by_kinds > least,
               by_time = off.grew && (may_grow || !c->known);
    if (off.known && c->verdict == GATE_SLOWER && c->estimate.chance >= GATE_RECORDED_WAITS_CHANCE)
        c->verdict = GATE_CANT_TELL; /* timed runs have the rest of the level */
    const struct gate_waits_grown grown = {
        .slower = c->verdict == GATE_SLOWER || kinds_grew || gate->waits_grew,
        .unsure = by_time,
        .kind = kinds_grew ? kind : NULL,
        .ns =
            c->verdict != GATE_SLOWER && by_time ? off.estimate.change * elapsed : (c->head - c->base) * 1e9};
    *rc = gate_guilty_waits(gate, e, &grown, &net, err);
    if (*rc == 0 && c->verdict != GATE_SLOWER) {
        if (net > least)
            take_places(c, net);
        else if (kinds_grew)
            take_kind(gate, c, kind, elapsed);
        else if (by_time || (c->verdict == GATE_CANT_TELL && off.known && off.estimate.in_turn &&
                             off.high <= gate->limits.must_see / 100))
            take_off_cpu(gate, c, &off, elapsed);
    }
    return true;
}

/* What a few more faults or calls cost is in the pace. */
static void settle_cheap(struct gate *gate)
{
    const struct gate_check *pace = gate_find(gate, "pace");
    for (size_t i = 0; i < N_CHEAP; i++) {
        struct gate_check *c = gate_find(gate, cheap[i].name);
        if (c && c->known && c->verdict == GATE_CANT_TELL && pace->verdict == GATE_SAME)
            c->verdict = GATE_SAME;
    }
}

static bool cheap_is_same(const struct gate *gate)
{
    bool same = true;
    for (size_t i = 0; i < N_CHEAP; i++) {
        const struct gate_check *c = gate_find(gate, cheap[i].name);
        same &= !c || c->verdict == GATE_SAME;
    }
    return same;
}

/* The pace changed, and all else that could be the program's doing didn't. */
static void tell_layout(struct gate *gate, const struct gate_counted *counted)
{
    struct gate_check *pace = gate_find(gate, "pace");
    if (!counted->known || !(counted->same_work || counted->nearly_same_work) ||
        (pace->verdict != GATE_SLOWER && pace->verdict != GATE_FASTER))
        return;
    if (gate_find(gate, "work")->verdict != GATE_SAME || !cheap_is_same(gate))
        return;
    /* A few instructions that changed may take all the time: then their function is among those that grew. By less than a hash of
     * addresses makes, the code has to be another one, too: gate_settle_layout(). */
    double other = 0; /* percent of the base's run */
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (gate_counted_differs(counted, &gate->guilty[i]) &&
            !gate_counted_hardly_differs(counted, &gate->guilty[i]))
            other += gate->guilty[i].share;
    if (other > 0 && other >= 100 * OTHER_LEAST * pace->estimate.change)
        return;
    gate->hashed = !counted->same_work;
    for (size_t i = 0; i < gate->n_guilty; i++)
        gate->hashed |= gate_counted_differs(counted, &gate->guilty[i]);
    char change[32];
    if (!counted->same_work) { /* hashes of addresses make such a difference, and so does one constant */
        if (!pace->known || fabs(pace->estimate.change) > LAYOUT_MAX)
            return;
        gate->unproven = pace->estimate.change > 0;
        pace->verdict = GATE_CANT_TELL;
        snprintf(
            pace->sentence, sizeof pace->sentence,
            "%s, but only %.4f %% of the instructions may be other ones, or code and data lie elsewhere. "
            "More runs may name a function that grew",
            gate_percent(pace->estimate.change, change), counted->parts_percent);
        return;
    }
    if (!pace->known || fabs(pace->estimate.change) > LAYOUT_MAX) {
        gate_note(gate,
                  "%.2f %% of the instructions are in functions that ran exactly the same ones as often. "
                  "The cause is the memory, or where code or data lie.",
                  100 - counted->differing_percent);
        return;
    }
    gate->unproven = pace->estimate.change > 0;
    pace->verdict = GATE_LAYOUT;
    snprintf(pace->sentence, sizeof pace->sentence,
             "%s, but %.2f %% of the instructions are in functions that ran exactly the same ones as often: "
             "where code or data lie made the difference",
             gate_percent(pace->estimate.change, change), 100 - counted->differing_percent);
}

/* The whole is slower in time, and not by work. */
static bool may_be_candidates(const struct gate *gate)
{
    return gate->unproven ||
           (gate_find(gate, "pace")->verdict == GATE_SLOWER && gate_find(gate, "pace")->known &&
            gate_find(gate, "work")->verdict != GATE_SLOWER);
}

static bool has_candidates(const struct gate *gate)
{
    bool any = false;
    for (size_t i = 0; i < gate->n_guilty; i++)
        any |= gate->guilty[i].candidate;
    return any;
}

int gate_compare_stores(struct gate *gate, struct cs_error *err)
{
    struct gate_evidence e;
    static struct gate_counted counted; /* its paths are long */
    double in_kernel = 0;
    int rc = gate_evidence_open(&e, gate, err);
    counted = (struct gate_counted){.known = false};
    if (rc == 0 && !gate->builds)
        rc = gate_counted_open(&counted, gate, err);
    if (rc == 0 && (!check_work(gate, &e, &counted) || !check_pace(gate, &e, &in_kernel, err, &rc) ||
                    (rc == 0 && !check_waits(gate, &e, err, &rc))))
        rc = cs_fail(err, ENOMEM, "out of memory for %zu runs", e.functions.n_runs);
    if (rc == 0 && gate_find(gate, "work")->verdict == GATE_SLOWER && counted.known)
        rc = gate_guilty_counted(gate, &counted, err);
    if (rc == 0) {
        settle_cheap(gate);
        if (!(in_kernel > 0) && e.timed.n && gate_find(gate, "pace")->verdict == GATE_SLOWER)
            in_kernel = gate_kernel_time_grew(&e.timed, gate_find(gate, "pace")->estimate.change);
        if (!(in_kernel > 0) && !gate->waits_grew) /* neither is made by the program's layout */
            tell_layout(gate, &counted);
    }
    if (rc == 0 && (gate->unproven ||
                    (gate_find(gate, "pace")->verdict == GATE_SLOWER && gate_find(gate, "pace")->known)))
        rc = gate_guilty_in_kernel(gate, &e, fmax(gate_find(gate, "pace")->estimate.change, in_kernel), err);
    if (rc == 0)
        gate_settle_system_calls(gate);
    if (rc == 0 && may_be_candidates(gate))
        rc = gate_guilty_candidates(gate, &e, gate_find(gate, "pace")->estimate.change, err);
    for (size_t i = 0; counted.known && i < gate->n_guilty; i++)
        gate->guilty[i].differs = gate_counted_differs(&counted, &gate->guilty[i]);
    if (rc == 0 && has_candidates(gate))
        rc = gate_guilty_lines(gate, &e, err);
    if (rc == 0) {
        gate_find_wait_lines(gate, &e);
        gate_say_notes(gate, &e, counted.same_work || !cheap_is_same(gate) || gate->waits_grew);
    }
    gate_counted_close(&counted);
    gate_evidence_close(&e);
    return rc;
}
