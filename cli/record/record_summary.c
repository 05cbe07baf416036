/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary of a recording on standard error. First the answer: the CPU time, the hottest function, the line to look at.
 * Then how sure that is. Last what to type next. The profile is read back from the store, so that
 * the summary and `prof` can't differ. Four lines; -v adds how the recording was made. */
#include "analysis/waits/critical_path.h"
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/output/hint.h"
#include "cli/profile/lines/hottest_line.h"
#include "cli/profile/profile.h"
#include "cli/record/record.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCEDURES_SHOWN 3
#define BURSTS_FEW 20 /* below, calc rarely has what a cause needs: bench/run calc-default */
#define CHAINS_FEW 90 /* per cent complete; below, totals miss a part that a reader must know of */

/* " at 1000 Hz", or ", one each 2 ms" where a period was asked for. */
static const char *rate_text(const struct recorded *r, double rate_hz, char text[64])
{
    const char *event = cs_sampler_event(r->sampler, 0);
    bool ns = strcmp(event, "cpu-clock") == 0 || strcmp(event, "task-clock") == 0;
    if (!r->config->period)
        snprintf(text, 64, " at %.0f Hz", rate_hz);
    else if (ns)
        snprintf(text, 64, ", one each %s ms", figure((double)r->config->period / 1e6, 4).text);
    else
        snprintf(text, 64, ", one each %llu event%s", (unsigned long long)r->config->period,
                 plural((double)r->config->period));
    return text;
}

static uint64_t chains_all(const struct cs_sampler_statistics *s)
{
    uint64_t all = 0;
    for (unsigned e = 0; e < CS_SAMPLER_CHAIN_ENDS; e++)
        all += s->chain_ends[e];
    return all;
}

/* Per cent; all of none. */
static double chains_complete(const struct cs_sampler_statistics *s)
{
    uint64_t all = chains_all(s);
    return all ? 100.0 * (double)s->chain_ends[0] / (double)all : 100;
}

/* The share of complete chains, and the three most common reasons of the others. */
static void print_chains(const struct cs_sampler_statistics *s)
{
    uint64_t all = chains_all(s), left;
    double complete = chains_complete(s);
    if (!all)
        return;
    fprintf(stderr, "call chains: %.1f %% complete, %.1f frames per sample\n", complete,
            (double)s->chain_frames / (double)all);
    left = UINT64_MAX;
    for (unsigned shown = 0; shown < 3 && complete < 99; shown++) {
        unsigned most = 0;
        for (unsigned e = 1; e < CS_SAMPLER_CHAIN_ENDS; e++)
            if (s->chain_ends[e] < left && (!most || s->chain_ends[e] > s->chain_ends[most]))
                most = e;
        if (!most || (double)s->chain_ends[most] < 0.002 * (double)all)
            break;
        left = s->chain_ends[most];
        fprintf(stderr, "  %.1f %% ended early: %s (%s)\n", 100.0 * (double)left / (double)all,
                cs_sampler_chain_end_sentence(most), cs_sampler_chain_end(most));
    }
}

static json_t *chains_json(const struct cs_sampler_statistics *s)
{
    json_t *ends = json_object();
    for (unsigned e = 0; e < CS_SAMPLER_CHAIN_ENDS; e++)
        if (s->chain_ends[e])
            json_object_set_new(ends, cs_sampler_chain_end(e), json_integer((json_int_t)s->chain_ends[e]));
    return json_pack("{s:b, s:o, s:I, s:I, s:I}", "taken", s->chains, "ends", ends, "frames",
                     (json_int_t)s->chain_frames, "tables", (json_int_t)s->chain_tables, "table_bytes",
                     (json_int_t)s->chain_bytes);
}

static json_t *seconds_json(double seconds)
{
    return seconds > 0 ? json_real(seconds) : json_null();
}

void record_summary_json(const struct recorded *r, FILE *to)
{
    struct cs_sampler_statistics s;
    cs_sampler_statistics(r->sampler, &s);
    json_t *unknown = json_object(), *events = json_array();
    for (unsigned c = 0; c < CS_UNKNOWN_N; c++)
        if (cs_sampler_unknown(r->sampler, c))
            json_object_set_new(unknown, cs_unknown_name(c),
                                json_integer((json_int_t)cs_sampler_unknown(r->sampler, c)));
    for (unsigned e = 0; e < cs_sampler_events(r->sampler); e++)
        json_array_append_new(events, json_text(cs_sampler_event(r->sampler, e)));
    json_t *root = json_pack(
        "{s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:f, s:i, "
        "s:I, s:o, s:o, s:o, s:o}",
        "store", json_text(r->store), "recording", json_text(r->epoch), "driver", s.driver, "events", events,
        "delivered", (json_int_t)s.delivered, "stored", (json_int_t)s.merged, "lost", (json_int_t)s.lost,
        "throttled", (json_int_t)s.throttled, "unknown", (json_int_t)s.unknown, "causes", unknown, "entries",
        (json_int_t)s.entries, "images", (json_int_t)s.images, "map_records_lost",
        (json_int_t)s.map_records_lost, "rate_hz", s.rate_hz, "collector_cpu_seconds",
        s.collector_cpu_seconds, "sample_cost_us", s.sample_cost_us, "loss",
        isnan(s.loss) ? json_null() : json_real(s.loss), "seconds", r->seconds, "exit_code", r->exit_code,
        "born", (json_int_t)s.born, "chains", chains_json(&s), "bursts", record_bursts_json(r->burst),
        "charged_seconds", seconds_json(r->charged->seconds), "sampled_seconds",
        seconds_json(r->charged->sampled_seconds));
    json_print(root, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    fputc('\n', to);
    json_decref(root);
}

/* CPU time, from the timer's samples, else of the command and the children that it waited for. 0: unknown. */
static double cpu_seconds(const struct recorded *r, const struct profile *p)
{
    const struct profile_event *e = &p->events[p->main_event];
    if (strcmp(e->unit, "ns") == 0 && e->period_sum)
        return (double)e->period_sum / 1e9;
    return cs_sampler_child_cpu_seconds(r->sampler);
}

/* For a command: ", in 5 threads of 2 processes". Empty where the driver doesn't report threads (timers). */
static const char *threads_text(const struct recorded *r, char text[80])
{
    struct cs_sampler_statistics s;
    cs_sampler_statistics(r->sampler, &s);
    text[0] = '\0';
    if (r->config->target != CS_TARGET_COMMAND || s.born == 0)
        return text;
    int n = snprintf(text, 80, ", in %llu threads", (unsigned long long)s.born + 1); /* two at least */
    if (s.forks > 0)
        snprintf(text + n, 80 - (size_t)n, " of %llu processes", (unsigned long long)s.forks + 1);
    return text;
}

static const char *name_of(const struct profile_row *row, char name[1024])
{
    return row->name ? cs_image_short_name(row->name, name, 1024) : "[no symbol]";
}

static const char *image_of(const struct profile_row *row)
{
    return row->image ? image_name(&row->image->image) : "no image";
}

/* "CPU time 2.2 s of 3.5 s elapsed: 95.0 % ± 0.5 in join_orders (join)"; ± is one standard error. */
static void say_hottest(const struct recorded *r, const struct profile *p, const struct profile_rows *rows)
{
    double total = (double)rows->total[p->main_event], ran = cpu_seconds(r, p);
    char name[1024], text[2][48], within[24] = "", lead[128] = "Of the samples";
    if (!rows->n || total <= 0)
        return;
    const struct profile_row *row = &rows->row[0];
    double share = (double)row->samples[p->main_event] / total;
    bool timed = ran > 0 && r->seconds >= 0.05;
    if (total >= PROFILE_SAMPLES_FEW)
        snprintf(within, sizeof within, " ± %.1f", 100 * sqrt(share * (1 - share) / total));
    if (timed)
        snprintf(lead, sizeof lead, "CPU time %s s of %s s elapsed", figures(ran, 3, text[0]),
                 figures(r->seconds, 3, text[1]));
    report_line(stderr, "%s: %.1f %%%s in %.60s (%s)", lead, 100 * share, within, name_of(row, name),
                image_of(row));
    if (timed && ran < 0.5 * r->seconds && r->config->target != CS_TARGET_ALL)
        report_line(stderr, "The rest was spent waiting or preempted, and has no samples%s",
                    r->config->waits ? "." : "; record with --waits to see it.");
}

/* The functions after the hottest, and how many threads ran. */
static void say_others(const struct recorded *r, const struct profile *p, const struct profile_rows *rows)
{
    double total = (double)rows->total[p->main_event], ran = cpu_seconds(r, p);
    char name[1024], threads[80];
    for (size_t i = 1; i < rows->n && i < PROCEDURES_SHOWN && total > 0; i++)
        if (rows->row[i].samples[p->main_event])
            report_line(stderr, "  %5.1f %% in %.60s (%s)",
                        100 * (double)rows->row[i].samples[p->main_event] / total,
                        name_of(&rows->row[i], name), image_of(&rows->row[i]));
    if (ran > 0 && r->seconds > 0)
        report_line(stderr, "  %.0f %% of one CPU%s", 100 * ran / r->seconds, threads_text(r, threads));
}

/* The line to look at first, where one has source. */
static void say_line(struct profile *p, const struct profile_rows *rows)
{
    struct hottest_line hottest;
    char sentence[2048] = "";
    struct cs_chains chains;
    struct cs_error ignored = {0};
    const struct cs_calls_wanted wanted = {.event = p->events[p->main_event].name};
    if (cs_chains_open(&chains, p->store, &wanted, &ignored) < 0)
        return;
    hottest_line_find(p, rows, &chains, &hottest);
    cs_chains_close(&chains);
    if (hottest.how != HOTTEST_NOWHERE)
        hottest_line_sentence(&hottest, &rows->row[0], sentence, sizeof sentence);
    if (*sentence)
        report_line(stderr, "%s", sentence);
}

/* A rate that would have given enough: 30 Hz, or the requested rate times the factor that is missing. 0: no higher rate
 * helps. */
static double more_bursts(const struct recorded *r, double bursts)
{
    double rate = r->burst_rate_hz > 0 ? r->burst_rate_hz * fmin(10, BURSTS_FEW / fmax(bursts, 1)) : 30;
    rate = fmin(300, fmax(30, 10 * ceil(rate / 10)));
    return rate > r->burst_rate_hz ? rate : 0;
}

/* How far to trust it: what there is, or what is missing. */
static void say_evidence(const struct recorded *r, const struct profile *p, const struct profile_rows *rows,
                         const struct cs_sampler_statistics *sampled)
{
    struct cs_burst_statistics s = {.bursts = 0};
    uint64_t hottest = rows->n ? rows->row[0].samples[p->main_event] : 0;
    if (r->burst)
        cs_burst_statistics(r->burst, &s);
    const bool budget = r->config->budget > 0;
    char higher[48] = "", bursts[64] = "", at[64] = "";
    double rate = more_bursts(r, (double)s.bursts);
    if (rate > 0)
        snprintf(higher, sizeof higher, ", or use --burst-rate %.0f", rate);
    if (r->burst)
        snprintf(bursts, sizeof bursts, " and %s burst%s", thousands((double)s.bursts).text,
                 plural((double)s.bursts));
    if (budget)
        rate_text(r, sampled->rate_hz, at);
    if (hottest < PROFILE_SAMPLES_FEW)
        report_line(stderr,
                    "Only %llu sample%s of the hottest function%s: shares are uncertain. Run longer, or %s.",
                    (unsigned long long)hottest, plural((double)hottest), at,
                    budget ? "allow a larger --budget" : "raise -F");
    else if (r->burst && !s.bursts)
        report_line(stderr, "No bursts, for the reasons below: calc may not find the cause.");
    else if (r->burst && s.bursts < BURSTS_FEW)
        report_line(stderr, "Only %llu burst%s: calc may not find the cause. Run longer%s.",
                    (unsigned long long)s.bursts, plural((double)s.bursts), higher);
    else
        report_line(stderr, "Evidence: %s samples%s%s; %s lost%s.",
                    thousands((double)sampled->delivered).text, at, bursts,
                    sampled->lost ? thousands((double)sampled->lost).text : "none",
                    r->verbose ? "" : " (-v shows more)");
}

/* Whether an earlier recording is in the store. */
static bool say_profile(const struct recorded *r, const struct cs_sampler_statistics *s)
{
    bool earlier = false;
    struct profile p;
    struct profile_rows rows;
    struct cs_error ignored = {0};
    const struct profile_filter filter = {.epoch = r->epoch};
    if (profile_open(&p, r->store, &filter, &ignored) < 0)
        return false;
    earlier = p.recordings.n > 1;
    if (profile_sum_top(&p, BY_PROCEDURE, PROCEDURES_SHOWN, &rows, &ignored) == 0) {
        say_hottest(r, &p, &rows);
        say_line(&p, &rows);
        if (r->verbose)
            say_others(r, &p, &rows);
        say_evidence(r, &p, &rows, s);
        profile_rows_fini(&rows);
    }
    profile_close(&p);
    return earlier;
}

/* Before all else, where threads waited longer than they ran. */
static bool say_waits(const struct recorded *r)
{
    struct cs_error none = {0};
    struct recordings which;
    struct cs_store *store = NULL;
    struct cs_wait_groups w;
    const struct cs_calls_wanted wanted = {.inlines = true};
    char text[512];
    const struct cs_wait_group *first = NULL;
    if (recordings_open(r->store, NULL, RECORDINGS_OF_SAMPLES, &store, &which, &none) < 0)
        return false;
    if (cs_wait_groups_open(&w, store, &wanted, &none) == 0) {
        if ((first = cs_wait_first(&w)) != NULL) {
            cs_wait_first_text(&w, first, text, sizeof text);
            report_line(stderr, "First: %s", text);
            if (cs_critical_path_told(store, &w, cs_sampler_event(r->sampler, 0), text, sizeof text) == 0 &&
                *text)
                report_line(stderr, "Critical path: %s", text);
        }
        cs_wait_groups_close(&w);
    }
    cs_store_close(store);
    return first != NULL;
}

/* One line: the report to read first, and in parentheses the others. */
static void say_next(const struct recorded *r, bool waits, bool sampled, bool earlier)
{
    const char *where = strcmp(r->store, "cyclescope.store") == 0 ? NULL : r->store;
    char *next = hint_command(waits ? "waits" : "prof", NULL, "--store", where);
    const char *prof = waits && sampled ? "prof: where it ran" : "",
               *diff = earlier ? "diff: changes since the previous recording" : "";
    if (next)
        report_line(stderr, "next: %s%s%s%s%s%s", next, *prof || *diff ? "      (" : "", prof,
                    *prof && *diff ? "; " : "", diff, *prof || *diff ? ")" : "");
    free(next);
}

/* Time that the kernel charged, and no sample shows. */
static void say_charged(const struct recorded *r)
{
    const struct charged *c = r->charged;
    char text[2][48];
    if (c->short_of_samples)
        report_line(
            stderr,
            "The kernel charged %s s of CPU time, samples show %s s. It charges a thread from its wake-up "
            "on, before its code runs; and a late timer interrupt misses short work.",
            figures(c->seconds, 3, text[0]), figures(c->sampled_seconds, 3, text[1]));
}

/* What went wrong, if anything did. */
static void say_troubles(const struct recorded *r, const struct cs_sampler_statistics *s)
{
    double share = s->delivered ? 100.0 * (double)s->unknown / (double)s->delivered : 0;
    const bool by_kernel = strcmp(s->driver, "bpf") == 0 || strcmp(s->driver, "ring") == 0;
    if (by_kernel && r->config->budget <= 0 && s->rate_hz < 0.99 * r->config->frequency_hz)
        fprintf(stderr,
                "  sampled at %.0f Hz instead of %.0f: kernel.perf_event_max_sample_rate allows no more\n",
                s->rate_hz, r->config->frequency_hz);
    if (s->throttled)
        fprintf(stderr,
                "  %llu times the kernel stopped an event until its next tick (1 to 10 ms): samples came "
                "faster than\n"
                "  kernel.perf_event_max_sample_rate; what ran then is missing. Use a longer period (-c) or "
                "raise it\n",
                (unsigned long long)s->throttled);
    for (unsigned c = 0; c < CS_UNKNOWN_N && share >= 1; c++)
        if (cs_sampler_unknown(r->sampler, c))
            fprintf(stderr, "  %s of %s samples unknown: %s\n",
                    thousands((double)cs_sampler_unknown(r->sampler, c)).text,
                    thousands((double)s->delivered).text, cs_unknown_sentence(c));
    for (unsigned e = 0; e < cs_sampler_events(r->sampler); e++)
        if (s->without_counter >> e & 1)
            fprintf(stderr,
                    "  %s never had a counter: others (another profiler, the NMI watchdog) hold them all\n",
                    cs_sampler_event(r->sampler, e));
}

/* How the recording was made: numbers of samples, chains, bursts and paths. Without -v only of what has few. */
static void say_measurement(const struct recorded *r, const struct cs_sampler_statistics *s)
{
    char names[1024] = "", rate[64];
    struct cs_burst_statistics b = {.bursts = 0};
    double share = s->delivered ? 100.0 * (double)s->unknown / (double)s->delivered : 0;
    for (unsigned e = 0; e < cs_sampler_events(r->sampler); e++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", e ? ", " : "", cs_sampler_event(r->sampler, e));
    }
    if (r->verbose)
        report_line(stderr, "%s sample%s of %s%s in %s: %s lost, %s unknown (%.2f %%)",
                    thousands((double)s->delivered).text, plural((double)s->delivered), names,
                    rate_text(r, s->rate_hz, rate), r->store, thousands((double)s->lost).text,
                    thousands((double)s->unknown).text, share);
    say_troubles(r, s);
    if (r->verbose || chains_complete(s) < CHAINS_FEW)
        print_chains(s);
    if (r->burst)
        cs_burst_statistics(r->burst, &b);
    if (r->burst && (r->verbose || !b.bursts))
        record_bursts_summary(r->burst);
    if (r->verbose)
        record_paths_summary(r->paths);
}

void record_summary(const struct recorded *r)
{
    struct cs_sampler_statistics s;
    cs_sampler_statistics(r->sampler, &s);
    const bool waited = s.waits && say_waits(r);
    if (s.delivered == 0 && !s.without_counter && !waited)
        report_line(stderr, "No samples: the program used too little CPU time. Run it longer, or raise -F.");
    bool earlier = s.delivered && say_profile(r, &s);
    say_charged(r);
    say_measurement(r, &s);
    if (s.delivered || s.waits) /* waits come first: they were asked for */
        say_next(r, s.waits, s.delivered, earlier);
}

/* A command has the terminal for itself. */
bool record_status_wanted(const struct cs_sampler_config *config)
{
    return isatty(STDERR_FILENO) && (config->target != CS_TARGET_COMMAND || !isatty(STDOUT_FILENO));
}

void record_status(struct cs_sampler *sampler, struct cs_burst *burst, double seconds, double of)
{
    struct cs_sampler_statistics s;
    struct cs_burst_statistics b;
    char end[48] = "; Ctrl-C ends it", bursts[48] = "";
    cs_sampler_statistics(sampler, &s);
    if (of > 0)
        snprintf(end, sizeof end, " of %.0f s", of);
    if (burst) {
        cs_burst_statistics(burst, &b);
        snprintf(bursts, sizeof bursts, ", %llu burst%s", (unsigned long long)b.bursts,
                 plural((double)b.bursts));
    }
    fprintf(stderr, "\r\033[Krecording: %llu sample%s%s in %.0f s%s", (unsigned long long)s.delivered,
            plural((double)s.delivered), bursts, seconds, end);
    fflush(stderr);
    messages_over_line(true);
}

void record_status_end(void)
{
    fputs("\r\033[K", stderr);
    fflush(stderr);
    messages_over_line(false);
}
