/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc's tables of base and head, by our own program: an analysis of hostile code that fails leaves the verdict alone. A cause
 * grew where the least that the head has of it is above the most that the base had. It must be half of the function's growth, too. */
#include "cli/gate/cause.h"
#include "cli/command/own_program.h"
#include "cli/gate/counted.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define BURSTS_MIN 2       /* of one side, to say anything of it */
#define MOST 0.5           /* of the function's growth */
#define ASKED_MAX 3        /* functions: each costs a second or so a side */
#define CPU_SECONDS_MAX 30 /* of one answer: code may be made so that it takes long */

/* Of all recordings of the store; NULL: it has no answer. */
static json_t *calc(const char *function, const char *store)
{
    const char *const argv[] = {"cyclescope", "calc", "--json", "--epoch", "all",
                                "--store",    store,  "--",     function,  NULL};
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

struct part {
    double low, likely, high; /* seconds a run */
};

static double percent(const json_t *object, const char *name, const char *member)
{
    const json_t *value = json_object_get(object, name);
    return json_number_value(member ? json_object_get(value, member) : value) / 100;
}

static bool is_enough(const json_t *answer)
{
    return json_is_true(json_object_get(json_object_get(answer, "evidence"), "enough"));
}

/* At most all of the function's time, and that much where no burst saw it run. */
static struct part part_of(const json_t *answer, const char *cause, double seconds)
{
    const json_t *summary = json_object_get(answer, "summary"), *d = json_object_get(summary, "dynamic");
    const double fixed = percent(json_object_get(summary, "static"), cause, NULL);
    if (!is_enough(answer) &&
        !(json_number_value(json_object_get(json_object_get(answer, "evidence"), "bursts")) >= BURSTS_MIN))
        return (struct part){0, seconds, seconds};
    return (struct part){
        seconds * (percent(d, cause, "low") + fixed), seconds * (percent(d, cause, "share") + fixed),
        seconds * fmin(percent(d, cause, "high") + fixed + percent(summary, "no_frequency", NULL), 1)};
}

static void compare(struct gate_guilty *g, const json_t *base, const json_t *head)
{
    const char *cause;
    json_t *value;
    double most = MOST * (g->head - g->base);
    if (!is_enough(head))
        return;
    json_object_foreach(json_object_get(json_object_get(head, "summary"), "dynamic"), cause, value)
    {
        const struct part was = part_of(base, cause, g->base), is = part_of(head, cause, g->head);
        if (!(is.low > was.high) || !(is.likely - was.likely > most))
            continue;
        most = is.likely - was.likely;
        snprintf(g->cause, sizeof g->cause, "%s", cause);
        snprintf(g->cause_text, sizeof g->cause_text, "%s: %.3g s of a run, %s%.3g s before", cause,
                 is.likely, was.likely < was.high ? "" : "at most ", was.likely);
    }
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
    char store[2][PATH_MAX];
    gate_beside(gate->base, GATE_CAUSES_STORE, store[0]);
    gate_beside(gate->head, GATE_CAUSES_STORE, store[1]);
    for (size_t i = 0, asked = 0; i < gate->n_guilty && asked < ASKED_MAX; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        if (*g->cause || !(g->head > g->base))
            continue;
        /* A base that has no answer may have had all its time of that cause. */
        json_t *head = calc(g->function, store[1]), *base = head ? calc(g->function, store[0]) : NULL;
        if (head)
            compare(g, base, head);
        asked += head != NULL;
        json_decref(head);
        json_decref(base);
    }
}
