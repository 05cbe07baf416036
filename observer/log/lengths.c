/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/lengths.h"
#include "observer/log/aliases.h"
#include "observer/log/length_distribution.h"
#include "observer/log/numbering.h"
#include "observer/log/replay.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 256 /* with a stretch of their own; beyond, the one that was seen longest ago gives way */

/* A thread's value as far as it was followed. */
struct stretch {
    uint32_t thread;
    bool used, begun; /* its begin was seen, at `begin` */
    uint64_t value, begin, away;
    uint64_t unsure;   /* since when it may have ended unseen; 0 = it has this value */
    uint64_t left_cpu; /* since when it is known not to run; 0 = it runs */
    uint64_t seen;     /* for who gives way */
};

#define BOUNDS_MAX (4u << 20) /* of all rows; beyond, the lower one counts alone */

struct folding {
    struct cs_observe_lengths *l;
    CS_ARRAY(struct cs_length_bounds) bounds[1 + CS_LENGTH_VALUES]; /* of each row */
    size_t n_bounds;
    struct cs_observe_aliases aliases;
    unsigned tag;
    uint64_t tolerance;              /* from one reading to the next; later ones are absences */
    struct left_out {                /* numbers between two that were seen, one after the other */
        uint64_t step, top, longest; /* the highest number; the longest interval since it came */
        bool absent;                 /* in that time */
        double all, dense;           /* dense: too many for the time that they had */
        double at_most[CS_LENGTH_BINS];
    } left_out;
    struct stretch threads[THREADS], *last;
};

/* ---- one stretch ---- */

static uint64_t age(const struct stretch *s, uint64_t at)
{
    return at > s->begin ? at - s->begin : 0;
}

/* Rows that count a value: all but 0, and its own. */
static bool counts(struct folding *f, unsigned row, uint64_t value)
{
    return row == 0 ? value != 0 : f->l->rows[row].value == cs_observe_aliases_region(&f->aliases, value);
}

static bool bound(struct folding *f, unsigned row, uint64_t low, uint64_t high)
{
    struct cs_length_bounds *one = f->n_bounds < BOUNDS_MAX ? cs_array_add(&f->bounds[row]) : NULL;
    if (!one)
        return false;
    f->n_bounds++;
    *one = (struct cs_length_bounds){(uint16_t)cs_length_bin(low), (uint16_t)cs_length_bin(high)};
    return true;
}

/* Its end was seen, at `at`. */
static void end_whole(struct folding *f, const struct stretch *s, uint64_t at)
{
    const uint64_t length = age(s, at);
    for (unsigned r = 0; s->begun && r < f->l->n_rows; r++) {
        struct cs_observe_length_row *row = &f->l->rows[r];
        if (!counts(f, r, s->value))
            continue;
        row->ended[cs_length_bin(length)]++;
        row->whole++;
        row->whole_cycles += (double)length;
        row->away_cycles += (double)s->away;
        row->longest = length > row->longest ? length : row->longest;
    }
}

/* It ended between `low` and `high`, UINT64_MAX where that isn't known. */
static void end_cut(struct folding *f, struct stretch *s, uint64_t low, uint64_t high)
{
    for (unsigned r = 0; s->begun && r < f->l->n_rows; r++) {
        struct cs_observe_length_row *row = &f->l->rows[r];
        if (!counts(f, r, s->value))
            continue;
        row->cut++;
        row->longest_cut = age(s, low) > row->longest_cut ? age(s, low) : row->longest_cut;
        if (high == UINT64_MAX || !bound(f, r, age(s, low), age(s, high)))
            row->left[cs_length_bin(age(s, low))]++;
    }
    s->begun = false;
}

static void begin(struct folding *f, struct stretch *s, uint64_t value, uint64_t at)
{
    s->value = value;
    s->begin = at;
    s->away = 0;
    s->begun = true;
    for (unsigned r = 0; r < f->l->n_rows; r++)
        f->l->rows[r].begun += counts(f, r, value);
}

/* It has this value at `at`, whatever was before. */
static void has(struct folding *f, struct stretch *s, uint64_t value, uint64_t at)
{
    if (s->value != value)
        end_cut(f, s, s->unsure ? s->unsure : s->left_cpu ? s->left_cpu : at, at);
    s->value = value;
    s->unsure = 0;
}

/* ---- samples ---- */

static struct stretch *stretch_of(struct folding *f, const struct cs_sample *sample)
{
    const uint32_t thread = (uint32_t)sample->thread_id;
    struct stretch *found = f->last;
    if (!found || found->thread != thread) {
        struct stretch *oldest = &f->threads[0];
        found = NULL;
        for (unsigned i = 0; i < THREADS && !found; i++) {
            struct stretch *s = &f->threads[i];
            if (s->used && s->thread == thread)
                found = s;
            if (!s->used || (oldest->used && s->seen < oldest->seen))
                oldest = s;
            if (!s->used)
                break;
        }
        if (!found) {
            found = oldest;
            if (found->used)
                end_cut(f, found, found->unsure ? found->unsure : found->seen, UINT64_MAX);
            *found = (struct stretch){.thread = thread, .used = true};
        }
        f->last = found;
    }
    found->seen = sample->end;
    return found;
}

/* From a to b the observer was looking, and both readings are of their moments. */
static void looked(struct folding *f, const struct cs_sample *a, const struct cs_sample *b)
{
    const uint64_t middle = a->end + (b->end - a->end) / 2, from = a->tags[f->tag], to = b->tags[f->tag];
    const bool same = (uint32_t)a->thread_id == (uint32_t)b->thread_id;
    struct stretch *s = NULL;
    if (!a->descheduled) {
        s = stretch_of(f, a);
        has(f, s, from, a->end);
        s->left_cpu = same && !b->descheduled ? 0 : middle;
        if (same && !b->descheduled && from != to) {
            end_whole(f, s, middle);
            begin(f, s, to, middle);
        }
    }
    if (b->descheduled || same)
        return;
    s = stretch_of(f, b);
    has(f, s, to, middle);
    if (s->left_cpu && s->left_cpu < middle)
        s->away += middle - s->left_cpu;
    s->left_cpu = 0;
}

/* The observer was away from `from` to `to`; what it saw ends at `since`. Who waited and wasn't switched to
 * still has its value. That matters: who loses its CPU is long, and its switch makes the observer late. */
static void absent(struct folding *f, uint64_t since, const struct cs_sample *from,
                   const struct cs_sample *to)
{
    const uint32_t switches = (uint32_t)(to->thread_id >> 32) - (uint32_t)(from->thread_id >> 32);
    for (unsigned i = 0; i < THREADS && f->threads[i].used; i++) {
        struct stretch *s = &f->threads[i];
        const bool runs = !to->descheduled && s->thread == (uint32_t)to->thread_id;
        if (s->left_cpu && switches <= 1 && !runs)
            continue;
        if (s->left_cpu && switches <= 1 && since > s->left_cpu)
            s->away += since - s->left_cpu;
        if (!f->l->numbered)
            end_cut(f, s, s->unsure ? s->unsure : since, UINT64_MAX);
        s->unsure = s->unsure ? s->unsure : since;
        s->left_cpu = runs ? 0 : to->end;
    }
}

#define NUMBER_LEAST                                                                                         \
    16 /* cycles that something with a number takes at least: faster numbers are no requests */

/* Numbers of all threads together: which one runs doesn't matter. */
static void leave_out(struct left_out *o, const struct cs_sample *from, const struct cs_sample *to,
                      unsigned tag, bool looked)
{
    const uint64_t value = to->tags[tag], took = to->end > from->end ? to->end - from->end : 0;
    o->longest = took > o->longest ? took : o->longest;
    o->absent |= !looked;
    if (to->descheduled || value == 0 || value <= o->top || value == CS_TAG_DESCHEDULED)
        return;
    const double n = o->top ? (double)((value - o->top) / o->step) - 1 : 0;
    o->all += n;
    if (!o->absent)
        o->at_most[cs_length_bin(o->longest)] += n;
    if (!o->absent && n * NUMBER_LEAST > (double)o->longest)
        o->dense += n;
    o->top = value;
    o->longest = 0;
    o->absent = false;
}

#define DENSE_MOST 0.2
#define UNSEEN_MOST 20 /* times as many as were seen; more is no request */

/* Threads that take numbers by turns are seen out of order: those left out at first may come later. */
static void count_unseen(struct cs_observe_lengths *l, const struct left_out *o)
{
    const double range = o->step ? (double)((l->most - l->least) / o->step) + 1 : 0,
                 missing = range - (double)l->numbers, share = o->all > 0 ? fmin(1, missing / o->all) : 0;
    if (!l->numbered || missing <= 0 || missing > UNSEEN_MOST * (double)l->numbers ||
        o->dense > DENSE_MOST * o->all)
        return;
    for (unsigned b = 0; b < CS_LENGTH_BINS; b++) {
        l->rows[0].unseen[b] = share * o->at_most[b];
        l->unseen += l->rows[0].unseen[b];
    }
}

static int all_samples(struct folding *f, struct cs_observe_log_reader *log,
                       const struct cs_observe_lengths_options *options, struct cs_error *err)
{
    struct cs_sample before = {0}, from = {0}, to = {0};
    bool any = false, pending = false, after_gap;
    uint64_t n = 0, done, total, raw = 0, region = 0;
    int rc;
    while ((rc = cs_observe_log_next(log, &to, &after_gap, err)) > 0) {
        if (options->progress && n++ % 65536 == 0) {
            cs_observe_log_reader_place(log, &done, &total);
            options->progress(options->arg, total + done, 2 * total);
        }
        if (to.tags[f->tag] != raw) { /* points of one method are one stretch, numbers of one name aren't */
            raw = to.tags[f->tag];
            region = raw >> 32 ? cs_observe_aliases_region(&f->aliases, raw) : raw;
        }
        to.tags[f->tag] = region;
        if (any) {
            /* Whoever is late may have read the tag late, too: the interval before counts if this one is short. */
            const bool short_one = !after_gap && to.end > from.end && to.end - from.end <= f->tolerance;
            if (pending && short_one)
                looked(f, &before, &from);
            if (!short_one) {
                absent(f, pending ? before.end : from.end, &from, &to);
                f->l->unseen_cycles += to.end > from.end ? (double)(to.end - from.end) : 0;
            }
            pending = short_one;
            if (f->l->numbered)
                leave_out(&f->left_out, &from, &to, f->tag, short_one);
        }
        any = true;
        before = from;
        from = to;
    }
    for (unsigned i = 0; i < THREADS && f->threads[i].used; i++)
        end_cut(f, &f->threads[i],
                f->threads[i].unsure ? f->threads[i].unsure
                : pending            ? before.end
                                     : from.end,
                UINT64_MAX);
    return rc;
}

/* ---- the first pass ---- */

struct numbering {
    struct cs_observe_numbering seen;
    unsigned tag;
};

static void note_numbers(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                         enum cs_dte_verdict verdict)
{
    struct numbering *n = arg;
    (void)verdict;
    cs_observe_numbering_see(&n->seen, from, n->tag);
    cs_observe_numbering_see(&n->seen, to, n->tag);
}

CS_ORDER(by_time, const struct cs_tag_row *, cs_order((*b)->half_cycles, (*a)->half_cycles),
         cs_order((*a)->tag, (*b)->tag))

static struct cs_observe_lengths *prepare(const struct cs_sink *sink, const struct cs_observe_numbering *n,
                                          const struct cs_observe_log_head *head,
                                          const struct cs_observe_lengths_options *options)
{
    const struct cs_tags *tags = sink->tags[options->tag];
    const struct cs_tag_row **rows = malloc((tags->n_rows + 1) * sizeof *rows);
    const bool numbered = cs_observe_numbering_holds(n);
    unsigned n_rows = 0, values = 0;
    for (uint32_t r = 0; rows && r < tags->n_rows; r++)
        if (tags->rows[r].tag != CS_TAG_DESCHEDULED)
            rows[n_rows++] = &tags->rows[r];
    if (rows)
        cs_sort(rows, n_rows, by_time);
    if (!numbered) /* else each value stands once */
        values = n_rows < options->values ? n_rows : options->values;
    struct cs_observe_lengths *l = rows ? calloc(1, sizeof *l + (1 + values) * sizeof l->rows[0]) : NULL;
    if (l) {
        l->head = *head;
        l->cycles_per_second = (double)head->cycles_per_second;
        l->period_cycles = cs_dte_cycle_quantile(sink->periods, 0.5);
        l->whole_cycles = (double)(sink->last - sink->first);
        l->numbered = numbered;
        l->least = n->least;
        l->most = n->most;
        l->numbers = n->numbers;
        l->n_rows = 1 + values;
        for (unsigned v = 0; v < values; v++)
            l->rows[1 + v].value = rows[v]->tag;
    }
    free(rows);
    return l;
}

static void half_way(void *arg, uint64_t done, uint64_t total)
{
    const struct cs_observe_lengths_options *options = arg;
    options->progress(options->arg, done, 2 * total);
}

int cs_observe_lengths_fold(const char *path, const struct cs_observe_lengths_options *options,
                            struct cs_observe_lengths **out, struct cs_observe_log_reader **reader,
                            struct cs_error *err)
{
    struct numbering *numbering = calloc(1, sizeof *numbering);
    struct folding *f = calloc(1, sizeof *f);
    struct cs_observe_log_reader *r = NULL;
    struct cs_sink *sink = NULL;
    struct cs_observe_lengths_options mine = *options;
    struct cs_observe_replay_options replay = {.rule = cs_dte_paper_rule(),
                                               .visit = note_numbers,
                                               .arg = numbering,
                                               .progress = options->progress ? half_way : NULL,
                                               .progress_arg = &mine};
    int rc = -ENOMEM;
    *out = NULL;
    if (!numbering || !f) {
        cs_fail(err, ENOMEM, "no memory");
        goto out;
    }
    replay.rule.same_tag = true;
    replay.rule.gap_cycles = 0;
    numbering->tag = f->tag = options->tag;
    if (options->values > CS_LENGTH_VALUES) {
        rc = cs_fail(err, EINVAL, "at most %d values have lengths of their own", CS_LENGTH_VALUES);
        goto out;
    }
    /* Before the first pass looks at samples, whose tags it takes for granted. */
    if ((rc = cs_observe_log_open(path, &r, err)) < 0)
        goto out;
    if (options->tag >= cs_observe_log_reader_head(r)->n_tags) {
        rc = cs_fail(err, EINVAL, "the log has no tag number %u", options->tag);
        goto out;
    }
    cs_observe_log_reader_close(r);
    r = NULL;
    replay.raw_values = true; /* they may be numbers that grow */
    if ((rc = cs_observe_replay(path, &replay, &sink, &r, err)) < 0)
        goto out;
    if (cs_observe_aliases_open(&f->aliases, r, options->tag) == 0) {
        cs_tags_rename(sink->tags[options->tag], cs_observe_aliases_region, &f->aliases);
        f->l = prepare(sink, &numbering->seen, cs_observe_log_reader_head(r), options);
    }
    if (!f->l) {
        rc = cs_fail(err, ENOMEM, "no memory for lengths");
        goto out;
    }
    /* Beyond that a begin or an end would be known too badly: an absence. */
    f->left_out.step = numbering->seen.step;
    f->tolerance = (uint64_t)(2 * f->l->period_cycles + f->l->cycles_per_second * 1e-6);
    cs_observe_log_reader_close(r);
    r = NULL;
    if ((rc = cs_observe_log_open(path, &r, err)) < 0 || (rc = all_samples(f, r, options, err)) < 0)
        goto out;
    count_unseen(f->l, &f->left_out);
    for (unsigned row = 0; row < f->l->n_rows; row++)
        if (cs_length_estimate(&f->l->rows[row], f->bounds[row].at, f->bounds[row].n) < 0) {
            rc = cs_fail(err, ENOMEM, "no memory for lengths");
            goto out;
        }
    *out = f->l;
    f->l = NULL;
    if (reader) {
        *reader = r;
        r = NULL;
    }
out:
    cs_observe_log_reader_close(r);
    cs_sink_close(sink);
    if (f) {
        cs_observe_aliases_fini(&f->aliases);
        cs_observe_lengths_close(f->l);
        for (unsigned row = 0; row <= CS_LENGTH_VALUES; row++)
            cs_array_free(&f->bounds[row]);
    }
    free(f);
    free(numbering);
    return rc;
}

void cs_observe_lengths_close(struct cs_observe_lengths *l)
{
    free(l);
}
