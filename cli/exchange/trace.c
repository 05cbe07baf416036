/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Trace Event format (JSON object form). Each stretch with one value of a tag is a complete event ("X"); each tag
 * has its track. Counters' rates ("C") are over stretches of at least COUNTER_US. A gap in the log, or a target that
 * wasn't running, ends a stretch. Times are microseconds since the log's start. */
#include "cli/command/figures.h"
#include "cli/exchange/export.h"
#include "observer/log/log.h"
#include "store/base/delimited.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNTER_US 100.0
#define NOT_RUNNING UINT64_MAX

struct stretch {
    uint64_t value, began;
    bool open;
};

struct named {
    unsigned tag;
    uint64_t value;
    size_t order; /* in the log */
    const char *name;
};

struct tracing {
    FILE *to;
    struct named *named; /* ascending by tag and value */
    size_t n_named;
    struct cs_observe_log_reader *log,
        *names; /* names come after the samples they speak of: a reader at its end */
    const struct cs_observe_log_head *head;
    struct stretch tags[CS_TAGS_MAX];
    struct cs_sample counted; /* where the counters' stretch began */
    bool counting;
};

static double us(const struct tracing *t, uint64_t clock)
{
    return (double)(int64_t)(clock - t->head->clock) * 1e6 / (double)t->head->cycles_per_second;
}

CS_ORDER(by_value, struct named, cs_order(a->tag, b->tag), cs_order(a->value, b->value))

CS_ORDER(by_value_and_order, struct named, by_value(a, b), cs_order(a->order, b->order))

static void value_name(const struct tracing *t, unsigned tag, uint64_t value, char *text, size_t capacity)
{
    snprintf(text, capacity, "%" PRIu64, value);
    if (value >= 1ull << 32)
        snprintf(text, capacity, "0x%" PRIx64, value);
    const struct named wanted = {.tag = tag, .value = value},
                       *found = bsearch(&wanted, t->named, t->n_named, sizeof wanted, by_value);
    if (found)
        snprintf(text, capacity, "%s", found->name);
}

/* A later name of a value holds: it comes last, and is the only one kept. */
static int sort_names(struct tracing *t, struct cs_error *err)
{
    size_t n = cs_observe_log_reader_names(t->names);
    t->named = calloc(n + 1, sizeof *t->named);
    if (!t->named)
        return cs_fail(err, ENOMEM, "out of memory for %zu names", n);
    for (size_t i = 0; i < n; i++) {
        t->named[i].name = cs_observe_log_reader_name(t->names, i, &t->named[i].tag, &t->named[i].value);
        t->named[i].order = i;
    }
    cs_sort(t->named, n, by_value_and_order);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || by_value(&t->named[i], &t->named[i + 1]) != 0)
            t->named[t->n_named++] = t->named[i];
    return 0;
}

static void end_stretch(struct tracing *t, unsigned tag, uint64_t clock)
{
    struct stretch *s = &t->tags[tag];
    char name[256];
    if (s->open && s->value != NOT_RUNNING) {
        value_name(t, tag, s->value, name, sizeof name);
        fprintf(t->to,
                ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"tag\",\"name\":",
                t->head->pid, tag + 1, us(t, s->began), us(t, clock) - us(t, s->began));
        cs_json_string(t->to, name);
        fputc('}', t->to);
    }
    s->open = false;
}

static void end_counters(struct tracing *t, const struct cs_sample *s)
{
    double began_us = us(t, t->counted.start), length_us = us(t, s->start) - began_us;
    unsigned n = t->head->n_software + t->head->n_hardware;
    if (!t->counting || length_us < COUNTER_US)
        return;
    for (unsigned c = 0; c < n; c++) {
        fprintf(t->to, ",\n{\"ph\":\"C\",\"pid\":%u,\"tid\":0,\"ts\":%.3f,\"cat\":\"counter\",\"name\":",
                t->head->pid, began_us);
        cs_json_string(t->to, t->head->counters[c]);
        fprintf(t->to, ",\"args\":{\"per us\":%s}}",
                figure((double)(s->counters[c] - t->counted.counters[c]) / length_us, 6).text);
    }
    t->counting = false;
}

static void take(struct tracing *t, const struct cs_sample *s, const struct cs_sample *before, bool after_gap)
{
    for (unsigned k = 0; k < t->head->n_tags; k++) {
        struct stretch *now = &t->tags[k];
        uint64_t value = s->descheduled ? NOT_RUNNING : s->tags[k];
        if (now->open && (after_gap || now->value != value))
            end_stretch(t, k, after_gap ? before->start : s->start);
        if (!now->open)
            *now = (struct stretch){value, s->start, true};
    }
    bool countable = !s->descheduled && (s->complete || t->head->n_hardware == 0);
    if (after_gap || !countable)
        t->counting = false;
    else
        end_counters(t, s);
    if (!t->counting && countable) {
        t->counted = *s;
        t->counting = true;
    }
}

static int read_all(struct cs_observe_log_reader *log, struct tracing *t, struct cs_error *err)
{
    struct cs_sample sample, before = {0};
    bool after_gap;
    int rc;
    while ((rc = cs_observe_log_next(log, &sample, &after_gap, err)) > 0) {
        if (t)
            take(t, &sample, &before, after_gap);
        before = sample;
    }
    for (unsigned k = 0; rc == 0 && t && k < t->head->n_tags; k++)
        end_stretch(t, k, before.start);
    return rc;
}

static void metadata(const struct tracing *t)
{
    fprintf(t->to,
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_"
            "name\",\"args\":{\"name\":",
            t->head->pid);
    cs_json_string(t->to, t->head->program);
    fputs("}}", t->to);
    for (unsigned k = 0; k < t->head->n_tags; k++) {
        fprintf(t->to, ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
                t->head->pid, k + 1);
        cs_json_string(t->to, t->head->tags[k]);
        fputs("}}", t->to);
    }
}

int export_trace(const char *log, FILE *to)
{
    struct tracing t = {.to = to};
    struct cs_error err;
    int rc = cs_observe_log_open(log, &t.names, &err);
    if (rc == 0)
        rc = read_all(t.names, NULL, &err);
    if (rc == 0)
        rc = sort_names(&t, &err);
    if (rc == 0)
        rc = cs_observe_log_open(log, &t.log, &err);
    if (rc == 0) {
        t.head = cs_observe_log_reader_head(t.log);
        metadata(&t);
        rc = read_all(t.log, &t, &err);
        fprintf(to, "],\n\"otherData\":{\"start_unix_ns\":\"%" PRIu64 "\",\"cut_short\":%s}}\n",
                t.head->wall_ns, cs_observe_log_cut_short(t.names) ? "true" : "false");
    }
    free(t.named);
    cs_observe_log_reader_close(t.names);
    cs_observe_log_reader_close(t.log);
    return rc < 0 ? failed(&err) : CS_EXIT_OK;
}
