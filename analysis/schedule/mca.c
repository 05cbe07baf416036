/* SPDX-License-Identifier: GPL-2.0-or-later */
/* llvm-mca as a subprocess: all paths in one call, each a region. Lines that its assembler refuses become
 * nops and it is asked again. Starting it takes longer than most procedures' paths: who asks for many
 * procedures says so ahead. */
#include "analysis/schedule/cache.h"
#include "analysis/schedule/mca_call.h"
#include "analysis/schedule/mca_models.h"
#include "analysis/schedule/schedule.h"
#include "store/array.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 4, WORKERS_MAX = 4, WORTH_HALVING = 8 };
/* Instructions that one call simulates: the model takes 6 KB each for its answer, and 25 ms to start. */
#define JOB_STEPS 30000
#define AHEAD_STEPS 1000000 /* told ahead, before they are asked for */

struct cs_scheduler {
    enum cs_isa isa;
    bool generic; /* there is no model */
    struct mca_model model;
    char name[128];
    struct schedule_cache *cache;
    CS_ARRAY(struct cs_schedule_path) ahead; /* own copies of their instructions */
    size_t ahead_steps;
};

int cs_scheduler_open(enum cs_isa isa, const char *const *cpus, const char *cache, bool generic_only,
                      struct cs_scheduler **out, struct cs_error *err)
{
    struct cs_scheduler *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return cs_fail(err, ENOMEM, "no memory for the scheduling model");
    s->isa = isa;
    s->generic = generic_only || !mca_choose(isa, cpus, cache, &s->model);
    if (!s->generic) {
        const char *slash = strrchr(s->model.program, '/');
        snprintf(s->name, sizeof s->name, "%.64s -mcpu=%s", slash ? slash + 1 : s->model.program,
                 s->model.cpu);
        s->cache = schedule_cache_open(cache, s->name);
    } else {
        snprintf(s->name, sizeof s->name, "generic core (4 wide; install llvm-mca for this CPU's own model)");
    }
    return 0;
}

static void forget_ahead(struct cs_scheduler *s)
{
    for (size_t i = 0; i < s->ahead.n; i++)
        free((void *)s->ahead.at[i].ops);
    s->ahead.n = 0;
    s->ahead_steps = 0;
}

void cs_scheduler_close(struct cs_scheduler *s)
{
    if (!s)
        return;
    forget_ahead(s);
    cs_array_free(&s->ahead);
    schedule_cache_close(s->cache);
    free(s);
}

const char *cs_scheduler_name(const struct cs_scheduler *s)
{
    return s->name;
}

/* ---- a batch ---- */

struct batch {
    const struct cs_schedule_path *const *paths;
    size_t n_paths, n_lines; /* instruction lines over all paths */
    bool *refused;           /* by line of instruction */
    size_t *n, *turns;
    struct cs_schedule_timeline **lines;
    bool *ok;
};

/* As llvm-mca reads it. Its assembler takes no operands of a nop: one of them, in most programs' padding, had the
 * whole call made twice. */
static const char *readable(const struct cs_isa_op *op)
{
    return strncmp(op->text, "nop ", 4) ? op->text : "nop";
}

/* The input. `line_of[i]` is the text line (from 1) that instruction i stands on. */
static char *write_input(enum cs_isa isa, const struct batch *b, size_t *length, size_t *line_of)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, length);
    if (!f)
        return NULL;
    const char *remark = isa == CS_ISA_AARCH64 ? "//" : "#";
    fputs(isa == CS_ISA_X86_64 ? ".intel_syntax noprefix\n" : "\n", f);
    size_t line = 2, at = 0;
    for (size_t p = 0; p < b->n_paths; p++) {
        fprintf(f, "%s LLVM-MCA-BEGIN r%zu\n", remark, p);
        line++;
        for (size_t i = 0; i < b->paths[p]->n; i++, at++) {
            line_of[at] = line++;
            fprintf(f, "%s\n", b->refused[at] ? "nop" : readable(&b->paths[p]->ops[i]));
        }
        fprintf(f, "%s LLVM-MCA-END r%zu\n", remark, p);
        line++;
    }
    fputs(".Lcs:\n", f);
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

/* "<stdin>:LINE:COLUMN: error: ..." -> that instruction becomes a nop. Returns how many. */
static size_t mark_refused(struct batch *b, const char *errors, const size_t *line_of)
{
    size_t n = 0;
    for (const char *at = errors; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        unsigned long line, column;
        char word[8];
        const char *colon = strchr(at, ':');
        if (!colon || sscanf(colon, ":%lu:%lu: %5s", &line, &column, word) != 3 || strcmp(word, "error"))
            continue;
        size_t low = 0, high = b->n_lines; /* lines ascend */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (line_of[middle] < line)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < b->n_lines && line_of[low] == line && !b->refused[low])
            b->refused[low] = true, n++;
    }
    return n;
}

/* All paths of the batch in calls of one number of turns. Returns the width, or negative. */
static double run_mca(struct cs_scheduler *s, struct batch *b)
{
    char cpu[64], iterations[32], timeline[48];
    size_t turns = b->turns[0];
    snprintf(cpu, sizeof cpu, "-mcpu=%s", s->model.cpu);
    snprintf(iterations, sizeof iterations, "-iterations=%zu", turns);
    snprintf(timeline, sizeof timeline, "-timeline-max-iterations=%zu", turns);
    char *args[] = {s->model.program,
                    s->model.triple,
                    cpu,
                    iterations,
                    (char *)"-json",
                    (char *)"-timeline",
                    timeline,
                    (char *)"-timeline-max-cycles=0",
                    (char *)"-resource-pressure=0",
                    (char *)"-instruction-info=0",
                    NULL};
    double width = -EIO;
    size_t *line_of = calloc(b->n_lines, sizeof *line_of);
    for (int attempt = 0; line_of && attempt < ATTEMPTS && width < 0; attempt++) {
        size_t length = 0;
        char *input = write_input(s->isa, b, &length, line_of);
        struct mca_answer answer = {0};
        if (!input || mca_call(s->model.program, args, input, length, &answer)) {
            free(input);
            mca_answer_free(&answer);
            break;
        }
        free(input);
        /* LLVM up to 18 leaves a refused line out and goes on, later ones fail: either way it's said. */
        bool again = mark_refused(b, answer.err, line_of) > 0;
        if (answer.status == 0 && !again)
            width = cs_schedule_mca_parse(answer.out, answer.out_length, b->n_paths, b->n, b->turns, b->lines,
                                          b->ok);
        mca_answer_free(&answer);
        if (!again)
            break;
    }
    free(line_of);
    return width;
}

static void batch_fini(struct batch *b)
{
    for (size_t p = 0; b->lines && p < b->n_paths; p++)
        free(b->lines[p]);
    free(b->lines);
    free(b->refused);
    free(b->n);
    free(b->turns);
    free(b->ok);
}

static int batch_init(struct batch *b, const struct cs_schedule_path *const *paths, size_t n_paths,
                      size_t turns)
{
    *b = (struct batch){.paths = paths, .n_paths = n_paths};
    for (size_t p = 0; p < n_paths; p++)
        b->n_lines += paths[p]->n;
    b->refused = calloc(b->n_lines + 1, sizeof *b->refused);
    b->n = calloc(n_paths, sizeof *b->n);
    b->turns = calloc(n_paths, sizeof *b->turns);
    b->ok = calloc(n_paths, sizeof *b->ok);
    b->lines = calloc(n_paths, sizeof *b->lines);
    if (!b->refused || !b->n || !b->turns || !b->ok || !b->lines)
        return -ENOMEM;
    for (size_t p = 0; p < n_paths; p++) {
        b->n[p] = paths[p]->n;
        b->turns[p] = turns;
        b->lines[p] = calloc(paths[p]->n * turns + 1, sizeof *b->lines[p]);
        if (!b->lines[p])
            return -ENOMEM;
    }
    return 0;
}

/* Paths of one number of turns, for one call of the model. */
struct job {
    struct cs_scheduler *scheduler;
    const struct cs_schedule_path **paths;
    struct cs_schedule_step **steps;
    size_t n, turns;
    bool generic; /* not to be asked of the model */
    struct batch batch;
    double width; /* negative: the model failed or isn't there */
    int rc;
};

/* Touches nothing but the job: several run at a time. */
static void *ask_model(void *argument)
{
    struct job *job = argument;
    job->width = -1;
    job->rc = batch_init(&job->batch, job->paths, job->n, job->turns);
    if (job->rc == 0 && !job->generic)
        job->width = run_mca(job->scheduler, &job->batch);
    return NULL;
}

/* Takes the answer. What the model refuses together is asked for by halves; what it refuses alone goes to the
 * generic core. */
static int finish(struct job *job, size_t *n_generic)
{
    struct cs_scheduler *s = job->scheduler;
    int rc = job->rc;
    if (rc == 0 && job->width < 0 && !job->generic && job->n > 1) {
        batch_fini(&job->batch);
        size_t half = job->n / 2;
        for (size_t from = 0; from < job->n && rc == 0; from += half, half = job->n - half) {
            struct job part = {.scheduler = s,
                               .paths = &job->paths[from],
                               .steps = &job->steps[from],
                               .n = half,
                               .turns = job->turns};
            ask_model(&part);
            rc = finish(&part, n_generic);
        }
        return rc;
    }
    for (size_t p = 0; p < job->n && rc == 0; p++) {
        struct cs_schedule_timeline *lines = job->batch.lines[p];
        bool own = job->width > 0 && job->batch.ok[p];
        double w = own ? job->width : cs_schedule_generic(job->paths[p], job->turns, lines);
        *n_generic += !own;
        cs_schedule_steps(job->paths[p], lines, job->turns, w, job->steps[p]);
        if (!job->generic)
            schedule_cache_put(s->cache, job->paths[p], job->steps[p], own);
    }
    batch_fini(&job->batch);
    return rc;
}

struct jobs {
    CS_ARRAY(struct job) list;
    size_t next; /* to be done; atomic */
};

static void *work(void *argument)
{
    struct jobs *jobs = argument;
    for (size_t i; (i = __atomic_fetch_add(&jobs->next, 1, __ATOMIC_RELAXED)) < jobs->list.n;)
        ask_model(&jobs->list.at[i]);
    return NULL;
}

/* Some at a time: the model is a program of one thread, and starting it takes longer than most paths. */
static int run_jobs(struct jobs *jobs, size_t *n_generic)
{
    pthread_t thread[WORKERS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cpus > 1 && cpus < WORKERS_MAX ? (size_t)cpus : WORKERS_MAX, started = 0;
    n = jobs->list.n < n ? jobs->list.n : n;
    int rc = 0;
    while (started + 1 < n && pthread_create(&thread[started], NULL, work, jobs) == 0)
        started++;
    work(jobs);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    for (size_t i = 0; i < jobs->list.n; i++) {
        int failed = finish(&jobs->list.at[i], n_generic);
        rc = rc ? rc : failed;
    }
    return rc;
}

/* One of four numbers, so that calls are few. Its later half, which counts, begins when the window of a large
 * core (256 instructions) has been filled: so a path of twenty needs no forty turns. */
static size_t coarse_turns(const struct cs_schedule_path *path)
{
    size_t turns = cs_schedule_turns(path);
    return turns <= 1 ? 1 : path->n < 20 ? 40 : path->n < 40 ? 24 : 12;
}

/* Jobs for n paths of one number of turns. The longest first (40 turns) end together with the others. */
static int add_jobs(struct cs_scheduler *s, struct jobs *jobs, const struct cs_schedule_path **some,
                    struct cs_schedule_step **into, size_t n, size_t turns, bool generic)
{
    size_t total = 0, done = 0;
    for (size_t i = 0; i < n; i++)
        total += some[i]->n * turns;
    size_t most = total < 2 * JOB_STEPS && n >= WORTH_HALVING ? total / 2 + 1 : JOB_STEPS;
    while (done < n) {
        size_t steps = 0, first = done;
        while (done < n && (done == first || steps + some[done]->n * turns <= most))
            steps += some[done++]->n * turns;
        struct job *job = cs_array_add(&jobs->list);
        if (!job)
            return -ENOMEM;
        *job = (struct job){.scheduler = s,
                            .paths = some + first,
                            .steps = into + first,
                            .n = done - first,
                            .turns = turns,
                            .generic = generic};
    }
    return 0;
}

int cs_scheduler_run(struct cs_scheduler *s, const struct cs_schedule_path *paths, size_t n_paths,
                     struct cs_schedule_step *const *steps, size_t *n_generic, struct cs_error *err)
{
    static const size_t turns[] = {40, 24, 12, 1};
    const unsigned n_turns = sizeof turns / sizeof turns[0];
    size_t generic = 0, at = 0;
    const struct cs_schedule_path **some = calloc(n_paths + 1, sizeof(*some));
    struct cs_schedule_step **into = calloc(n_paths + 1, sizeof(*into));
    bool *have = calloc(n_paths + 1, sizeof *have);
    struct jobs jobs = {0};
    int rc = some && into && have ? 0 : -ENOMEM;
    for (size_t p = 0; p < n_paths && rc == 0; p++) {
        bool own = true;
        if (paths[p].n > CS_SCHEDULE_PATH_MAX)
            rc = cs_fail(err, E2BIG, "a path of %zu instructions is too long to be scheduled (at most %d)",
                         paths[p].n, CS_SCHEDULE_PATH_MAX);
        else
            have[p] = paths[p].n == 0 || schedule_cache_get(s->cache, &paths[p], steps[p], &own);
        generic += rc == 0 && have[p] && !own;
    }
    for (unsigned k = 0; k < 2 * n_turns && rc == 0; k++) {
        bool rough = k >= n_turns;
        size_t first = at;
        for (size_t p = 0; p < n_paths; p++) {
            if (have[p] || paths[p].rough != rough || coarse_turns(&paths[p]) != turns[k % n_turns])
                continue;
            some[at] = &paths[p];
            into[at++] = steps[p];
        }
        rc = add_jobs(s, &jobs, some + first, into + first, at - first, turns[k % n_turns],
                      rough || s->generic);
    }
    if (rc == 0)
        rc = run_jobs(&jobs, &generic);
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n_paths);
    schedule_cache_flush(s->cache);
    cs_array_free(&jobs.list);
    free(some);
    free(into);
    free(have);
    if (n_generic)
        *n_generic = generic;
    return rc;
}

/* ---- many procedures ---- */

int cs_scheduler_ahead_run(struct cs_scheduler *s, struct cs_error *err)
{
    size_t n = s->ahead.n, total = 0;
    for (size_t i = 0; i < n; i++)
        total += s->ahead.at[i].n;
    struct cs_schedule_step *steps = calloc(total + 1, sizeof *steps);
    struct cs_schedule_step **into = calloc(n + 1, sizeof(*into));
    int rc = steps && into ? 0 : cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n);
    for (size_t i = 0, at = 0; rc == 0 && i < n; at += s->ahead.at[i++].n)
        into[i] = steps + at;
    if (rc == 0)
        rc = cs_scheduler_run(s, s->ahead.at, n, into, NULL, err); /* the cache keeps the answers */
    free(steps);
    free(into);
    forget_ahead(s);
    return rc;
}

int cs_scheduler_ahead(struct cs_scheduler *s, const struct cs_schedule_path *paths, size_t n_paths,
                       struct cs_error *err)
{
    struct cs_schedule_step known[CS_SCHEDULE_PATH_MAX];
    bool own;
    for (size_t p = 0; p < n_paths && !s->generic; p++) {
        const struct cs_schedule_path *path = &paths[p];
        if (!path->n || path->rough || path->n > CS_SCHEDULE_PATH_MAX ||
            schedule_cache_get(s->cache, path, known, &own))
            continue;
        struct cs_isa_op *ops = malloc(path->n * sizeof *ops);
        struct cs_schedule_path *copy = ops ? cs_array_add(&s->ahead) : NULL;
        if (!copy) {
            free(ops);
            return cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n_paths);
        }
        memcpy(ops, path->ops, path->n * sizeof *ops);
        *copy = (struct cs_schedule_path){ops, path->n, path->closed, false};
        s->ahead_steps += path->n * coarse_turns(path);
    }
    return s->ahead_steps < AHEAD_STEPS ? 0 : cs_scheduler_ahead_run(s, err);
}
