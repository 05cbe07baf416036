/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins the loop to what it reads: the target's signals, its threads as the kernel tells them, hardware events. What
 * can't be had and wasn't asked for by name is left out with a note. */
#include "observer/observation.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static unsigned cpus(const struct cs_observation *o)
{
    return o->options.keep_cpus ? CS_OS_EVERY_CPU : o->seen.placement.target;
}

/* The os source, where it is wanted and possible. */
int cs_observation_open_os(struct cs_observation *o, bool syscalls, struct cs_error *err)
{
    if (o->options.follow == CS_FOLLOW_NEVER && !cs_observe_choose_needs_os(&o->options))
        return 0;
    int rc = cs_os_open(cpus(o), syscalls, &o->os, err);
    if (rc < 0 && o->options.follow != CS_FOLLOW_ALWAYS && !cs_observe_choose_needs_os(&o->options)) {
        cs_observation_note(o, err->text);
        rc = 0;
    }
    return rc;
}

/* What the target publishes; where that is nothing and nothing was named, what the os source tells of it. */
static int find_signals(struct cs_observation *o, struct cs_error *err)
{
    struct cs_observe_options options = o->options;
    if (o->os && options.n_signals && !cs_observe_choose_needs_target(&options)) {
        cs_observe_choose_os_tags(&options, &o->choice);
        return 0;
    }
    if (options.patience < 0 && (o->os || o->events) && !options.n_signals)
        options.patience = o->events ? 0.2 : 1;
    int rc = cs_observe_choose_signals(&options, o->target, &o->seen.signals, &o->choice, err);
    if (rc == 0 && o->seen.signals)
        cs_reader_announce(o->seen.signals);
    if (rc != -ENOENT || !(o->os || o->events) || options.n_signals)
        return rc;
    if (cs_observe_target_ended(o->target))
        return cs_fail(err, ENOENT,
                       "%s published no signals before it ended; with --wait 0 its %s are shown, from some "
                       "tenths of a second after its start on",
                       cs_observe_target_program(o->target),
                       o->events ? "events" : "threads and system calls");
    if (o->events) { /* the events are what was asked for */
        cs_reader_close(o->seen.signals);
        o->seen.signals = NULL;
        o->choice = (struct cs_observe_choice){0};
        return 0;
    }
    cs_observation_note(o, "the program publishes no signals: its threads and system calls are shown instead "
                           "(see cyclescope.h)");
    cs_reader_close(o->seen.signals);
    o->seen.signals = NULL;
    cs_os_close(o->os);
    o->os = NULL;
    cs_observe_choose_os_tags(&options, &o->choice);
    return cs_os_open(cpus(o), true, &o->os, err);
}

/* Thread ids of a program in a PID namespace of its own are not those that the os line has. */
static bool can_follow(const struct cs_observation *o)
{
    struct cs_seen_thread thread;
    return !o->seen.signals || cs_reader_threads(o->seen.signals, &thread, 1) == 0 ||
           cs_reader_tid(o->seen.signals, thread.tid) == (pid_t)thread.tid;
}

static const volatile uint64_t *os_word(const struct cs_observation *o, unsigned word)
{
    const volatile struct cs_os_line *line = cs_os_line(o->os, o->seen.placement.target);
    return (const volatile uint64_t *)(word == CS_WORD_OS_THREAD ? &line->thread : &line->syscall);
}

static const volatile uint64_t *variable_word(const struct cs_observation *o, unsigned word)
{
    return &o->variables.words[word - CS_WORD_VARIABLE];
}

static void follow(struct cs_observation *o)
{
    struct cs_follow *f = &o->follow;
    cs_os_watch(o->os, (unsigned)o->seen.pid);
    f->os = cs_os_line(o->os, o->seen.placement.target);
    f->signals = o->seen.signals;
    f->pid = (uint32_t)o->seen.pid;
    f->only = (uint32_t)o->options.thread;
    f->n_tags = o->choice.n_tags;
    f->n_software = o->choice.n_counters;
    for (unsigned i = 0; i < CS_SIGNALS_MAX; i++)
        f->descheduled_line[i] = CS_TAG_DESCHEDULED;
    for (unsigned t = 0; t < f->n_tags; t++) {
        const struct cs_seen_signal *s = &o->choice.tags[t];
        f->tags[t] = s->word >= CS_WORD_VARIABLE
                         ? (struct cs_follow_word){variable_word(o, s->word), 0, false}
                     : cs_observe_choose_is_os(s)
                         ? (struct cs_follow_word){os_word(o, s->word), 0,
                                                   s->word == CS_WORD_OS_THREAD && !o->options.keep_cpus}
                         : (struct cs_follow_word){NULL, s->word, false};
    }
    for (unsigned c = 0; c < f->n_software; c++) {
        unsigned word = o->choice.counters[c].word;
        f->software[c] = word >= CS_WORD_VARIABLE ? (struct cs_follow_word){variable_word(o, word), 0, false}
                                                  : (struct cs_follow_word){NULL, word, false};
    }
    o->loop.thread_id = (const volatile uint64_t *)&f->os->thread_id;
    o->loop.following = f;
    o->seen.followed = true;
    o->seen.threads = f->signals ? cs_reader_threads(f->signals, NULL, 0) : 0;
    cs_follow_switch(&o->loop, *o->loop.thread_id);
}

/* One thread's line for the whole run. */
static int one_line(struct cs_observation *o, struct cs_error *err)
{
    uint32_t line;
    const struct cs_observe_choice *c = &o->choice;
    int rc = cs_observe_choose_line(&o->options, o->seen.signals, c, o->target, &line, &o->seen.thread,
                                    &o->seen.threads, err);
    for (unsigned t = 0; rc == 0 && t < c->n_tags; t++)
        o->loop.tags[t] = cs_observe_choose_is_os(&c->tags[t])
                              ? os_word(o, c->tags[t].word)
                              : cs_reader_word(o->seen.signals, line, c->tags[t].word);
    for (unsigned i = 0; rc == 0 && i < c->n_counters; i++)
        o->loop.software[i] = cs_reader_word(o->seen.signals, line, c->counters[i].word);
    return rc;
}

/* Events take the places after the software counters. */
static int connect_events(struct cs_observation *o, struct cs_error *err)
{
    if (!o->events)
        return 0;
    unsigned software = o->seen.n_software, n = cs_events_counters(o->events);
    if (software + n > CS_COUNTERS_MAX) {
        if (o->options.n_signals)
            return cs_fail(err, E2BIG,
                           "at most %d counters fit in a sample: %u signals and %u events are too many",
                           CS_COUNTERS_MAX, software, n);
        o->choice.n_counters = o->seen.n_software = software = CS_COUNTERS_MAX - n;
        cs_observation_note(o, "some of the program's counters were left out to make room for the events: "
                               "name those you want (-s)");
    }
    for (unsigned i = 0; i < n; i++)
        cs_events_name(o->events, i, o->seen.counters[software + i], sizeof o->seen.counters[0]);
    o->seen.n_counters = software + n;
    o->seen.n_events = o->options.n_events;
    int rc = cs_events_open_target(o->events, o->seen.pid, o->options.thread, err);
    if (rc == 0 && cs_events_user_only(o->events))
        cs_observation_note(
            o, "events are counted in user mode only: the kernel's part needs root or CAP_PERFMON");
    if (rc == 0 && cs_events_by_read(o->events))
        cs_observation_note(o, "events are read by a system call a sample, which interrupts the program's "
                               "CPU for each: --period says how often");
    return rc;
}

/* Variables take the place of signals: one tag or counter each. A program that was just started may not have loaded the
 * library with the variable yet: that is waited for. */
static int find_variables(struct cs_observation *o, struct cs_error *err)
{
    static const unsigned most[] = {CS_TAGS_MAX, CS_COUNTERS_MAX};
    const struct timespec pause = {0, 20000000};
    double left = o->options.patience < 0 ? 1 : o->options.patience;
    struct cs_variables *v = &o->variables;
    for (unsigned i = 0; i < o->options.n_variables; i++) {
        struct cs_observe_variable *one = &o->options.variables[i];
        int rc;
        while ((rc = o->options.locate(o->options.arg, o->seen.pid, one, err)) == -ENOENT && left > 0 &&
               !cs_observe_target_ended(o->target)) {
            nanosleep(&pause, NULL);
            left -= 0.02;
        }
        if (rc < 0)
            return rc;
        unsigned *n = one->counter ? &o->choice.n_counters : &o->choice.n_tags;
        struct cs_seen_signal *signal = one->counter ? &o->choice.counters[*n] : &o->choice.tags[*n];
        if (*n == most[one->counter])
            return cs_fail(err, E2BIG, "at most %d variables as tags and %d as counters fit in a sample",
                           CS_TAGS_MAX, CS_COUNTERS_MAX);
        *signal = (struct cs_seen_signal){.word = CS_WORD_VARIABLE + i};
        snprintf(signal->name, sizeof signal->name, "%.*s", (int)sizeof signal->name - 1, one->name);
        v->at[v->n].addr = one->addr;
        v->at[v->n++].bytes = one->bytes;
        ++*n;
    }
    return cs_variables_open(v, o->seen.pid, err);
}

int cs_observation_connect(struct cs_observation *o, struct cs_error *err)
{
    assert(o->target);
    bool variables = o->options.n_variables > 0;
    int rc = variables ? find_variables(o, err) : find_signals(o, err);
    if (rc < 0)
        return rc;
    if (o->options.keep_cpus && !cs_observe_choose_add_thread(&o->choice))
        cs_observation_note(
            o, "threads have no rows of their own: four tags were read. Leave one out (--signals).");
    const struct cs_observe_choice *c = &o->choice;
    if (c->left_out) {
        char sentence[320];
        snprintf(sentence, sizeof sentence,
                 "not read: %s (at most %d tags and %d counters fit in a sample). Name those that you want "
                 "(--signals).",
                 c->left_names, CS_TAGS_MAX, CS_COUNTERS_MAX);
        cs_observation_note(o, sentence);
    }
    o->seen.n_tags = c->n_tags;
    o->seen.n_counters = o->seen.n_software = c->n_counters;
    for (unsigned t = 0; t < c->n_tags; t++) {
        memcpy(o->seen.tags[t], c->tags[t].name, sizeof o->seen.tags[t]);
        o->seen.tag_signals[t] = c->tags[t].word;
        o->seen.tag_is_address[t] = c->tags[t].is_address;
    }
    for (unsigned i = 0; i < c->n_counters; i++)
        memcpy(o->seen.counters[i], c->counters[i].name, sizeof o->seen.counters[i]);
    rc = connect_events(o, err);
    if (rc < 0)
        return rc;
    if (o->os && o->options.follow != CS_FOLLOW_NEVER) {
        if (can_follow(o)) {
            follow(o);
            return 0;
        }
        if (o->options.keep_cpus)
            return cs_fail(err, ENOTSUP,
                           "the program runs in a PID namespace of its own: observe it from inside, or "
                           "without --keep-cpus");
        cs_observation_note(o, "the program runs in a PID namespace of its own: its threads cannot be told "
                               "apart, so one thread's line is read");
    }
    if (variables) { /* whoever runs */
        for (unsigned t = 0; t < c->n_tags; t++)
            o->loop.tags[t] = variable_word(o, c->tags[t].word);
        for (unsigned i = 0; i < c->n_counters; i++)
            o->loop.software[i] = variable_word(o, c->counters[i].word);
        return 0;
    }
    return o->seen.signals || c->n_tags ? one_line(o, err) : 0;
}
