/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record --label kept apart, for the page: samples by procedure and thread (process, container, ...). */
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "store/base/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 40u    /* of a page: the rest are counted */
#define CELLS_MAX 200000u /* (procedure, label) with samples */

struct place { /* of a row, to be found by its procedure */
    uint64_t start;
    const char *name;
    size_t row;
};

struct cells {
    const struct profile_rows *labels;
    size_t n_labels;
    struct cs_image_code *code;
    const struct place *places; /* of this image, by start */
    size_t n_places, n;
    const char *last_label;
    size_t label, row;
    uint64_t samples, cut; /* of the cell at hand; of those beyond CELLS_MAX */
    json_t *list;
};

CS_ORDER(by_start, struct place, cs_order(a->start, b->start), cs_order(a->name != NULL, b->name != NULL))

static void put_cell(struct cells *c)
{
    if (!c->samples || c->label >= c->n_labels || c->row == SIZE_MAX)
        return;
    if (c->n >= CELLS_MAX) {
        c->cut += c->samples;
        return;
    }
    c->n++;
    json_array_append_new(c->list, json_integer((json_int_t)c->row));
    json_array_append_new(c->list, json_integer((json_int_t)c->label));
    json_array_append_new(c->list, json_integer((json_int_t)c->samples));
}

static void add_point(unsigned event, const char *label, uint64_t offset, uint64_t samples, void *arg)
{
    (void)event;
    struct cells *c = arg;
    size_t of = c->label;
    if (label != c->last_label) {
        for (of = 0;
             of < c->n_labels && strcmp(c->labels->row[of].name ? c->labels->row[of].name : "", label) != 0;)
            of++;
        c->last_label = label;
    }
    const struct cs_image_procedure *procedure = c->code ? cs_image_procedure_at(c->code, offset) : NULL;
    struct place key = {.start = procedure ? procedure->start : 0,
                        .name = procedure ? procedure->name : NULL};
    const struct place *at = bsearch(&key, c->places, c->n_places, sizeof key, by_start);
    size_t row = at ? at->row : SIZE_MAX;
    if (of != c->label || row != c->row) {
        put_cell(c);
        c->samples = 0;
    }
    c->label = of;
    c->row = row;
    c->samples += samples;
}

static int image_cells(struct profile *p, const struct profile_image *image, const struct profile_rows *rows,
                       size_t n_rows, struct cells *c, struct cs_error *err)
{
    struct place *places = malloc((n_rows + 1) * sizeof *places);
    if (!places)
        return cs_fail(err, ENOMEM, "out of memory for the rows of the page");
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (rows->row[i].image == image)
            places[n++] = (struct place){rows->row[i].start, rows->row[i].name, i};
    cs_sort(places, n, by_start);
    c->places = places;
    c->n_places = n;
    c->last_label = NULL;
    c->label = c->row = SIZE_MAX;
    c->samples = 0;
    c->code = n ? profile_code(p, image) : NULL;
    int rc = !n || c->code ? 0 : cs_fail(err, ENOMEM, "out of memory for the code of %s", image->image.path);
    if (rc == 0 && n)
        rc = profile_points(image, (int)p->main_event, add_point, c, err);
    put_cell(c);
    cs_image_close(c->code);
    c->code = NULL;
    free(places);
    return rc;
}

int page_labels(json_t *page, struct profile *p, const struct profile_rows *rows, struct cs_error *err)
{
    struct profile_rows labels;
    int rc = profile_sum_top(p, BY_PROCESS, LABELS_MAX, &labels, err);
    if (rc < 0)
        return rc;
    size_t n = 0, n_left = 0, n_rows = json_array_size(json_object_get(page, "rows"));
    uint64_t left = 0;
    json_t *names = json_array(), *totals = json_array();
    for (size_t i = 0; i < labels.n && labels.row[i].samples[p->main_event]; i++) { /* descending */
        if (i >= LABELS_MAX) {
            left += labels.row[i].samples[p->main_event];
            n_left++;
            continue;
        }
        n++;
        json_array_append_new(names, json_text(labels.row[i].name ? labels.row[i].name : ""));
        json_array_append_new(totals, json_integer((json_int_t)labels.row[i].samples[p->main_event]));
    }
    json_object_set_new(page, "labels", json_null());
    if (n < 2) {
        json_decref(names);
        json_decref(totals);
        profile_rows_fini(&labels);
        return 0;
    }
    struct cells c = {.labels = &labels, .n_labels = n, .list = json_array()};
    for (size_t i = 0; rc == 0 && i < p->n_images; i++)
        rc = image_cells(p, &p->images[i], rows, n_rows, &c, err);
    if (c.cut)
        json_array_append_new(
            json_object_get(page, "cut"),
            json_sprintf(
                "%s sample%s of rare functions not distinguished by %s: the page has %u such pairs already.",
                thousands((double)c.cut).text, c.cut == 1 ? " is" : "s are",
                *p->recordings.label ? p->recordings.label : "thread", CELLS_MAX));
    json_object_set_new(page, "labels",
                        json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "kind", json_text(p->recordings.label),
                                  "names", names, "totals", totals, "cells", c.list, "left",
                                  (json_int_t)n_left, "left_samples", (json_int_t)left));
    profile_rows_fini(&labels);
    return rc;
}
