/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/builds/builds.h"

#include "analysis/statistics/significance.h"
#include "cli/output/image_name.h"
#include "cli/profile/profile.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/text.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FEW 0.05 /* of what the build has in its middle epoch: one that it hardly ran in */

static const char *id_of(const struct cs_store_image *image)
{
    return image->build_id && *image->build_id ? image->build_id : image->id;
}

static struct gate_build *find_build(struct gate_builds *b, const struct cs_store_image *image)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->all[i].id, id_of(image)) == 0)
            return &b->all[i];
    char *path = strdup(image->path);
    if (!path || cs_array_room(b->all, b->n, b->capacity) < 0) {
        free(path);
        return NULL;
    }
    struct gate_build *one = &b->all[b->n++];
    *one = (struct gate_build){.path = path};
    snprintf(one->id, sizeof one->id, "%s", id_of(image));
    return one;
}

/* The catalogue goes epoch by epoch. */
static int note_epoch(struct gate_build *build, const char *name, double cost)
{
    struct gate_build_epoch *last = build->n_epochs ? &build->epoch[build->n_epochs - 1] : NULL;
    if (!last || strcmp(last->name, name) != 0) {
        if (cs_array_room(build->epoch, build->n_epochs, build->capacity) < 0)
            return -ENOMEM;
        last = &build->epoch[build->n_epochs];
        *last = (struct gate_build_epoch){.name = strdup(name)};
        if (!last->name)
            return -ENOMEM;
        build->n_epochs++;
    }
    last->cost += cost;
    return 0;
}

static bool is_asked_for(const struct gate_builds *b, const struct cs_store_image *image)
{
    return image->kind == CS_IMAGE_ELF &&
           (strcmp(image->path, b->image) == 0 || strcmp(image_name(image), b->image) == 0);
}

static int collect(struct gate_builds *b, struct cs_store *store, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    const struct cs_query points = {.kind = CS_KIND_POINTS};
    const struct cs_store_profile_ref *ref;
    struct cs_resembling near = {.word = b->image};
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &points, &at)) != NULL;) {
        cs_resembling_try(&near, image_name(ref->image));
        if (!is_asked_for(b, ref->image) || profile_is_inner(ref->head->event))
            continue;
        struct gate_build *build = find_build(b, ref->image);
        if (!build || note_epoch(build, ref->epoch, (double)ref->head->period_sum) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for the builds of %s", b->image);
    }
    if (rc == 0 && b->n == 0)
        rc = cs_fail(err, ENOENT, "%s has no samples of an image %s: prof --by image lists them%s", b->store,
                     b->image, cs_did_you_mean(&near).text);
    return rc;
}

CS_ORDER(by_begin, struct gate_build_epoch, cs_order(a->began_ms, b->began_ms))
CS_ORDER(by_appearance, struct gate_build, cs_order(a->epoch[0].began_ms, b->epoch[0].began_ms),
         cs_order(a->epoch[a->n_epochs - 1].began_ms, b->epoch[b->n_epochs - 1].began_ms),
         strcmp(a->id, b->id))

static void take_times(struct gate_builds *b, const struct cs_store_epoch *epochs, size_t n)
{
    for (size_t i = 0; i < b->n; i++) {
        struct gate_build *build = &b->all[i];
        for (size_t k = 0; k < build->n_epochs; k++)
            for (size_t e = 0; e < n; e++)
                if (strcmp(epochs[e].name, build->epoch[k].name) == 0) {
                    build->epoch[k].began_ms = epochs[e].times.from_ms;
                    build->epoch[k].ended_ms = epochs[e].times.to_ms;
                }
        cs_sort(build->epoch, build->n_epochs, by_begin);
    }
    cs_sort(b->all, b->n, by_appearance);
}

/* 0 and the build; or a sentence. */
static int by_prefix(const struct gate_builds *b, const char *wanted, struct gate_build **out,
                     struct cs_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < b->n; i++) {
        if (strncmp(b->all[i].id, wanted, strlen(wanted)) != 0)
            continue;
        if (*out)
            return cs_fail(err, EINVAL, "two builds of %s begin with %.64s: give more of it", b->image,
                           wanted);
        *out = &b->all[i];
    }
    return *out ? 0
                : cs_fail(err, ENOENT, "no build of %s in %s begins with %.64s", b->image, b->store, wanted);
}

static int choose(struct gate_builds *b, const char *const wanted[2], struct cs_error *err)
{
    int rc = 0;
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        if (wanted[side])
            rc = by_prefix(b, wanted[side], &b->side[side], err);
    if (rc < 0)
        return rc;
    struct gate_build *const last = &b->all[b->n - 1];
    if (!b->side[1])
        b->side[1] = b->side[0] && b->side[0] < last ? b->side[0] + 1 : last;
    if (!b->side[0] && b->side[1] > b->all)
        b->side[0] = b->side[1] - 1;
    if (!b->side[0] || b->side[0] == b->side[1])
        return cs_fail(err, ENOENT, "%s has no build of %s %s %.16s: there is nothing to compare", b->store,
                       b->image, b->side[0] ? "but" : "before", b->side[1]->id);
    return 0;
}

static const struct gate_build_epoch *epoch_of(const struct gate_build *build, const char *name)
{
    for (size_t i = 0; i < build->n_epochs; i++)
        if (strcmp(build->epoch[i].name, name) == 0)
            return &build->epoch[i];
    return NULL;
}

/* The words behind the program's name; NULL: no command was recorded. */
static json_t *arguments_of(const struct cs_store_epoch *epochs, size_t n, const char *name)
{
    json_t *words = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(epochs[i].name, name) == 0) {
            json_t *meta = json_loads(epochs[i].meta, 0, NULL);
            words = json_incref(json_object_get(meta, "arguments"));
            json_decref(meta);
        }
    if (json_is_array(words))
        json_array_remove(words, 0);
    return words;
}

/* The newest arguments that the head was recorded with, and the base too if there are such. NULL: no command was recorded. */
static json_t *choose_arguments(const struct gate_builds *b, const struct cs_store_epoch *epochs, size_t n)
{
    const struct gate_build *base = b->side[0], *head = b->side[1];
    json_t *newest = NULL;
    for (size_t i = head->n_epochs; i-- > 0;) {
        json_t *words = arguments_of(epochs, n, head->epoch[i].name);
        for (size_t k = 0; json_is_array(words) && k < base->n_epochs; k++) {
            json_t *others = arguments_of(epochs, n, base->epoch[k].name);
            const bool fits = json_equal(words, others) && !epoch_of(base, head->epoch[i].name) &&
                              !epoch_of(head, base->epoch[k].name);
            json_decref(others);
            if (fits) {
                json_decref(newest);
                return words;
            }
        }
        if (!newest && json_is_array(words))
            newest = json_incref(words);
        json_decref(words);
    }
    return newest;
}

/* Recordings of a command with those arguments that have one build only. */
static void take_recordings(struct gate_builds *b, const struct cs_store_epoch *epochs, size_t n)
{
    json_t *arguments = choose_arguments(b, epochs, n);
    b->recordings = arguments != NULL;
    for (unsigned side = 0; side < 2; side++)
        for (size_t i = 0; i < b->side[side]->n_epochs; i++) {
            struct gate_build_epoch *e = &b->side[side]->epoch[i];
            json_t *words = arguments_of(epochs, n, e->name);
            const bool both = epoch_of(b->side[!side], e->name) != NULL;
            e->counts = !both && json_is_array(words) && json_equal(words, arguments);
            b->left_out[side][both ? GATE_OUT_BOTH : GATE_OUT_OTHER] += !e->counts;
            json_decref(words);
        }
    json_decref(arguments);
}

static void take_daemon(struct gate_builds *b)
{
    memset(b->left_out, 0, sizeof b->left_out);
    for (unsigned side = 0; side < 2; side++) {
        struct gate_build *build = b->side[side];
        double *cost = calloc(build->n_epochs + 1, sizeof *cost);
        for (size_t i = 0; cost && i < build->n_epochs; i++)
            cost[i] = build->epoch[i].cost;
        const double least = cost ? FEW * cs_median(cost, build->n_epochs) : 0;
        free(cost);
        for (size_t i = 0; i < build->n_epochs; i++) {
            build->epoch[i].counts = build->epoch[i].cost >= least;
            b->left_out[side][GATE_OUT_FEW] += !build->epoch[i].counts;
        }
    }
}

/* Its names, and what it says of itself. */
static int look_into(struct gate_build *build, const struct gate_builds *b, struct cs_store *store,
                     struct cs_error *err)
{
    const struct cs_catalog *catalog;
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_images; i++) {
        const struct cs_store_image *image = catalog->images[i].image;
        struct cs_image_code *code;
        if (!is_asked_for(b, image) || strcmp(id_of(image), build->id) != 0)
            continue;
        rc = cs_image_open(image, store, &code, err);
        if (rc < 0)
            return rc;
        build->nameless = *cs_image_trouble(code) || cs_image_procedures(code) == 0;
        gate_build_label(code, build);
        cs_image_close(code);
        if (!build->nameless)
            break; /* the same build at another path has the same file */
    }
    build->used = calloc(build->n_epochs + 1, sizeof *build->used);
    if (!build->used)
        return cs_fail(err, ENOMEM, "out of memory for %zu epochs", build->n_epochs);
    for (size_t i = 0; i < build->n_epochs; i++)
        if (build->epoch[i].counts)
            build->used[build->n_used++] = build->epoch[i].name;
    if (rc == 0 && build->n_used == 0)
        rc = cs_fail(err, ENOENT,
                     "no recording in %s has the build %.12s alone and the head's arguments: "
                     "there is nothing to compare",
                     b->store, build->id);
    return rc;
}

int gate_builds_open(struct gate_builds *b, const char *path, const char *image, const char *const wanted[2],
                     struct cs_error *err)
{
    assert(image && wanted);
    struct cs_store *store;
    const struct cs_store_epoch *epochs;
    size_t n;
    *b = (struct gate_builds){.store = path, .image = image};
    int rc = cs_store_open(path, CS_STORE_READ, &store, err);
    if (rc < 0)
        return rc;
    rc = collect(b, store, err);
    rc = rc < 0 ? rc : cs_store_epochs(store, &epochs, &n, err);
    if (rc == 0) {
        take_times(b, epochs, n);
        rc = choose(b, wanted, err);
    }
    if (rc == 0) {
        take_recordings(b, epochs, n);
        if (!b->recordings)
            take_daemon(b);
    }
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        rc = look_into(b->side[side], b, store, err);
    cs_store_close(store);
    return rc;
}

void gate_builds_close(struct gate_builds *b)
{
    for (size_t i = 0; i < b->n; i++) {
        for (size_t k = 0; k < b->all[i].n_epochs; k++)
            free(b->all[i].epoch[k].name);
        free(b->all[i].epoch);
        free(b->all[i].used);
        free(b->all[i].path);
    }
    free(b->all);
    for (size_t i = 0; i < b->commits.n_lines; i++)
        free(b->commits.line[i]);
    free(b->commits.line);
    *b = (struct gate_builds){.n = 0};
}

bool gate_is_nameless(const struct gate *gate)
{
    return gate->builds && (gate->builds->side[0]->nameless || gate->builds->side[1]->nameless);
}

void gate_builds_say(struct gate *gate)
{
    static const char *const why[] = {[GATE_OUT_BOTH] = "have both builds",
                                      [GATE_OUT_OTHER] = "are of another command, or of no command",
                                      [GATE_OUT_FEW] = "hardly have samples of it"};
    const struct gate_builds *b = gate->builds;
    for (unsigned side = 0; side < 2; side++) {
        if (b->side[side]->nameless)
            gate_note(gate,
                      "The file of the %s's build %.12s is gone, and with it the names of its functions. "
                      "Keep copies (keep-code), or set CYCLESCOPE_DEBUG_PATH.",
                      side ? "head" : "base", b->side[side]->id);
        for (unsigned k = 0; k <= GATE_OUT_FEW; k++)
            if (b->left_out[side][k])
                gate_note(gate, "Left out: %zu epochs of the %s's build that %s.", b->left_out[side][k],
                          side ? "head" : "base", why[k]);
    }
}
