/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of one image, event and kind are merged over epochs and labels before any exporter sees them. */
#include "exchange/export/export.h"
#include "exchange/export/chains.h"
#include "store/base/array.h"
#include "store/base/text.h"
#include "store/catalog.h"
#include "store/merged.h"
#include "store/table/wait_schemas.h"
#include "store/times.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const struct cs_exporter cs_export_pprof, cs_export_otlp, cs_export_folded, cs_export_speedscope,
    cs_export_firefox, cs_export_csv, cs_export_json, cs_export_llvm, cs_export_gcov, cs_export_gcov11,
    cs_export_bolt;

const struct cs_exporter *const cs_exporters[] = {
    &cs_export_pprof,   &cs_export_otlp,   &cs_export_folded, &cs_export_speedscope,
    &cs_export_firefox, &cs_export_csv,    &cs_export_json,   &cs_export_llvm,
    &cs_export_gcov,    &cs_export_gcov11, &cs_export_bolt,   NULL};

struct collecting {
    struct cs_export *to;
    const char *event, *image;
    const struct cs_store_times *times; /* NULL: all */
    struct cs_error *err;
    char epoch[256];
    uint64_t epoch_ns; /* how long that one was */
    struct cs_resembling meant_image, meant_event;
};

/* When an epoch began, from its name: 20261121T134135Z-host. */
static int64_t beginning(const char *epoch)
{
    struct tm tm = {0};
    const char *end = strptime(epoch, "%Y%m%dT%H%M%SZ", &tm);
    return end ? (int64_t)timegm(&tm) : 0;
}

/* An event was wanted for as long as the recording took, whatever the image. */
static void note_time(struct collecting *c, const struct cs_store_profile_ref *ref)
{
    if (strcmp(c->epoch, ref->epoch) != 0) {
        int64_t began = beginning(ref->epoch);
        if (c->times && began < (int64_t)(c->times->from_ms / 1000))
            began = (int64_t)(c->times->from_ms / 1000);
        snprintf(c->epoch, sizeof c->epoch, "%s", ref->epoch);
        c->to->began = c->to->began && c->to->began < began ? c->to->began : began;
        c->epoch_ns = 0;
    }
    if (ref->head->enabled_ns > c->epoch_ns) {
        c->to->duration_ns += ref->head->enabled_ns - c->epoch_ns;
        c->epoch_ns = ref->head->enabled_ns;
    }
}

static bool image_wanted(const struct cs_store_image *image, const char *wanted)
{
    return !wanted || strcmp(image->path, wanted) == 0 || strcmp(cs_base_name(image->path), wanted) == 0 ||
           (strlen(wanted) >= 6 && strncmp(image->id, wanted, strlen(wanted)) == 0);
}

/* "cycles" chooses its stacks too. */
static bool event_wanted(const char *event, const char *wanted)
{
    size_t n = wanted ? strlen(wanted) : 0;
    return !wanted || (strncmp(event, wanted, n) == 0 && (!event[n] || strcmp(event + n, "-stacks") == 0));
}

struct cs_exported_image *cs_export_image_of(struct cs_export *to, const struct cs_store_image *image)
{
    for (unsigned i = 0; i < to->n_images; i++)
        if (strcmp(to->images[i].image.id, image->id) == 0)
            return &to->images[i];
    if (cs_array_resize(to->images, to->n_images + 1) < 0)
        return NULL;
    to->images[to->n_images] = (struct cs_exported_image){.image = *image};
    return &to->images[to->n_images++];
}

static struct cs_exported_profile *profile_of(struct cs_exported_image *image,
                                              const struct cs_store_profile_ref *ref)
{
    for (unsigned i = 0; i < image->n_profiles; i++)
        if (strcmp(image->profiles[i].event, ref->head->event) == 0 &&
            strcmp(image->profiles[i].kind_name, ref->kind_name) == 0)
            return &image->profiles[i];
    if (cs_array_resize(image->profiles, image->n_profiles + 1) < 0)
        return NULL;
    struct cs_exported_profile *added = &image->profiles[image->n_profiles++];
    memset(added, 0, sizeof *added);
    snprintf(added->event, sizeof added->event, "%s", ref->head->event);
    snprintf(added->unit, sizeof added->unit, "%s", ref->head->unit);
    added->kind = ref->kind;
    added->kind_name = ref->kind_name;
    return added;
}

static int collect(struct collecting *c, const struct cs_store_profile_ref *ref)
{
    bool contexts = ref->image->kind == CS_IMAGE_CONTEXTS;
    bool of_image = contexts || image_wanted(ref->image, c->image),
         of_event = event_wanted(ref->head->event, c->event);
    if (!of_image)
        cs_resembling_try(&c->meant_image, cs_base_name(ref->image->path));
    if (!of_event)
        cs_resembling_try(&c->meant_event, ref->head->event);
    if (!of_image || !of_event)
        return 0;
    struct cs_exported_image *image = contexts ? &c->to->contexts : cs_export_image_of(c->to, ref->image);
    struct cs_exported_profile *profile = image ? profile_of(image, ref) : NULL;
    if (!profile)
        return cs_fail(c->err, ENOMEM, "out of memory while reading the store");
    image->wanted = true;
    note_time(c, ref);
    profile->period_sum += ref->head->period_sum;
    int rc = cs_store_load_into(ref, &profile->table, c->err);
    if (rc < 0 || ref->kind != CS_KIND_POINTS || !cs_export_event_is_chained(c->to, ref->head->event))
        return rc;
    profile->chained = true;
    return cs_export_is_chained(c->to, ref, ref->head->event)
               ? 0
               : cs_store_load_into(ref, &profile->bare, c->err);
}

int cs_export_open(struct cs_store *store, const char *event, const char *image,
                   const struct cs_export_watch *watch, struct cs_export *out, struct cs_error *err)
{
    struct collecting c = {.to = out,
                           .event = event,
                           .image = image,
                           .times = cs_store_times_asked(store),
                           .err = err,
                           .meant_image.word = image ? image : "",
                           .meant_event.word = event ? event : ""};
    const struct cs_catalog *catalog;
    *out = (struct cs_export){.store = store,
                              .filtered = image != NULL,
                              .chosen = event != NULL,
                              .watch = watch ? *watch : (struct cs_export_watch){NULL, NULL}};
    int rc = cs_export_chains_note(out, store, err);
    rc = rc < 0 ? rc : cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++)
        rc = collect(&c, &catalog->profiles[i]);
    bool any = out->n_images > 0 || (!image && out->contexts.n_profiles); /* waits have no points */
    rc = rc < 0 ? rc : cs_export_chains_open(out, store, err);
    for (unsigned i = 0; rc == 0 && i < out->n_images; i++) {
        const struct cs_exported_image *added = &out->images[i];
        for (unsigned k = 0; k < added->n_profiles; k++)
            out->rows_total += cs_table_rows(added->profiles[k].table);
        cs_export_report_progress(out, "images", i, out->n_images);
        rc = cs_image_open(&out->images[i].image, store, &out->images[i].code, err);
    }
    if (rc == 0 && !any)
        rc = cs_fail(err, ENOENT, "%s: no profile%s%s%s%s; `cyclescope store ls` shows what there is%s%s",
                     cs_store_path(store), event ? " of event " : "", event ? event : "",
                     image ? " of image " : "", image ? image : "", cs_did_you_mean(&c.meant_image).text,
                     cs_did_you_mean(&c.meant_event).text);
    if (rc < 0)
        cs_export_close(out);
    return rc;
}

static void close_profiles(struct cs_exported_image *image)
{
    for (unsigned k = 0; k < image->n_profiles; k++) {
        cs_table_close(image->profiles[k].table);
        cs_table_close(image->profiles[k].bare);
    }
    free(image->profiles);
}

void cs_export_close(struct cs_export *from)
{
    cs_export_chains_close(from);
    close_profiles(&from->contexts);
    for (unsigned i = 0; i < from->n_images; i++) {
        struct cs_exported_image *image = &from->images[i];
        close_profiles(image);
        if (image->code)
            cs_image_close(image->code);
    }
    free(from->images);
    *from = (struct cs_export){0};
}

void cs_export_report_progress(const struct cs_export *from, const char *unit, uint64_t done, uint64_t total)
{
    if (from->watch.tell)
        from->watch.tell(unit, done, total, from->watch.arg);
}

void cs_export_row_done(struct cs_export *from)
{
    if ((++from->rows_done & 0xff) == 0)
        cs_export_report_progress(from, "rows", from->rows_done, from->rows_total);
}

static void report_solved(unsigned done, unsigned total, void *from)
{
    cs_export_report_progress(from, "solutions", done, total);
}

int cs_export_edge_flow(struct cs_export *from, struct cs_edge_flow **out, struct cs_error *err)
{
    return cs_edge_flow_load_reporting(from->store, CS_EDGE_FLOW_CHAIN, report_solved, from, out, err);
}

bool cs_export_name_is_word(const char *name)
{
    return *name && !strchr(name, ' ') && cs_text_is_clean(name);
}

struct cs_exported_image *cs_export_image(const struct cs_export *from, const char *id)
{
    for (unsigned i = 0; i < from->n_images; i++)
        if (strcmp(from->images[i].image.id, id) == 0)
            return &from->images[i];
    return NULL;
}

const char *cs_export_name(struct cs_exported_image *image, uint64_t offset, char *text, size_t capacity)
{
    assert(capacity > 0);
    const struct cs_image_procedure *p = cs_image_procedure_at(image->code, offset);
    if (p)
        return cs_image_demangle(p->name, text, capacity);
    snprintf(text, capacity, "%s+0x%" PRIx64, cs_base_name(image->image.path), offset);
    return text;
}

static int note_event(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                      void *arg)
{
    struct cs_export_events *e = arg;
    unsigned i = 0;
    (void)frames;
    (void)n;
    while (i < e->n && strcmp(e->names[i], event) != 0)
        i++;
    if (i == CS_EXPORT_EVENTS_MAX)
        return 0;
    if (i == e->n)
        snprintf(e->names[e->n++], sizeof e->names[0], "%s", event);
    e->samples[i] += samples;
    return 0;
}

bool cs_export_is_off_cpu(const char *event)
{
    return strcmp(event, CS_WAITS_EVENT) == 0 || strcmp(event, CS_WAKERS_EVENT) == 0;
}

const char *cs_export_unit(const char *event)
{
    return cs_export_is_off_cpu(event) ? "nanoseconds" : "count";
}

static bool is_before(const struct cs_export_events *e, unsigned a, unsigned b)
{
    bool x = cs_export_is_off_cpu(e->names[a]), y = cs_export_is_off_cpu(e->names[b]);
    return x != y ? y : e->samples[a] > e->samples[b];
}

int cs_export_events(struct cs_export *from, struct cs_export_events *events)
{
    *events = (struct cs_export_events){.n = 0};
    const struct cs_export was = *from;
    from->watch.tell = NULL; /* a glance, not the work that is counted */
    int rc = cs_export_each_stack(from, note_event, events);
    from->watch = was.watch;
    from->rows_done = was.rows_done;
    for (unsigned i = 1; rc == 0 && i < events->n; i++)
        for (unsigned k = i; k > 0 && is_before(events, k, k - 1); k--) {
            char name[sizeof events->names[0]];
            uint64_t samples = events->samples[k];
            memcpy(name, events->names[k], sizeof name);
            memcpy(events->names[k], events->names[k - 1], sizeof name);
            memcpy(events->names[k - 1], name, sizeof name);
            events->samples[k] = events->samples[k - 1];
            events->samples[k - 1] = samples;
        }
    return rc;
}
