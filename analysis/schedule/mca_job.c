/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that the model's assembler refuses become nops, and it is asked again. */
#include "analysis/schedule/mca_job.h"
#include "analysis/schedule/mca_call.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 4 };

/* As llvm-mca reads it. Its assembler takes no operands of a nop: one of them, in most programs' padding, had the
 * whole call made twice. It has no stack engine, and lets each push or pop wait for the one before. */
static void write_op(FILE *f, enum cs_isa isa, const struct cs_isa_op *op)
{
    char text[CS_ISA_OP_TEXT];
    cs_isa_op_text(isa, op, text);
    if (isa == CS_ISA_X86_64 && !strncmp(text, "push r", 6))
        fprintf(f, "mov qword ptr [rsp-0x08], %s\n", text + 5);
    else if (isa == CS_ISA_X86_64 && !strncmp(text, "pop r", 5))
        fprintf(f, "mov %s, qword ptr [rsp]\n", text + 4);
    else
        fprintf(f, "%s\n", strncmp(text, "nop ", 4) ? text : "nop");
}

/* llvm-mca gathers regions in a std::vector, and copies them all, trees of 4 KB an instruction, whenever it grows (its
 * elements' move isn't noexcept). So the vector grows over as many regions of a single nop first: the paths' fill the
 * last doubling. */
static size_t regions_before(size_t n_paths)
{
    size_t n = 1;
    while (n < n_paths)
        n *= 2;
    return n_paths > 2 ? n : 0;
}

/* The input. `line_of[i]` is the text line (from 1) that instruction i stands on. */
static char *write_input(enum cs_isa isa, const struct mca_batch *b, size_t *length, size_t *line_of)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, length);
    if (!f)
        return NULL;
    const char *remark = isa == CS_ISA_AARCH64 ? "//" : "#";
    fputs(isa == CS_ISA_X86_64 ? ".intel_syntax noprefix\n" : "\n", f);
    size_t line = 2 + 3 * b->n_before, at = 0;
    for (size_t p = 0; p < b->n_before; p++)
        fprintf(f, "%s LLVM-MCA-BEGIN b%zu\nnop\n%s LLVM-MCA-END b%zu\n", remark, p, remark, p);
    for (size_t p = 0; p < b->n_paths; p++) {
        fprintf(f, "%s LLVM-MCA-BEGIN r%zu\n", remark, p);
        line++;
        for (size_t i = 0; i < b->paths[p]->n; i++, at++) {
            line_of[at] = line++;
            if (b->refused[at])
                fputs("nop\n", f);
            else
                write_op(f, isa, &b->paths[p]->ops[i]);
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
static size_t mark_refused(struct mca_batch *b, const char *errors, const size_t *line_of)
{
    size_t n = 0;
    for (const char *at = errors; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        unsigned long line, column;
        char word[8];
        const char *colon = strchr(at, ':');
        if (!colon || sscanf(colon, ":%lu:%lu: %5s", &line, &column, word) != 3 || strcmp(word, "error"))
            continue;
        /* lines ascend */
        size_t low = cs_bisect(b->n_lines, i, line_of[i] < line);
        if (low < b->n_lines && line_of[low] == line && !b->refused[low])
            b->refused[low] = true, n++;
    }
    return n;
}

/* Half of its JSON is indentation, which a reader takes byte by byte: a string holds no newline. Returns the length. */
static size_t without_indentation(char *json, size_t length)
{
    size_t to = 0;
    for (const char *at = json, *end = json + length; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline : end) - at);
        memmove(json + to, at, n);
        to += n;
        for (at += n; at < end && (*at == '\n' || *at == ' '); at++)
            ;
    }
    return to;
}

/* All paths of the batch in calls of one number of turns. Returns the width, or negative. */
static double run_mca(const struct mca_target *target, struct mca_batch *b)
{
    char cpu[64], iterations[32], timeline[48];
    size_t turns = b->turns[0];
    snprintf(cpu, sizeof cpu, "-mcpu=%s", target->model.cpu);
    snprintf(iterations, sizeof iterations, "-iterations=%zu", turns);
    snprintf(timeline, sizeof timeline, "-timeline-max-iterations=%zu", turns);
    char *args[] = {(char *)target->model.program,
                    (char *)target->model.triple,
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
    size_t *line_of = calloc(b->n_lines + 1, sizeof *line_of);
    for (int attempt = 0; line_of && attempt < ATTEMPTS && width < 0; attempt++) {
        size_t length = 0;
        char *input = write_input(target->isa, b, &length, line_of);
        struct mca_answer answer = {0};
        if (!input || mca_call(target->model.program, args, input, length, &answer)) {
            free(input);
            mca_answer_free(&answer);
            break;
        }
        free(input);
        /* LLVM up to 18 leaves a refused line out and goes on, later ones fail: either way it's said. */
        bool again = mark_refused(b, answer.err, line_of) > 0;
        if (answer.status == 0 && !again)
            width = cs_schedule_mca_parse(answer.out, without_indentation(answer.out, answer.out_length),
                                          b->n_before, b->n_paths, b->n, b->turns, b->lines, b->ok);
        mca_answer_free(&answer);
        if (!again)
            break;
    }
    free(line_of);
    return width;
}

static void batch_fini(struct mca_batch *b)
{
    for (size_t p = 0; b->lines && p < b->n_paths; p++)
        free(b->lines[p]);
    free(b->lines);
    free(b->refused);
    free(b->n);
    free(b->turns);
    free(b->ok);
}

static int batch_init(struct mca_batch *b, const struct cs_schedule_path *const *paths, size_t n_paths,
                      size_t turns)
{
    *b = (struct mca_batch){.paths = paths, .n_paths = n_paths, .n_before = regions_before(n_paths)};
    for (size_t p = 0; p < n_paths; p++)
        b->n_lines += paths[p]->n;
    b->refused = calloc(b->n_lines + 1, sizeof *b->refused);
    b->n = calloc(n_paths + 1, sizeof *b->n);
    b->turns = calloc(n_paths + 1, sizeof *b->turns);
    b->ok = calloc(n_paths + 1, sizeof *b->ok);
    b->lines = calloc(n_paths + 1, sizeof *b->lines);
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

void mca_job_ask(struct mca_job *job)
{
    assert(job->turns > 0);
    job->width = -1;
    job->rc = batch_init(&job->batch, job->paths, job->n, job->turns);
    if (job->rc == 0 && !job->generic)
        job->width = run_mca(job->target, &job->batch);
}

int mca_job_finish(struct mca_job *job, struct schedule_cache *cache, size_t *n_generic)
{
    int rc = job->rc;
    if (rc == 0 && job->width < 0 && !job->generic && job->n > 1) {
        batch_fini(&job->batch);
        size_t half = job->n / 2;
        for (size_t from = 0; from < job->n && rc == 0; from += half, half = job->n - half) {
            struct mca_job part = {.target = job->target,
                                   .paths = &job->paths[from],
                                   .steps = &job->steps[from],
                                   .caches = job->caches ? &job->caches[from] : NULL,
                                   .n = half,
                                   .turns = job->turns};
            mca_job_ask(&part);
            rc = mca_job_finish(&part, cache, n_generic);
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
            schedule_cache_put(job->caches ? job->caches[p] : cache, job->paths[p], job->steps[p], own);
    }
    batch_fini(&job->batch);
    return rc;
}

void mca_job_drop(struct mca_job *job)
{
    batch_fini(&job->batch);
}

size_t mca_workers(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 1 && cpus < MCA_WORKERS_MAX ? (size_t)cpus : MCA_WORKERS_MAX;
}

const size_t mca_turns[MCA_TURN_CLASSES] = {40, 24, 12, 1};

unsigned mca_turn_class(const struct cs_schedule_path *path)
{
    return cs_schedule_turns(path) <= 1 ? 3 : path->n < 20 ? 0 : path->n < 40 ? 1 : 2;
}
