/* SPDX-License-Identifier: GPL-2.0-or-later */
/* llvm-mca as a subprocess: all paths in one call, each a region. Lines that its assembler refuses become
 * nops and it is asked again. */
#include "analysis/schedule/cache.h"
#include "analysis/schedule/mca_call.h"
#include "analysis/schedule/mca_models.h"
#include "analysis/schedule/schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* JOBS_MAX: two for each of the three numbers of turns. */
enum { ATTEMPTS = 4, JOBS_MAX = 6, WORTH_HALVING = 8 };

struct cs_scheduler {
    enum cs_isa isa;
    bool generic; /* there is no model */
    struct mca_model model;
    char name[128];
    struct schedule_cache *cache;
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

void cs_scheduler_close(struct cs_scheduler *s)
{
    if (!s)
        return;
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
            fprintf(f, "%s\n", b->refused[at] ? "nop" : b->paths[p]->ops[i].text);
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
        for (size_t i = 0; i < b->n_lines; i++)
            if (line_of[i] == line && !b->refused[i])
                b->refused[i] = true, n++;
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
    struct batch batch;
    double width; /* negative: the model failed or isn't there */
    int rc;
    pthread_t thread;
    bool threaded;
};

/* Touches nothing but the job: several run at a time. */
static void *ask_model(void *argument)
{
    struct job *job = argument;
    job->width = -1;
    job->rc = batch_init(&job->batch, job->paths, job->n, job->turns);
    if (job->rc == 0 && !job->scheduler->generic)
        job->width = run_mca(job->scheduler, &job->batch);
    return NULL;
}

/* Takes the answer. What the model refuses together is asked one by one, then goes to the generic core. */
static int finish(struct job *job, size_t *n_generic)
{
    struct cs_scheduler *s = job->scheduler;
    int rc = job->rc;
    if (rc == 0 && job->width < 0 && !s->generic && job->n > 1) {
        batch_fini(&job->batch);
        for (size_t p = 0; p < job->n && rc == 0; p++) {
            struct job one = {.scheduler = s,
                              .paths = &job->paths[p],
                              .steps = &job->steps[p],
                              .n = 1,
                              .turns = job->turns};
            ask_model(&one);
            rc = finish(&one, n_generic);
        }
        return rc;
    }
    for (size_t p = 0; p < job->n && rc == 0; p++) {
        struct cs_schedule_timeline *lines = job->batch.lines[p];
        bool own = job->width > 0 && job->batch.ok[p];
        double w = own ? job->width : cs_schedule_generic(job->paths[p], job->turns, lines);
        *n_generic += !own;
        cs_schedule_steps(job->paths[p], lines, job->turns, w, job->steps[p]);
        if (own)
            schedule_cache_put(s->cache, job->paths[p], job->steps[p]);
    }
    batch_fini(&job->batch);
    return rc;
}

/* All jobs at a time: the model is a program of one thread, and starting it takes longer than most paths. */
static int run_jobs(struct job *jobs, size_t n, size_t *n_generic)
{
    int rc = 0;
    for (size_t i = 1; i < n; i++)
        jobs[i].threaded = pthread_create(&jobs[i].thread, NULL, ask_model, &jobs[i]) == 0;
    for (size_t i = 0; i < n; i++)
        if (jobs[i].threaded)
            pthread_join(jobs[i].thread, NULL);
        else
            ask_model(&jobs[i]);
    for (size_t i = 0; i < n; i++) {
        int failed = finish(&jobs[i], n_generic);
        rc = rc ? rc : failed;
    }
    return rc;
}

int cs_scheduler_run(struct cs_scheduler *s, const struct cs_schedule_path *paths, size_t n_paths,
                     struct cs_schedule_step *const *steps, size_t *n_generic, struct cs_error *err)
{
    size_t generic = 0, done = 0;
    const struct cs_schedule_path **some = calloc(n_paths + 1, sizeof(*some));
    struct cs_schedule_step **into = calloc(n_paths + 1, sizeof(*into));
    bool *have = calloc(n_paths + 1, sizeof *have);
    int rc = some && into && have ? 0 : -ENOMEM;
    for (size_t p = 0; p < n_paths && rc == 0; p++) {
        if (paths[p].n > CS_SCHEDULE_PATH_MAX)
            rc = cs_fail(err, E2BIG, "a path of %zu instructions is too long to be scheduled (at most %d)",
                         paths[p].n, CS_SCHEDULE_PATH_MAX);
        else
            have[p] = paths[p].n == 0 || schedule_cache_get(s->cache, &paths[p], steps[p]);
        done += have[p];
    }
    struct job jobs[JOBS_MAX];
    size_t n_jobs = 0, at = 0;
    while (rc == 0 && done < n_paths) { /* a job for each number of turns, coarse so that they are few */
        size_t n = 0, turns = 0, first = at;
        for (size_t p = 0; p < n_paths; p++) {
            size_t t = cs_schedule_turns(&paths[p]);
            t = t > 30 ? 40 : t > 1 ? 12 : 1;
            if (have[p] || (turns && t != turns))
                continue;
            turns = t;
            some[at] = &paths[p];
            into[at++] = steps[p];
            have[p] = true;
            n++;
        }
        size_t half = n >= WORTH_HALVING ? n / 2 : n;
        for (size_t from = 0; from < n; from += half, half = n - half)
            jobs[n_jobs++] = (struct job){.scheduler = s,
                                          .paths = some + first + from,
                                          .steps = into + first + from,
                                          .n = half,
                                          .turns = turns};
        done += n;
    }
    if (rc == 0)
        rc = run_jobs(jobs, n_jobs, &generic);
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "no memory to schedule %zu paths", n_paths);
    schedule_cache_flush(s->cache);
    free(some);
    free(into);
    free(have);
    if (n_generic)
        *n_generic = generic;
    return rc;
}
