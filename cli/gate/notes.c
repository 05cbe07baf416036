/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/notes.h"

#include <math.h>
#include <string.h>

#define KEPT_APART 0.7     /* of their time: below, threads rarely run at the same time */
#define COMMON_LEAST 0.005 /* of all functions: less isn't worth a word */
#define MOST 0.5

/* What threads take from each other, as a line of the cache, they take only while both run. */
static void say_kept_apart(struct gate *gate, const struct gate_evidence *e)
{
    const struct gate_check *pace = gate_find(gate, "pace");
    double alone = 0;
    for (size_t r = 0; r < e->functions.n_runs; r++)
        alone += e->alone[r] / (double)e->functions.n_runs;
    if (e->waited && e->threads > 1 && alone < KEPT_APART && pace->verdict != GATE_SLOWER)
        gate_note(
            gate,
            "The load of others let these threads run %.0f %% of the time that they could have. Lines that "
            "they take from each other (false sharing) cost less then. A quieter machine would tell.",
            100 * alone);
}

/* The rows of functions don't have what all of them share. */
static void say_common(struct gate *gate, const struct gate_check *pace, double common)
{
    char change[32];
    double rows = 0;
    gate_percent(common, change);
    if (fabs(common) < COMMON_LEAST)
        return;
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (strcmp(gate->guilty[i].kind, "function") == 0 ||
            strcmp(gate->guilty[i].kind, GATE_IN_KERNEL) == 0)
            rows += gate->guilty[i].share / 100;
    if (rows < MOST * pace->estimate.change && common / pace->estimate.change >= MOST &&
        (pace->verdict == GATE_SLOWER || pace->verdict == GATE_FASTER))
        gate_note(
            gate,
            "Half of the functions changed by %s or more, so most of the change is no single function's. "
            "Look at what all of them share: compiler options, allocator, data size, huge pages, or "
            "other work on the machine.",
            change);
    else
        gate_note(
            gate,
            "The median function changed by %s. That is taken for the machine's or for chance, and out of "
            "the growths of functions.",
            change);
}

static void say_few_timed(struct gate *gate, const struct gate_evidence *e)
{
    const size_t *few = e->timed.few;
    const struct gate_check *pace = gate_find(gate, "pace");
    if (e->timed.n || !(gate->turns || few[0] + few[1]) || !pace->known)
        return;
    gate_note(
        gate,
        "The pace is judged by the %u and %u recorded runs, which would show a growth of %.1f %%. Without "
        "a recorder only %zu and %zu runs were timed, and %d of each are needed. A longer --for, or a "
        "quieter machine, gives them.",
        pace->estimate.runs[0], pace->estimate.runs[1], 100 * pace->estimate.visible, few[0], few[1],
        GATE_TIMED_MIN);
}

/* More of them are seen in the pace only. */
static void say_not_counted(struct gate *gate, const struct gate_evidence *e)
{
    const size_t n = e->functions.n_runs;
    for (unsigned side = 0; side < 2; side++)
        if (!isnan(gate_mean(e->count[GATE_FAULTS], n, side)) &&
            isnan(gate_mean(e->count[GATE_SYSTEM_CALLS], n, side))) {
            gate_note(
                gate,
                "System calls were not counted: that needs tracefs, readable at /sys/kernel/tracing where "
                "the runs are recorded (mount -t tracefs tracefs /sys/kernel/tracing).");
            return;
        }
}

static void say_machine(struct gate *gate, const struct gate_evidence *e, bool explained)
{
    const struct gate_check *pace = gate_find(gate, "pace"), *work = gate_find(gate, "work");
    char change[32];
    if (!pace || !pace->known)
        return;
    if (!isnan(pace->estimate.machine))
        gate_note(gate, "The machine: a fixed loop of ours took %s in the head's runs%s.",
                  gate_percent(pace->estimate.machine, change),
                  pace->estimate.machine_removed ? "; that is taken out of the pace" : "");
    say_common(gate, pace, e->comparison.common_factor - 1);
    say_few_timed(gate, e);
    gate->time_only = work && work->verdict == GATE_SAME && !explained;
    if (pace->verdict == GATE_LAYOUT && !gate->relinks && !gate->unproven)
        gate_note(
            gate,
            "Relink with another order of the object files: a layout's difference changes, too. --relink "
            "does so, and compares.");
}

void gate_say_notes(struct gate *gate, const struct gate_evidence *e, bool explained)
{
    say_machine(gate, e, explained);
    say_kept_apart(gate, e);
    say_not_counted(gate, e);
}
