/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/analysed_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gathering {
    struct image_evidence *ev;
    size_t room;
    bool failed;
};

static void add_point(unsigned event, const char *label, uint64_t offset, uint64_t samples, void *arg)
{
    struct gathering *g = arg;
    struct cs_evidence *e = &g->ev->e;
    (void)event, (void)label;
    if (e->n_samples == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        uint64_t *offsets = realloc(g->ev->offsets, room * sizeof *offsets);
        if (offsets)
            g->ev->offsets = offsets;
        double *counts = realloc(g->ev->counts, room * sizeof *counts);
        if (counts)
            g->ev->counts = counts;
        if (!offsets || !counts) {
            g->failed = true;
            return;
        }
        g->room = room;
    }
    g->ev->offsets[e->n_samples] = offset;
    g->ev->counts[e->n_samples++] = (double)samples;
}

struct point {
    uint64_t offset;
    double count;
};

static int by_offset(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Parts come one after the other: sorted together, equal offsets added. */
static int settle(struct image_evidence *ev)
{
    size_t n = ev->e.n_samples, kept = 0;
    struct point *points = malloc((n + 1) * sizeof *points);
    if (!points)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        points[i] = (struct point){ev->offsets[i], ev->counts[i]};
    qsort(points, n, sizeof *points, by_offset);
    for (size_t i = 0; i < n; i++) {
        ev->samples += points[i].count;
        if (kept && ev->offsets[kept - 1] == points[i].offset) {
            ev->counts[kept - 1] += points[i].count;
            continue;
        }
        ev->offsets[kept] = points[i].offset;
        ev->counts[kept++] = points[i].count;
    }
    free(points);
    ev->e.n_samples = kept;
    ev->e.sample_offset = ev->offsets;
    ev->e.sample_count = ev->counts;
    return 0;
}

int image_evidence_open(struct image_evidence *ev, struct profile *profile, const struct profile_image *image,
                        const struct cs_transfers *transfers, struct cs_error *err)
{
    struct gathering g = {.ev = ev};
    *ev = (struct image_evidence){.image = image};
    ev->e.transfers = transfers;
    ev->e.image = transfers ? cs_transfers_image(transfers, image->image.id) : UINT32_MAX;
    int rc = profile_points(image, (int)profile->main_event, add_point, &g, err);
    if (rc == 0 && (g.failed || settle(ev) < 0))
        rc = cs_fail(err, ENOMEM, "no memory for the samples of %s", image->image.path);
    if (rc == 0)
        rc = cs_code_open(&image->image, profile->store, &ev->code, err);
    if (rc == 0 && ev->e.image != UINT32_MAX)
        rc = cs_transfers_profile(transfers, ev->e.image, &ev->edges, err);
    if (rc < 0)
        image_evidence_close(ev);
    return rc;
}

void image_evidence_close(struct image_evidence *ev)
{
    cs_edge_profile_close(ev->edges);
    cs_code_close(ev->code);
    free(ev->offsets);
    free(ev->counts);
    *ev = (struct image_evidence){0};
}

/* Samples in the best procedure of that name; <0 when the image has none. */
static double best_of(struct image_evidence *ev, const char *name, const struct cs_procedure **best)
{
    double most = -1;
    unsigned n = 0;
    for (unsigned i = 0; i == 0 || i < n; i++) {
        const struct cs_procedure *p = cs_code_named(ev->code, name, i, &n);
        double samples = 0;
        for (unsigned k = 0; p && k < p->n_parts; k++)
            for (size_t s = 0; s < ev->e.n_samples; s++)
                if (ev->offsets[s] - p->parts[k].start < p->parts[k].size)
                    samples += ev->counts[s];
        if (p && samples > most) {
            most = samples;
            *best = p;
        }
    }
    return most;
}

int procedure_evidence_open(struct image_evidence *ev, struct profile *profile, const char *name,
                            const struct cs_transfers *transfers, const struct cs_procedure **procedure,
                            struct cs_error *err)
{
    const char *colon = strchr(name, ':');
    bool with_image = colon && colon[1] != ':' && colon != name;
    double most = -1;
    struct image_evidence found = {0};
    for (size_t i = 0; i < profile->n_images; i++) {
        const struct profile_image *image = &profile->images[i];
        const struct cs_procedure *p = NULL;
        const char *base = image_name(&image->image);
        if (with_image && (strlen(base) != (size_t)(colon - name) || strncmp(base, name, strlen(base)) != 0))
            continue;
        int rc = image_evidence_open(ev, profile, image, transfers, err);
        if (rc < 0) {
            image_evidence_close(&found);
            return rc;
        }
        double samples = best_of(ev, with_image ? colon + 1 : name, &p);
        if (samples > most) {
            image_evidence_close(&found);
            found = *ev;
            *procedure = p;
            most = samples;
        } else
            image_evidence_close(ev);
    }
    *ev = found;
    if (most < 0)
        return cs_fail(err, ENOENT, "no image of this store has a procedure %s; see cyclescope prof", name);
    return 0;
}
