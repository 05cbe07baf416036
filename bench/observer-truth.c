/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accuracy of the observer against a target that noted every step with the clock (tests/programs/steps.c),
 * which shim-2015 could not have. At three periods: shares of tags, mean rate of each tag, and the
 * Kolmogorov-Smirnov distance of the distribution of interval rates to the true one, with double-time-error
 * filtering and without. Several short runs a period, of which the median counts. A run in which target and
 * observer hardly had their CPUs (both less than a quarter of the time) has too few intervals to tell
 * anything: it is counted as starved and made again, twice at most; where all are starved there is no value.
 *
 * Truth is taken over exactly the time that the observer saw (intervals that are no gap, with the target
 * running), whether filtering then kept an interval or not: what filtering drops must not bias what it keeps.
 * What a target writes is seen a little later than it noted (its log's line and the observed one have to
 * come): the observer sees the program as it was some 100 to 300 cycles ago. That delay is found for each
 * run, as the one at which most intervals hold the true number of steps, and printed.
 *
 *      observer-truth [--quick] [--threads]      with --threads: attribution when two threads share the CPU
 */
#include "bench/ahead.h"
#include "dte/bins.h"
#include "observer/log/replay.h"
#include "observer/observer.h"
#include "observer/source/clock.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAGS 4

#define RUNS_MAX 5
#define DELAYS 25
#define DELAY_STEP 20

struct truth {
    const uint64_t *words; /* TSC << 8 | tag, one a step */
    size_t n, at;
    uint64_t delay; /* cycles between a step and when it can be seen */
};

struct score {
    double share_error, rate_error_dte, rate_error_all,
        rate_error_paper; /* worst tag: points of %; % of the rate */
    double errors[TAGS];  /* signed, of the rates, % */
    double ks_dte, ks_all, ks_paper, kept, seen, period, delay, mistaken;
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
    double cycles[TAGS], steps[TAGS]; /* true, over what was seen */
    double seen[TAGS];                /* observed shares */
    double means[TAGS];               /* observed rates, as the tool reports them */
    double rates[CS_DTE_RATE_BINS], true_rates[CS_DTE_RATE_BINS]; /* of kept intervals; of all true ones */
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
    if (verdict == CS_DTE_GAP || verdict == CS_DTE_BACKWARDS || verdict == CS_DTE_DESCHEDULED ||
        verdict == CS_DTE_THREAD)
        return;
    struct truth *t = s->truth;
    if (from->start < when(t, 0) + DELAYS * DELAY_STEP || to->end > when(t, t->n - 1))
        return;
    const uint64_t since = from->end - t->delay, till = to->end - t->delay;
    double length = (double)(to->end - from->end);
    s->seen_cycles += length;
    s->intervals++;
    add_truth(s, since, till);
    for (int end = 0; end < 2; end++) {
        uint64_t tag = (end ? to : from)->tags[0] - 1;
        if (tag < TAGS)
            s->seen[tag] += (double)(to->end - from->end) / 2;
    }
    double steps = (double)(before(t, till) - before(t, since));
    s->true_rates[cs_dte_rate_bin(steps / length)]++;
    if (verdict != CS_DTE_KEPT && verdict != CS_DTE_TAG)
        return;
    double events = (double)(to->counters[0] - from->counters[0]);
    s->rates[cs_dte_rate_bin(events / length)]++;
    s->kept++;
}

struct delays {
    struct truth *truth;
    double mistaken[DELAYS], intervals;
};

static void try_delays(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                       enum cs_dte_verdict verdict)
{
    struct delays *d = arg;
    struct truth *t = d->truth;
    if ((verdict != CS_DTE_KEPT && verdict != CS_DTE_TAG) || d->intervals >= 100000 ||
        from->start < when(t, 0) + DELAYS * DELAY_STEP || to->end > when(t, t->n - 1))
        return;
    d->intervals++;
    for (uint64_t i = 0; i < DELAYS; i++) {
        size_t steps = before(t, to->end - i * DELAY_STEP) - before(t, from->end - i * DELAY_STEP);
        d->mistaken[i] += steps != to->counters[0] - from->counters[0];
    }
}

/* Sets truth->delay; returns the share of intervals whose count is another one then, %; below 0 = failed. */
static double find_delay(const char *log, struct truth *truth)
{
    struct delays d = {.truth = truth};
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .visit = try_delays, .arg = &d};
    struct cs_sink *sink;
    struct cs_error err;
    options.rule.same_tag = true;
    options.rule.gap_cycles = 0;
    truth->at = 0;
    if (cs_observe_replay(log, &options, &sink, NULL, &err) < 0) {
        fprintf(stderr, "observer-truth: %s\n", err.text);
        return -1;
    }
    cs_sink_close(sink);
    unsigned best = 0;
    for (unsigned i = 1; i < DELAYS; i++)
        best = d.mistaken[i] < d.mistaken[best] ? i : best;
    truth->delay = best * DELAY_STEP;
    return d.intervals > 0 ? 100 * d.mistaken[best] / d.intervals : 0;
}

static double rate_error(const struct sums *s, int tag)
{
    return 100 * (s->means[tag] * s->cycles[tag] / s->steps[tag] - 1);
}

static double worst_rate(const struct sums *s)
{
    double worst = 0;
    for (int i = 0; i < TAGS; i++) {
        double error = fabs(rate_error(s, i));
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
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .visit = visit, .arg = sums};
    struct cs_sink *sink;
    struct cs_error err;
    memset(sums, 0, sizeof *sums);
    sums->truth = truth;
    truth->at = 0;
    options.paper = filter != OURS;
    if (filter == NONE)
        options.rule.band_q32 = cs_dte_band(1);
    options.rule.same_tag = true;
    options.rule.gap_cycles = 0;
    if (cs_observe_replay(log, &options, &sink, NULL, &err) < 0) {
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
    struct cs_observe_options options;
    struct cs_observation *o = NULL;
    struct cs_error err;
    cs_observe_defaults(&options);
    options.argv = argv;
    options.signals[0] = "phase";
    options.signals[1] = "steps";
    options.n_signals = 2;
    options.period_cycles = period;
    options.jitter_cycles = period / 8;
    options.log_path = log;
    options.log_chunk_bytes = (size_t)192 << 20;
    if (cs_observe_start(&options, &o, &err) < 0 || cs_observe_run(o, &err) < 0) {
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
    double mistaken;
    if (observe(argv, period, log_path) < 0 || load(truth_path, &truth) < 0 ||
        (mistaken = find_delay(log_path, &truth)) < 0 || replay(log_path, &truth, OURS, &with) < 0 ||
        replay(log_path, &truth, PAPER, &paper) < 0 || replay(log_path, &truth, NONE, &without) < 0)
        return -1;
    *score = (struct score){
        .share_error = worst_share(&with),
        .rate_error_dte = worst_rate(&with),
        .rate_error_all = worst_rate(&without),
        .rate_error_paper = worst_rate(&paper),
        .ks_paper = cs_dte_ks_distance(paper.rates, paper.true_rates, CS_DTE_RATE_BINS),
        .ks_dte = cs_dte_ks_distance(with.rates, with.true_rates, CS_DTE_RATE_BINS),
        .ks_all = cs_dte_ks_distance(without.rates, without.true_rates, CS_DTE_RATE_BINS),
        .kept = 100 * with.kept / with.intervals,
        .seen = 100 * with.seen_cycles / (atof(seconds) * cs_clock_hz()),
        .period = with.seen_cycles / with.intervals,
        .intervals = (uint64_t)with.intervals,
        .delay = (double)truth.delay,
        .mistaken = mistaken,
    };
    for (int i = 0; i < TAGS; i++)
        score->errors[i] = rate_error(&with, i);
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

#define FIELD(name) offsetof(struct score, name)

/* Value at share q of one field of several scores. */
static double among(const struct score *scores, unsigned n, size_t field, double q)
{
    double values[RUNS_MAX];
    for (unsigned i = 0; i < n; i++)
        values[i] = *(const double *)((const char *)&scores[i] + field);
    qsort(values, n, sizeof *values, ascending);
    return values[(unsigned)(q * (n - 1) + 0.5)];
}

/* By how much filtering makes an error larger: the median of the runs' differences. */
static double harm(const struct score *scores, unsigned n, size_t with, size_t without)
{
    double values[RUNS_MAX];
    for (unsigned i = 0; i < n; i++)
        values[i] = *(const double *)((const char *)&scores[i] + with) -
                    *(const double *)((const char *)&scores[i] + without);
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

struct period_result {
    struct score scores[RUNS_MAX];
    unsigned n, starved;
};

static int several(const char *dir, uint64_t period, unsigned runs, const char *seconds,
                   struct period_result *r)
{
    while (r->n < runs && r->starved < 3) {
        if (one_period(dir, period, seconds, &r->scores[r->n]) < 0)
            return -1;
        if (r->scores[r->n].seen >= 25)
            r->n++;
        else
            r->starved++;
    }
    return 0;
}

static void print_errors(FILE *to, const struct period_result *r)
{
    fprintf(to, "[");
    for (int t = 0; t < TAGS; t++)
        fprintf(to, "%s%.3f", t ? ", " : "",
                among(r->scores, r->n, FIELD(errors) + (size_t)t * sizeof(double), 0.5));
    fprintf(to, "]");
}

static int accuracy(const char *dir, bool quick)
{
    static const uint64_t periods[] = {0, 1200, 12000};
    static struct period_result results[3];
    double rate = -1, noise = 0, share = 0, dte_rate = -1e9, dte_ks = -1e9;
    char *detail = NULL;
    size_t size;
    FILE *text = open_memstream(&detail, &size);
    if (!text)
        return 1;
    for (unsigned p = 0; p < 3; p++) {
        struct period_result *r = &results[p];
        if (several(dir, periods[p], quick ? 2 : RUNS_MAX, quick ? "0.5" : "1.5", r) < 0)
            return 1;
        const struct score *s = r->scores;
        if (r->n == 0) {
            fprintf(stderr, "observer-truth: target or observer hardly had a CPU in %u runs\n", r->starved);
            return 77;
        }
#define MIDDLE(field) among(s, r->n, FIELD(field), 0.5)
        const double worst = MIDDLE(rate_error_dte);
        const double spread =
            among(s, r->n, FIELD(rate_error_dte), 0.75) - among(s, r->n, FIELD(rate_error_dte), 0.25);
        printf("period %6.0f, %u runs (%u starved): %.1f %% of the time seen, %.2f %% kept, seen %.0f cycles "
               "late, "
               "%.1f %% of intervals hold another number; share off by %.3f points, rate by %.3f %% "
               "(unfiltered %.3f, paper %.3f), KS %.4f (unfiltered %.4f, paper %.4f); by tag ",
               MIDDLE(period), r->n, r->starved, MIDDLE(seen), MIDDLE(kept), MIDDLE(delay), MIDDLE(mistaken),
               MIDDLE(share_error), worst, MIDDLE(rate_error_all), MIDDLE(rate_error_paper), MIDDLE(ks_dte),
               MIDDLE(ks_all), MIDDLE(ks_paper));
        print_errors(stdout, r);
        printf("\n");
        noise = worst > rate ? spread : noise;
        rate = fmax(rate, worst);
        share = fmax(share, MIDDLE(share_error));
        double more_rate = harm(s, r->n, FIELD(rate_error_dte), FIELD(rate_error_all));
        double more_ks = harm(s, r->n, FIELD(ks_dte), FIELD(ks_all));
        dte_rate = fmax(dte_rate, more_rate);
        dte_ks = fmax(dte_ks, more_ks);
        fprintf(text,
                "%s{\"period_cycles\": %.0f, \"runs\": %u, \"starved_runs\": %u, \"seen_percent\": %.2f, "
                "\"kept_percent\": %.3f, \"delay_cycles\": %.0f, \"other_count_percent\": %.2f, "
                "\"share_error_points\": %.4f, \"rate_error_percent\": %.4f, "
                "\"rate_error_unfiltered_percent\": %.4f, \"rate_error_paper_percent\": %.4f, \"ks\": %.5f, "
                "\"ks_unfiltered\": %.5f, \"ks_paper\": %.5f, \"rate_error_more_by_dte\": %.4f, "
                "\"ks_more_by_dte\": %.5f, \"rate_error_by_tag_percent\": ",
                p ? ", " : "", MIDDLE(period), r->n, r->starved, MIDDLE(seen), MIDDLE(kept), MIDDLE(delay),
                MIDDLE(mistaken), MIDDLE(share_error), worst, MIDDLE(rate_error_all),
                MIDDLE(rate_error_paper), MIDDLE(ks_dte), MIDDLE(ks_all), MIDDLE(ks_paper), more_rate,
                more_ks);
        print_errors(text, r);
        fprintf(text, "}");
#undef MIDDLE
    }
    fclose(text);
    printf("{\"name\": \"observer-truth\", \"value\": %.4f, \"unit\": \"%% worst error of a tag's mean rate, "
           "median run\", \"target\": 1.0, \"noise\": %.4f, \"detail\": {\"worst_share_error_points\": %.4f, "
           "\"share_target_points\": 0.5, \"rate_error_more_by_dte\": %.4f, \"ks_more_by_dte\": %.5f, "
           "\"periods\": [%s]}}\n",
           rate, noise, share, dte_rate, dte_ks, detail);
    free(detail);
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
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .visit = attribute, .arg = &a};
    struct cs_sink *sink;
    struct cs_observe_log_reader *reader;
    struct cs_error err;
    snprintf(truth_path, sizeof truth_path, "%s/truth", dir);
    snprintf(second_path, sizeof second_path, "%s.1", truth_path);
    snprintf(log_path, sizeof log_path, "%s/log", dir);
    snprintf(program, sizeof program, "%s/tests/programs/steps", getenv("BUILD") ? getenv("BUILD") : "build");
    char seconds[] = "3", brief[] = "1", n_threads[] = "2";
    char *argv[] = {program, quick ? brief : seconds, truth_path, n_threads, NULL};
    options.rule.same_tag = true;
    options.rule.gap_cycles = 0;
    if (observe(argv, 0, log_path) < 0 || load(truth_path, &a.truth[0]) < 0 ||
        load(second_path, &a.truth[1]) < 0)
        return 1;
    if (cs_observe_replay(log_path, &options, &sink, &reader, &err) < 0) {
        fprintf(stderr, "observer-truth: %s\n", err.text);
        return 1;
    }
    bool followed = cs_observe_log_reader_head(reader)->follow;
    uint64_t told = a.right + a.wrong, switches = sink->tally.intervals[CS_DTE_THREAD];
    cs_observe_log_reader_close(reader);
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
    cs_bench_ahead();
    char dir[] = "/tmp/observer-truth.XXXXXX";
    if (!mkdtemp(dir))
        return 1;
    int rc = share ? threads(dir, quick) : accuracy(dir, quick);
    rmdir(dir);
    return rc;
}
