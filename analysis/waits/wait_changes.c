/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_changes.h"

#include "analysis/statistics/significance.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNIFICANT 0.01
/* T at first (sampler/placing/waits.c). More than 4,000 waits a second double it: then chance is more than what is said. */
#define KEPT_NS 4e6
#define AGREE 0.01 /* of their mean: runs don't agree better */
#define FREEDOM_ENOUGH 4
#define WAITS_COMPARED 8 /* of a row and run, at least, to tell runs' differences from chance */

static const char *keep(struct cs_wait_changes *c, const char *text)
{
    int64_t n = cs_dictionary_add(&c->texts, text, strlen(text));
    return n < 0 ? "" : c->texts.strings[n];
}

/* Of a group's sum: each wait of length D that was kept with probability min(1, D / T) adds D max(D, T). */
static double variance_of(const struct cs_wait_group *g)
{
    double sum = 0;
    for (unsigned b = 0; b < CS_WAIT_BINS; b++) {
        double length = fmin(exp2(b + 0.5), (double)g->longest_ns);
        sum += (double)g->bins[b] * length * fmax(length, fmin(KEPT_NS, (double)g->ns));
    }
    return sum;
}

/* Of that, what comes from drawing the short ones that are kept. */
static double sampled_of(const struct cs_wait_group *g)
{
    double sum = 0;
    for (unsigned b = 0; b < CS_WAIT_BINS; b++) {
        double length = fmin(exp2(b + 0.5), (double)g->longest_ns);
        sum += (double)g->bins[b] * length * fmax(0, KEPT_NS - length);
    }
    return sum;
}

/* The program's image by the name that it has in both sides, where the caller set one. */
static const char *image_of(const struct cs_wait_changes *c, unsigned side, const struct cs_wait_group *g)
{
    if (c->by_kind || !g->function)
        return "";
    const char *image = cs_base_name(g->function->image->path),
               *comma = c->renamed ? strstr(c->renamed, ", ") : NULL;
    if (!comma)
        return image;
    const size_t n = side ? strlen(comma + 2) : (size_t)(comma - c->renamed);
    return strlen(image) == n && strncmp(image, side ? comma + 2 : c->renamed, n) == 0 ? c->renamed : image;
}

static struct cs_wait_change *row_of(struct cs_wait_changes *c, unsigned side, const struct cs_wait_group *g)
{
    char key[1024];
    const char *where = c->by_kind ? "" : cs_wait_where(g), *image = image_of(c, side, g);
    int length = snprintf(key, sizeof key, "%s\n%s\n%s", g->kind, where, image);
    int64_t n = cs_dictionary_add(&c->keys, key, length < (int)sizeof key ? (size_t)length : sizeof key - 1);
    if (n < 0 || ((size_t)n == c->n && cs_array_room(c->at, c->n, c->capacity) < 0))
        return NULL;
    if ((size_t)n == c->n)
        c->at[c->n++] = (struct cs_wait_change){.kind = keep(c, g->kind),
                                                .where = keep(c, where),
                                                .image = keep(c, image),
                                                .meanwhile = "",
                                                .object = "",
                                                .via = "",
                                                .idle = g->reading == CS_WAIT_IS_IDLE};
    return &c->at[n];
}

/* Of run r, zeros until it has waits; NULL: out of memory. */
static struct cs_wait_in_run *in_run(struct cs_wait_change *x, size_t r)
{
    struct cs_wait_in_run *last = r < x->by_run.n ? &x->by_run.at[r] : NULL;
    while (x->by_run.n <= r)
        if (!(last = cs_array_add(&x->by_run)))
            return NULL;
    return last;
}

int cs_wait_changes_add(struct cs_wait_changes *c, unsigned side, const struct cs_wait_groups *run)
{
    assert(side < 2);
    size_t r = c->n_runs;
    if (cs_array_room(c->side_of, r, c->runs_capacity) < 0 ||
        cs_array_room(c->all_ns, r, c->all_capacity) < 0)
        return -ENOMEM;
    c->side_of[r] = side;
    c->all_ns[r] = (double)run->all_ns;
    c->seconds[side] += (double)run->all_ns * 1e-9;
    c->runs[side]++;
    c->n_runs++;
    for (size_t i = 0; i < run->n; i++) {
        const struct cs_wait_group *g = &run->at[i];
        struct cs_wait_change *x = row_of(c, side, g);
        struct cs_wait_in_run *in = x ? in_run(x, r) : NULL;
        if (!in)
            return -ENOMEM;
        in->ns += (double)g->ns;
        in->variance += variance_of(g);
        in->sampled += sampled_of(g);
        x->side[side].waits += (double)g->count;
        x->side[side].own_cpu_ns += (double)g->facts.by_own_ns;
        if (g->blame.text && !c->by_kind)
            x->meanwhile = keep(c, g->blame.text);
        if (g->object.text && !c->by_kind)
            x->object = keep(c, g->object.text);
        if (g->via && *g->via && !c->by_kind && g->ns > x->via_ns) {
            x->via = keep(c, g->via);
            x->via_ns = g->ns;
        }
    }
    for (size_t i = 0; i < c->n; i++)
        if (!in_run(&c->at[i], r))
            return -ENOMEM;
    return 0;
}

static bool is_for_cpu(const struct cs_wait_change *x)
{
    return strcmp(x->kind, "run-queue") == 0;
}

/* How many times more than chance the runs of one side differ: in rows of `kind`, or in all that are for a CPU or aren't. */
static double pooled_dispersion(const struct cs_wait_changes *c, const char *kind, bool for_cpu,
                                double *degrees)
{
    double chi = 0, freedom = 0;
    for (size_t i = 0; i < c->n; i++)
        for (unsigned side = 0; side < 2; side++) {
            const struct cs_wait_change *x = &c->at[i];
            double mean = 0, runs = c->runs[side];
            if (runs < 2 || (kind ? strcmp(x->kind, kind) != 0 : is_for_cpu(x) != for_cpu) ||
                x->side[side].waits < WAITS_COMPARED)
                continue;
            for (size_t r = 0; r < c->n_runs; r++)
                mean += c->side_of[r] == side ? x->by_run.at[r].ns / runs : 0;
            for (size_t r = 0; r < c->n_runs; r++)
                if (c->side_of[r] == side && x->side[side].variance > 0)
                    chi += pow(x->by_run.at[r].ns - mean, 2) / (x->side[side].variance * runs);
            freedom += runs - 1;
        }
    if (degrees)
        *degrees = freedom;
    return freedom >= 1 ? fmax(1, chi / freedom) : 1;
}

/* Of its kind, where that has enough runs. Kinds are few, and rows many: what an earlier row of it has. */
static double dispersion_of(const struct cs_wait_changes *c, const struct cs_wait_change *x)
{
    for (const struct cs_wait_change *y = c->at; y < x; y++)
        if (strcmp(y->kind, x->kind) == 0)
            return y->dispersion;
    double degrees, of_kind = pooled_dispersion(c, x->kind, false, &degrees);
    return degrees >= FREEDOM_ENOUGH ? of_kind : is_for_cpu(x) ? c->dispersion_for_cpu : c->dispersion;
}

/* Between runs of one side, of a single one; 0 where no side has several. */
static double variance_of_runs(const struct cs_wait_changes *c, const struct cs_wait_change *x)
{
    double sum = 0, freedom = (double)c->n_runs - 2;
    for (size_t r = 0; r < c->n_runs; r++)
        sum += pow(x->by_run.at[r].ns - x->side[c->side_of[r]].ns, 2);
    return freedom > 0 ? sum / freedom : 0;
}

/* That runs of one program differ so much. */
static double chance_of(const struct cs_wait_changes *c, const struct cs_wait_change *x)
{
    const struct cs_wait_side *a = &x->side[0], *b = &x->side[1];
    const double per_side = 1 / fmax(c->runs[0], 1) + 1 / fmax(c->runs[1], 1), runs = variance_of_runs(c, x),
                 single = fmax((a->variance + b->variance) * x->dispersion, runs * per_side);
    double by_waits = single > 0 ? erfc(fabs(x->difference) / sqrt(2 * single)) : 1;
    if (c->runs[0] < 2 || c->runs[1] < 2)
        return by_waits;
    const double least = fmax(pow(AGREE * fmax(a->ns, b->ns), 2), fmax(a->sampled, b->sampled)),
                 unit = fmax(runs, least) * per_side;
    double by_runs =
        unit > 0 ? cs_student_two_sided(fabs(x->difference) / sqrt(unit), (double)c->n_runs - 2) : 1;
    return fmin(1, 2 * fmin(by_waits, by_runs));
}

/* Less than half of it passed while a thread of the recording had the CPU. */
static bool is_others_doing(const struct cs_wait_changes *c, const struct cs_wait_change *x)
{
    const unsigned more = x->difference > 0;
    const double scale = c->shares ? 100 / fmax(c->seconds[more] * 1e9, 1) : 1;
    return is_for_cpu(x) && x->side[more].own_cpu_ns * scale < x->side[more].ns / 2;
}

CS_ORDER(most_changed_first, struct cs_wait_change, cs_order(b->significant, a->significant),
         cs_order(a->idle, b->idle), cs_order(fabs(b->difference), fabs(a->difference)))

int cs_wait_changes_end(struct cs_wait_changes *c)
{
    double *chance = malloc((c->n + 1) * sizeof *chance), *discovery = malloc((c->n + 1) * sizeof *discovery);
    int rc = chance && discovery ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        struct cs_wait_change *x = &c->at[i];
        for (size_t r = 0; r < c->n_runs; r++) { /* the mean of n runs has their variance over n */
            unsigned side = c->side_of[r];
            double runs = c->runs[side], scale = c->shares ? 100 / fmax(c->all_ns[r], 1) : 1;
            x->by_run.at[r].ns *= scale;
            x->by_run.at[r].variance *= scale * scale;
            x->by_run.at[r].sampled *= scale * scale;
            x->side[side].sampled += x->by_run.at[r].sampled / runs;
            x->side[side].ns += x->by_run.at[r].ns / runs;
            x->side[side].variance += x->by_run.at[r].variance / (runs * runs);
        }
        for (unsigned side = 0; side < 2; side++) {
            x->side[side].waits /= fmax(c->runs[side], 1);
            x->side[side].own_cpu_ns /= fmax(c->runs[side], 1);
        }
    }
    for (unsigned side = 0; side < 2; side++)
        c->seconds[side] /= fmax(c->runs[side], 1);
    c->dispersion = pooled_dispersion(c, NULL, false, NULL);
    c->dispersion_for_cpu = pooled_dispersion(c, NULL, true, NULL);
    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        struct cs_wait_change *x = &c->at[i];
        x->difference = x->side[1].ns - x->side[0].ns;
        x->ratio = x->side[0].ns > 0 ? x->side[1].ns / x->side[0].ns : (double)INFINITY;
        x->dispersion = dispersion_of(c, x);
        chance[i] = chance_of(c, x);
    }
    if (rc == 0)
        rc = cs_false_discovery(chance, c->n, c->n, discovery);
    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        struct cs_wait_change *x = &c->at[i];
        double factor = 1 + c->least_percent / 100;
        x->discovery = discovery[i];
        x->significant = discovery[i] < SIGNIFICANT && (x->ratio > factor || x->ratio < 1 / factor);
        x->others = x->significant && is_others_doing(c, x);
        x->significant &= !x->others;
        c->n_others += x->others;
        c->n_significant += x->significant;
    }
    free(chance);
    free(discovery);
    cs_sort(c->at, c->n, most_changed_first);
    return rc;
}

void cs_wait_changes_fini(struct cs_wait_changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        cs_array_free(&c->at[i].by_run);
    free(c->at);
    free(c->side_of);
    free(c->all_ns);
    cs_dictionary_fini(&c->keys);
    cs_dictionary_fini(&c->texts);
    *c = (struct cs_wait_changes){0};
}
