/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/analysed_image.h"

#include "cli/profile/lines/annotate.h"
#include "cli/profile/lines/inlined.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int analysed_image_open(struct analysed_image *ev, struct profile *profile, const struct profile_image *image,
                        const struct cs_edge_flow *flow, struct cs_error *err)
{
    assert(profile->main_event < profile->n_events);
    struct cs_table *points = NULL;
    *ev = (struct analysed_image){.image = image};
    int rc = profile_merged(image, profile->main_event, &points, err);
    if (rc == 0)
        rc = cs_frequency_evidence_init(&ev->found, points, flow, image->image.id, err);
    cs_table_close(points);
    if (rc == 0 && !(ev->code = profile_code(profile, image)))
        rc = cs_fail(err, ENOMEM, "no memory to open %s", image->image.path);
    if (rc < 0)
        analysed_image_close(ev);
    return rc;
}

void analysed_image_close(struct analysed_image *ev)
{
    cs_frequency_evidence_fini(&ev->found);
    cs_image_close(ev->code);
    *ev = (struct analysed_image){0};
}

/* Samples in the best procedure of that name; <0 when the image has none. */
static double best_of(struct analysed_image *ev, const char *name, const struct cs_image_procedure **best)
{
    double most = -1;
    unsigned n = 0;
    for (unsigned i = 0; i == 0 || i < n; i++) {
        const struct cs_image_procedure *p = cs_image_procedure_named(ev->code, name, i, &n);
        double samples = 0;
        for (unsigned k = 0; p && k < p->n_parts; k++)
            samples += cs_frequency_samples(&ev->found.input, p->parts[k].start,
                                            p->parts[k].start + p->parts[k].size);
        if (p && samples > most) {
            most = samples;
            *best = p;
        }
    }
    return most;
}

static int no_such(struct profile *profile, const char *name, struct cs_error *err)
{
    struct profile_rows rows;
    struct inlined_into into = inlined_into(profile, name);
    if (*into.sentence)
        return cs_fail(err, ENOENT, "%s", into.sentence);
    int rc = profile_sum(profile, BY_PROCEDURE, &rows, err);
    if (rc < 0)
        return rc;
    rc = cs_fail(err, ENOENT, "no image of this store has a function %s: cyclescope prof lists them%s", name,
                 procedure_meant(&rows, name).text);
    profile_rows_fini(&rows);
    return rc;
}

int analysed_procedure_open(struct analysed_image *ev, struct profile *profile, const char *name,
                            const struct cs_edge_flow *flow, const struct cs_image_procedure **procedure,
                            struct cs_error *err)
{
    const char *colon = strchr(name, ':');
    bool with_image = colon && colon[1] != ':' && colon != name;
    double most = -1;
    struct analysed_image found = {0};
    int without = profile_needs_code(profile, err);
    if (without < 0)
        return without;
    for (size_t i = 0; i < profile->n_images; i++) {
        const struct profile_image *image = &profile->images[i];
        const struct cs_image_procedure *p = NULL;
        const char *base = image_name(&image->image);
        if (with_image && (strlen(base) != (size_t)(colon - name) || strncmp(base, name, strlen(base)) != 0))
            continue;
        int rc = analysed_image_open(ev, profile, image, flow, err);
        if (rc < 0) {
            analysed_image_close(&found);
            return rc;
        }
        double samples = best_of(ev, with_image ? colon + 1 : name, &p);
        if (samples > most) {
            analysed_image_close(&found);
            found = *ev;
            *procedure = p;
            most = samples;
        } else
            analysed_image_close(ev);
    }
    *ev = found;
    return most < 0 ? no_such(profile, with_image ? colon + 1 : name, err) : 0;
}
