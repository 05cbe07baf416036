/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc's tables of base and head, by our own program: an analysis of hostile code that fails leaves the verdict alone. */
#include "cli/gate/causes/cause.h"
#include "cli/command/own_program.h"
#include "cli/gate/builds/builds.h"
#include "cli/gate/causes/cause_compare.h"
#include "cli/gate/causes/surely_grew.h"
#include "cli/gate/turns/turns.h"
#include "store/catalog.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SURE_OF 0.25       /* of the function's growth: what a cause surely has */
#define RECORDINGS_MAX 48  /* of a side, that are asked one by one: each costs a second or so */
#define CPU_SECONDS_MAX 30 /* of one answer: code may be made so that it takes long */

/* Of one recording of the store, or "all"; `counted` being "ADDRESS=N" or NULL, `build` the beginning of a build-id or NULL. NULL: it has no
 * answer. */
static json_t *ask(const struct gate *gate, const char *function, const char *store, const char *recording,
                   const char *build, const char *counted)
{
    const char *argv[16] = {"cyclescope", "calc", "--json", "--epoch", recording, "--store", store};
    int ends[2];
    size_t n = 7;
    if (build) {
        argv[n++] = "--image";
        argv[n++] = build;
    }
    if (counted) {
        argv[n++] = "--counted";
        argv[n++] = counted;
    }
    if (gate->no_experiments)
        argv[n++] = "--no-experiments";
    argv[n++] = "--";
    argv[n++] = function;
    if (access(store, F_OK) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    const pid_t pid = own_program_start(&(struct own_program){
        .argv = argv, .in = -1, .out = ends[1], .said = -1, .cpu_seconds = CPU_SECONDS_MAX});
    close(ends[1]);
    json_t *answer = pid > 0 ? json_loadfd(ends[0], 0, NULL) : NULL;
    close(ends[0]);
    if (pid > 0)
        (void)own_program_end(pid);
    return answer;
}

struct counts {
    uint64_t *offset; /* of the answer's instructions, ascending */
    double *times;    /* a run executed them, by counts */
    size_t n;
};

static void add_count(struct counts *c, uint64_t offset, double times)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c->offset[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < c->n && c->offset[low] == offset)
        c->times[low] += times;
}

/* How often a run of the store's executed each instruction. False: unknown. */
static bool count_in(struct counts *c, struct cs_store *store, const char *image)
{
    const struct cs_query query = {.kind = CS_KIND_POINTS, .event = "instructions"};
    const struct cs_catalog *catalog;
    const struct cs_store_epoch *epoch;
    struct cs_error err = {0};
    size_t n = 0, at = 0;
    if (cs_store_catalog(store, &catalog, &err) < 0 || cs_store_epochs(store, &epoch, &n, &err) < 0 || !n)
        return false;
    for (const struct cs_store_profile_ref *ref; (ref = cs_catalog_next(catalog, &query, &at)) != NULL;) {
        struct cs_table *table;
        if (strcmp(ref->image->path, image) != 0 || cs_store_load(ref, &table, &err) < 0)
            continue;
        for (size_t i = 0; i < cs_table_rows(table); i++)
            add_count(c, cs_table_row(table, i)[0], (double)cs_table_row(table, i)[1] / (double)n);
        cs_table_close(table);
    }
    return true;
}

static size_t recordings_of(const char *store)
{
    const struct cs_store_epoch *epoch;
    struct cs_store *open;
    struct cs_error err = {0};
    size_t n = 0;
    if (cs_store_open(store, CS_STORE_READ, &open, &err) < 0)
        return 0;
    if (cs_store_epochs(open, &epoch, &n, &err) < 0)
        n = 0;
    cs_store_close(open);
    return n;
}

/* Fills executions and model_seconds by the runs of `work` that were counted, and "ADDRESS=N" of the busiest instruction, for all
 * recordings of `store`. */
static void count_executions(struct gate_cause_side *side, const char *store, const char *work, char *text,
                             size_t size)
{
    const json_t *instructions = json_object_get(side->answer, "instructions");
    const char *image = json_string_value(json_object_get(side->answer, "image")), *busiest = "";
    const double hz = json_number_value(json_object_get(side->answer, "core_hz"));
    const size_t n = json_array_size(instructions);
    struct counts c = {calloc(n + 1, sizeof *c.offset), calloc(n + 1, sizeof *c.times), n};
    struct cs_store *counts;
    struct cs_error err = {0};
    double cycles = 0;
    for (size_t i = 0; c.offset && i < n; i++) {
        const char *offset = json_string_value(json_object_get(json_array_get(instructions, i), "offset"));
        c.offset[i] = offset ? strtoull(offset, NULL, 0) : 0;
    }
    if (c.offset && c.times && image && cs_store_open(work, CS_STORE_READ, &counts, &err) == 0) {
        const bool known = count_in(&c, counts, image);
        for (size_t i = 0; known && i < n; i++) {
            const json_t *one = json_array_get(instructions, i);
            cycles += c.times[i] * json_number_value(json_object_get(one, "m"));
            if (c.times[i] <= side->executions)
                continue;
            side->executions = c.times[i];
            busiest = json_string_value(json_object_get(one, "offset"));
        }
        cs_store_close(counts);
    }
    side->model_seconds = hz > 0 ? cycles / hz : 0;
    snprintf(text, size, "%s=%.0f", busiest, side->executions * (double)recordings_of(store));
    snprintf(side->counted_once, sizeof side->counted_once, "%s=%.0f", busiest, side->executions);
    free(c.offset);
    free(c.times);
}

/* Its own recordings may have bursts. */
static void store_of_causes(const struct gate *gate, unsigned of, char path[PATH_MAX])
{
    const char *name = of ? gate->head : gate->base;
    gate_beside(name, GATE_CAUSES_STORE, path);
    if (gate->builds || access(path, F_OK) < 0)
        snprintf(path, PATH_MAX, "%s", name);
}

/* Where counts are known, cycles of an execution are measured and not fitted; that counts as evidence. */
static struct gate_cause_side calc(const struct gate *gate, const struct gate_guilty *g, unsigned of)
{
    const char *name = of ? gate->head : gate->base,
               *build = gate->builds ? gate->builds->side[of]->id : NULL;
    char store[PATH_MAX], work[PATH_MAX], text[64];
    struct gate_cause_side side = {.seconds = isnan(g->base) ? g->weight[of]
                                              : of           ? g->head
                                                             : g->base,
                                   .strict = gate->unproven || g->candidate};
    json_t *better;
    store_of_causes(gate, of, store);
    gate_beside(name, GATE_COUNTED_STORE, work);
    side.answer = ask(gate, g->function, store, "all", build, NULL);
    if (side.answer && !gate->builds)
        count_executions(&side, store, work, text, sizeof text);
    if (side.executions > 0 && (better = ask(gate, g->function, store, "all", build, text)) != NULL) {
        json_decref(side.answer);
        side.answer = better;
        side.counted = true;
    }
    return side;
}

/* Adds what the cause took in each of a side's recordings, as that side was asked. */
static size_t add_recordings(const struct gate *gate, const struct gate_guilty *g, unsigned of,
                             const struct gate_cause_side *side, struct gate_run *run)
{
    const char *build = gate->builds ? gate->builds->side[of]->id : NULL;
    char path[PATH_MAX];
    struct cs_store *store;
    const struct cs_store_epoch *epoch;
    struct cs_error err = {0};
    size_t n = 0, kept = 0;
    store_of_causes(gate, of, path);
    if (cs_store_open(path, CS_STORE_READ, &store, &err) < 0)
        return 0;
    if (cs_store_epochs(store, &epoch, &n, &err) < 0)
        n = 0;
    for (size_t i = 0; i < n && kept < RECORDINGS_MAX; i++) {
        json_t *answer =
            ask(gate, g->function, path, epoch[i].name, build, side->counted ? side->counted_once : NULL);
        if (!answer)
            continue;
        run[kept++] = (struct gate_run){.side = of,
                                        .began_ms = epoch[i].times.from_ms,
                                        .value = gate_cause_seconds(answer, g->cause),
                                        .machine = (double)NAN};
        json_decref(answer);
    }
    cs_store_close(store);
    return kept;
}

/* The verdict may depend on the cause. What it must have grown by is a part of the function's growth. */
static double chance_of(const struct gate *gate, const struct gate_guilty *g,
                        const struct gate_cause_side side[2])
{
    static struct gate_run run[2 * RECORDINGS_MAX]; /* long */
    size_t n = 0;
    for (unsigned of = 0; of < 2; of++)
        n += add_recordings(gate, g, of, &side[of], run + n);
    return gate_cause_chance(run, n, SURE_OF * (g->head - g->base), gate->hashed);
}

/* calc takes all recordings that have the build. */
static bool of_other_commands(const struct gate_builds *b)
{
    return b && b->recordings && b->left_out[0][GATE_OUT_OTHER] + b->left_out[1][GATE_OUT_OTHER] > 0;
}

/* Does another row of the function have more? What page faults, system calls and waits leave in the caches is theirs, and so
 * is what threads in each other's way take from each other. */
static bool has_more(const struct gate *gate, const struct gate_guilty *of, bool waits)
{
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        if ((waits ? gate_is_wait(g) : strcmp(g->kind, GATE_IN_KERNEL) == 0) && g->share > of->share &&
            strcmp(g->function, of->function) == 0)
            return true;
    }
    return false;
}

/* What else surely grew: what a row that may be chance shows then may be its effect. NULL: nothing. */
static const char *sure_growth(const struct gate *gate)
{
    static const char *const checks[] = {"waits", "page faults", "system calls"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const struct gate_check *c = gate_find(gate, checks[i]);
        if (c && c->verdict == GATE_SLOWER)
            return checks[i];
    }
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (strcmp(gate->guilty[i].kind, GATE_IN_KERNEL) == 0)
            return "time in the kernel";
    return NULL;
}

/* Fills why the row has no cause of its own: what made its time grow may be elsewhere. False: it may have one. */
static bool is_elsewhere(const struct gate *gate, const struct gate_guilty *g, char *why, size_t size)
{
    const char *const kernel = has_more(gate, g, false) ? "time in the kernel" : NULL,
                      *const own = kernel                    ? kernel
                                   : has_more(gate, g, true) ? "waits"
                                                             : NULL,
                      *const sure = g->candidate ? sure_growth(gate) : NULL;
    if (own)
        snprintf(why, size, "no cause: its %s grew more", own);
    else if (sure)
        snprintf(why, size, "no cause: %s grew, so this may be an effect", sure);
    return own || sure;
}

bool gate_wants_causes(const struct gate *gate)
{
    bool slower = gate->unproven, unknown = false;
    char ignored[80];
    for (size_t i = 0; i < gate->n_checks; i++)
        slower |= gate->check[i].verdict == GATE_SLOWER;
    for (size_t i = 0; i < gate->n_guilty; i++)
        unknown |= !*gate->guilty[i].cause && !is_elsewhere(gate, &gate->guilty[i], ignored, sizeof ignored);
    return slower && unknown;
}

void gate_find_causes(struct gate *gate)
{
    size_t looked_at = 0;
    for (size_t i = 0, asked = 0; i < gate->n_guilty && asked < GATE_CAUSES_ASKED; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        struct gate_cause_side side[2] = {{0}};
        if (*g->cause || !(g->head > g->base || g->weight[1] > g->weight[0]))
            continue;
        if (is_elsewhere(gate, g, g->cause_text, sizeof g->cause_text))
            continue;
        if (of_other_commands(gate->builds)) {
            snprintf(g->cause_text, sizeof g->cause_text,
                     "no cause: the store has recordings of other commands, too");
            continue;
        }
        side[1] = calc(gate, g, 1);
        if (side[1].answer) { /* a base that has no answer may have had all its time of that cause */
            side[0] = calc(gate, g, 0);
            gate_cause_compare(g, side);
            looked_at += gate_causes_recorded(side[1].answer);
            if (gate->unproven && gate_cause_is_recorded(g->cause))
                g->cause_chance = chance_of(gate, g, side);
            asked++;
        } else {
            snprintf(g->cause_text, sizeof g->cause_text, "no cause: no recording with bursts explains it");
        }
        for (unsigned k = 0; k < 2; k++)
            json_decref(side[k].answer);
    }
    gate_cause_settle(gate, looked_at);
}
