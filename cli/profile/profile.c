/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through a store's catalogue and keeps what its heads say, grouped by image and event. */
#include "cli/profile/profile.h"
#include "analysis/culprit/classify/counted.h"
#include "analysis/frequency/edge_flow.h"
#include "cli/output/hint.h"
#include "cli/output/output.h"
#include "image/shared_code.h"
#include "store/base/array.h"
#include "store/base/text.h"
#include "store/catalog.h"
#include "store/merged.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gathering {
    struct profile *profile;
    const struct profile_filter *filter;
    unsigned n_points; /* profiles of points met, filtered out or not */
    unsigned n_of_image, n_of_label;
    struct cs_resembling image, label; /* what was asked for, where nothing is of that name */
};

/* "worker" for "worker (12)": what may be typed for all of that name. */
static void try_label(struct cs_resembling *r, const char *label)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(strstr(label, " (") ? strcspn(label, "(") - 1 : strlen(label)),
             label);
    cs_resembling_try(r, name);
}

static bool is_of_label(const struct profile_filter *f, const struct cs_store_profile_ref *ref)
{
    return !f->label || cs_store_label_is(ref->head->label, f->label);
}

static bool is_of_image(const struct profile_filter *f, const struct cs_store_profile_ref *ref)
{
    return !f->image || strcmp(f->image, ref->image->path) == 0 ||
           strcmp(f->image, image_name(ref->image)) == 0 ||
           (strlen(f->image) >= 6 && strncmp(f->image, ref->image->id, strlen(f->image)) == 0);
}

static bool wanted(const struct profile_filter *f, const struct cs_store_profile_ref *ref)
{
    return is_of_label(f, ref) && is_of_image(f, ref);
}

static int find_event(struct profile *p, const struct cs_store_profile_head *head)
{
    int i = profile_event_index(p, head->event);
    if (i < 0) {
        if (cs_array_room(p->events, p->n_events, p->events_capacity) < 0)
            return -ENOMEM;
        i = (int)p->n_events++;
        p->events[i] = (struct profile_event){.samples = 0};
        memcpy(p->events[i].name, head->event, sizeof head->event);
        memcpy(p->events[i].unit, head->unit, sizeof head->unit);
        p->events[i].precise = cs_counted_is_precise(p->events[i].name);
    }
    p->events[i].n_profiles++;
    p->events[i].period_sum += head->period_sum;
    p->events[i].enabled_ns += head->enabled_ns;
    p->events[i].running_ns += head->running_ns;
    return i;
}

static int find_epoch(struct profile *p, const char *epoch)
{
    for (unsigned i = p->n_epochs; i-- > 0;)
        if (strcmp(p->epochs[i], epoch) == 0)
            return 0;
    if (cs_array_room(p->epochs, p->n_epochs, p->epochs_capacity) < 0)
        return -ENOMEM;
    p->epochs[p->n_epochs++] = epoch;
    return 0;
}

const struct profile_image *profile_image_of(const struct profile *p, const char *id)
{
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&p->by_id, cs_map_text(id), &step)) != CS_MAP_NONE;)
        if (strcmp(p->images[i].image.id, id) == 0)
            return &p->images[i];
    return NULL;
}

static struct profile_image *find_image(struct profile *p, const struct cs_store_image *image)
{
    const struct profile_image *there = profile_image_of(p, image->id);
    if (there)
        return &p->images[there - p->images];
    if (cs_array_room(p->images, p->n_images, p->images_capacity) < 0 ||
        cs_map_add(&p->by_id, cs_map_text(image->id), (uint32_t)p->n_images) < 0)
        return NULL;
    p->images[p->n_images] = (struct profile_image){.image = *image};
    return &p->images[p->n_images++];
}

static int note_edges(struct profile *p, const struct cs_store_profile_ref *ref)
{
    if (!cs_edges_are_whole(ref->head->event))
        return 0;
    if (cs_array_room(p->edges, p->n_edges, p->edges_capacity) < 0)
        return -ENOMEM;
    p->edges[p->n_edges++] = ref;
    return 0;
}

/* Which part of the filter lets nothing pass, and what it may have meant. */
static void note_names(struct gathering *w, const struct cs_store_profile_ref *ref)
{
    const struct profile_filter *f = w->filter;
    if (is_of_image(f, ref))
        w->n_of_image++;
    else
        cs_resembling_try(&w->image, image_name(ref->image));
    if (is_of_label(f, ref))
        w->n_of_label++;
    else
        try_label(&w->label, ref->head->label);
}

static int nothing_passed(const struct gathering *w, const char *path, struct cs_error *err)
{
    const struct profile_filter *f = w->filter;
    if (f->image && !w->n_of_image)
        return cs_fail(err, ENOENT, "%s has no image %s: cyclescope prof --by image lists them%s", path,
                       f->image, cs_did_you_mean(&w->image).text);
    if (f->label && !w->n_of_label)
        return cs_fail(err, ENOENT, "%s has no process, thread or container %s of its own%s", path, f->label,
                       cs_did_you_mean(&w->label).text);
    return cs_fail(err, ENOENT, "%s has no samples of the image %s in %s", path, f->image ? f->image : "",
                   f->label ? f->label : "");
}

static int note_profile(struct gathering *w, const struct cs_store_profile_ref *ref)
{
    struct profile *p = w->profile;
    if (ref->kind == CS_KIND_EDGES && wanted(w->filter, ref))
        return note_edges(p, ref);
    if (ref->kind != CS_KIND_POINTS)
        return 0;
    w->n_points++;
    note_names(w, ref);
    if (!wanted(w->filter, ref))
        return 0;
    int event = find_event(p, ref->head);
    struct profile_image *i = event < 0 ? NULL : find_image(p, ref->image);
    if (!i || cs_array_room(i->parts, i->n_parts, i->capacity) < 0 || find_epoch(p, ref->epoch) < 0)
        return -ENOMEM;
    i->parts[i->n_parts++] = (struct profile_part){(unsigned)event, ref};
    return 0;
}

bool profile_is_observed(const struct profile_event *e)
{
    return strcmp(e->name, "observed-cycles") == 0;
}

bool profile_is_counted(const struct profile_event *e)
{
    return e->samples && e->samples == e->period_sum && strcmp(e->unit, "ns");
}

const char *profile_unit(const struct profile_event *e)
{
    return profile_is_observed(e)  ? "TSC cycles"
           : profile_is_counted(e) ? "counted"
           : e->samples == 1       ? "sample"
                                   : "samples";
}

bool profile_is_inner(const char *event)
{
    return strncmp(event, "burst-", 6) == 0 || strcmp(event, "instruction-mix") == 0;
}

int profile_event_index(const struct profile *p, const char *name)
{
    for (unsigned i = 0; i < p->n_events; i++)
        if (strcmp(p->events[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int choose_main(struct profile *p, const char *asked, struct cs_error *err)
{
    static const char *const preferred[] = {"cycles",      "cycles:u",   "cpu-clock",
                                            "cpu-clock:u", "task-clock", "instructions"};
    if (asked) {
        int i = profile_event_index(p, asked);
        if (i >= 0) {
            p->main_event = (unsigned)i;
            return 0;
        }
        char have[256] = "";
        struct cs_resembling r = {.word = asked};
        for (unsigned k = 0; k < p->n_events; k++)
            cs_resembling_try(&r, p->events[k].name);
        for (unsigned k = 0; k < p->n_events; k++)
            snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s", k ? ", " : "",
                     p->events[k].name);
        return cs_fail(err, ENOENT, "the store has no event %s; it has %s%s", asked, have,
                       cs_did_you_mean(&r).text);
    }
    for (size_t k = 0; k < sizeof preferred / sizeof *preferred; k++) {
        int i = profile_event_index(p, preferred[k]);
        if (i >= 0) {
            p->main_event = (unsigned)i;
            return 0;
        }
    }
    for (unsigned i = 1; i < p->n_events; i++)
        if (p->events[i].n_profiles > p->events[p->main_event].n_profiles)
            p->main_event = i;
    return 0;
}

/* Nothing there, and how to change that: not cut short, so that what is pasted is what was meant. */
static int nothing_there(struct cs_error *err, const char *before, const char *path, const char *after)
{
    char *word = hint_word(path);
    const bool fits = word && strlen(path) + strlen(word) < sizeof err->text - 160;
    cs_fail(err, ENOENT, "%s %s%s%s%s", before, path, after, fits ? ": fill it by cyclescope record -o " : "",
            fits ? word : "");
    free(word);
    return -ENOENT;
}

int profile_open(struct profile *p, const char *path, const struct profile_filter *filter,
                 struct cs_error *err)
{
    *p = (struct profile){.one_image = filter->image != NULL};
    int rc = recordings_open(path, filter->epoch,
                             filter->chains || filter->label ? RECORDINGS_OF_CHAINS : RECORDINGS_OF_SAMPLES,
                             &p->store, &p->recordings, err);
    if (rc == -ENOENT && access(path, F_OK) < 0)
        nothing_there(err, "there is no store at", path, "");
    if (rc < 0)
        return rc;
    struct gathering w = {.profile = p,
                          .filter = filter,
                          .image.word = filter->image ? filter->image : "",
                          .label.word = filter->label ? filter->label : ""};
    const struct cs_catalog *catalog;
    rc = cs_store_catalog(p->store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++)
        if (note_profile(&w, &catalog->profiles[i]) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory while reading the store %s", path);
    if (rc == 0 && p->n_images == 0)
        rc = w.n_points ? nothing_passed(&w, path, err)
             : *p->recordings.before
                 ? cs_fail(err, ENOENT,
                           "the newest recording of %s (%s) has no samples; --epoch -2 shows the one before",
                           path, p->recordings.name)
                 : nothing_there(err, "the store", path, " has no samples yet");
    if (rc == 0)
        rc = choose_main(p, filter->main_event, err);
    if (rc != 0)
        profile_close(p);
    return rc;
}

int profile_needs_code(const struct profile *p, struct cs_error *err)
{
    for (size_t i = 0; i < p->n_images; i++)
        if (p->images[i].image.kind != CS_IMAGE_TAG)
            return 0;
    return p->n_images ? cs_fail(err, ENOENT,
                                 "this recording has what the observer saw under each tag, not under each "
                                 "function: cyclescope tags and cyclescope hist show it")
                       : 0;
}

struct cs_image_code *profile_code(const struct profile *p, const struct profile_image *image)
{
    struct cs_error ignored = {0};
    struct cs_image_code *code;
    return cs_image_open_shared(&image->image, p->store, &code, &ignored) < 0 ? NULL : code;
}

void profile_close(struct profile *p)
{
    for (size_t i = 0; i < p->n_images; i++)
        free(p->images[i].parts);
    free(p->images);
    cs_map_fini(&p->by_id);
    free(p->edges);
    free(p->events);
    free(p->epochs);
    if (p->store)
        cs_store_close(p->store);
    memset(p, 0, sizeof *p);
}

uint64_t profile_charged(const struct profile *profile, unsigned event, struct cs_image_code *code,
                         uint64_t offset)
{
    return profile->events[event].precise ? offset : cs_image_charged(code, offset);
}

int profile_merged(const struct profile_image *image, unsigned event, struct cs_table **out,
                   struct cs_error *err)
{
    assert(image->n_parts == 0 || image->parts);
    int rc = 0;
    *out = NULL;
    for (unsigned k = 0; rc == 0 && k < image->n_parts; k++)
        if (image->parts[k].event == event)
            rc = cs_store_load_into(image->parts[k].ref, out, err);
    return rc;
}

int profile_points(const struct profile_image *image, int event,
                   void (*visit_point)(unsigned, const char *, uint64_t, uint64_t, void *), void *arg,
                   struct cs_error *err)
{
    for (unsigned k = 0; k < image->n_parts; k++) {
        const struct profile_part *part = &image->parts[k];
        if (event >= 0 && part->event != (unsigned)event)
            continue;
        struct cs_table *table;
        int rc = cs_store_load(part->ref, &table, err);
        if (rc < 0)
            return rc;
        for (size_t r = 0; r < cs_table_rows(table); r++) {
            const struct cs_point_row *row = cs_table_at(table, r);
            visit_point(part->event, part->ref->head->label, row->offset, row->samples, arg);
        }
        cs_table_close(table);
    }
    return 0;
}

static void solved(unsigned done, unsigned total, void *bar)
{
    progress_of(bar, done, total);
}

int profile_edge_flow(const struct profile *profile, struct cs_edge_flow **out, struct cs_error *err)
{
    struct progress bar;
    progress_init(&bar, "solving for executions", "equations", 0);
    int rc = cs_edge_flow_load_reporting(profile->store, CS_EDGE_FLOW_CHAIN, solved, &bar, out, err);
    progress_fini(&bar);
    return rc;
}
