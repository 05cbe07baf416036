/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/turns/relink.h"

#include "cli/command/interrupt.h"
#include "cli/gate/turns/timed.h"
#include "image/code.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "CYCLESCOPE_LAYOUT"
#define PAIRS_MIN 6
#define FNV_BEGIN 0xcbf29ce484222325
#define FNV_PRIME 0x100000001b3

bool gate_may_be_layout(const struct gate *gate)
{
    bool changed = false, worked = false;
    for (size_t i = 0; i < gate->n_checks; i++) {
        const struct gate_check *c = &gate->check[i];
        if (strcmp(c->name, "pace") == 0)
            changed = c->known && c->estimate.chance < GATE_CHANCE &&
                      fabs(c->estimate.change) > gate->limits.ignore_below / 100;
        else if (strcmp(c->name, "waits") != 0)
            worked |= c->verdict == GATE_SLOWER || c->verdict == GATE_FASTER;
    }
    return changed && !worked;
}

static _Noreturn void become(char **command, const char *layout, const char *log)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC),
              to = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (nothing >= 0 && to >= 0 && dup2(nothing, 0) >= 0 && dup2(to, 1) >= 0 && dup2(to, 2) >= 0 &&
        setenv(VARIABLE, layout, 1) == 0)
        execvp(command[0], command);
    _exit(127);
}

static int link_again(char **command, unsigned layout, const char *folder, struct cs_error *err)
{
    char number[16], log[PATH_MAX];
    int status = 0;
    snprintf(number, sizeof number, "%u", layout);
    snprintf(log, sizeof log, "%s/relink.log", folder);
    const pid_t pid = fork();
    if (pid == 0)
        become(command, number, log);
    if (pid < 0)
        return cs_fail(err, errno, "no process for %s: %s", command[0], strerror(errno));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cs_fail(err, errno, "%s: %s", command[0], strerror(errno));
    if (interrupt_number())
        return cs_fail(err, EINTR, "interrupted by signal %d; there is no verdict", interrupt_number());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return cs_fail(err, ECANCELED,
                       "--relink: %s failed with " VARIABLE "=%u; the end of %s has the reason", command[0],
                       layout, log);
    return 0;
}

static void mix(uint64_t *hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ ((const uint8_t *)bytes)[i]) * FNV_PRIME;
}

/* Where its functions lie, and their instructions, which have the distances to the data. The file as a whole has names of
 * temporary files. */
static int fingerprint(const char *path, uint64_t *out, struct cs_error *err)
{
    struct cs_image_code *code;
    int rc = cs_image_open_file(path, &code, err);
    if (rc < 0)
        return rc;
    const size_t n = cs_image_procedures(code);
    *out = FNV_BEGIN;
    for (size_t i = 0; i < n; i++) {
        const struct cs_image_procedure *p = cs_image_procedure_nth(code, i);
        size_t left;
        const uint8_t *bytes = cs_image_bytes_at(code, p->start, &left, NULL);
        mix(out, &p->start, sizeof p->start);
        if (bytes)
            mix(out, bytes, p->size < left ? p->size : left);
    }
    cs_image_close(code);
    return n ? 0 : cs_fail(err, EINVAL, "--relink: %s has no functions of known places", path);
}

/* Times base and the head as it is now, in pairs. */
static int time_layout(struct gate *gate, const struct gate_turns *turns, unsigned number, double seconds,
                       struct cs_error *err)
{
    struct gate_turns these = *turns;
    struct gate_timing timing = {.one_cpu = turns->alone, .together = turns->alone && !turns->one_at_a_time};
    struct gate_layout *to = &gate->layout[gate->n_layouts];
    struct gate_timed timed = {.n = 0};
    char store[2][PATH_MAX];
    int rc = 0;
    for (unsigned side = 0; side < 2; side++) {
        snprintf(store[side], sizeof store[side], "%s/layout-%u.%s.store", turns->folder, number,
                 side ? "head" : "base");
        these.store[side] = store[side];
    }
    const double began = cs_monotonic_seconds();
    while (rc == 0 && (timing.pairs < PAIRS_MIN || cs_monotonic_seconds() - began < seconds))
        rc = gate_time_pairs(&these, &timing, err);
    if (rc == 0)
        rc = gate_timed_read(these.store, &timed, err);
    if (rc < 0)
        return rc;
    to->number = number;
    gate->n_layouts += gate_estimate(timed.run, timed.n, GATE_RATIO, 0, &to->estimate);
    gate_timed_fini(&timed);
    return 0;
}

struct seen {
    uint64_t file[GATE_LAYOUTS_MAX + 1];
    unsigned n;
};

/* 1: another one than all before; 0: it isn't. */
static int see(struct seen *seen, const char *path, struct cs_error *err)
{
    const int rc = fingerprint(path, &seen->file[seen->n], err);
    for (unsigned k = 0; rc == 0 && k < seen->n; k++)
        if (seen->file[k] == seen->file[seen->n])
            return 0;
    seen->n += rc == 0;
    return rc == 0 ? 1 : rc;
}

static int time_all(struct gate *gate, const struct gate_turns *turns, char **relink, struct cs_error *err)
{
    struct seen base = {.n = 0}, head = {.n = 0};
    struct cs_error ignored = {0};
    int rc = see(&head, turns->head[0], err);
    const bool known = see(&base, turns->base[0], &ignored) >= 0; /* else it is no file of code: a script */
    gate->base_relinked = known;
    for (unsigned i = 1; rc >= 0 && i <= GATE_LAYOUTS_MAX; i++) {
        rc = link_again(relink, i, turns->folder, err);
        rc = rc < 0 ? rc : see(&head, turns->head[0], err);
        if (rc <= 0)
            continue;
        gate->base_relinked &= known && see(&base, turns->base[0], &ignored) > 0;
        rc = time_layout(gate, turns, i, turns->seconds / GATE_LAYOUTS_MAX, err);
    }
    return rc < 0 ? rc : 0;
}

int gate_relink(struct gate *gate, const struct gate_turns *turns, char **relink, struct cs_error *err)
{
    assert(relink && relink[0]);
    struct cs_error second = {0};
    if (!strchr(turns->head[0], '/'))
        return cs_fail(err, EINVAL, "--relink needs the head's command as a path, as ./%.100s",
                       turns->head[0]);
    int rc = time_all(gate, turns, relink, err);
    const int restored = link_again(relink, 0, turns->folder, rc < 0 ? &second : err);
    rc = rc < 0 ? rc : restored;
    if (rc == 0)
        gate_judge_layouts(gate);
    return rc;
}
