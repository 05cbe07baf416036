/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/counted.h"

#include "analysis/statistics/significance.h"
#include "cli/gate/guilty.h"
#include "cli/gate/turns/turns.h"
#include "store/base/order.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MIN 2
/* One standard error of a count, of itself, at least: that few runs agree is no proof that all do. */
#define GRAIN 1e-4
#define DIFFERING_MAX_PERCENT 0.5 /* what the length of a path or the environment changes */
#define TIMES_ITS_RANGE 3.0
#define ROOM 10.0
#define HARDLY 1e-3 /* of a function's instructions */
#define GUILTY_PERCENT 0.05
#define MOST 0.5 /* of a function's growth in time: then the instructions are the cause */

/* Mean and range of a row's values in the runs of a side. */
struct spread {
    double mean, range;
};

static struct spread spread_of(const struct runs *runs, const double *value, unsigned side)
{
    double sum = 0, low = INFINITY, high = -INFINITY;
    size_t n = 0;
    for (size_t r = 0; r < runs->n_runs; r++) {
        if (runs->run[r].set != side)
            continue;
        sum += value[r];
        low = fmin(low, value[r]);
        high = fmax(high, value[r]);
        n++;
    }
    return n ? (struct spread){sum / (double)n, high - low} : (struct spread){0, 0};
}

static bool differs(const struct runs *runs, const double *value)
{
    const struct spread a = spread_of(runs, value, 0), b = spread_of(runs, value, 1);
    return fabs(b.mean - a.mean) > TIMES_ITS_RANGE * (a.range + b.range);
}

static const char *text(const char *text)
{
    return text ? text : "";
}

CS_ORDER(by_name, struct run_row, strcmp(text(a->image), text(b->image)),
         strcmp(text(a->name), text(b->name)))

/* In the mix, whose rows are sorted. */
static const struct run_row *mix_of(const struct gate_counted *c, const struct run_row *row)
{
    return row->name && row->image ? cs_find(row, c->mix.row, c->mix.n_rows, by_name) : NULL;
}

/* The words behind the first one of the newest recording's command; NULL: unknown. */
static json_t *arguments_of(const char *path)
{
    struct cs_error err = {0};
    struct cs_store *store;
    const struct cs_store_epoch *epoch;
    size_t n;
    json_t *words = NULL;
    if (cs_store_open(path, CS_STORE_READ, &store, &err) < 0)
        return NULL;
    if (cs_store_epochs(store, &epoch, &n, &err) >= 0 && n) {
        json_t *meta = json_loads(epoch[0].meta, 0, NULL);
        words = json_incref(json_object_get(meta, "arguments"));
        if (json_is_array(words))
            json_array_remove(words, 0);
        json_decref(meta);
    }
    cs_store_close(store);
    return words;
}

static bool same_arguments(const struct gate_counted *c)
{
    json_t *words[2] = {arguments_of(c->store[0]), arguments_of(c->store[1])};
    const bool same = json_is_array(words[0]) && json_equal(words[0], words[1]);
    json_decref(words[0]);
    json_decref(words[1]);
    return same;
}

static bool row_differs(const struct gate_counted *c, const struct run_row *row)
{
    const struct run_row *mix = mix_of(c, row);
    return !mix || differs(&c->functions, row->samples) || differs(&c->mix, mix->samples);
}

/* How much of a row differs, as a share: by its count and by its mix, with room for numbers that are alike. */
static double part_differing(const struct gate_counted *c, const struct run_row *row)
{
    const struct run_row *rows[2] = {row, mix_of(c, row)};
    double part = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (!rows[i])
            return 1;
        const struct runs *runs = i ? &c->mix : &c->functions;
        const double a = spread_of(runs, rows[i]->samples, 0).mean,
                     b = spread_of(runs, rows[i]->samples, 1).mean;
        part = fmax(part, ROOM * fabs(b - a) / fmax(fmax(a, b), 1));
    }
    return fmin(part, 1);
}

bool gate_counted_differs(const struct gate_counted *c, const struct gate_guilty *guilty)
{
    bool found = false;
    for (size_t i = 0; !found && i < c->functions.n_rows; i++) {
        char *name = gate_readable(c->functions.row[i].name);
        found = name && strcmp(name, guilty->function) == 0 && row_differs(c, &c->functions.row[i]);
        free(name);
    }
    return found;
}

bool gate_counted_hardly_differs(const struct gate_counted *c, const struct gate_guilty *guilty)
{
    bool hardly = true;
    for (size_t i = 0; hardly && i < c->functions.n_rows; i++) {
        char *name = gate_readable(c->functions.row[i].name);
        hardly = name && (strcmp(name, guilty->function) != 0 ||
                          part_differing(c, &c->functions.row[i]) < HARDLY * ROOM);
        free(name);
    }
    return hardly;
}

static void compare_work(struct gate_counted *c)
{
    double all = 0, differing = 0, parts = 0;
    for (size_t i = 0; i < c->functions.n_rows; i++) {
        const struct run_row *row = &c->functions.row[i];
        const double most = fmax(spread_of(&c->functions, row->samples, 0).mean,
                                 spread_of(&c->functions, row->samples, 1).mean);
        all += most;
        if (row_differs(c, row)) {
            differing += most;
            parts += most * part_differing(c, row);
        }
    }
    c->differing_percent = all > 0 ? 100 * differing / all : 100;
    c->same_work = c->differing_percent < DIFFERING_MAX_PERCENT && same_arguments(c);
    c->parts_percent = all > 0 ? 100 * parts / all : 100;
    c->nearly_same_work = c->parts_percent < DIFFERING_MAX_PERCENT && same_arguments(c);
}

static bool enough(const struct runs *runs)
{
    unsigned n[2] = {0, 0};
    for (size_t r = 0; r < runs->n_runs; r++)
        n[runs->run[r].set ? 1 : 0]++;
    return n[0] >= RUNS_MIN && n[1] >= RUNS_MIN;
}

int gate_counted_open(struct gate_counted *c, const struct gate *gate, struct cs_error *err)
{
    int rc = 0;
    *c = (struct gate_counted){.known = true};
    gate_beside(gate->base, GATE_COUNTED_STORE, c->store[0]);
    gate_beside(gate->head, GATE_COUNTED_STORE, c->store[1]);
    for (unsigned side = 0; rc == 0 && side < 2; side++) {
        c->known &= access(c->store[side], F_OK) == 0;
        if (c->known)
            rc = runs_add(&c->functions, c->store[side], NULL, "instructions", BY_PROCEDURE, err);
        if (c->known && rc == 0)
            rc = runs_add(&c->mix, c->store[side], NULL, "instruction-mix", BY_PROCEDURE, err);
        if (rc == -ENOENT) { /* counting failed in it */
            c->known = false;
            rc = 0;
        }
    }
    c->known &= rc == 0 && enough(&c->functions) && c->mix.n_runs == c->functions.n_runs;
    if (c->known && (runs_join_renamed(&c->functions) < 0 || runs_join_renamed(&c->mix) < 0))
        return cs_fail(err, ENOMEM, "out of memory for functions");
    cs_sort(c->mix.row, c->mix.n_rows, by_name);
    if (c->known)
        compare_work(c);
    return rc;
}

void gate_counted_close(struct gate_counted *c)
{
    runs_fini(&c->functions);
    runs_fini(&c->mix);
}

int gate_counted_judge(struct gate *gate, const struct gate_counted *c, struct gate_check *work)
{
    assert(c->known);
    struct gate_estimate *e = &work->estimate;
    double mean[2] = {0, 0}, squares = 0;
    *e = (struct gate_estimate){.machine = (double)NAN, .in_turn = true};
    for (size_t r = 0; r < c->functions.n_runs; r++) {
        const unsigned side = c->functions.run[r].set ? 1 : 0;
        mean[side] += c->functions.run[r].total;
        e->runs[side]++;
    }
    for (unsigned side = 0; side < 2; side++)
        mean[side] /= e->runs[side];
    for (size_t r = 0; r < c->functions.n_runs; r++) {
        const struct run *run = &c->functions.run[r];
        const double off = run->total / mean[run->set ? 1 : 0] - 1;
        squares += off * off;
    }
    e->freedom = e->runs[0] + e->runs[1] - 2;
    e->change = mean[1] / mean[0] - 1;
    e->error =
        (1 + e->change) * fmax(GRAIN, sqrt(squares / e->freedom * (1.0 / e->runs[0] + 1.0 / e->runs[1])));
    const double reach = gate_student(0.05, e->freedom) * e->error;
    e->low = e->change - reach;
    e->high = e->change + reach;
    e->chance = cs_student_two_sided(fabs(e->change) / e->error, e->freedom);
    e->visible = (gate_student(GATE_CHANCE, e->freedom) + gate_student(0.2, e->freedom)) * e->error;
    work->what = "instructions per run, counted";
    work->base = mean[0];
    work->head = mean[1];
    work->known = isfinite(e->change) && isfinite(e->error);
    gate_judge(&gate->limits, work, 0);
    return 0;
}

/* Not its waits. */
static struct gate_guilty *find(struct gate *gate, const char *function)
{
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (!gate_is_wait(&gate->guilty[i]) && strcmp(gate->guilty[i].function, function) == 0)
            return &gate->guilty[i];
    return NULL;
}

static void set_cause(struct gate_guilty *g, double base, double head)
{
    snprintf(g->cause, sizeof g->cause, "%s", GATE_COUNTED);
    snprintf(g->cause_text, sizeof g->cause_text, "%.4g instructions a run, %.4g before", head, base);
}

/* The line of each that executes most more. */
static int counted_lines(struct gate *gate, const struct gate_counted *c, struct cs_error *err)
{
    struct runs lines = {.lines_apart = true};
    double most[GATE_GUILTY_MAX] = {0};
    int rc = 0;
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        rc = runs_add(&lines, c->store[side], NULL, "instructions", BY_LINE, err);
    if (rc == 0 && (runs_join_renamed(&lines) < 0 || runs_join_lines(&lines) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for %zu lines", lines.n_rows);
    for (size_t i = 0; rc == 0 && i < lines.n_rows; i++) {
        const struct run_row *row = &lines.row[i];
        const double growth =
            spread_of(&lines, row->samples, 1).mean - spread_of(&lines, row->samples, 0).mean;
        char *name = row->file && growth > 0 ? gate_readable(row->name) : NULL;
        for (size_t g = 0; name && g < gate->n_guilty; g++) {
            struct gate_guilty *to = &gate->guilty[g];
            if (strcmp(to->kind, GATE_COUNTED) != 0 || strcmp(to->function, name) != 0 || growth <= most[g])
                continue;
            char *file = strdup(row->file);
            if (!file)
                break;
            free(to->file);
            to->file = file;
            to->line = row->line;
            to->line_sure = differs(&lines, row->samples);
            most[g] = growth;
        }
        free(name);
    }
    runs_fini(&lines);
    return rc;
}

int gate_guilty_counted(struct gate *gate, const struct gate_counted *c, struct cs_error *err)
{
    double all = 0;
    bool any = false;
    int rc = 0;
    for (size_t i = 0; i < c->functions.n_rows; i++)
        all += spread_of(&c->functions, c->functions.row[i].samples, 0).mean;
    for (size_t i = 0; rc == 0 && all > 0 && i < c->functions.n_rows; i++) {
        const struct run_row *row = &c->functions.row[i];
        const double base = spread_of(&c->functions, row->samples, 0).mean,
                     head = spread_of(&c->functions, row->samples, 1).mean;
        if (!(100 * (head - base) / all > GUILTY_PERCENT) || !differs(&c->functions, row->samples))
            continue;
        char *name = gate_readable(row->name);
        struct gate_guilty one = {.function = name,
                                  .image = row->image,
                                  .kind = GATE_COUNTED,
                                  .base = (double)NAN,
                                  .head = (double)NAN,
                                  .share = 100 * (head - base) / all,
                                  .ratio = head / base};
        struct gate_guilty *has = name ? find(gate, name) : NULL;
        set_cause(&one, base, head);
        if (!name)
            rc = -ENOMEM;
        else if (!has) {
            rc = gate_guilty_keep(gate, &one);
            any = true;
        } else if (strcmp(has->kind, "function") == 0 && one.ratio - 1 > MOST * (has->ratio - 1)) {
            set_cause(has, base, head);
        }
        free(name);
    }
    if (rc < 0)
        return cs_fail(err, ENOMEM, "out of memory for functions");
    return any ? counted_lines(gate, c, err) : 0;
}
