/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording is an epoch, so that edit, build, record, prof is never a mixture. A daemon's epochs are pieces of one
 * recording. */
#include "cli/command/recordings.h"

#include "cli/command/command.h"
#include "cli/command/figures.h"
#include "store/base/array.h"
#include "store/base/text.h"
#include "store/base/when.h"
#include "store/times.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum writer { WRITER_RECORD, WRITER_DAEMON, WRITER_OBSERVE };

struct found {
    char *name;
    char label[24];
    enum writer writer;
};

struct finding {
    struct found *at; /* newest first */
    size_t n, capacity;
};

/* Epochs of earlier versions tell in other words. */
static enum writer writer_of(const char *meta, char label[24])
{
    json_t *root = json_loads(meta, 0, NULL);
    const char *writer = json_string_value(json_object_get(root, "writer"));
    const char *by = json_string_value(json_object_get(root, "by"));
    const char *command = json_string_value(json_object_get(root, "command"));
    enum writer is = WRITER_RECORD;
    if ((writer && strcmp(writer, "observe") == 0) || (by && strcmp(by, "observe") == 0))
        is = WRITER_OBSERVE;
    else if (writer ? strcmp(writer, "daemon") == 0 : command && strcmp(command, "daemon") == 0)
        is = WRITER_DAEMON;
    const char *apart = json_string_value(json_object_get(root, "label"));
    snprintf(label, 24, "%s", apart ? apart : "");
    json_decref(root);
    return is;
}

static int note(struct finding *f, const struct cs_store_epoch *epoch)
{
    if (cs_array_room(f->at, f->n, f->capacity) < 0)
        return -ENOMEM;
    f->at[f->n] = (struct found){.name = strdup(epoch->name)};
    f->at[f->n].writer = writer_of(epoch->meta, f->at[f->n].label);
    return f->at[f->n].name ? (f->n++, 0) : -ENOMEM;
}

/* Index of the nth (from 1) epoch of what is asked for; -1 = there are fewer. */
static long nth(const struct finding *f, enum recordings_of of, unsigned long n)
{
    for (size_t i = 0; i < f->n; i++)
        if ((f->at[i].writer == WRITER_OBSERVE) == (of == RECORDINGS_OF_OBSERVER) && --n == 0)
            return (long)i;
    return -1;
}

static int no_such(const struct finding *f, const char *epoch, const char *path, struct cs_error *err)
{
    struct cs_resembling r = {.word = epoch};
    for (size_t i = 0; i < f->n; i++)
        cs_resembling_try(&r, f->at[i].name);
    return cs_fail(
        err, ENOENT,
        "%s has no epoch %.80s: cyclescope store ls lists them; -1 is the newest, -2 the one before%s", path,
        epoch, cs_did_you_mean(&r).text);
}

static int select_named(struct cs_store *store, const struct finding *f, const char *epoch,
                        enum recordings_of of, struct recordings *which, struct cs_error *err)
{
    long chosen = -1;
    char *end;
    unsigned long number = *epoch == '-' ? strtoul(epoch + 1, &end, 10) : 0;
    if (number && !*end) {
        chosen = nth(f, of, number);
    } else {
        unsigned begin_so = 0;
        for (size_t i = 0; i < f->n; i++) {
            if (strcmp(f->at[i].name, epoch) == 0) {
                begin_so = 1;
                chosen = (long)i;
                break;
            }
            if (*epoch && strncmp(f->at[i].name, epoch, strlen(epoch)) == 0) {
                begin_so++;
                chosen = (long)i;
            }
        }
        if (begin_so > 1)
            return cs_fail(err, EINVAL, "%u epochs of %s begin with %.80s: give more of the name", begin_so,
                           cs_store_path(store), epoch);
    }
    if (chosen < 0)
        return no_such(f, epoch, cs_store_path(store), err);
    snprintf(which->name, sizeof which->name, "%s", f->at[chosen].name);
    return cs_store_see_only(store, (const char *const[]){f->at[chosen].name}, 1, err);
}

static int select_newest(struct cs_store *store, const struct finding *f, enum recordings_of of,
                         struct recordings *which, struct cs_error *err)
{
    long recorded = nth(f, RECORDINGS_OF_SAMPLES, 1), observed = nth(f, RECORDINGS_OF_OBSERVER, 1);
    long first = of == RECORDINGS_OF_OBSERVER ? observed : recorded;
    long second = of == RECORDINGS_OF_OBSERVER ? recorded : observed;
    which->daemon = recorded >= 0 && f->at[recorded].writer == WRITER_DAEMON;
    which->all = which->daemon || (recorded < 0 && observed < 0);
    if (which->all)
        return 0;
    const char *only[2];
    size_t n = 0;
    if (first >= 0)
        only[n++] = f->at[first].name;
    if (second >= 0)
        only[n++] = f->at[second].name;
    snprintf(which->name, sizeof which->name, "%s", only[0]);
    long before = nth(f, of, 2);
    if (before >= 0)
        snprintf(which->before, sizeof which->before, "%s", f->at[before].name);
    return cs_store_see_only(store, only, n, err);
}

/* "EPOCH@FROM..TO", in ms: the epoch goes to `name`. */
static bool take_times(const char *asked, char name[128], struct cs_store_times *times)
{
    const char *at = asked ? strrchr(asked, '@') : NULL;
    int end = 0;
    if (!at || sscanf(at, "@%" SCNu64 "..%" SCNu64 "%n", &times->from_ms, &times->to_ms, &end) != 2 ||
        at[end])
        return false;
    snprintf(name, 128, "%.*s", (int)(at - asked), asked);
    return true;
}

static const char *length(uint64_t ms, char text[48])
{
    double s = (double)ms / 1000, n = s < 120 ? s : s < 7200 ? s / 60 : s / 3600;
    char number[48];
    snprintf(text, 48, "%.20s %s", figures(n, n < 10 ? 2 : 3, number),
             s < 120    ? "s"
             : s < 7200 ? "minutes"
                        : "hours");
    return text;
}

/* Once: a report may open its store several times. */
static void tell_seen(const struct cs_store_seen *seen)
{
    static struct cs_store_times told;
    char range[CS_WHEN_RANGE_MAX], grain[48];
    if (!seen->grain_ms || (told.from_ms == seen->times.from_ms && told.to_ms == seen->times.to_ms))
        return;
    told = seen->times;
    cs_when_range(seen->times.from_ms, seen->times.to_ms, range);
    remark("the store tells times by %s of %s: %s is shown", seen->by_epochs ? "epochs" : "intervals",
           length(seen->grain_ms, grain), range);
}

int recordings_open(const char *path, const char *epoch, enum recordings_of of, struct cs_store **out,
                    struct recordings *out_which, struct cs_error *err)
{
    struct finding f = {0};
    struct recordings which = {0};
    struct cs_store_times times;
    struct cs_store_seen seen = {.grain_ms = 0};
    char name[128];
    const bool timed = take_times(epoch, name, &times);
    int rc = cs_store_open(path, CS_STORE_READ, out, err);
    if (timed)
        epoch = *name ? name : "all";
    if (rc < 0)
        return rc;
    const struct cs_store_epoch *epochs;
    size_t n;
    rc = cs_store_epochs(*out, &epochs, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = note(&f, &epochs[i]);
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "not enough memory for the epochs of %s", path);
    for (size_t i = 0; i < f.n; i++)
        which.n += (f.at[i].writer == WRITER_OBSERVE) == (of == RECORDINGS_OF_OBSERVER);
    if (rc == 0 && epoch && strcmp(epoch, "all") == 0)
        which.all = true;
    else if (rc == 0 && epoch && strcmp(epoch, "newest") != 0)
        rc = select_named(*out, &f, epoch, of, &which, err);
    else if (rc == 0)
        rc = select_newest(*out, &f, of, &which, err);
    if (rc == 0 && timed)
        rc = cs_store_see_times(*out, &times, of == RECORDINGS_OF_CHAINS, &seen, err);
    if (rc == 0)
        tell_seen(&seen);
    which.times = seen.times;
    for (size_t i = 0; i < f.n; i++) {
        if (*which.name && strcmp(which.name, f.at[i].name) == 0)
            snprintf(which.label, sizeof which.label, "%s", f.at[i].label);
        free(f.at[i].name);
    }
    free(f.at);
    if (rc < 0) {
        cs_store_close(*out);
        *out = NULL;
    }
    if (out_which)
        *out_which = which;
    return rc;
}

static int add_name(struct recording_names *names, const char *epoch)
{
    if (cs_array_room(names->at, names->n, names->capacity) < 0 || !(names->at[names->n] = strdup(epoch)))
        return -ENOMEM;
    names->n++;
    return 0;
}

int recording_names_open(struct recording_names *names, struct cs_store *store,
                         const struct recordings *which, struct cs_error *err)
{
    assert(store && names);
    const struct cs_store_epoch *epochs;
    size_t n;
    *names = (struct recording_names){0};
    int rc = cs_store_epochs(store, &epochs, &n, err);
    if (rc == 0 && which && *which->name)
        rc = add_name(names, which->name);
    for (size_t i = 0; rc == 0 && !(which && *which->name) && i < n; i++)
        rc = cs_store_sees(store, epochs[i].name) ? add_name(names, epochs[i].name) : 0;
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "not enough memory for the epochs of %s", cs_store_path(store));
    return rc;
}

void recording_names_close(struct recording_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    *names = (struct recording_names){0};
}

int recordings_apart(const struct cs_store_times *a, const struct cs_store_times *b, struct cs_error *err)
{
    uint64_t from = a->from_ms > b->from_ms ? a->from_ms : b->from_ms;
    uint64_t to = a->to_ms < b->to_ms ? a->to_ms : b->to_ms;
    uint64_t length_a = a->to_ms - a->from_ms, length_b = b->to_ms - b->from_ms;
    char range[CS_WHEN_RANGE_MAX];
    if (to <= from || 10 * (to - from) <= (length_a < length_b ? length_a : length_b))
        return 0;
    cs_when_range(from, to, range);
    return cs_fail(err, EINVAL, "both sides have %s in this store: there is nothing to compare", range);
}

int recordings_are_not_two(const char *path, struct cs_error *err)
{
    return cs_fail(err, ENOENT, "%s has no two recordings to compare: record again, or name two stores",
                   path);
}
