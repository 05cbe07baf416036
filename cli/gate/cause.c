/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc's tables of base and head, by our own program: an analysis of hostile code that fails leaves the verdict alone. A cause
 * grew where the least that the head has of it is above the most that the base had. It must be half of the function's growth, too. */
#include "cli/gate/cause.h"
#include "cli/command/own_program.h"
#include "cli/gate/counted.h"
#include "store/catalog.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BURSTS_MIN 2       /* of one side, to say anything of it */
#define MOST 0.5           /* of the function's growth */
#define ASKED_MAX 3        /* functions: each costs a second or so a side */
#define CPU_SECONDS_MAX 30 /* of one answer: code may be made so that it takes long */

/* Of all recordings of the store, `counted` being "ADDRESS=N" or NULL. NULL: it has no answer. */
static json_t *ask(const char *function, const char *store, const char *counted)
{
    const char *const argv[] = {"cyclescope",
                                "calc",
                                "--json",
                                "--epoch",
                                "all",
                                "--store",
                                store,
                                counted ? "--counted" : "--",
                                counted ? counted : function,
                                counted ? "--" : NULL,
                                function,
                                NULL};
    int ends[2];
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

/* How often a run of the store's executed that instruction, by counts; 0: unknown. */
static double executions(struct cs_store *store, const char *image, uint64_t offset)
{
    const struct cs_query query = {.kind = CS_KIND_POINTS, .event = "instructions"};
    const struct cs_catalog *catalog;
    const struct cs_store_epoch *epoch;
    struct cs_error err = {0};
    double sum = 0;
    size_t n = 0, at = 0;
    if (cs_store_catalog(store, &catalog, &err) < 0 || cs_store_epochs(store, &epoch, &n, &err) < 0)
        return 0;
    for (const struct cs_store_profile_ref *ref; (ref = cs_catalog_next(catalog, &query, &at)) != NULL;) {
        struct cs_table *table;
        if (strcmp(ref->image->path, image) != 0 || cs_store_load(ref, &table, &err) < 0)
            continue;
        for (size_t i = 0; i < cs_table_rows(table); i++)
            if (cs_table_row(table, i)[0] == offset)
                sum += (double)cs_table_row(table, i)[1];
        cs_table_close(table);
    }
    return n ? sum / (double)n : 0;
}

/* "ADDRESS=N" of the answer's busiest instruction, for all recordings of `store`, by the runs of `work` that were counted. */
static bool count_busiest(const json_t *answer, const char *store, const char *work, char *text, size_t size)
{
    const char *image = json_string_value(json_object_get(answer, "image")), *busiest = NULL;
    const struct cs_store_epoch *epoch;
    struct cs_store *counts = NULL, *recorded = NULL;
    struct cs_error err = {0};
    double most = 0, n = 0;
    size_t i, recordings = 0;
    json_t *one;
    json_array_foreach(json_object_get(answer, "instructions"), i, one)
    {
        const double visits = json_number_value(json_object_get(one, "visits"));
        busiest = visits > most ? json_string_value(json_object_get(one, "offset")) : busiest;
        most = fmax(visits, most);
    }
    if (image && busiest && cs_store_open(work, CS_STORE_READ, &counts, &err) == 0) {
        n = executions(counts, image, strtoull(busiest, NULL, 0));
        cs_store_close(counts);
    }
    if (n > 0 && cs_store_open(store, CS_STORE_READ, &recorded, &err) == 0) {
        if (cs_store_epochs(recorded, &epoch, &recordings, &err) < 0)
            recordings = 0;
        cs_store_close(recorded);
    }
    snprintf(text, size, "%s=%.0f", busiest ? busiest : "", n * (double)recordings);
    return n > 0 && recordings;
}

/* Where counts are known, cycles of an execution are measured and not fitted; that counts as evidence. */
static json_t *calc(const char *function, const char *name, bool *counted)
{
    char store[PATH_MAX], work[PATH_MAX], text[64];
    gate_beside(name, GATE_CAUSES_STORE, store);
    gate_beside(name, GATE_COUNTED_STORE, work);
    json_t *answer = ask(function, store, NULL), *better;
    *counted = answer && count_busiest(answer, store, work, text, sizeof text);
    if (*counted && (better = ask(function, store, text)) != NULL) {
        json_decref(answer);
        return better;
    }
    *counted = false;
    return answer;
}

struct part {
    double low, likely, high; /* seconds a run */
};

static double percent(const json_t *object, const char *name, const char *member)
{
    const json_t *value = json_object_get(object, name);
    return json_number_value(member ? json_object_get(value, member) : value) / 100;
}

static double bursts(const json_t *answer)
{
    return json_number_value(json_object_get(json_object_get(answer, "evidence"), "bursts"));
}

/* At most all of the function's time, and that much where too few bursts saw it run. */
static struct part part_of(const json_t *answer, bool counted, const char *cause, double seconds)
{
    const json_t *summary = json_object_get(answer, "summary"), *d = json_object_get(summary, "dynamic");
    const double fixed = percent(json_object_get(summary, "static"), cause, NULL);
    if (!(bursts(answer) >= (counted ? 1 : BURSTS_MIN)))
        return (struct part){0, seconds, seconds};
    return (struct part){
        seconds * (percent(d, cause, "low") + fixed), seconds * (percent(d, cause, "share") + fixed),
        seconds * fmin(percent(d, cause, "high") + fixed + percent(summary, "no_frequency", NULL), 1)};
}

/* Bursts of the head are draws of its time's causes: few are enough where one cause has nearly all of what it has more. */
static void compare(struct gate_guilty *g, const json_t *const side[2], const bool counted[2])
{
    const char *cause, *most = NULL;
    json_t *value;
    struct part was = {0}, is = {0};
    double first = 0, second = 0;
    const double growth = g->head - g->base;
    json_object_foreach(json_object_get(json_object_get(side[1], "summary"), "dynamic"), cause, value)
    {
        const struct part a = part_of(side[0], counted[0], cause, g->base),
                          b = part_of(side[1], counted[1], cause, g->head);
        const double more = b.likely - a.likely;
        second = fmax(second, fmin(more, first));
        if (more <= first)
            continue;
        first = more;
        most = cause;
        was = a;
        is = b;
    }
    if (!most || !(is.low > was.high) || !(first > MOST * growth) || !(second < first / 2) ||
        !(bursts(side[1]) >= BURSTS_MIN))
        return;
    snprintf(g->cause, sizeof g->cause, "%s", most);
    snprintf(g->cause_text, sizeof g->cause_text, "%s: %.3g s of a run, %s%.3g s before", most, is.likely,
             was.likely < was.high ? "" : "at most ", was.likely);
}

bool gate_wants_causes(const struct gate *gate)
{
    bool slower = false, unknown = false;
    for (size_t i = 0; i < gate->n_checks; i++)
        slower |= gate->check[i].verdict == GATE_SLOWER;
    for (size_t i = 0; i < gate->n_guilty; i++)
        unknown |= !*gate->guilty[i].cause;
    return slower && unknown;
}

void gate_find_causes(struct gate *gate)
{
    for (size_t i = 0, asked = 0; i < gate->n_guilty && asked < ASKED_MAX; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        bool counted[2];
        if (*g->cause || !(g->head > g->base))
            continue;
        /* A base that has no answer may have had all its time of that cause. */
        json_t *head = calc(g->function, gate->head, &counted[1]),
               *base = head ? calc(g->function, gate->base, &counted[0]) : NULL;
        if (head)
            compare(g, (const json_t *const[]){base, head}, counted);
        asked += head != NULL;
        json_decref(head);
        json_decref(base);
    }
}
