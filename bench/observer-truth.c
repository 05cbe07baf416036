/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accuracy of the observer against a target that noted every step with the clock (tests/programs/steps.c),
 * which shim-2015 could not have. At three periods: shares of tags, mean rate of each tag, and the
 * Kolmogorov-Smirnov distance of the distribution of interval rates to the true one, with double-time-error
 * filtering and without.
 *
 * Truth is taken over exactly the time that the observer saw (intervals that are no gap, with the target
 * running), whether filtering then kept an interval or not: what filtering drops must not bias what it keeps.
 *
 *      observer-truth [--quick] [--threads]      with --threads: attribution when two threads share the CPU
 */
#include "dte/bins.h"
#include "observer/observer.h"
#include "observer/replay.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAGS 4

struct truth {
    const uint64_t *words; /* TSC << 8 | tag, one a step */
    size_t n, at;
};

struct score {
    double share_error, rate_error_dte, rate_error_all,
        rate_error_paper; /* worst tag: points of %; % of the rate */
    double ks_dte, ks_all, ks_paper, kept, seen, period;
    uint64_t intervals;
};

static uint64_t when(const struct truth *t, size_t i)
{
    return t->words[i] >> 8;
}

static unsigned tag_of(const struct truth *t, size_t i)
{
    return (unsigned)(t->words[i] & 0xff);
}

static int load(const char *path, struct truth *t)
{
    struct stat s;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &s) < 0 || s.st_size < 16)
        return -1;
    t->words = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    t->n = (size_t)s.st_size / 8;
    t->at = 0;
    close(fd);
    return t->words == MAP_FAILED ? -1 : 0;
}

/* Last step at or before `clock`; clocks are asked for in ascending order (nearly). */
static size_t before(struct truth *t, uint64_t clock)
{
    while (t->at > 0 && when(t, t->at) > clock)
        t->at--;
    while (t->at + 1 < t->n && when(t, t->at + 1) <= clock)
        t->at++;
    return t->at;
}

struct sums {
    struct truth *truth;
    double cycles[TAGS], steps[TAGS];                     /* true, over what was seen */
    double seen[TAGS];                                    /* observed shares */
    double means[TAGS];                                   /* observed rates, as the tool reports them */
    double rates[CS_RATE_BINS], true_rates[CS_RATE_BINS]; /* of kept intervals; of all true ones */
    double total_cycles, seen_cycles, kept, intervals;
};

static void add_truth(struct sums *s, uint64_t from, uint64_t to)
{
    struct truth *t = s->truth;
    size_t i = before(t, from);
    while (from < to) {
        uint64_t end = i + 1 < t->n && when(t, i + 1) < to ? when(t, i + 1) : to;
        unsigned tag = tag_of(t, i) - 1;
        if (tag < TAGS) {
            s->cycles[tag] += (double)(end - from);
            if (i + 1 < t->n && end == when(t, i + 1) && end < to)
                s->steps[tag] += 1; /* a step belongs to the tag that it ends under */
        }
        from = end;
        i++;
        if (i >= t->n)
            break;
    }
}

static void visit(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                  enum cs_dte_verdict verdict)
{
    struct sums *s = arg;
    s->total_cycles += (double)(to->start - from->start);
    if (verdict == CS_DTE_GAP || verdict == CS_DTE_BACKWARDS || verdict == CS_DTE_AWAY ||
        verdict == CS_DTE_THREAD)
        return;
    struct truth *t = s->truth;
    if (from->start < when(t, 0) || to->end > when(t, t->n - 1))
        return;
    double length = (double)(to->end - from->end);
    s->seen_cycles += length;
    s->intervals++;
    add_truth(s, from->end, to->end);
    for (int end = 0; end < 2; end++) {
        uint64_t tag = (end ? to : from)->tags[0] - 1;
        if (tag < TAGS)
            s->seen[tag] += (double)(to->end - from->end) / 2;
    }
    double steps = (double)(before(t, to->end) - before(t, from->end));
    s->true_rates[cs_rate_bin(steps / length)]++;
    if (verdict != CS_DTE_KEPT && verdict != CS_DTE_TAG)
        return;
    double events = (double)(to->counters[0] - from->counters[0]);
    s->rates[cs_rate_bin(events / length)]++;
    s->kept++;
}

static double worst_rate(const struct sums *s)
{
    double worst = 0;
    for (int i = 0; i < TAGS; i++) {
        double truth = s->steps[i] / s->cycles[i], seen = s->means[i];
        double error = 100 * fabs(seen / truth - 1);
        worst = error > worst || error != error ? error : worst;
    }
    return worst;
}

static double worst_share(const struct sums *s)
{
    double truth = 0, seen = 0, worst = 0;
    for (int i = 0; i < TAGS; i++) {
        truth += s->cycles[i];
        seen += s->seen[i];
    }
    for (int i = 0; i < TAGS; i++)
        worst = fmax(worst, 100 * fabs(s->cycles[i] / truth - s->seen[i] / seen));
    return worst;
}

enum filter { OURS, PAPER, NONE };

static int replay(const char *log, struct truth *truth, enum filter filter, struct sums *sums)
{
    struct cs_replay_wish wish = {.rule = cs_dte_paper_rule(), .visit = visit, .arg = sums};
    struct cs_sink *sink;
    struct cs_error err;
    memset(sums, 0, sizeof *sums);
    sums->truth = truth;
    truth->at = 0;
    wish.paper = filter != OURS;
    if (filter == NONE)
        wish.rule.band_q32 = cs_dte_band(1);
    wish.rule.same_tag = true;
    wish.rule.gap_cycles = 0;
    if (cs_replay(log, &wish, &sink, NULL, &err) < 0) {
        fprintf(stderr, "observer-truth: %s\n", err.text);
        return -1;
    }
    for (int i = 0; i < TAGS; i++)
        sums->means[i] = cs_tag_mean(cs_tags_find(sink->tags[0], (uint64_t)i + 1), 0);
    cs_sink_close(sink);
    return 0;
}

static int observe(char *const argv[], uint64_t period, const char *log)
{
    struct cs_observe_wish wish;
    struct cs_observation *o = NULL;
    struct cs_error err;
    cs_observe_defaults(&wish);
    wish.argv = argv;
    wish.signals[0] = "phase";
    wish.signals[1] = "steps";
    wish.n_signals = 2;
    wish.period_cycles = period;
    wish.jitter_cycles = period / 8;
    wish.log_path = log;
    wish.log_chunk_bytes = (size_t)192 << 20;
    if (cs_observe_start(&wish, &o, &err) < 0 || cs_observe_run(o, &err) < 0) {
        fprintf(stderr, "observer-truth: %s\n", err.text);
        cs_observe_close(o);
        return -1;
    }
    cs_observe_close(o);
    return 0;
}

static int one_period(const char *dir, uint64_t period, const char *seconds, struct score *score)
{
    char truth_path[300], log_path[300], program[300];
    snprintf(truth_path, sizeof truth_path, "%s/truth", dir);
    snprintf(log_path, sizeof log_path, "%s/log", dir);
    snprintf(program, sizeof program, "%s/tests/programs/steps", getenv("BUILD") ? getenv("BUILD") : "build");
    char *argv[] = {program, (char *)(uintptr_t)seconds, truth_path, NULL};
    struct truth truth;
    static struct sums with, paper, without;
    if (observe(argv, period, log_path) < 0 || load(truth_path, &truth) < 0 ||
        replay(log_path, &truth, OURS, &with) < 0 || replay(log_path, &truth, PAPER, &paper) < 0 ||
        replay(log_path, &truth, NONE, &without) < 0)
        return -1;
    *score = (struct score){
        .share_error = worst_share(&with),
        .rate_error_dte = worst_rate(&with),
        .rate_error_all = worst_rate(&without),
        .rate_error_paper = worst_rate(&paper),
        .ks_paper = cs_ks_distance(paper.rates, paper.true_rates, CS_RATE_BINS),
        .ks_dte = cs_ks_distance(with.rates, with.true_rates, CS_RATE_BINS),
        .ks_all = cs_ks_distance(without.rates, without.true_rates, CS_RATE_BINS),
        .kept = 100 * with.kept / with.intervals,
        .seen = 100 * with.seen_cycles / with.total_cycles,
        .period = with.seen_cycles / with.intervals,
        .intervals = (uint64_t)with.intervals,
    };
    if (getenv("CS_VERBOSE"))
        for (int i = 0; i < TAGS; i++)
            printf("  tag %d: true share %.4g rate %.5g; seen %.4g rate %.5g, all %.5g\n", i + 1,
                   with.cycles[i] / with.seen_cycles, 1000 * with.steps[i] / with.cycles[i],
                   with.seen[i] / with.seen_cycles, 1000 * with.means[i], 1000 * without.means[i]);
    munmap((void *)(uintptr_t)truth.words, truth.n * 8);
    unlink(log_path);
    unlink(truth_path);
    return 0;
}

static int accuracy(const char *dir, bool quick)
{
    static const uint64_t periods[] = {0, 1200, 12000};
    double rate = 0, share = 0, dte_harm = 0;
    char detail[1200] = "";
    size_t n = 0;
    for (unsigned p = 0; p < 3; p++) {
        struct score s;
        if (one_period(dir, periods[p], quick ? "0.5" : "3", &s) < 0)
            return 1;
        printf(
            "period %7.0f: %9lu intervals, %.1f %% of the time seen, %.1f %% kept; share off by %.3f points, "
            "rate by %.3f %% (unfiltered %.3f, paper %.3f), KS %.4f (unfiltered %.4f, paper %.4f)\n",
            s.period, (unsigned long)s.intervals, s.seen, s.kept, s.share_error, s.rate_error_dte,
            s.rate_error_all, s.rate_error_paper, s.ks_dte, s.ks_all, s.ks_paper);
        rate = fmax(rate, s.rate_error_dte);
        share = fmax(share, s.share_error);
        dte_harm = fmax(dte_harm, fmax(s.rate_error_dte - s.rate_error_all, 100 * (s.ks_dte - s.ks_all)));
        n += (size_t)snprintf(
            detail + n, sizeof detail - n,
            "%s{\"period_cycles\": %.0f, \"intervals\": %lu, \"seen_percent\": %.2f, "
            "\"kept_percent\": %.2f, \"share_error_points\": %.4f, \"rate_error_percent\": %.4f, "
            "\"rate_error_unfiltered_percent\": %.4f, \"ks\": %.4f, \"ks_unfiltered\": %.4f, "
            "\"rate_error_paper_percent\": %.4f, \"ks_paper\": %.4f}",
            p ? ", " : "", s.period, (unsigned long)s.intervals, s.seen, s.kept, s.share_error,
            s.rate_error_dte, s.rate_error_all, s.ks_dte, s.ks_all, s.rate_error_paper, s.ks_paper);
    }
    printf(
        "{\"name\": \"observer-truth\", \"value\": %.4f, \"unit\": \"%% worst error of a tag's mean rate\", "
        "\"target\": 1.0, \"noise\": null, \"detail\": {\"worst_share_error_points\": %.4f, "
        "\"share_target_points\": 0.5, \"dte_harm\": %.4f, \"periods\": [%s]}}\n",
        rate, share, dte_harm, detail);
    return 0;
}

/* ---- two threads on one CPU ---- */

#define THREADS 2
/* Stretches without a step longer than that are the other thread's, or somebody else's. */
#define STEP_LONGEST 8000

struct attribution {
    struct truth truth[THREADS];
    uint64_t right, wrong, unknown;
};

/* A thread ran at `clock` if it made steps just before and just after. */
static bool ran(struct truth *t, uint64_t clock)
{
    size_t i = before(t, clock);
    return i + 1 < t->n && when(t, i) <= clock && when(t, i + 1) - when(t, i) < STEP_LONGEST;
}

static void attribute(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                      enum cs_dte_verdict verdict)
{
    struct attribution *a = arg;
    if (verdict != CS_DTE_KEPT)
        return;
    unsigned claimed = (unsigned)(from->tags[0] / 16);
    bool there[THREADS];
    unsigned n = 0;
    for (unsigned i = 0; i < THREADS; i++)
        n += there[i] = ran(&a->truth[i], from->start) && ran(&a->truth[i], to->end);
    if (n != 1)
        a->unknown++; /* within some us of a switch, or both asleep: the truth can't tell */
    else if (claimed < THREADS && there[claimed])
        a->right++;
    else
        a->wrong++;
}

static int threads(const char *dir, bool quick)
{
    char truth_path[300], second_path[310], log_path[300], program[300];
    struct attribution a = {0};
    struct cs_replay_wish wish = {.rule = cs_dte_paper_rule(), .visit = attribute, .arg = &a};
    struct cs_sink *sink;
    struct cs_log_reader *reader;
    struct cs_error err;
    snprintf(truth_path, sizeof truth_path, "%s/truth", dir);
    snprintf(second_path, sizeof second_path, "%s.1", truth_path);
    snprintf(log_path, sizeof log_path, "%s/log", dir);
    snprintf(program, sizeof program, "%s/tests/programs/steps", getenv("BUILD") ? getenv("BUILD") : "build");
    char seconds[] = "3", brief[] = "1", n_threads[] = "2";
    char *argv[] = {program, quick ? brief : seconds, truth_path, n_threads, NULL};
    wish.rule.same_tag = true;
    wish.rule.gap_cycles = 0;
    if (observe(argv, 0, log_path) < 0 || load(truth_path, &a.truth[0]) < 0 ||
        load(second_path, &a.truth[1]) < 0)
        return 1;
    if (cs_replay(log_path, &wish, &sink, &reader, &err) < 0) {
        fprintf(stderr, "observer-truth: %s\n", err.text);
        return 1;
    }
    bool followed = cs_log_reader_head(reader)->follow;
    uint64_t told = a.right + a.wrong, switches = sink->tally.intervals[CS_DTE_THREAD];
    cs_log_reader_close(reader);
    cs_sink_close(sink);
    unlink(log_path), unlink(truth_path), unlink(second_path);
    if (!followed)
        fprintf(stderr, "observer-threads: without BPF threads can't be followed here\n");
    printf("%lu accepted intervals of the right thread, %lu of the wrong one, %lu that the truth can't tell; "
           "%lu "
           "dropped at switches\n",
           (unsigned long)a.right, (unsigned long)a.wrong, (unsigned long)a.unknown, (unsigned long)switches);
    printf("{\"name\": \"observer-threads\", \"value\": %.5f, \"unit\": \"%% of accepted intervals\", "
           "\"target\": 99.9, "
           "\"noise\": null, \"detail\": {\"right\": %lu, \"wrong\": %lu, \"untold\": %lu, "
           "\"dropped_at_switches\": "
           "%lu, \"followed\": %s}}\n",
           told ? 100.0 * (double)a.right / (double)told : 0, (unsigned long)a.right, (unsigned long)a.wrong,
           (unsigned long)a.unknown, (unsigned long)switches, followed ? "true" : "false");
    return 0;
}

int main(int argc, char **argv)
{
    bool quick = false, share = false;
    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        share |= strcmp(argv[i], "--threads") == 0;
    }
    char dir[] = "/tmp/observer-truth.XXXXXX";
    if (!mkdtemp(dir))
        return 1;
    int rc = share ? threads(dir, quick) : accuracy(dir, quick);
    rmdir(dir);
    return rc;
}
