/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calc's tables of base and head, by our own program: an analysis of hostile code that fails leaves the verdict alone. A cause
 * grew where the least that the head has of it is above the most that the base had. It must be half of the function's growth, too. */
#include "cli/gate/cause.h"
#include "cli/gate/counted.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BURSTS_MIN 4       /* of the base, which needs no named cause */
#define MOST 0.5           /* of the function's growth */
#define ASKED_MAX 3        /* functions: each costs a second or so a side */
#define CPU_SECONDS_MAX 30 /* of one answer: code may be made so that it takes long */

/* In the child. */
static _Noreturn void become(const char *function, const char *store, int to)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct rlimit limit = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
    char *argv[] = {(char *)"cyclescope", (char *)"calc", (char *)"--json", (char *)"--store",
                    (char *)store,        (char *)"--",   (char *)function, NULL};
    if (nothing >= 0 && setrlimit(RLIMIT_CPU, &limit) == 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", argv);
    _exit(127);
}

/* NULL: it has no answer. */
static json_t *calc(const char *function, const char *store)
{
    int ends[2];
    if (access(store, F_OK) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    const pid_t pid = fork();
    if (pid == 0)
        become(function, store, ends[1]);
    close(ends[1]);
    json_t *answer = pid > 0 ? json_loadfd(ends[0], 0, NULL) : NULL;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return answer;
}

struct part {
    double low, likely, high; /* seconds a run */
};

static struct part part_of(const json_t *answer, const char *cause, double seconds)
{
    const json_t *summary = json_object_get(answer, "summary"),
                 *d = json_object_get(json_object_get(summary, "dynamic"), cause);
    const double fixed = json_number_value(json_object_get(json_object_get(summary, "static"), cause)),
                 unknown = json_number_value(json_object_get(summary, "no_frequency"));
    return (struct part){seconds / 100 * (json_number_value(json_object_get(d, "low")) + fixed),
                         seconds / 100 * (json_number_value(json_object_get(d, "share")) + fixed),
                         seconds / 100 * (json_number_value(json_object_get(d, "high")) + fixed + unknown)};
}

static void compare(struct gate_guilty *g, const json_t *base, const json_t *head)
{
    const json_t *evidence[2] = {json_object_get(base, "evidence"), json_object_get(head, "evidence")};
    const char *cause;
    json_t *value;
    double most = MOST * (g->head - g->base);
    if (!json_is_true(json_object_get(evidence[1], "enough")) ||
        !(json_number_value(json_object_get(evidence[0], "bursts")) >= BURSTS_MIN))
        return;
    json_object_foreach(json_object_get(json_object_get(head, "summary"), "dynamic"), cause, value)
    {
        const struct part was = part_of(base, cause, g->base), is = part_of(head, cause, g->head);
        if (!(is.low > was.high) || !(is.likely - was.likely > most))
            continue;
        most = is.likely - was.likely;
        snprintf(g->cause, sizeof g->cause, "%s", cause);
        snprintf(g->cause_text, sizeof g->cause_text, "%s: %.3g s of a run, %.3g s before", cause, is.likely,
                 was.likely);
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
        json_t *head = calc(g->function, store[1]), *base = head ? calc(g->function, store[0]) : NULL;
        if (head && base)
            compare(g, base, head);
        asked += head != NULL;
        json_decref(head);
        json_decref(base);
    }
}
