/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/in_kernel.h"

#include "cli/gate/guilty.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BY_RUNS_ALONE 0.01
#define BY_SAMPLES_SD 3.0
#define LEAST 0.25      /* of the growth of the whole */
#define MOST 0.5        /* of the growth of the kernel's functions: then their rows say nothing more */
#define MOST_OF_ALL 0.5 /* of the growth of the whole */

static bool same_function(const struct gate_kernel_row *a, const struct gate_kernel_row *b)
{
    return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

/* NULL: no memory. */
static struct gate_kernel_row *row_of(struct gate_in_kernel *k, const struct called_line *at,
                                      const char *through, bool faults)
{
    for (size_t i = 0; i < k->rows.n; i++) {
        struct gate_kernel_row *row = &k->rows.at[i];
        if (row->line == at->line && row->faults == faults && strcmp(row->through, through) == 0 &&
            strcmp(row->function, at->function) == 0 && strcmp(row->file, at->file) == 0)
            return row;
    }
    struct gate_kernel_row *row = cs_array_add(&k->rows);
    if (!row)
        return NULL;
    *row = (struct gate_kernel_row){.line = at->line, .faults = faults};
    snprintf(row->function, sizeof row->function, "%s", at->function);
    snprintf(row->through, sizeof row->through, "%s", through);
    row->file = strdup(at->file);
    row->ns = calloc(k->n_runs + 1, sizeof *row->ns);
    if (row->file && row->ns)
        return row;
    free(row->file);
    free(row->ns);
    k->rows.n--;
    return NULL;
}

int gate_in_kernel_add(struct gate_in_kernel *k, size_t r, unsigned side, double period_ns,
                       const struct called *called)
{
    assert(r < k->n_runs && side < 2);
    for (uint32_t i = 0; i < called->n_calls; i++) {
        const struct called_call *call = &called->calls[i];
        const uint64_t samples[2] = {call->in_system_calls, call->in_faults};
        for (unsigned faults = 0; faults < 2; faults++) {
            if (!samples[faults])
                continue;
            struct gate_kernel_row *row =
                row_of(k, &called->lines[call->line],
                       call->callee == UINT32_MAX ? "" : called->names[call->callee], faults);
            if (!row)
                return -ENOMEM;
            row->ns[r] += (double)samples[faults] * period_ns;
            row->samples[side] += (double)samples[faults];
        }
    }
    return 0;
}

static double mean_of(const struct gate_in_kernel *k, const struct gate_run *run,
                      const struct gate_kernel_row *row, unsigned side)
{
    double sum = 0, n = 0;
    for (size_t r = 0; r < k->n_runs; r++)
        if (run[r].side == side) {
            sum += row->ns[r];
            n++;
        }
    return n > 0 ? sum / n : 0;
}

/* All rows of the function of row `of`: the runs' estimate, and whether both sides differ by more than samples vary by. False:
 * too few runs, or no memory. */
static bool estimate_of(const struct gate_in_kernel *k, const struct gate_run *run, size_t of,
                        struct gate_estimate *estimate, bool *beyond_samples)
{
    struct gate_run *sum = calloc(k->n_runs + 1, sizeof *sum);
    double samples[2] = {0, 0}, mean[2] = {0, 0};
    for (size_t r = 0; sum && r < k->n_runs; r++) {
        sum[r] = run[r];
        sum[r].machine = (double)NAN;
        sum[r].value = 0;
    }
    for (size_t i = 0; sum && i < k->rows.n; i++) {
        const struct gate_kernel_row *row = &k->rows.at[i];
        if (!same_function(row, &k->rows.at[of]))
            continue;
        for (size_t r = 0; r < k->n_runs; r++)
            sum[r].value += row->ns[r];
        for (unsigned side = 0; side < 2; side++) {
            samples[side] += row->samples[side];
            mean[side] += mean_of(k, run, row, side);
        }
    }
    const bool known = sum && gate_estimate(sum, k->n_runs, GATE_DIFFERENCE, 0, estimate);
    free(sum);
    const double a = samples[0] > 0 ? mean[0] / sqrt(samples[0]) : 0,
                 b = samples[1] > 0 ? mean[1] / sqrt(samples[1]) : 0;
    *beyond_samples = fabs(mean[1] - mean[0]) > BY_SAMPLES_SD * hypot(a, b);
    return known;
}

/* Do the runs agree that all rows of the function of row `of` grew? And is it more than samples vary by? */
static bool is_sure(const struct gate_in_kernel *k, const struct gate_run *run, size_t of)
{
    struct gate_estimate estimate;
    bool beyond_samples;
    return estimate_of(k, run, of, &estimate, &beyond_samples) && estimate.change > 0 &&
           estimate.chance < BY_RUNS_ALONE && beyond_samples;
}

static bool is_first_of_function(const struct gate_in_kernel *k, size_t of)
{
    for (size_t i = 0; i < of; i++)
        if (same_function(&k->rows.at[i], &k->rows.at[of]))
            return false;
    return true;
}

double gate_in_kernel_net(const struct gate_in_kernel *k, const struct gate_run *run)
{
    size_t functions = 0;
    double net = 0;
    for (size_t i = 0; i < k->rows.n; i++)
        functions += is_first_of_function(k, i);
    for (size_t i = 0; i < k->rows.n; i++) {
        struct gate_estimate estimate;
        bool beyond_samples;
        if (is_first_of_function(k, i) && estimate_of(k, run, i, &estimate, &beyond_samples) &&
            beyond_samples && estimate.chance < GATE_CHANCE / (double)functions)
            net += estimate.change;
    }
    return net;
}

/* Of the function of row `of`. */
static struct gate_kernel_growth growth_of(const struct gate_in_kernel *k, const struct gate_run *run,
                                           size_t of)
{
    struct gate_kernel_growth g = {0};
    double most[2] = {-INFINITY, -INFINITY};
    const struct gate_kernel_row *line[2] = {NULL, NULL};
    for (size_t i = 0; i < k->rows.n; i++) {
        const struct gate_kernel_row *row = &k->rows.at[i];
        if (!same_function(row, &k->rows.at[of]))
            continue;
        const double base = mean_of(k, run, row, 0), head = mean_of(k, run, row, 1);
        g.base += base;
        g.head += head;
        *(row->faults ? &g.faults : &g.calls) += head - base;
        if (head - base > most[row->faults]) {
            most[row->faults] = head - base;
            line[row->faults] = row;
        }
    }
    g.line = g.faults > g.calls && line[1] ? line[1] : line[0] ? line[0] : line[1];
    return g;
}

bool gate_in_kernel_next(struct gate_in_kernel *k, const struct gate_run *run, double least_ns,
                         struct gate_kernel_growth *growth)
{
    size_t most = k->rows.n;
    for (size_t i = 0; i < k->rows.n; i++) {
        struct gate_kernel_growth g;
        if (k->rows.at[i].told)
            continue;
        g = growth_of(k, run, i);
        if (g.head - g.base < least_ns ||
            (most < k->rows.n && g.head - g.base <= growth->head - growth->base) || !is_sure(k, run, i))
            continue;
        *growth = g;
        most = i;
    }
    for (size_t i = 0; most < k->rows.n && i < k->rows.n; i++)
        k->rows.at[i].told |= same_function(&k->rows.at[i], &k->rows.at[most]);
    return most < k->rows.n;
}

void gate_in_kernel_fini(struct gate_in_kernel *k)
{
    for (size_t i = 0; i < k->rows.n; i++) {
        free(k->rows.at[i].file);
        free(k->rows.at[i].ns);
    }
    cs_array_free(&k->rows);
}

/* ---- rows of the gate ---- */

/* A machine that became slower isn't the program; one that seems faster makes no growth. */
static double taken_out(const struct gate_evidence *e)
{
    return fmax(e->comparison.common_factor, 1);
}

static int read_runs(struct gate_in_kernel *k, const struct gate *gate, const struct gate_evidence *e)
{
    const struct runs *f = &e->functions;
    int rc = 0;
    for (size_t r = 0; rc == 0 && r < f->n_runs; r++) {
        const struct run *run = &f->run[r];
        const struct profile_filter filter = {
            .epoch = strrchr(run->name, ' ') + 1, .main_event = f->event, .chains = true};
        struct profile profile;
        struct cs_error ignored = {0};
        struct called called;
        if (profile_open(&profile, run->set ? gate->head : gate->base, &filter, &ignored) < 0)
            return -ENOENT;
        const double change = run->set ? taken_out(e) : 1;
        if (called_find(&called, &profile, NULL))
            rc = gate_in_kernel_add(k, r, run->set, run->period / change, &called);
        called_close(&called);
        profile_close(&profile);
    }
    return rc;
}

static bool is_of_kernel(const struct gate_guilty *g)
{
    return strcmp(g->kind, "function") == 0 && gate_image_is_kernel(g->image);
}

/* The image of the program's function; "": it has no samples itself. */
static const char *image_of(const struct gate_evidence *e, const char *function)
{
    const char *image = "";
    for (size_t i = 0; !*image && i < e->functions.n_rows; i++) {
        const struct run_row *row = &e->functions.row[i];
        char *name = row->name && row->image ? gate_readable(row->name) : NULL;
        if (name && strcmp(name, function) == 0)
            image = row->image;
        free(name);
    }
    return image;
}

static double faults_in(const struct gate_evidence *e, unsigned side)
{
    return gate_mean(e->count[GATE_FAULTS], e->functions.n_runs, side);
}

static int keep_row(struct gate *gate, const struct gate_evidence *e, const struct gate_kernel_growth *g,
                    double base)
{
    const struct gate_kernel_row *line = g->line;
    struct gate_guilty one = {.function = (char *)(uintptr_t)line->function,
                              .image = (char *)(uintptr_t)image_of(e, line->function),
                              .line_sure = true,
                              .line = line->line,
                              .base = g->base * 1e-9,
                              .head = g->head * taken_out(e) * 1e-9,
                              .share = 100 * (g->head - g->base) / base,
                              .ratio = g->base > 0 ? g->head / g->base : (double)INFINITY};
    const char *in = line->through;
    char counted[80] = "";
    if (line->faults && faults_in(e, 1) > faults_in(e, 0))
        snprintf(counted, sizeof counted, " (%.0f a run, %.0f before)", faults_in(e, 1), faults_in(e, 0));
    snprintf(one.kind, sizeof one.kind, "%s", GATE_IN_KERNEL);
    snprintf(one.cause, sizeof one.cause, "%s", line->faults ? "page-fault" : "system-call");
    snprintf(one.cause_text, sizeof one.cause_text, "%s%s%s%.40s%s: %.3g s of a run, %.3g before",
             line->faults ? "page faults" : "system calls", counted, *in ? " in " : "", in,
             line->faults && g->calls > g->faults / 4    ? ", and system calls"
             : !line->faults && g->faults > g->calls / 4 ? ", and page faults"
                                                         : "",
             one.head, one.base);
    if (line->line && *line->file)
        one.file = line->file;
    return gate_guilty_keep(gate, &one);
}

double gate_net_in_kernel(const struct gate *gate, const struct gate_evidence *e)
{
    const double base = e->comparison.side[0].cost;
    struct gate_in_kernel k = {.n_runs = e->functions.n_runs};
    const bool read = base > 0 && strcmp(e->functions.unit, "ns") == 0 && read_runs(&k, gate, e) == 0;
    const double net = read ? gate_in_kernel_net(&k, e->count[GATE_CPU]) / base : 0;
    gate_in_kernel_fini(&k);
    return net;
}

/* What is left of the kernel's functions has the rows of those who called. */
static void drop_kernels_functions(struct gate *gate)
{
    size_t kept = 0;
    for (size_t i = 0; i < gate->n_guilty; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        if (is_of_kernel(g)) {
            free(g->function);
            free(g->image);
            free(g->file);
            gate->n_guilty_all--;
        } else {
            gate->guilty[kept++] = *g;
        }
    }
    gate->n_guilty = kept;
}

int gate_guilty_in_kernel(struct gate *gate, const struct gate_evidence *e, double change,
                          struct cs_error *err)
{
    const double base = e->comparison.side[0].cost;
    struct gate_in_kernel k = {.n_runs = e->functions.n_runs};
    struct gate_kernel_growth g = {0};
    double of_kernel = 0, by_program = 0;
    for (size_t i = 0; i < gate->n_guilty; i++)
        of_kernel += is_of_kernel(&gate->guilty[i]) ? gate->guilty[i].share : 0;
    int rc = base > 0 && strcmp(e->functions.unit, "ns") == 0 ? read_runs(&k, gate, e) : -ENOENT;
    while (rc == 0 && gate_in_kernel_next(&k, e->count[GATE_CPU], LEAST * change * base, &g)) {
        by_program += 100 * (g.head - g.base) / base;
        rc = keep_row(gate, e, &g, base);
    }
    if (rc == 0 && by_program > 0 && by_program >= MOST * of_kernel)
        drop_kernels_functions(gate);
    gate_in_kernel_fini(&k);
    return rc == -ENOMEM ? cs_fail(err, ENOMEM, "out of memory for functions") : 0;
}

void gate_settle_system_calls(struct gate *gate)
{
    struct gate_check *pace = gate_find(gate, "pace");
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        char change[32];
        if (!gate->unproven || gate_find(gate, "system calls") || strcmp(g->kind, GATE_IN_KERNEL) != 0 ||
            strcmp(g->cause, "system-call") != 0 || g->share < 100 * MOST_OF_ALL * pace->estimate.change)
            continue;
        gate->unproven = false;
        pace->verdict = GATE_SLOWER;
        snprintf(pace->sentence, sizeof pace->sentence,
                 "%s, and not by layout: system calls in %.100s took more time",
                 gate_percent(pace->estimate.change, change), g->function);
    }
}
