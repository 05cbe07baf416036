/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace grew, and the same instructions ran as often. Either code and data lie elsewhere (layout), or data are used in another way:
 * their order, or a constant that sets a distance. Bursts have the addresses of both sides, so a cause of these tells
 * if it surely grew: surely_grew.h. Other causes don't: front-end and split accesses are of places. Layout changes at which ports and in
 * which chains the same instructions wait. A function that hashes addresses has other addresses wherever code lies. So
 * what grew in it is no evidence.
 *
 * Candidates are functions whose own growth isn't beyond chance, although that of the whole is. */
#include "cli/gate/causes/cause.h"
#include "cli/gate/causes/cause_compare.h"
#include "cli/gate/causes/surely_grew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 0.5 /* of the growth */

/* A function whose counts differ may hash addresses. */
static bool is_evidence(const struct gate_guilty *g)
{
    return g->sure_cause && !g->differs;
}

/* By the share that the cause grew by, of the base's run. */
static const struct gate_guilty *grown_most(const struct gate *gate, bool surely, double *share)
{
    const struct gate_guilty *most = NULL;
    *share = 0;
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        const double part = g->head > g->base ? g->share / 100 * g->cause_growth / (g->head - g->base) : 0;
        if (strcmp(g->kind, "function") == 0 && *g->cause && strcmp(g->cause, GATE_COUNTED) != 0 &&
            (!surely || is_evidence(g)) && part > *share) {
            most = g;
            *share = part;
        }
    }
    return most;
}

/* A function that grew has other instructions, though hardly more of them. */
static const struct gate_guilty *of_other_code(const struct gate *gate)
{
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (gate->guilty[i].differs && gate->guilty[i].other_code && !gate->guilty[i].candidate)
            return &gate->guilty[i];
    return NULL;
}

/* Of a pace that is slower the one with most of the growth stays, and its row says how sure it is. */
static void drop_candidates(struct gate *gate)
{
    const struct gate_check *pace = gate_find(gate, "pace");
    const bool slower = pace && pace->verdict == GATE_SLOWER;
    size_t kept = 0;
    for (size_t i = 0; i < gate->n_guilty; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        if (g->candidate && !*g->cause && !(g->dominant && slower)) {
            free(g->function);
            free(g->image);
            free(g->file);
            gate->n_guilty_all--;
        } else {
            if (g->candidate) {
                const size_t n = strlen(g->cause_text);
                snprintf(g->cause_text + n, sizeof g->cause_text - n, "%sits growth alone may be chance",
                         n ? "; " : "");
            }
            gate->guilty[kept++] = *g;
        }
    }
    gate->n_guilty = kept;
}

/* Where waits grew for sure, those rows come before what may be chance. */
static void put_sure_first(struct gate *gate)
{
    const struct gate_check *waits = gate_find(gate, "waits");
    for (size_t i = 1; waits && waits->verdict == GATE_SLOWER && i < gate->n_guilty; i++)
        for (size_t k = i; k && gate->guilty[k - 1].candidate && !gate->guilty[k].candidate; k--) {
            const struct gate_guilty sure = gate->guilty[k];
            gate->guilty[k] = gate->guilty[k - 1];
            gate->guilty[k - 1] = sure;
        }
}

static void settle(struct gate *gate)
{
    struct gate_check *pace = gate_find(gate, "pace");
    char change[32];
    double share;
    drop_candidates(gate);
    put_sure_first(gate);
    if (!pace || !gate->unproven || (pace->verdict != GATE_LAYOUT && pace->verdict != GATE_CANT_TELL))
        return;
    const struct gate_guilty *g = grown_most(gate, true, &share), *other = of_other_code(gate);
    if (!g || share < MOST * pace->estimate.change)
        g = grown_most(gate, false, &share);
    gate_percent(pace->estimate.change, change);
    if (other) {
        pace->verdict = GATE_SLOWER;
        snprintf(pace->sentence, sizeof pace->sentence,
                 "%s, and not by layout: %.100s has other instructions, and grew", change, other->function);
    } else if (!g || share < MOST * pace->estimate.change) {
        pace->verdict = GATE_CANT_TELL;
        snprintf(
            pace->sentence, sizeof pace->sentence,
            "%s, and the same instructions ran as often: code or data lie elsewhere, or data are used in "
            "another way. No cause of a function was seen to grow. %s would tell",
            change, gate->relinks ? "More runs, and a base that is relinked, too," : "--relink");
    } else if (gate_cause_is_of_place(g->cause)) {
        pace->verdict = GATE_LAYOUT;
        snprintf(
            pace->sentence, sizeof pace->sentence,
            "%s, and the same instructions ran as often. %s grew in %.100s, which depends on where code and "
            "data lie",
            change, g->cause, g->function);
    } else if (!is_evidence(g)) {
        pace->verdict = GATE_CANT_TELL;
        snprintf(pace->sentence, sizeof pace->sentence,
                 "%s, and the same instructions ran as often. %s grew in %.100s, but %s. %s would tell",
                 change, g->cause, g->function,
                 !gate_cause_is_recorded(g->cause) ? "layout changes that, too"
                 : g->differs ? "it ran some instructions more or less often, as hashes of addresses do"
                              : "recordings may differ by as much",
                 gate->relinks ? "More runs, and a base that is relinked, too," : "--relink");
    } else {
        pace->verdict = GATE_SLOWER;
        snprintf(pace->sentence, sizeof pace->sentence,
                 "%s, and not by layout: the same instructions ran as often, but %s grew in %.100s", change,
                 g->cause, g->function);
    }
}

/* What a pace that is slower lacks. */
static void say_unexplained(struct gate *gate)
{
    const struct gate_check *pace = gate_find(gate, "pace");
    bool function = false, cause = false;
    if (!pace || !pace->known || pace->verdict != GATE_SLOWER)
        return;
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        cause |= *g->cause != '\0';
        function |= strcmp(g->kind, "function") == 0 || strcmp(g->kind, GATE_IN_KERNEL) == 0 ||
                    strcmp(g->kind, GATE_COUNTED) == 0;
    }
    if (!function)
        gate_note(gate,
                  "No function's growth is beyond chance, only that of all together. Four times as long "
                  "(--for) shows growths of half the size.");
    if (gate->time_only && !cause)
        gate_note(gate,
                  "Time changed and work did not: the cause is the memory, other instructions, or where "
                  "code and data lie.");
}

void gate_settle_layout(struct gate *gate)
{
    settle(gate);
    say_unexplained(gate);
}
