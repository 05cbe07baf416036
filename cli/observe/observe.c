/* SPDX-License-Identifier: GPL-2.0-or-later */
/* observe: watch a program's signals from the CPU next door, as finely as the machine can. */
#include "cli/command/figures.h"
#include "cli/command/interrupt.h"
#include "cli/observe/addresses.h"
#include "cli/observe/events.h"
#include "cli/observe/observed_source.h"
#include "cli/observe/own_session.h"
#include "cli/observe/series.h"
#include "cli/observe/thread_names.h"
#include "cli/observe/variables.h"
#include "observer/log/aliases.h"
#include "observer/log/save.h"
#include "observer/observer.h"
#include "signals/reader/reader.h"

#include "observer/source/os.h"
#include "observer/target/fair_share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cs_observation *observing; /* for the signal handler */
static int asked_to_end;

struct watch { /* what tags of a run mean */
    struct addresses *addresses;
    struct thread_names *threads;
    const struct cs_observed *seen;
    bool joined; /* values of one name, into one row */
};

static void stop(void)
{
    __atomic_store_n(&asked_to_end, 1, __ATOMIC_RELAXED);
    if (observing)
        cs_observe_stop(observing);
}

static const char *syscall_name(unsigned number)
{
    static char text[32];
    const char *name = cs_os_syscall_name(number);
    if (name)
        return name;
    snprintf(text, sizeof text, "syscall %u", number);
    return text;
}

static const char *live_name(void *arg, unsigned tag, uint64_t value)
{
    const struct watch *w = arg;
    const struct cs_observed *seen = w->seen;
    if (seen->tag_signals[tag] == CS_WORD_OS_THREAD)
        return w->threads ? thread_names_text(w->threads, value) : NULL;
    if (seen->tag_signals[tag] == CS_WORD_OS_SYSCALL)
        return value == 0 ? "(none)" : syscall_name((unsigned)value - 1);
    const char *name = seen->signals ? cs_reader_name(seen->signals, seen->tag_signals[tag], value) : NULL;
    if (name || !seen->tag_is_address[tag])
        return name;
    return value == 0 ? "(no tag yet)" : addresses_text(w->addresses, value);
}

static void look(void *arg, pid_t pid)
{
    struct watch *w = arg;
    addresses_read_mappings(w->addresses, pid);
    if (w->threads)
        thread_names_read(w->threads, pid);
}

static void moved(void *arg, const char *program, unsigned threads, unsigned cpu)
{
    char all[32] = "the one thread";
    (void)arg;
    if (threads != 1)
        snprintf(all, sizeof all, "all %u threads", threads);
    remark("%s of %s run%s only on CPU %u until the observer ends; then %s where it could before", all,
           program, threads == 1 ? "s" : "", cpu, threads == 1 ? "it may run" : "each may run");
}

static const char *name_value(void *arg, unsigned tag, uint64_t value)
{
    struct watch *w = arg;
    addresses_of(w->addresses, w->seen->signals);
    return live_name(w, tag, value);
}

static bool place(void *arg, unsigned tag, uint64_t value, struct cs_store_image *image, uint64_t *offset)
{
    const struct watch *w = arg;
    return w->seen->tag_is_address[tag] && addresses_place(w->addresses, value, image, offset);
}

struct renaming {
    const struct watch *watch;
    unsigned tag;
};

static uint64_t standing(void *arg, uint64_t value)
{
    const struct renaming *r = arg;
    const struct cs_observed *seen = r->watch->seen;
    if (value == CS_TAG_DESCHEDULED ||
        (seen->signals && cs_reader_name(seen->signals, seen->tag_signals[r->tag], value)))
        return value;
    return addresses_standing(r->watch->addresses, value);
}

/* One row a method or loop, not one a tag point and place in memory; one row a name. */
static void join_regions(struct watch *w)
{
    addresses_of(w->addresses, w->seen->signals);
    for (unsigned t = 0; t < w->seen->sink->n_tags; t++) {
        const uint32_t values = w->seen->sink->tags[t]->n_rows;
        if (w->seen->tag_is_address[t])
            cs_tags_rename(w->seen->sink->tags[t], standing, &(struct renaming){w, t});
        else if (cs_observe_aliases_join(w->seen->sink->tags[t], t, live_name, w) < 0)
            remark("no memory: values of one name have rows of their own");
        w->joined |= w->seen->sink->tags[t]->n_rows < values;
    }
}

static int split_signals(const char *list, struct cs_observe_options *options, char *buffer, size_t size)
{
    if (strlen(list) >= size)
        return -1;
    strcpy(buffer, list);
    char *rest = buffer, *one;
    while ((one = strsep(&rest, ","))) {
        if (!*one)
            continue;
        if (options->n_signals == CS_TAGS_MAX + CS_COUNTERS_MAX)
            return -1;
        options->signals[options->n_signals++] = one;
    }
    return 0;
}

/* Into the store that -o names. */
static int keep(const struct parsed *args, const struct cs_observed *seen, const struct observed *view)
{
    struct cs_error err = {0};
    struct cs_store *store = NULL;
    struct cs_observe_save_names names = {.program = seen->program,
                                          .cycles_per_second = seen->cycles_per_second,
                                          .name = view->name,
                                          .resolve = place,
                                          .arg = view->arg};
    memcpy(names.tags, view->tags, sizeof names.tags);
    memcpy(names.counters, view->counters, sizeof names.counters);
    json_t *meta = json_pack("{s:s, s:s, s:o, s:f}", "writer", "observe", "by", "observe", "command",
                             json_text(seen->program), "cycles_per_second", seen->cycles_per_second);
    char *text = json_dumps(meta, JSON_COMPACT);
    int rc = cs_store_open(store_location(args), CS_STORE_WRITE, &store, &err);
    if (rc == 0)
        rc = cs_store_epoch(store, text, &err);
    if (rc == 0)
        rc = cs_observe_save(store, seen->sink, &names, &err);
    cs_store_close(store);
    free(text);
    json_decref(meta);
    return rc < 0 ? failed(&err) : CS_EXIT_OK;
}

/* Of the core's events, what is the program's and what the observer did itself (shim-2015 figure 6). */
static void print_own_share(struct output *out, const struct cs_observed *seen, const struct observed *o)
{
    static const struct column columns[] = {
        {.key = "event", .head = "per 1000 TSC cycles", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "core", .head = "core", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "program", .head = "program", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "observer", .head = "observer", .kind = COLUMN_NUMBER, .digits = 1},
    };
    struct table *table = NULL;
    for (unsigned e = 0; e < seen->n_events; e++) {
        const unsigned c = seen->n_software + e;
        if (!(seen->own_rate[e] >= 0))
            continue;
        if (!table) {
            output_line(out, "%s", "");
            table = output_table(out, "core", columns, sizeof columns / sizeof columns[0]);
        }
        double program = 1000 * cs_tag_rate(&o->sink->whole_run, c).mean, own = 1000 * seen->own_rate[e];
        table_text(table, o->counters[c]);
        table_number(table, program + own);
        table_number(table, program);
        table_number(table, own);
    }
}

/* How much longer the program takes while it is looked at. */
static void print_effect(struct output *out, const struct cs_observed *seen)
{
    static const char *const unknown[] = {
        [CS_EFFECT_LOGGED] = "it isn't measured with --log, which would have gaps",
        [CS_EFFECT_SLEEPS] = "the observer sleeps between its samples",
        [CS_EFFECT_VISITS] = "it watches one CPU after the other",
        [CS_EFFECT_NO_COUNTER] = "the program publishes no counter of its progress",
        [CS_EFFECT_NO_GROWTH] = "no counter of the program grew steadily, or its threads came and went",
        [CS_EFFECT_TOO_SHORT] = "the run was too short",
        [CS_EFFECT_UNSTEADY] = "the program's counters grow too unevenly for this short a run",
    };
    output_set(out, "slows_program", json_null());
    if (seen->effect.known == CS_EFFECT_NOT_ASKED)
        return;
    if (seen->effect.known != CS_EFFECT_MEASURED) {
        output_line(out, "how much the observer slows the program isn't known: %s",
                    unknown[seen->effect.known]);
        output_set(out, "slows_program_unknown", json_text(unknown[seen->effect.known]));
        return;
    }
    json_t *list = json_array();
    for (unsigned i = 0; i < seen->effect.n; i++) {
        const struct cs_effect_by *by = &seen->effect.by[i];
        const double percent = 100 * by->slower, error = 100 * by->error;
        char text[48];
        output_line(out,
                    "the observer slows the program by %.*f ± %s %% (by the growth of %s while it looked "
                    "away, %" PRIu64 " times)",
                    error < 1, percent, figures(error, 1, text), by->counter, by->pairs);
        json_array_append_new(list,
                              json_pack("{s:o, s:f, s:f, s:I}", "counter", json_text(by->counter), "percent",
                                        percent, "error", error, "looks_away", (json_int_t)by->pairs));
    }
    output_set(out, "slows_program", list);
    output_set(out, "looked_away_cycles", json_integer((json_int_t)seen->effect.away_cycles));
}

#define LOG_LACKS 0.05 /* a smaller part of the time goes without a note */

/* Where the program ran, and where it was observed from. */
static void print_place(struct output *out, const struct cs_observed *seen, bool keep_cpus)
{
    const struct cs_placement *p = &seen->placement;
    char list[200] = "", part[24];
    json_t *watched = json_array();
    if (!keep_cpus) {
        json_decref(watched);
        output_line(out, "%s (process %d) on CPU %u, observed from CPU %u; they %s", seen->program,
                    (int)seen->pid, p->target, p->observer, p->relation);
        output_set(out, "cpus",
                   json_pack("{s:i,s:i,s:s}", "target", (int)p->target, "observer", (int)p->observer,
                             "relation", p->relation));
        return;
    }
    for (unsigned cpu = 0; cpu < CS_VISITS_CPUS_MAX; cpu++) {
        const double seconds = (double)seen->visits.cycles[cpu] / seen->cycles_per_second;
        if (seconds <= 0)
            continue;
        snprintf(part, sizeof part, "%s%u", list[0] ? ", " : "", cpu);
        if (strlen(list) + strlen(part) + sizeof ", ..." < sizeof list)
            strcat(list, part);
        else if (list[strlen(list) - 1] != '.')
            strcat(list, ", ...");
        json_array_append_new(watched, json_pack("{s:i,s:f}", "cpu", (int)cpu, "seconds", seconds));
    }
    output_line(out, "%s (process %d) on its own CPUs, watched one after the other: %s", seen->program,
                (int)seen->pid, list);
    output_set(out, "cpus", json_pack("{s:o}", "watched", watched));
}

static void print_seen(struct output *out, const struct cs_observed *seen, const struct observed *o,
                       uint64_t top, const char *log, const char *store, bool joined, bool keep_cpus)
{
    print_place(out, seen, keep_cpus);
    for (unsigned i = 0; i < seen->n_notes; i++)
        output_note(out, "%s", seen->notes[i]);
    if (seen->followed)
        output_line(out, "%s followed through %s context switches", keep_cpus ? "they were" : "the CPU was",
                    thousands((double)seen->switches).text);
    output_set(out, "target_cpu_seconds", json_real(seen->target_cpu_seconds));
    output_set(out, "target_waited_percent", json_real(100 * seen->waited));
    output_set(out, "followed", json_boolean(seen->followed));
    output_set(out, "context_switches", json_integer((json_int_t)seen->switches));
    if (!seen->followed && seen->threads > 1)
        output_note(out,
                    "The program has %u threads. Only thread %d was observed, also while others had the CPU: "
                    "its signals don't change then.",
                    seen->threads, (int)seen->thread);
    print_effect(out, seen);
    if (log) {
        const double of = seen->log_of_seconds, lost = of - seen->log_seconds, late = seen->log_late_seconds;
        output_line(out, "%s sample%s of %.3f s in %s", thousands((double)seen->logged).text,
                    plural((double)seen->logged), seen->log_seconds, log);
        if (of > 0 && !seen->logged)
            output_note(out, "The log is empty: no sample was taken in the %.3f s that the program ran.", of);
        else if (lost > LOG_LACKS * of && lost - late < 0.0005)
            output_note(out, "The log lacks the first %.3f of %.3f s. A longer run loses a smaller part.",
                        late < lost ? late : lost, of);
        else if (lost > LOG_LACKS * of)
            output_note(out,
                        "The log lacks %.3f of %.3f s: %.3f before the first sample, the rest while the "
                        "observer wrote. A longer --period writes less.",
                        lost, of, late < lost ? late : lost);
        output_hint(out, "next:", "tags", NULL, "--log", log, "");
        output_set(out, "logged", json_integer((json_int_t)seen->logged));
        output_set(out, "logged_seconds", json_real(seen->log_seconds));
        output_set(out, "logged_of_seconds", json_real(of));
        return;
    }
    observed_summary(out, o);
    if (seen->n_counters)
        observed_filtering(out, o);
    for (unsigned t = 0; t < seen->n_tags; t++)
        observed_tags(out, o, t, top);
    if (joined)
        output_note(out, "Some rows have several values of one name, as the tag points of a function. From "
                         "one to the next the tag changed: that is a visit, and its interval isn't kept. "
                         "observe --log and tags judge by name.");
    print_own_share(out, seen, o);
    for (unsigned c = 0; c < cs_sink_series(o->sink); c++)
        if (!series_is_hidden(o, c))
            observed_histogram(out, o, c, NULL);
    if (seen->n_tags && store) {
        output_line(out, "%s", "");
        output_hint(out, "next:", "tags", NULL, "--store", store, "");
    }
    if (seen->exit_code > 0)
        output_note(out, "%s ended with exit code %d", seen->program, seen->exit_code);
}

/* What goes with --keep-cpus. */
static int keep_cpus(const struct parsed *args, struct cs_observe_options *options)
{
    options->keep_cpus = option_given(args, "keep-cpus");
    if (!options->keep_cpus)
        return CS_EXIT_OK;
    if (options->target_cpu != CS_ANY_CPU)
        return usage_error("--keep-cpus leaves the program's threads where they are, --target-cpu moves "
                           "them: give one of them");
    if (options->follow == CS_FOLLOW_NEVER)
        return usage_error("--keep-cpus needs to know who runs on each CPU: leave out --no-follow");
    if (options->n_events && !options->thread)
        return usage_error(
            "--keep-cpus reads events of one thread only: add --thread TID (and -p PID), or leave out -e");
    for (unsigned e = 0; e < options->n_events; e++)
        if (options->events[e].any_thread)
            return usage_error(
                "--keep-cpus moves the observer, and :t counts one core: leave one of them out");
    options->follow = CS_FOLLOW_ALWAYS;
    return CS_EXIT_OK;
}

static int read_options(const struct parsed *args, struct cs_observe_options *options, char *buffer,
                        size_t size, char *events_buffer)
{
    cs_observe_defaults(options);
    char joined[1024];
    const char *events = option_joined(args, "event", joined, sizeof joined);
    if (option_given(args, "event") && !events)
        return usage_error("--event: the list is too long");
    options->smt = option_given(args, "smt");
    int rc = events ? observe_events(events, options, events_buffer) : CS_EXIT_OK;
    if (rc)
        return rc;
    options->look_away = !option_given(args, "no-look-away");
    options->observer_effect = option_given(args, "observer-effect");
    if (options->observer_effect && !options->n_events)
        return usage_error("--observer-effect counts the observer's own share of events: give -e EVENT");
    const char *list = option(args, "signals");
    if (list && split_signals(list, options, buffer, size) < 0)
        return usage_error("--signals %s: at most %d tags and %d counters, names separated by commas", list,
                           CS_TAGS_MAX, CS_COUNTERS_MAX);
    rc = variables_options(args, options);
    if (rc == CS_EXIT_OK)
        rc = observed_ratios(args, options->ratios, &options->n_ratios);
    if (rc)
        return rc;
    if (options->n_variables && options->n_signals)
        return usage_error(
            "--variable reads the program's memory and --signals what it publishes: give one of them");
    options->pid = (pid_t)option_number(args, "pid", 0, 1, 1 << 30);
    options->thread = (pid_t)option_number(args, "thread", 0, 1, 1 << 30);
    options->target_cpu = (int)option_number(args, "target-cpu", CS_ANY_CPU, 0, 100000);
    options->observer_cpu = (int)option_number(args, "observer-cpu", CS_ANY_CPU, 0, 100000);
    options->period_cycles = (uint64_t)option_number(args, "period", 0, 0, 1e12);
    options->jitter_cycles = (uint64_t)option_number(args, "jitter", 0, 0, 1e12);
    options->seconds = option_number(args, "seconds", 0, 0, 1e9);
    options->patience = option_number(args, "wait", options->patience, 0, 1e6);
    options->follow = option_given(args, "no-follow") ? CS_FOLLOW_NEVER : CS_FOLLOW_IF_POSSIBLE;
    rc = keep_cpus(args, options);
    if (rc)
        return rc;
    options->rule.band_q32 = cs_dte_band(option_number(args, "band", 1, 0, 100) / 100);
    options->paper_rule = option_given(args, "band");
    options->rule.same_tag = !option_given(args, "any-tag");
    options->log_path = option(args, "log");
    if (operand_count(args) > 0)
        options->argv = operand_vector(args);
    if (options->log_path && option_given(args, "store"))
        return usage_error("--log keeps samples and --store keeps sums: give one of them");
    if (!options->argv == !options->pid)
        return usage_error(options->argv ? "give either -p PID or a command, not both"
                                         : "nothing to observe: give -p PID, or -- COMMAND");
    return CS_EXIT_OK;
}

static int run(const struct parsed *args)
{
    struct cs_observe_options options;
    struct cs_error err;
    char names[512], events[OBSERVE_EVENTS_BYTES];
    int rc = read_options(args, &options, names, sizeof names, events);
    if (rc)
        return rc;
    uint64_t top = (uint64_t)option_number(args, "top", 10, 0, 1e9);
    options.leave_session = cs_observe_grouped_by_session();
    if (options.leave_session && own_session_parent(&rc))
        return rc;
    struct cs_observation *o = NULL;
    struct watch watch = {.addresses = addresses_open(), .threads = calloc(1, sizeof *watch.threads)};
    options.look = look;
    options.value_name = name_value;
    options.moved = moved;
    options.arg = &watch;
    options.over = &asked_to_end;
    interrupt_catch(stop);
    if (cs_observe_start(&options, &o, &err) < 0) {
        addresses_close(watch.addresses);
        free(watch.threads);
        return failed(&err);
    }
    observing = o;
    const struct cs_observed *seen = watch.seen = cs_observe_result(o);
    rc = cs_observe_run(o, &err) < 0 ? failed(&err) : CS_EXIT_OK;
    join_regions(&watch);
    struct observed view = {
        .sink = seen->sink,
        .program = seen->program,
        .hz = seen->cycles_per_second,
        .raw = option_given(args, "raw"),
        .timed_each = seen->timed_each,
        .asked_cycles = seen->period_cycles,
        .name = live_name,
        .arg = &watch,
    };
    for (unsigned t = 0; t < seen->n_tags; t++)
        view.tags[t] = seen->tags[t];
    for (unsigned c = 0; c < seen->n_counters; c++)
        view.counters[c] = seen->counters[c];
    struct output *out = output_open(args);
    print_seen(out, seen, &view, top, options.log_path, option(args, "store"), watch.joined,
               options.keep_cpus);
    int printed = output_close(out);
    if (rc == CS_EXIT_OK && option_given(args, "store"))
        rc = keep(args, seen, &view);
    observing = NULL;
    cs_observe_close(o);
    addresses_close(watch.addresses);
    free(watch.threads);
    return rc ? rc : printed;
}

static const struct option_entry options[] = {
    {"signals", 's', "NAMES",
     "software signals to read, separated by commas (default: all of the program); os:thread, os:syscall"},
    OPTION_EVENT,
    {"variable", 0, "NAME",
     "a variable of the program: NAME or address, then [+OFFSET][/BYTES][:counter]; may be repeated"},
    OPTION_OBSERVER_EFFECT,
    OPTION_RATIO,
    OPTION_RAW,
    OPTION_PID,
    {"thread", 0, "TID", "read the signals of this thread only"},
    OPTION_PERIOD,
    {"jitter", 0, "CYCLES", "lengthen each period by a random number of cycles up to this"},
    OPTION_SECONDS,
    {"keep-cpus", 0, NULL, "leave threads on their own CPUs, and watch one CPU after the other"},
    {"target-cpu", 0, "CPU", "CPU of the program (default: chosen)"},
    {"observer-cpu", 0, "CPU", "CPU of the observer (default: the nearest other core)"},
    {"smt", 0, NULL, "observe from the same core's other hardware thread"},
    {"no-follow", 0, NULL,
     "read the signals of one thread all the time, even when it isn't running (faster, needs no privilege)"},
    {"no-look-away", 0, NULL,
     "don't look away for a millisecond in ten, which measures how much the observer slows the program"},
    {"wait", 0, "SECONDS", "how long to wait for the program's signals (10)"},
    {"band", 0, "PERCENT",
     "keep an interval only if both its readings took the same time within PERCENT (1; not applied to "
     "signals)"},
    {"any-tag", 0, NULL, "count an interval for the tag at its start even if it ends with another"},
    OPTION_TOP,
    OPTION_LOG,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_observe = {
    "observe",
    "[-- COMMAND [ARG...]]",
    "read a program's software signals from the CPU next door",
    "An observer thread spins on one CPU and reads what the program on the other CPU publishes (see "
    "cyclescope.h). It reads every few cycles, or at the period that you give. Nothing stops or interrupts "
    "the program. With -p PID all threads of the process share one CPU meanwhile; afterwards each may run "
    "where it could before. With --keep-cpus no thread is moved: the observer watches the program's CPUs one "
    "after the other. A cycle is one tick of the clock: of the time-stamp counter, or of AArch64's virtual "
    "counter.\n"
    "\n"
    "Shares of tags use every sample. Rates of counters use only intervals whose two ends were read in the "
    "same time (double-time-error filtering). The dropped intervals are counted by cause.\n"
    "\n"
    "For a millisecond in ten the observer looks away and compares: the summary reports how much it slows "
    "the program. That needs a counter that grows with the program's work.\n"
    "\n"
    "Events may carry :t, which counts the whole core from its other thread. Separate their names by commas, "
    "or repeat -e. Without --store and --log the results are only printed.",
    options,
    run,
};
