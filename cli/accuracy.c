/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accuracy: frequency estimates against exact counts. dcpi-1997 section 6.2, figures 8 and 9. */
#include "analysis/accuracy.h"
#include "analysis/stationary.h"
#include "cli/evidence.h"
#include "cli/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORST_SHOWN 10

/* One method's errors: relative and with one scale for the whole image, of instructions and edges. */
struct score {
    const char *name, *what;
    enum cs_method method;
    bool raw, redraw;
    struct cs_errors insns, edges, program_insns, program_edges;
    struct cs_procedure_accuracy *procedures;
    size_t n_procedures;
    double estimated, true_work; /* instructions of the image */
};

static struct score scores[] = {
    {.name = "equal", .what = "every block of a procedure equally often", .method = CS_METHOD_EQUAL},
    {.name = "naive", .what = "an instruction as often as it was sampled", .method = CS_METHOD_NAIVE},
    {.name = "average",
     .what = "a block as often as its samples an instruction",
     .method = CS_METHOD_AVERAGE},
    {.name = "dcpi", .what = "DCPI's rule, each instruction one static cycle", .method = CS_METHOD_DCPI},
    {.name = "raw bursts",
     .what = "what bursts saw, time bias left in",
     .method = CS_METHOD_BURSTS,
     .raw = true},
    {.name = "bursts", .what = "the estimate that reports use", .method = CS_METHOD_BURSTS},
    {.name = "redrawn",
     .what = "as many directions of each branch, drawn from the truth: noise alone",
     .method = CS_METHOD_BURSTS,
     .redraw = true},
};
#define N_SCORES (sizeof scores / sizeof *scores)
#define FINAL 5

static double random_unit(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_poisson(uint64_t *state, double mean)
{
    if (mean > 100) /* normal is near enough */
        return fmax(0, floor(mean +
                             sqrt(mean) * sqrt(-2 * log(random_unit(state))) *
                                 cos(6.283185307179586 * random_unit(state)) +
                             0.5));
    double limit = exp(-mean), product = random_unit(state), n = 0;
    for (; product > limit; n++)
        product *= random_unit(state);
    return n;
}

/* As many passages of each block as were observed, their directions drawn from the truth, then the
 * procedure's own chain: what is left is noise. */
static int redraw(const struct cs_cfg *cfg, const struct cs_truth *truth, struct cs_frequency *f)
{
    uint32_t n = cfg->n_blocks, m = cfg->n_edges;
    uint32_t *from = malloc((m + n + 1) * sizeof *from), *to = malloc((m + n + 1) * sizeof *to);
    double *weight = calloc(m + n + 1, sizeof *weight), *visits = calloc(n + 1, sizeof *visits);
    uint64_t state = cfg->procedure->start + 1;
    int rc = from && to && weight && visits ? 0 : -ENOMEM;
    for (uint32_t e = 0; rc == 0 && e < m; e++) {
        const struct cs_cfg_edge *edge = &cfg->edges[e];
        from[e] = edge->from == CS_CFG_ENTRY ? 0 : edge->from + 1;
        to[e] = edge->to == CS_CFG_EXIT ? 0 : edge->to + 1;
        double block = edge->from < n ? cs_truth_count(truth, cfg->blocks[edge->from].start) : 0;
        double there = cs_accuracy_true_edge(cfg, e, truth);
        if (edge->from == CS_CFG_ENTRY)
            weight[e] = edge->to < n && cfg->blocks[edge->to].start == cfg->procedure->start ? 1 : 1e-9;
        else if (there < 0)
            weight[e] = cfg->blocks[edge->from].n_out == 1 ? 1 : 1e-9;
        else if (block > 0)
            weight[e] = draw_poisson(&state, f->block[edge->from] * there / block) + 1e-9;
    }
    struct cs_chain *chain = NULL;
    if (rc == 0 && (chain = cs_chain_open(n + 1, from, to, m)) == NULL)
        rc = -ENOMEM;
    if (rc == 0)
        rc = cs_chain_solve(chain, weight, visits);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_block *b = &cfg->blocks[i];
        double out = 0;
        f->block[i] = visits[i + 1];
        for (uint32_t k = 0; k < b->n_insns; k++)
            f->insn[b->first_insn + k] = f->block[i];
        for (uint32_t k = 0; k < b->n_out; k++)
            out += weight[b->first_out + k];
        for (uint32_t k = 0; k < b->n_out; k++)
            f->edge[b->first_out + k] = out > 0 ? f->block[i] * weight[b->first_out + k] / out : 0;
    }
    cs_chain_close(chain);
    free(from);
    free(to);
    free(weight);
    free(visits);
    return rc;
}

struct judged { /* a procedure's points, kept until the image's scale is known */
    struct cs_points insns, edges;
};

static void judge_procedure(struct score *s, const struct cs_cfg *cfg, const struct cs_frequency *f,
                            struct judged *j, struct cs_procedure_accuracy *line)
{
    struct cs_errors own = {0};
    double scale = cs_accuracy_scale(&j->insns);
    cs_accuracy_add(&own, &j->insns, scale);
    cs_accuracy_add(&s->insns, &j->insns, scale);
    cs_accuracy_add(&s->edges, &j->edges, scale);
    *line = (struct cs_procedure_accuracy){.name = strdup(cfg->procedure->name),
                                           .start = cfg->procedure->start,
                                           .samples = own.weight,
                                           .bad = own.weight - own.within[2],
                                           .low = own.by_confidence[CS_CONFIDENCE_LOW][3],
                                           .observed = f->observed,
                                           .missing = cfg->missing};
}

static int score_image(struct score *s, struct image_evidence *ev, const struct cs_truth *truth,
                       struct cs_error *err)
{
    size_t n = cs_code_procedures(ev->code);
    struct judged *judged = calloc(n + 1, sizeof *judged);
    s->procedures = calloc(n + 1, sizeof *s->procedures);
    int rc = judged && s->procedures ? 0 : cs_fail(err, ENOMEM, "no memory for %zu procedures", n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_procedure *p = cs_code_nth(ev->code, i);
        struct cs_cfg *cfg;
        struct cs_frequency f;
        if (cs_truth_count(truth, p->start) <= 0 && p->n_parts == 1 && p->size < 16)
            continue;
        if ((rc = cs_cfg_build(ev->code, p, ev->edges, &cfg, err)) < 0)
            break;
        rc = cs_frequency_estimate(cfg, &ev->e, s->method, &f, err);
        if (rc == 0 && s->redraw && redraw(cfg, truth, &f) < 0)
            rc = cs_fail(err, ENOMEM, "no memory for %s", p->name);
        if (rc == 0) {
            for (uint32_t k = 0; k < cfg->n_insns; k++) {
                s->estimated += f.insn[k];
                s->true_work += cs_truth_count(truth, cfg->insns[k].offset);
            }
            if (cs_accuracy_collect(cfg, &f, &ev->e, truth, &judged[i].insns, &judged[i].edges) < 0)
                rc = cs_fail(err, ENOMEM, "no memory for %s", p->name);
            else if (judged[i].insns.n)
                judge_procedure(s, cfg, &f, &judged[i], &s->procedures[s->n_procedures++]);
            cs_frequency_fini(&f);
        }
        cs_cfg_close(cfg);
    }
    for (size_t i = 0; judged && i < n; i++) {
        if (rc == 0 && s->true_work > 0) {
            cs_accuracy_add(&s->program_insns, &judged[i].insns, s->estimated / s->true_work);
            cs_accuracy_add(&s->program_edges, &judged[i].edges, s->estimated / s->true_work);
        }
        cs_points_fini(&judged[i].insns);
        cs_points_fini(&judged[i].edges);
    }
    free(judged);
    return rc;
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : (double)NAN;
}

static void print_methods(struct output *out)
{
    static const struct column columns[] = {
        {.key = "method", .head = "method"},
        {.key = "within_5", .head = "instr. 5 %", .kind = COLUMN_SHARE},
        {.key = "within_10", .head = "10 %", .kind = COLUMN_SHARE},
        {.key = "within_15", .head = "15 %", .kind = COLUMN_SHARE},
        {.key = "program_5", .head = "program 5 %", .kind = COLUMN_SHARE},
        {.key = "program_10", .head = "10 %", .kind = COLUMN_SHARE},
        {.key = "program_15", .head = "15 %", .kind = COLUMN_SHARE},
        {.key = "edges_5", .head = "edges 5 %", .kind = COLUMN_SHARE},
        {.key = "edges_10", .head = "10 %", .kind = COLUMN_SHARE},
        {.key = "edges_15", .head = "15 %", .kind = COLUMN_SHARE},
        {.key = "program_edges_10", .head = "program 10 %", .kind = COLUMN_SHARE},
        {.key = "what", .head = "what it takes for true", .elastic = true, .wraps = true},
    };
    struct sheet *sheet = output_sheet(out, "methods", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < N_SCORES; i++) {
        const struct score *s = &scores[i];
        sheet_text(sheet, s->name);
        for (int w = 0; w < 3; w++)
            sheet_number(sheet, share(s->insns.within[w], s->insns.weight));
        for (int w = 0; w < 3; w++)
            if (s->redraw)
                sheet_none(sheet);
            else
                sheet_number(sheet, share(s->program_insns.within[w], s->program_insns.weight));
        for (int w = 0; w < 3; w++)
            sheet_number(sheet, share(s->edges.within[w], s->edges.weight));
        if (s->redraw)
            sheet_none(sheet);
        else
            sheet_number(sheet, share(s->program_edges.within[1], s->program_edges.weight));
        sheet_text(sheet, s->what);
    }
}

static void print_histogram(struct output *out)
{
    static const struct column columns[] = {
        {.key = "error", .head = "error %"},
        {.key = "instructions", .head = "samples %", .kind = COLUMN_SHARE},
        {.key = "edges", .head = "edge executions %", .kind = COLUMN_SHARE},
    };
    const struct score *s = &scores[FINAL];
    struct sheet *sheet = output_sheet(out, "histogram", columns, sizeof columns / sizeof *columns);
    for (int b = 0; b < CS_ERROR_BUCKETS; b++) {
        int low = -50 + 5 * b;
        if (b == 0)
            sheet_text(sheet, "< -45");
        else if (b == CS_ERROR_BUCKETS - 1)
            sheet_text(sheet, "> 45");
        else
            sheet_textf(sheet, "%d to %d", low, low + 5);
        sheet_number(sheet, share(s->insns.bucket[b], s->insns.weight));
        sheet_number(sheet, share(s->edges.bucket[b], s->edges.weight));
    }
}

static void print_confidence(struct output *out)
{
    static const struct column columns[] = {
        {.key = "confidence", .head = "confidence"},
        {.key = "share", .head = "samples %", .kind = COLUMN_SHARE},
        {.key = "within_5", .head = "within 5 %", .kind = COLUMN_SHARE},
        {.key = "within_10", .head = "10 %", .kind = COLUMN_SHARE},
        {.key = "within_15", .head = "15 %", .kind = COLUMN_SHARE},
        {.key = "of_bad", .head = "of those off by > 15 %", .kind = COLUMN_SHARE},
    };
    const struct cs_errors *e = &scores[FINAL].insns;
    struct sheet *sheet = output_sheet(out, "confidence", columns, sizeof columns / sizeof *columns);
    for (int c = CS_CONFIDENCE_HIGH; c >= CS_CONFIDENCE_LOW; c--) {
        const double *of = e->by_confidence[c];
        sheet_text(sheet, cs_confidence_name((enum cs_confidence)c));
        sheet_number(sheet, share(of[3], e->weight));
        for (int w = 0; w < 3; w++)
            sheet_number(sheet, share(of[w], of[3]));
        sheet_number(sheet, share(of[3] - of[2], e->weight - e->within[2]));
    }
}

static int worst_first(const void *a, const void *b)
{
    const struct cs_procedure_accuracy *x = a, *y = b;
    return (x->bad < y->bad) - (x->bad > y->bad);
}

static void print_worst(struct output *out, const struct score *s)
{
    static const struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "bad", .head = "off by > 15 %", .kind = COLUMN_COUNT},
        {.key = "observed", .head = "transfers seen", .kind = COLUMN_COUNT},
        {.key = "procedure", .head = "procedure", .elastic = true},
        {.key = "reason", .head = "reason", .elastic = true, .wraps = true},
    };
    char name[512];
    qsort(s->procedures, s->n_procedures, sizeof *s->procedures, worst_first);
    struct sheet *sheet = output_sheet(out, "procedures", columns, sizeof columns / sizeof *columns);
    sheet_limit(sheet, WORST_SHOWN, "--json has all");
    for (size_t i = 0; i < s->n_procedures; i++) {
        const struct cs_procedure_accuracy *p = &s->procedures[i];
        sheet_count(sheet, (uint64_t)p->samples);
        sheet_count(sheet, (uint64_t)p->bad);
        sheet_count(sheet, (uint64_t)p->observed);
        sheet_text(sheet, cs_code_demangle(p->name, name, sizeof name));
        sheet_text(sheet, p->bad < 0.05 * p->samples ? ""
                          : p->observed <= 0         ? "no burst came by: samples alone"
                          : p->observed < 1000       ? "few transfers seen"
                          : p->missing               ? "an indirect jump is unresolved"
                          : p->low > 0.5 * p->samples
                              ? "regions that bursts seldom link, said so (low confidence)"
                              : "bias of where bursts begin");
    }
}

static const struct profile_image *choose_image(const struct profile *p, const char *truth,
                                                const struct cs_transfers *t, struct cs_truth **out,
                                                struct cs_error *err)
{
    const struct profile_image *best = NULL;
    double most = -1;
    for (size_t i = 0; i < p->n_images; i++) {
        struct cs_truth *one;
        if (p->images[i].image.kind != CS_IMAGE_ELF ||
            cs_truth_load(truth, p->images[i].image.path, &one, err) < 0)
            continue;
        double work = 0;
        for (size_t k = 0; k < one->n_insns; k++)
            work += one->insns[k].count;
        /* the program before its libraries: valgrind has others of those */
        if (cs_transfers_image(t, p->images[i].image.id) == UINT32_MAX)
            work *= 1e-6;
        if (work > most) {
            cs_truth_close(*out);
            *out = one;
            most = work;
            best = &p->images[i];
        } else
            cs_truth_close(one);
    }
    return best;
}

static int print_all(const struct parsed *args, const struct profile_image *image,
                     const struct cs_transfers *t, double samples)
{
    struct output *out = output_open(args);
    output_line(out, "%s: %.0f samples, %.0f control transfers seen in %u bursts", image_name(&image->image),
                samples, t->total_count, t->n_bursts);
    output_line(out, "%s", "");
    print_methods(out);
    output_line(out, "%s", "");
    print_histogram(out);
    output_line(out, "%s", "");
    print_confidence(out);
    output_line(out, "%s", "");
    print_worst(out, &scores[FINAL]);
    output_note(
        out,
        "Instructions are weighted by samples, edges by true executions. Each procedure is scaled by one "
        "constant; \"program\" has one constant for the whole image, as a counter of instructions "
        "would give it. \"Paths interpreted from samples\" are not built.");
    output_set(out, "image", json_string(image->image.path));
    output_set(out, "samples", json_real(samples));
    output_set(out, "transfers", json_real(t->total_count));
    output_set(out, "bursts", json_integer(t->n_bursts));
    return output_close(out);
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct profile profile = {0};
    struct cs_transfers *chain = NULL, *raw = NULL;
    struct cs_truth *truth = NULL;
    struct image_evidence ev = {0};
    if (operand_count(args) != 2)
        return usage_error("needs a STORE and a file of callgrind's");
    struct profile_filter filter = {.image = option(args, "image"), .main_event = option(args, "event")};
    int rc = profile_open(&profile, operand(args, 0), &filter, &err);
    if (rc < 0)
        return failed(&err);
    if ((rc = cs_transfers_load(profile.store, CS_TRANSFERS_CHAIN, &chain, &err)) < 0 ||
        (rc = cs_transfers_load(profile.store, CS_TRANSFERS_RAW, &raw, &err)) < 0)
        goto out;
    const struct profile_image *image = choose_image(&profile, operand(args, 1), chain, &truth, &err);
    if (!image) {
        if (!err.code)
            cs_fail(&err, ENOENT, "%s has no images", operand(args, 0));
        rc = -ENOENT;
        goto out;
    }
    for (size_t i = 0; i < N_SCORES && rc == 0; i++) {
        rc = image_evidence_open(&ev, &profile, image, scores[i].raw ? raw : chain, &err);
        if (rc == 0 && cs_code_isa(ev.code) == CS_ISA_NONE)
            rc =
                cs_fail(&err, ENOENT, "%s", *cs_code_trouble(ev.code) ? cs_code_trouble(ev.code) : "no code");
        if (rc == 0)
            rc = score_image(&scores[i], &ev, truth, &err);
        if (rc == 0 && i + 1 == N_SCORES)
            rc = print_all(args, image, chain, ev.samples);
        image_evidence_close(&ev);
    }
out:
    for (size_t i = 0; i < N_SCORES; i++) {
        for (size_t k = 0; k < scores[i].n_procedures; k++)
            free(scores[i].procedures[k].name);
        free(scores[i].procedures);
    }
    cs_truth_close(truth);
    cs_transfers_close(chain);
    cs_transfers_close(raw);
    profile_close(&profile);
    return rc < 0 ? failed(&err) : rc;
}

static const struct option_entry options[] = {
    {"image", 0, "NAME", "the image to look at (else the one that ran most instructions)"},
    {"event", 'e', "EVENT", "the samples to weigh by (else cycles, cpu-clock)"},
    {NULL, 0, NULL, NULL},
};

const struct command command_accuracy = {
    .name = "accuracy",
    .operands = "STORE TRUTH",
    .summary = "how good the frequency estimates are, against exact counts",
    .details =
        "TRUTH is the output of: valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes COMMAND\n"
        "of the same binary and input. Prints the share of samples whose instruction's estimate is within 5, "
        "10\n"
        "and 15 % of the truth (DCPI's figure 8), of edge executions (figure 9), for the estimate that "
        "reports\n"
        "use and for simpler ones; how true the confidence is; the worst procedures.",
    .options = options,
    .run = run,
};
