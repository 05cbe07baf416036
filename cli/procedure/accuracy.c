/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accuracy: frequency estimates against exact counts. dcpi-1997 section 6.2, figures 8 and 9. */
#include "analysis/culprit/evidence/image_evidence.h"
#include "analysis/validation/oracle_fit.h"
#include "cli/command/figures.h"
#include "cli/output/output.h"
#include "cli/procedure/accuracy_scores.h"
#include "cli/procedure/calc.h"
#include "store/base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORST_SHOWN 10

enum { EQUAL, NAIVE, AVERAGE, DCPI, PATHS, RAW, UNTIMED, FINAL, FITTED, REDRAWN, N_SCORES };

static struct score scores[N_SCORES] = {
    [EQUAL] = {.name = "equal",
               .what = "every block of a function equally often",
               .method = CS_FREQUENCY_EQUAL},
    [NAIVE] = {.name = "naive",
               .what = "an instruction as often as it was sampled",
               .method = CS_FREQUENCY_NAIVE},
    [AVERAGE] = {.name = "average",
                 .what = "a block as often as its samples an instruction",
                 .method = CS_FREQUENCY_AVERAGE},
    [DCPI] = {.name = "dcpi",
              .what =
                  "DCPI's rule: samples over static cycles, the smaller ratios of a class, flow constraints",
              .method = CS_FREQUENCY_DCPI},
    [PATHS] = {.name = "paths",
               .what = "the first 512 instructions from each trigger: short paths, as samples would give",
               .method = CS_FREQUENCY_BURSTS},
    [RAW] = {.name = "raw bursts",
             .what = "what bursts saw, time bias left in",
             .method = CS_FREQUENCY_BURSTS},
    [UNTIMED] = {.name = "untimed",
                 .what = "the estimate, every hot-branch group taken to run as many instructions in a time",
                 .method = CS_FREQUENCY_BURSTS},
    [FINAL] = {.name = "bursts", .what = "the estimate that reports use", .method = CS_FREQUENCY_BURSTS},
    [FITTED] = {.name = "fitted",
                .what = "the same bursts, those of each hot-branch group weighted to fit the truth",
                .method = CS_FREQUENCY_BURSTS},
    [REDRAWN] = {.name = "redrawn",
                 .what = "as many directions of each branch, drawn from the exact counts: only noise",
                 .method = CS_FREQUENCY_BURSTS,
                 .redraw = true},
};

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : (double)NAN;
}

static void print_methods(struct output *out)
{
    static const struct column columns[] = {
        {.key = "method", .head = "method"},
        {.key = "within_5", .head = "instr. 5 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "within_10", .head = "10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "within_15", .head = "15 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "program_5", .head = "program 5 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "program_10", .head = "10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "program_15", .head = "15 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "edges_5", .head = "edges 5 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "edges_10", .head = "10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "edges_15", .head = "15 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "program_edges_10", .head = "program 10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "what", .head = "what it takes for true", .elastic = true, .wraps = true},
    };
    struct table *table = output_table(out, "methods", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < N_SCORES; i++) {
        const struct score *s = &scores[i];
        table_text(table, s->name);
        for (int w = 0; w < 3; w++)
            table_number(table, share(s->insns.within[w], s->insns.weight));
        for (int w = 0; w < 3; w++)
            table_number(table, s->redraw ? (double)NAN
                                          : share(s->program_insns.within[w], s->program_insns.weight));
        for (int w = 0; w < 3; w++)
            table_number(table, share(s->edges.within[w], s->edges.weight));
        table_number(table,
                     s->redraw ? (double)NAN : share(s->program_edges.within[1], s->program_edges.weight));
        table_text(table, s->what);
    }
}

/* Share of the samples in code that edges were seen of, but whose estimate is off by more than `w` says. */
static double lost(const struct score *s, int w)
{
    const struct cs_accuracy_errors *e = &s->insns;
    return share(e->weight - e->unseen[3] - (e->within[w] - e->unseen[w]), e->weight);
}

/* What the estimate's error is made of. The first three add up to the fourth. */
static void print_causes(struct output *out, const double noise[3])
{
    static const struct column columns[] = {
        {.key = "cause", .head = "samples off by more than"},
        {.key = "over_5", .head = "5 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "over_10", .head = "10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "over_15", .head = "15 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "what", .head = "because", .elastic = true, .wraps = true},
    };
    enum { MISSING, NOISE, BIAS, RELATIVE, SCALE, N_CAUSES };
    static const char *const names[N_CAUSES][2] = {
        [MISSING] = {"missing", "no burst came by the code"},
        [NOISE] = {"noise", "few bursts: how much the estimate varies when the bursts are resampled"},
        [BIAS] =
            {"bias",
             "the rest: a group that runs fewer instructions in a unit of time has more bursts (fitted)"},
        [RELATIVE] = {"all of it", "each function scaled by one constant"},
        [SCALE] = {"scale", "functions to one another, on top: one constant for the program"},
    };
    struct table *table = output_table(out, "causes", columns, sizeof columns / sizeof *columns);
    const struct cs_accuracy_errors *e = &scores[FINAL].insns, *program = &scores[FINAL].program_insns;
    for (int c = 0; c < N_CAUSES; c++) {
        table_text(table, names[c][0]);
        for (int w = 0; w < 3; w++) {
            const double parts[N_CAUSES] = {
                [MISSING] = share(e->unseen[3] - e->unseen[w], e->weight),
                [NOISE] = share(noise[w], e->weight),
                [BIAS] = lost(&scores[FINAL], w) - share(noise[w], e->weight),
                [RELATIVE] = share(e->weight - e->within[w], e->weight),
                [SCALE] = share(e->within[w], e->weight) - share(program->within[w], program->weight),
            };
            table_number(table, parts[c]);
        }
        table_text(table, names[c][1]);
    }
}

static void print_histogram(struct output *out)
{
    static const struct column columns[] = {
        {.key = "error", .head = "error %"},
        {.key = "instructions", .head = "samples %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "edges", .head = "edge executions %", .kind = COLUMN_SHARE, .plain = true},
    };
    const struct score *s = &scores[FINAL];
    struct table *table = output_table(out, "histogram", columns, sizeof columns / sizeof *columns);
    for (int b = 0; b < CS_ACCURACY_BUCKETS; b++) {
        int low = -50 + 5 * b;
        if (b == 0)
            table_text(table, "< -45");
        else if (b == CS_ACCURACY_BUCKETS - 1)
            table_text(table, "> 45");
        else
            table_textf(table, "%d to %d", low, low + 5);
        table_number(table, share(s->insns.bucket[b], s->insns.weight));
        table_number(table, share(s->edges.bucket[b], s->edges.weight));
    }
}

static void print_confidence(struct output *out)
{
    static const struct column columns[] = {
        {.key = "confidence", .head = "confidence"},
        {.key = "share", .head = "samples %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "within_5", .head = "within 5 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "within_10", .head = "10 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "within_15", .head = "15 %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "of_bad", .head = "of those off by > 15 %", .kind = COLUMN_SHARE, .plain = true},
    };
    const struct cs_accuracy_errors *e = &scores[FINAL].insns;
    struct table *table = output_table(out, "confidence", columns, sizeof columns / sizeof *columns);
    for (int c = CS_CONFIDENCE_HIGH; c >= CS_CONFIDENCE_LOW; c--) {
        const double *of = e->by_confidence[c];
        table_text(table, cs_confidence_name((enum cs_confidence)c));
        table_number(table, share(of[3], e->weight));
        for (int w = 0; w < 3; w++)
            table_number(table, share(of[w], of[3]));
        table_number(table, share(of[3] - of[2], e->weight - e->within[2]));
    }
}

CS_ORDER(worst_first, struct cs_procedure_accuracy, cs_order(b->bad, a->bad))

static void print_worst(struct output *out, const struct score *s)
{
    static const struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "bad", .head = "off by > 15 %", .kind = COLUMN_COUNT},
        {.key = "observed", .head = "edges seen", .kind = COLUMN_COUNT},
        {.key = "procedure", .head = "function", .elastic = true},
        {.key = "reason", .head = "reason", .elastic = true, .wraps = true},
    };
    char name[512];
    cs_sort(s->procedures, s->n_procedures, worst_first);
    struct table *table = output_table(out, "procedures", columns, sizeof columns / sizeof *columns);
    table_limit(table, WORST_SHOWN, "--json has all");
    for (size_t i = 0; i < s->n_procedures; i++) {
        const struct cs_procedure_accuracy *p = &s->procedures[i];
        table_count(table, (uint64_t)p->samples);
        table_count(table, (uint64_t)p->bad);
        table_count(table, (uint64_t)p->observed);
        table_text(table, cs_image_demangle(p->name, name, sizeof name));
        table_text(table, p->bad < 0.05 * p->samples ? ""
                          : p->observed <= 0         ? "no burst saw this: only samples"
                          : p->observed < 1000       ? "few edges seen"
                          : p->missing               ? "an indirect jump is unresolved"
                          : p->low > 0.5 * p->samples
                              ? "regions that bursts rarely link, marked as such (low confidence)"
                              : "bias of where bursts begin");
    }
}

static const struct profile_image *choose_image(const struct profile *p, const char *truth,
                                                const struct cs_edge_flow *t, struct cs_truth **out,
                                                struct cs_error *err)
{
    const struct profile_image *best = NULL;
    double most = -1;
    bool program = false;
    for (size_t i = 0; i < p->n_images; i++) {
        struct cs_truth *one;
        if (p->images[i].image.kind != CS_IMAGE_ELF ||
            cs_truth_load(truth, p->images[i].image.path, &one, err) < 0)
            continue;
        double work = 0;
        for (size_t k = 0; k < one->n_insns; k++)
            work += one->insns[k].count;
        if (cs_edge_flow_image(t, p->images[i].image.id) == UINT32_MAX)
            work *= 1e-6;
        /* the program before its libraries: under valgrind those select other routines */
        if (one->is_program != program ? one->is_program : work > most) {
            program = one->is_program;
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
                     const struct cs_edge_flow *t, double samples, const char *model, const double noise[3])
{
    struct output *out = output_open(args);
    output_line(out, "%s: %s sample%s, %s edge%s seen in %s burst%s", image_name(&image->image),
                thousands(samples).text, plural(samples), thousands(t->total_count).text,
                plural(t->total_count), thousands(t->n_bursts).text, plural(t->n_bursts));
    output_line(out, "%s", "");
    print_methods(out);
    output_line(out, "%s", "");
    print_causes(out, noise);
    output_line(out, "%s", "");
    print_histogram(out);
    output_line(out, "%s", "");
    print_confidence(out);
    output_line(out, "%s", "");
    print_worst(out, &scores[FINAL]);
    output_note(out,
                "Instructions are weighted by samples, edges by true executions. Each function is scaled by "
                "one constant; \"program\" has one constant for the whole image, as a counter of "
                "instructions would give it. \"fitted\" and \"redrawn\" know the truth: they tell what the "
                "error is made of. Static cycles are those of %s.",
                model);
    double scale = t->executions_a_flow_ns * t->user_ns, works = 0;
    if (scale > 0 && scores[FINAL].true_work > 0) {
        works = scale * scores[FINAL].estimated / scores[FINAL].true_work;
        output_note(out,
                    "By the timed intervals the program ran %s times as many instructions as the exact "
                    "counts say. If the scale is right, it did that work so often.",
                    figure(works, 4).text);
    }
    output_set(out, "times_the_truth", works > 0 ? json_real(works) : json_null());
    output_set(out, "image", json_text(image->image.path));
    output_set(out, "samples", json_real(samples));
    output_set(out, "edges", json_real(t->total_count));
    output_set(out, "bursts", json_integer(t->n_bursts));
    return output_close(out);
}

struct known { /* the truth of one image, for cs_oracle_flow_load */
    const struct cs_truth *truth;
    const char *image;
};

static double true_executions(const char *image, uint64_t from, void *arg)
{
    const struct known *known = arg;
    return strcmp(image, known->image) == 0 ? cs_truth_count(known->truth, from) : -1;
}

/* The core's model, for DCPI's static cycles. */
static int open_scheduler(const struct parsed *args, struct profile *profile, const struct analysed_image *ev,
                          struct cs_scheduler **out, struct cs_error *err)
{
    struct cs_machine machine;
    bool recorded;
    int rc = cs_culprit_evidence_machine(profile->store, &machine, &recorded, err);
    return rc < 0 ? rc
                  : calc_scheduler(args, cs_image_isa(ev->code), &machine, ev->image->image.id, out, err);
}

struct sources { /* of edges */
    struct cs_edge_flow *chain, *raw, *paths, *untimed, *varied, *fitted;
};

static int load_sources(struct sources *from, struct cs_store *store, struct cs_error *err)
{
    int rc = cs_edge_flow_load(store, CS_EDGE_FLOW_CHAIN, &from->chain, err);
    if (rc == 0)
        rc = cs_edge_flow_load(store, CS_EDGE_FLOW_RAW, &from->raw, err);
    if (rc == 0)
        rc = cs_edge_flow_load(store, CS_EDGE_FLOW_PATHS, &from->paths, err);
    if (rc == 0)
        rc = cs_edge_flow_load(store, CS_EDGE_FLOW_UNTIMED, &from->untimed, err);
    return rc < 0 ? rc : cs_edge_flow_load(store, CS_EDGE_FLOW_NOISE, &from->varied, err);
}

static int score_all(const struct parsed *args, struct profile *profile, const struct profile_image *image,
                     struct sources *from, const struct cs_truth *truth, struct cs_error *err)
{
    struct analysed_image ev = {0};
    struct accuracy_subject subject = {0};
    struct cs_scheduler *scheduler = NULL;
    struct known known = {truth, image->image.id};
    if (from->paths->from_paths) {
        scores[PATHS].what = "short paths interpreted from registers and stack at samples: what reports use";
        scores[RAW].what = scores[FITTED].what = "edges of these paths as they were counted";
        scores[UNTIMED].what = scores[FINAL].what = "as paths: there are no bursts";
    }
    int rc = cs_oracle_flow_load(profile->store, true_executions, &known, &from->fitted, err);
    if (rc == 0)
        rc = analysed_image_open(&ev, profile, image, from->chain, err);
    if (rc == 0 && cs_image_isa(ev.code) == CS_ISA_NONE)
        rc = cs_fail(err, ENOENT, "%s", *cs_image_trouble(ev.code) ? cs_image_trouble(ev.code) : "no code");
    if (rc == 0)
        rc = accuracy_subject_open(&subject, &ev, truth, err);
    if (rc == 0)
        rc = open_scheduler(args, profile, &ev, &scheduler, err);
    if (rc == 0)
        rc = accuracy_subject_schedule(&subject, &ev, scheduler, err);
    struct cs_edge_flow *const by_score[N_SCORES] = {
        [RAW] = from->raw, [PATHS] = from->paths, [UNTIMED] = from->untimed, [FITTED] = from->fitted};
    for (int i = 0; i < N_SCORES && rc == 0; i++) {
        struct cs_frequency_input e = ev.found.input;
        e.flow = by_score[i] ? by_score[i] : from->chain;
        e.image = cs_edge_flow_image(e.flow, image->image.id);
        rc = accuracy_score(&scores[i], &subject, &e, err);
    }
    double noise[3];
    if (rc == 0)
        rc = accuracy_noise(&subject, &ev.found.input, from->varied, noise, err);
    if (rc == 0)
        rc = print_all(args, image, from->chain, ev.found.samples, cs_scheduler_name(scheduler), noise);
    cs_scheduler_close(scheduler);
    accuracy_subject_close(&subject);
    analysed_image_close(&ev);
    return rc;
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct profile profile = {0};
    struct sources from = {0};
    struct cs_truth *truth = NULL;
    if (operand_count(args) != 2)
        return usage_error("needs a STORE and a file of callgrind's");
    struct profile_filter filter = {.image = option(args, "image"),
                                    .epoch = option_given(args, "epoch") ? option(args, "epoch") : "all",
                                    .main_event = option(args, "event")};
    int rc = profile_open(&profile, operand(args, 0), &filter, &err);
    if (rc < 0)
        return failed(&err);
    rc = load_sources(&from, profile.store, &err);
    const struct profile_image *image =
        rc < 0 ? NULL : choose_image(&profile, operand(args, 1), from.chain, &truth, &err);
    if (rc == 0 && !image) {
        if (!err.code)
            cs_fail(&err, ENOENT, "%s has no images", operand(args, 0));
        rc = -ENOENT;
    }
    if (rc == 0)
        rc = score_all(args, &profile, image, &from, truth, &err);
    for (int i = 0; i < N_SCORES; i++)
        accuracy_score_fini(&scores[i]);
    cs_truth_close(truth);
    cs_edge_flow_close(from.chain);
    cs_edge_flow_close(from.raw);
    cs_edge_flow_close(from.paths);
    cs_edge_flow_close(from.untimed);
    cs_edge_flow_close(from.varied);
    cs_edge_flow_close(from.fitted);
    profile_close(&profile);
    return rc < 0 ? failed(&err) : rc;
}

static const struct option_entry options[] = {
    OPTION_EVENT, OPTION_IMAGE, OPTION_EPOCH, OPTION_CPU, {NULL, 0, NULL, NULL},
};

const struct command command_accuracy = {
    .name = "accuracy",
    .operands = "STORE TRUTH",
    .summary = "how good the estimates of execution counts are, compared with exact counts",
    .details =
        "TRUTH is the output of: valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes COMMAND\n"
        "of the same binary and input. Prints the share of samples whose instruction's estimate is within 5, "
        "10 and 15 % of the exact count (DCPI's figure 8). The same follows for edge executions (figure 9), "
        "for the estimate that reports use and for simpler ones. Then come the parts of its error, how "
        "reliable the confidence is, and the worst functions.",
    .options = options,
    .run = run,
};
