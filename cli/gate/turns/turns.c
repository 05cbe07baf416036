/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Base, head, head, base; then the other way round; and so on until the time is over. Each run is a process of `cyclescope
 * record`, so that what recording leaves in memory is the same for all. The number of runs depends on the time only, never on
 * what was measured: a test that stops at the first good result finds one. */
#include "cli/command/interrupt.h"
#include "cli/command/own_program.h"
#include "cli/gate/turns/timed.h"
#include "cli/output/output.h"
#include "store/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS_MIN 2
#define BLOCKS_MAX 1000
/* Recorded runs say where. What sampling costs is the same for both sides, and runs that are only timed say how much. */
#define FREQUENCY "4000"
#define BURST_RATE "--burst-rate=1000"
/* Runs with bursts of each: a function of a few per cent is met by two bursts or more of them. But a long run is enough. */
#define CAUSES_RUNS 48
#define CAUSES_SHARE 0.4 /* of the time: no further run */
#define CAUSES_LEAST 4   /* of each, if they fit into the time: fewer don't say what varies */
#define LOG "record.log"
#define SUMMARY "record.json"
#define WARM_UP "warm-up.store"
#define COUNT_LOG "count.log"
#define COUNTED_EACH 2
#define TIMED_SHARE 1.5 /* of what recorded runs take */
/* A counted run may take a quarter of the time, and that long in any case: a busy machine is slow. */
#define SHARE_OF_A_COUNT 4.0
#define COUNT_SECONDS_MIN 10.0

void gate_beside(const char *store, const char *suffix, char path[PATH_MAX])
{
    static const char own[] = ".store";
    size_t n = strlen(store);
    if (n >= sizeof own - 1 && strcmp(store + n - (sizeof own - 1), own) == 0)
        n -= sizeof own - 1;
    snprintf(path, PATH_MAX, "%.*s%s", (int)n, store, suffix);
}

/* Our own program with `ours` and the command behind them. Its status by waitpid(). */
static int run_self(const char *const *ours, size_t n, char **command, const char *log, bool output,
                    int *status, struct cs_error *err)
{
    size_t words = 0;
    while (command[words])
        words++;
    const char **argv = calloc(n + words + 1, sizeof *argv);
    if (!argv)
        return cs_fail(err, ENOMEM, "out of memory for a command of %zu words", words);
    memcpy(argv, ours, n * sizeof *argv);
    memcpy(argv + n, command, words * sizeof *argv);
    const int to = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const pid_t pid = own_program_start(&(struct own_program){
        .argv = argv, .in = -1, .out = output ? STDOUT_FILENO : -1, .said = output ? STDERR_FILENO : to});
    free(argv);
    if (to >= 0)
        close(to);
    if (pid < 0)
        return cs_fail(err, -pid, "no process for a run: %s", strerror(-pid));
    *status = own_program_end(pid);
    if (interrupt_number())
        return cs_fail(err, EINTR, "interrupted by signal %d; there is no verdict", interrupt_number());
    return 0;
}

/* What the recording says of its command. */
static int check_summary(const char *path, const char *log, const char *command, bool *alone,
                         struct cs_error *err)
{
    json_t *summary = json_load_file(path, 0, NULL);
    const json_t *code = json_object_get(summary, "exit_code"), *born = json_object_get(summary, "born");
    const long long exit_code = json_is_integer(code) ? json_integer_value(code) : -1;
    *alone &= json_is_integer(born) && json_integer_value(born) == 0;
    json_decref(summary);
    if (exit_code < 0)
        return cs_fail(err, EIO, "%s can't be recorded; the end of %s has the reason", command, log);
    if (exit_code != 0)
        return cs_fail(err, ECANCELED, "%s ended with exit code %lld: a run that fails measures nothing",
                       command, exit_code);
    return 0;
}

/* *alone: false where the command had more threads than one. */
static int record_run(const struct gate_turns *t, char **command, const char *store, bool *alone,
                      struct cs_error *err)
{
    char log[PATH_MAX], summary[PATH_MAX];
    int status;
    snprintf(log, sizeof log, "%s/" LOG, t->folder);
    snprintf(summary, sizeof summary, "%s/" SUMMARY, t->folder);
    const char *ours[12] = {"cyclescope", "record", "--store", store, "--json-to", summary};
    size_t n = 6;
    ours[n++] = t->causes ? BURST_RATE : "--no-bursts";
    if (!t->causes) {
        ours[n++] = "--waits";
        ours[n++] = "--calibrate";
    }
    ours[n++] = "--frequency";
    ours[n++] = t->frequency ? t->frequency : FREQUENCY;
    ours[n++] = "--";
    (void)unlink(summary);
    const int rc = run_self(ours, n, command, log, t->output, &status, err);
    return rc < 0 ? rc : check_summary(summary, log, command[0], alone, err);
}

/* Why counting failed, by its log's first line. */
static void read_reason(const char *log, char *reason, size_t size)
{
    FILE *f = fopen(log, "re");
    char *line = NULL;
    size_t room = 0;
    static const char lead[] = "cyclescope count: ";
    snprintf(reason, size, "it failed");
    while (f && getline(&line, &room, f) > 0)
        if (strncmp(line, lead, sizeof lead - 1) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(reason, size, "%s", line + sizeof lead - 1);
        }
    free(line);
    if (f)
        fclose(f);
}

/* 1: it can't be counted, for this reason. */
static int count_run(const struct gate_turns *t, unsigned side, char *reason, size_t size,
                     struct cs_error *err)
{
    char **const command = side ? t->head : t->base;
    char log[PATH_MAX], limit[32], store[PATH_MAX];
    int status;
    gate_beside(t->store[side], GATE_COUNTED_STORE, store);
    snprintf(log, sizeof log, "%s/" COUNT_LOG, t->folder);
    snprintf(limit, sizeof limit, "%.3f", fmax(t->seconds / SHARE_OF_A_COUNT, COUNT_SECONDS_MIN));
    const char *const ours[] = {"cyclescope", "count", "--store", store, "--seconds", limit, "--"};
    (void)unlink(log);
    const int rc = run_self(ours, sizeof ours / sizeof ours[0], command, log, false, &status, err);
    if (rc < 0)
        return rc;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    read_reason(log, reason, size);
    return 1;
}

/* Some runs of each that count their instructions. */
static int count_runs(struct gate_turns *t, struct cs_error *err)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < 2 * COUNTED_EACH; i++)
        rc = count_run(t, (i + 1) / 2 % 2, t->not_counted, sizeof t->not_counted, err);
    return rc < 0 ? rc : 0;
}

int gate_record_in_turn(struct gate_turns *t, struct cs_error *err)
{
    static const unsigned order[2][4] = {{0, 1, 1, 0}, {1, 0, 0, 1}};
    char **const command[2] = {t->base, t->head};
    char warm_up[PATH_MAX];
    struct progress bar;
    bool alone = true;
    int rc = 0;
    snprintf(warm_up, sizeof warm_up, "%s/" WARM_UP, t->folder);
    interrupt_catch(NULL);
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        rc = record_run(t, command[side], warm_up, &alone, err);
    const double started = cs_monotonic_seconds();
    rc = rc < 0 ? rc : count_runs(t, err);
    const double began = cs_monotonic_seconds(), left = t->seconds - (began - started);
    struct gate_timing timing = {.one_cpu = alone, .together = alone && !t->one_at_a_time};
    progress_init(&bar, "runs in turn", "s", (uint64_t)ceil(fmax(left, 0)));
    for (unsigned block = 0; rc == 0 && block < BLOCKS_MAX; block++) {
        const double now = cs_monotonic_seconds() - began;
        if (block >= BLOCKS_MIN && now + now / block > left)
            break;
        for (unsigned i = 0; rc == 0 && i < 4; i++) {
            const unsigned side = order[block % 2][i];
            rc = record_run(t, command[side], t->store[side], &alone, err);
            progress_step(&bar, (uint64_t)(cs_monotonic_seconds() - began));
        }
        /* Longer without a recorder: that says how much, the recordings say where. */
        const double recorded = cs_monotonic_seconds() - began - now,
                     until = began + fmin(left, now + (1 + TIMED_SHARE) * recorded);
        while (rc == 0 && cs_monotonic_seconds() < until) {
            rc = gate_time_pairs(t, &timing, err);
            progress_step(&bar, (uint64_t)(cs_monotonic_seconds() - began));
        }
    }
    progress_fini(&bar);
    t->alone = alone;
    return rc;
}

int gate_record_causes(struct gate_turns *t, struct cs_error *err)
{
    char **const command[2] = {t->base, t->head};
    char store[PATH_MAX];
    bool alone = true;
    int rc = 0;
    const double began = cs_monotonic_seconds();
    t->causes = true;
    for (unsigned pair = 0; rc == 0 && pair < CAUSES_RUNS; pair++) {
        const double used = cs_monotonic_seconds() - began, share = pair < CAUSES_LEAST ? 1 : CAUSES_SHARE;
        if (pair && used + (pair < CAUSES_LEAST ? used / pair : 0) >= share * t->seconds)
            break;
        for (unsigned i = 0; rc == 0 && i < 2; i++) { /* in turn, too */
            const unsigned side = (pair % 2) ^ i;
            gate_beside(t->store[side], GATE_CAUSES_STORE, store);
            rc = record_run(t, command[side], store, &alone, err);
        }
    }
    t->causes = false;
    return rc;
}
