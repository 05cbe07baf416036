/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects runs; the rows are found again by binary search in a separate sorted index. */
#include "cli/compare/runs.h"
#include "cli/profile/ask_debuginfod.h"
#include "cli/profile/totals.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While adding, a row is a key with one (run, samples) pair; the pairs are folded at the end of each store.
 */
static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* A CFI-derived name tells an address, which another build of the image moves. */
static bool made_up(const char *name)
{
    return name && strncmp(name, "sub_", 4) == 0;
}

static int compare_keys(const struct run_row *a, const struct run_row *b)
{
    int order = compare_text(a->image, b->image);
    order = order ? order : compare_text(a->name, b->name);
    order = order ? order : compare_text(a->file, b->file);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    order = order ? order : (a->set > b->set) - (a->set < b->set);
    return order || !made_up(a->name) ? order : compare_text(a->build_id, b->build_id);
}

static int compare_rows(const void *a, const void *b)
{
    return compare_keys(a, b);
}

void run_row_fini(struct run_row *r)
{
    free(r->name);
    free(r->image);
    free(r->build_id);
    free(r->where);
    free(r->file);
    free(r->samples);
}

/* Merges rows of equal keys; rows of older runs have shorter sample arrays: all are made n_runs long. */
static int fold(struct runs *runs)
{
    for (size_t i = 0; i < runs->n_rows; i++) {
        if (cs_array_resize(runs->row[i].samples, runs->n_runs) < 0)
            return -ENOMEM;
    }
    cs_sort(runs->row, runs->n_rows, compare_rows);
    size_t kept = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        if (kept && compare_keys(&runs->row[kept - 1], &runs->row[i]) == 0) {
            for (size_t r = 0; r < runs->n_runs; r++)
                runs->row[kept - 1].samples[r] += runs->row[i].samples[r];
            run_row_fini(&runs->row[i]);
        } else {
            runs->row[kept++] = runs->row[i];
        }
    }
    runs->n_rows = kept;
    return 0;
}

/* Instead of its own samples each procedure has those of its calls, too; what only called gets a row. */
static int take_totals(struct profile *p, struct profile_rows *rows, const char *epoch, struct cs_error *err)
{
    struct cs_calls calls;
    struct cs_calls_wanted wanted = {.event = p->events[p->main_event].name, .epoch = epoch};
    int rc = cs_calls_open(&calls, p->store, &wanted, err);
    if (rc < 0)
        return rc;
    if (!calls.total)
        rc = cs_fail(err, EINVAL, "the samples of %s in %s have no call chains, which totals need",
                     wanted.event, cs_store_path(p->store));
    else if (profile_rows_take_totals(rows, p, &calls) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the totals of %s", cs_store_path(p->store));
    cs_calls_close(&calls);
    return rc;
}

static uint64_t begin_of(struct cs_store *store, const char *epoch)
{
    const struct cs_store_epoch *epochs;
    struct cs_error ignored;
    size_t n;
    if (cs_store_epochs(store, &epochs, &n, &ignored) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(epochs[i].name, epoch) == 0)
            return epochs[i].times.from_ms;
    return 0;
}

/* `times`: "@FROM..TO", or "". */
static int add_run(struct runs *runs, const char *store, const char *epoch, const char *times,
                   enum profile_by by, struct cs_error *err)
{
    struct profile p;
    struct profile_rows rows;
    char timed[256];
    snprintf(timed, sizeof timed, "%s%s", epoch, times);
    struct profile_filter filter = {.image = runs->image,
                                    .epoch = timed,
                                    .main_event = runs->event,
                                    .chains = runs->totals || by == BY_PROCESS};
    int rc = profile_open(&p, store, &filter, err);
    if (rc < 0)
        return rc;
    rc = profile_sum(&p, by, &rows, err);
    if (rc == 0 && runs->totals && (rc = take_totals(&p, &rows, epoch, err)) < 0)
        profile_rows_fini(&rows);
    if (rc < 0)
        goto out;
    size_t at = runs->n_runs, main_event = p.main_event;
    rc = cs_array_resize(runs->run, at + 1);
    rc = rc < 0 ? rc : cs_array_resize(runs->row, runs->n_rows + rows.n + 1);
    if (rc == 0) {
        const struct profile_event *e = &p.events[main_event];
        memcpy(runs->unit, e->unit, sizeof runs->unit);
        runs->run[at] = (struct run){.set = runs->n_sets, .total = (double)rows.total[main_event]};
        runs->run[at].period = e->samples ? (double)e->period_sum / (double)e->samples : 0;
        runs->run[at].began_ms = begin_of(p.store, epoch);
        rc = asprintf(&runs->run[at].name, "%s %s", store, epoch) < 0 ? -ENOMEM : 0;
        runs->n_runs++;
    }
    for (size_t i = 0; i < runs->n_rows && rc == 0; i++) {
        rc = cs_array_resize(runs->row[i].samples, runs->n_runs);
        if (rc == 0)
            runs->row[i].samples[at] = 0;
    }
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        const struct profile_row *from = &rows.row[i];
        char *number = by == BY_PROCESS && from->name ? strrchr(from->name, '(') : NULL;
        if (number && number > from->name && number[-1] == ' ') /* another number in each run */
            number[-1] = '\0';
        if (from->name && from->image && from->image->image.kind == CS_IMAGE_JIT)
            from->name[cs_image_unversioned_bytes(from->name)] = '\0';
        struct run_row *to = &runs->row[runs->n_rows++];
        *to =
            (struct run_row){.name = copy(from->name), .samples = calloc(runs->n_runs, sizeof *to->samples)};
        if (from->image) {
            to->image = copy(image_name(&from->image->image));
            to->build_id = copy(from->image->image.build_id);
        }
        if (from->file) {
            to->file = copy(from->file);
            to->line = from->line;
            to->begin = from->begin;
            to->set = runs->lines_apart ? runs->n_sets : 0;
        }
        if (from->file && asprintf(&to->where, "%s:%u", from->file, from->line) < 0)
            to->where = NULL;
        rc = to->samples && (!from->file || (to->file && to->where)) ? 0 : -ENOMEM;
        if (to->samples)
            to->samples[at] = (double)from->samples[main_event];
    }
    profile_rows_fini(&rows);
    if (rc == 0)
        rc = fold(runs);
    if (rc < 0)
        cs_fail(err, ENOMEM, "out of memory for the runs of %s", store);
out:
    profile_close(&p);
    return rc;
}

static bool is_wanted(const struct runs *runs, const char *epoch)
{
    for (size_t i = 0; i < runs->n_only; i++)
        if (strcmp(runs->only[i], epoch) == 0)
            return true;
    return runs->n_only == 0;
}

int runs_add(struct runs *runs, const char *store, const char *epoch, const char *event, enum profile_by by,
             struct cs_error *err)
{
    struct profile p;
    struct profile_filter filter = {.image = runs->image,
                                    .epoch = epoch ? epoch : "all",
                                    .main_event = *runs->event ? runs->event : event,
                                    .chains = runs->totals || by == BY_PROCESS};
    const char *times = epoch && strchr(epoch, '@') ? strchr(epoch, '@') : "";
    int rc = profile_open(&p, store, &filter, err);
    if (rc < 0)
        return rc;
    ask_debuginfod(&p);
    runs->times = p.recordings.times;
    snprintf(runs->event, sizeof runs->event, "%s", p.events[p.main_event].name);
    unsigned without = 0; /* an observer's epoch has no samples */
    for (unsigned i = 0; i < p.n_epochs && rc == 0; i++) {
        if (!is_wanted(runs, p.epochs[i]))
            continue;
        rc = add_run(runs, store, p.epochs[i], times, by, err);
        without += rc == -ENOENT;
        if (rc == -ENOENT && without < p.n_epochs)
            rc = 0;
    }
    profile_close(&p);
    runs->n_sets++;
    return rc;
}

/* Samples of the rows of `set` in [from, to). */
static double samples_of(const struct runs *runs, size_t from, size_t to, unsigned set)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        for (size_t r = 0; r < runs->n_runs; r++)
            sum += runs->run[r].set == set ? runs->row[i].samples[r] : 0;
    return sum;
}

static bool share_a_function(const struct runs *runs, const size_t a[2], const size_t b[2])
{
    for (size_t i = a[0], k = b[0]; i < a[1] && k < b[1];) {
        const char *name = runs->row[i].name;
        int order = compare_text(name, runs->row[k].name);
        if (order == 0 && name && !made_up(name))
            return true;
        i += order <= 0;
        k += order >= 0;
    }
    return false;
}

int runs_join_renamed(struct runs *runs)
{
    size_t only[2][2] = {{0}}; /* from and to, by set */
    double most[2] = {0};
    for (size_t from = 0, to; from < runs->n_rows; from = to) {
        const char *image = runs->row[from].image;
        for (to = from + 1; to < runs->n_rows && compare_text(runs->row[to].image, image) == 0; to++)
            ;
        const double in[2] = {samples_of(runs, from, to, 0), samples_of(runs, from, to, 1)};
        for (unsigned set = 0; image && *image != '[' && set < 2; set++)
            if (in[set] > most[set] && in[!set] <= 0) {
                most[set] = in[set];
                only[set][0] = from;
                only[set][1] = to;
            }
    }
    if (most[0] <= 0 || most[1] <= 0 || !share_a_function(runs, only[0], only[1]))
        return 0;
    char *both;
    free(runs->renamed);
    runs->renamed = NULL;
    if (asprintf(&both, "%s, %s", runs->row[only[0][0]].image, runs->row[only[1][0]].image) < 0)
        return -ENOMEM;
    for (unsigned set = 0; set < 2; set++)
        for (size_t i = only[set][0]; i < only[set][1]; i++) {
            free(runs->row[i].image);
            runs->row[i].image = copy(both);
        }
    runs->renamed = both;
    return fold(runs) < 0 ? -ENOMEM : 1;
}

void runs_fini(struct runs *runs)
{
    for (size_t i = 0; i < runs->n_rows; i++)
        run_row_fini(&runs->row[i]);
    for (size_t i = 0; i < runs->n_runs; i++)
        free(runs->run[i].name);
    free(runs->row);
    free(runs->run);
    free(runs->renamed);
    *runs = (struct runs){.n_runs = 0};
}
