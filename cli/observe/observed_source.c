/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log is replayed through the filter of the observer; a store has the sums already. */
#include "cli/observe/observed_source.h"

#include "cli/observe/series.h"

#include "cli/command/recordings.h"
#include "observer/log/aliases.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *log_name(void *arg, unsigned tag, uint64_t value)
{
    const struct observed_source *s = arg;
    return cs_observe_log_reader_name_of(s->log, tag, value);
}

static int keep_name(struct observed_source *s, unsigned tag, uint64_t value, const char *name)
{
    struct observed_name *one = cs_array_add(&s->names);
    if (!one || !(one->text = strdup(name)))
        return -ENOMEM;
    one->tag = tag;
    one->value = value;
    one->order = s->names.n;
    return 0;
}

static int keep_first(uint64_t offset, uint64_t size, const char *name, void *arg)
{
    (void)size;
    return keep_name(arg, 0, offset, name);
}

CS_ORDER(by_value, struct observed_name, cs_order(a->tag, b->tag), cs_order(a->value, b->value))

CS_ORDER(in_order, struct observed_name, by_value(a, b), cs_order(a->order, b->order))

/* The last one of a value holds. */
static int load_names(struct observed_source *s, struct cs_error *err)
{
    struct observed_name *at;
    size_t n = 0;
    int rc = cs_store_names(s->store, s->kept.image_id, keep_first, s, err);
    for (size_t i = 0; rc == 0 && i < s->kept.names.n; i++) {
        const struct cs_observe_saved_name *name = &s->kept.names.at[i];
        if (keep_name(s, name->tag, name->value, name->text) < 0)
            rc = cs_fail(err, ENOMEM, "no memory for names");
    }
    at = s->names.at;
    cs_sort(at, s->names.n, in_order);
    for (size_t i = 0; i < s->names.n; i++)
        if (i + 1 < s->names.n && by_value(&at[i], &at[i + 1]) == 0)
            free(at[i].text);
        else
            at[n++] = at[i];
    s->names.n = n;
    return rc;
}

static const char *store_name(void *arg, unsigned tag, uint64_t value)
{
    const struct observed_source *s = arg;
    const struct observed_name key = {.tag = tag, .value = value};
    const struct observed_name *found = cs_find(&key, s->names.at, s->names.n, by_value);
    return found ? found->text : NULL;
}

static struct cs_observe_replay_options usual_replay(void)
{
    struct cs_observe_replay_options usual = {.rule = cs_dte_paper_rule()};
    usual.rule.same_tag = true;
    usual.rule.gap_cycles = 0;
    return usual;
}

static int open_log(const char *path, const struct cs_observe_replay_options *options,
                    struct observed_source *s)
{
    struct cs_error err = {0};
    struct progress bar;
    struct cs_observe_replay_options shown = options ? *options : usual_replay();
    progress_init(&bar, "reading", "B", 0);
    shown.progress = progress_of;
    shown.progress_arg = &bar;
    int rc = cs_observe_replay(path, &shown, &s->kept.sink, &s->log, &err);
    progress_fini(&bar);
    if (rc < 0)
        return failed(&err);
    const struct cs_observe_log_head *head = cs_observe_log_reader_head(s->log);
    s->view = (struct observed){.sink = s->kept.sink,
                                .program = head->program,
                                .hz = (double)head->cycles_per_second,
                                .timed_each = true,
                                .asked_cycles = head->period_cycles,
                                .name = log_name,
                                .arg = s};
    for (unsigned t = 0; t < head->n_tags; t++)
        s->view.tags[t] = head->tags[t];
    for (unsigned c = 0; c < head->n_software + head->n_hardware; c++)
        s->view.counters[c] = head->counters[c];
    return CS_EXIT_OK;
}

static int open_store(const struct parsed *args, struct observed_source *s)
{
    struct cs_error err = {0};
    if (recordings_open(store_location(args), option(args, "epoch"), RECORDINGS_OF_OBSERVER, &s->store, NULL,
                        &err) < 0 ||
        cs_observe_load(s->store, option(args, "program"), &s->kept, &err) < 0 || load_names(s, &err) < 0)
        return failed(&err);
    for (unsigned t = 0; t < s->kept.sink->n_tags; t++)
        if (cs_observe_aliases_join(s->kept.sink->tags[t], t, store_name, s) < 0)
            return failed_with("no memory for names");
    s->view = (struct observed){.sink = s->kept.sink,
                                .program = s->kept.program,
                                .hz = s->kept.cycles_per_second,
                                .timed_each = true,
                                .name = store_name,
                                .arg = s};
    for (unsigned t = 0; t < s->kept.sink->n_tags; t++)
        s->view.tags[t] = s->kept.tags[t];
    for (unsigned c = 0; c < s->kept.sink->n_counters; c++)
        s->view.counters[c] = s->kept.counters[c];
    return CS_EXIT_OK;
}

int observed_open_log(const char *log, const struct cs_observe_replay_options *options,
                      struct observed_source *source)
{
    memset(source, 0, sizeof *source);
    int rc = open_log(log, options, source);
    if (rc)
        observed_close(source);
    return rc;
}

int observed_ratios(const struct parsed *args, const char *ratios[CS_RATIOS_MAX], unsigned *n)
{
    const char *text;
    for (*n = 0; (text = option_nth(args, "ratio", *n)); ratios[(*n)++] = text)
        if (*n == CS_RATIOS_MAX)
            return usage_error("--ratio %s: at most %d at a time", text, CS_RATIOS_MAX);
    return CS_EXIT_OK;
}

int observed_open(const struct parsed *args, const struct cs_observe_replay_options *options,
                  struct observed_source *source)
{
    memset(source, 0, sizeof *source);
    const char *log = option(args, "log"), *ratios[CS_RATIOS_MAX];
    struct cs_observe_replay_options wish = options ? *options : usual_replay();
    int rc = observed_ratios(args, ratios, &wish.n_ratios);
    wish.ratios = ratios;
    if (rc)
        return rc;
    rc = log ? open_log(log, &wish, source) : open_store(args, source);
    source->view.raw = option_given(args, "raw");
    for (unsigned r = 0; rc == CS_EXIT_OK && r < wish.n_ratios; r++)
        if (series_find(&source->view, ratios[r]) < 0)
            rc = failed_with(
                "%s has no ratio %s: a store has IPC and those that `observe --ratio` was asked for",
                source->view.program, ratios[r]);
    if (rc)
        observed_close(source);
    return rc;
}

int observed_open_every(const struct parsed *args, unsigned every, struct observed_source *source)
{
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .subsample = every};
    options.rule.same_tag = true;
    options.rule.gap_cycles = 0;
    return observed_open(args, &options, source);
}

int observed_subsamples(const struct parsed *args, unsigned *periods, unsigned *n)
{
    const char *text;
    for (*n = 0; (text = option_nth(args, "subsample", *n)); ++*n) {
        char *end;
        unsigned long every = strtoul(text, &end, 10);
        if (*n == SUBSAMPLES_MAX || *end || every < 1 || every > 1000000000)
            return usage_error("--subsample %s: expected a whole number from 1 on, at most %d times", text,
                               SUBSAMPLES_MAX);
        periods[*n] = (unsigned)every;
    }
    if (*n && !option_given(args, "log"))
        return usage_error("--subsample needs all samples: give --log FILE, written by observe --log");
    return CS_EXIT_OK;
}

void observed_close(struct observed_source *source)
{
    cs_observe_saved_fini(&source->kept);
    cs_store_close(source->store);
    cs_observe_log_reader_close(source->log);
    for (size_t i = 0; i < source->names.n; i++)
        free(source->names.at[i].text);
    cs_array_free(&source->names);
    memset(source, 0, sizeof *source);
}

static int index_of(const char *const *names, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (!name || strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

int observed_tag(const struct observed *o, const char *name)
{
    return index_of(o->tags, o->sink->n_tags, name);
}

int observed_log_tag(const char *path, const char *name)
{
    struct cs_observe_log_reader *log;
    struct cs_error err = {0};
    if (cs_observe_log_open(path, &log, &err) < 0) {
        failed(&err);
        return -1;
    }
    struct cs_observe_log_head head = *cs_observe_log_reader_head(log);
    cs_observe_log_reader_close(log);
    struct cs_resembling meant = {.word = name ? name : ""};
    for (unsigned t = 0; t < head.n_tags; t++) {
        if (!name || strcmp(head.tags[t], name) == 0)
            return (int)t;
        cs_resembling_try(&meant, head.tags[t]);
    }
    if (name)
        failed_with("%s has no tag %s%s", path, name, cs_did_you_mean(&meant).text);
    else
        failed_with("%s was logged without a tag", path);
    return -1;
}

static struct cs_did_you_mean meant(const char *const *names, unsigned n, const char *name)
{
    struct cs_resembling r = {.word = name};
    for (unsigned i = 0; i < n; i++)
        cs_resembling_try(&r, names[i]);
    return cs_did_you_mean(&r);
}

struct cs_did_you_mean observed_counter_meant(const struct observed *o, const char *name)
{
    struct cs_resembling r = {.word = name};
    for (unsigned c = 0; c < cs_sink_series(o->sink); c++)
        cs_resembling_try(&r, series_name(o, c).text);
    return cs_did_you_mean(&r);
}

struct cs_did_you_mean observed_tag_meant(const struct observed *o, const char *name)
{
    return meant(o->tags, o->sink->n_tags, name);
}

struct cs_did_you_mean observed_value_meant(const struct observed *o, unsigned tag, const char *name)
{
    struct cs_resembling r = {.word = name};
    const struct cs_tags *tags = o->sink->tags[tag];
    for (uint32_t i = 0; i < tags->n_rows; i++) {
        char known[256];
        observed_value(o, tag, tags->rows[i].tag, known, sizeof known);
        cs_resembling_try(&r, known);
    }
    return cs_did_you_mean(&r);
}

bool observed_named(const struct observed *o, unsigned tag, const char *text, uint64_t *value)
{
    assert(tag < CS_TAGS_MAX && text);
    const struct cs_tags *tags = o->sink->tags[tag];
    const size_t length = strlen(text);
    unsigned begin = 0,
             without = 0; /* names that begin so, and those that end there but for " (FILE:LINE)" */
    uint64_t beginning = 0, place_left_out = 0;
    for (uint32_t r = 0; r < tags->n_rows && length; r++) {
        char name[256];
        observed_value(o, tag, tags->rows[r].tag, name, sizeof name);
        if (strncmp(name, text, length) != 0)
            continue;
        beginning = tags->rows[r].tag;
        begin++;
        if (strncmp(name + length, " (", 2) == 0) {
            place_left_out = beginning;
            without++;
        }
        if (!name[length]) {
            *value = beginning;
            return true;
        }
    }
    *value = without == 1 ? place_left_out : beginning;
    return without == 1 || begin == 1;
}

void observed_namesakes(struct output *out, const struct observed *o, unsigned tag, const char *text,
                        uint64_t value)
{
    const struct cs_tags *tags = o->sink->tags[tag];
    const struct cs_tag_row *most = NULL;
    const char *place = strstr(text, " (");
    const size_t length = place ? (size_t)(place - text) : strlen(text);
    char name[256], example[256] = "";
    unsigned n = 0;
    for (uint32_t r = 0; r < tags->n_rows; r++) {
        observed_value(o, tag, tags->rows[r].tag, name, sizeof name);
        if (tags->rows[r].tag == value || strncmp(name, text, length) != 0 || name[length] != ' ')
            continue;
        n++;
        if (!most || tags->rows[r].kept > most->kept) {
            most = &tags->rows[r];
            memcpy(example, name, sizeof example);
        }
    }
    if (n)
        output_note(
            out,
            "These are the intervals of %.*s alone. %u other tag%s begin%s with this name, such as %s: give "
            "one of them to --under, or tag functions only (-fplugin-arg-cyclescope-methods).",
            (int)length, text, n, plural(n), n == 1 ? "s" : "", example);
}
