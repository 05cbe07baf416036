/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/choose.h"
#include "observer/source/clock.h"
#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct cs_seen_signal os_tags[] = {
    {.name = CS_SIGNAL_OS_THREAD, .kind = CS_SIGNAL_TAG, .word = CS_WORD_OS_THREAD},
    {.name = CS_SIGNAL_OS_SYSCALL, .kind = CS_SIGNAL_TAG, .word = CS_WORD_OS_SYSCALL},
};

static const struct cs_seen_signal *os_tag(const char *name)
{
    for (unsigned i = 0; i < 2; i++)
        if (strcmp(os_tags[i].name, name) == 0)
            return &os_tags[i];
    return NULL;
}

bool cs_observe_choose_is_os(const struct cs_seen_signal *signal)
{
    return signal->word >= CS_WORD_OS_THREAD;
}

bool cs_observe_choose_needs_os(const struct cs_observe_options *options)
{
    for (unsigned i = 0; i < options->n_signals; i++)
        if (os_tag(options->signals[i]))
            return true;
    return false;
}

bool cs_observe_choose_needs_target(const struct cs_observe_options *options)
{
    for (unsigned i = 0; i < options->n_signals; i++)
        if (!os_tag(options->signals[i]))
            return true;
    return false;
}

static void wait_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

struct patience {
    uint64_t end;
    struct cs_observe_target *target;
    const int *over;
};

#define PATIENCE 10 /* seconds */

static struct patience patience(const struct cs_observe_options *options, struct cs_observe_target *target)
{
    double seconds = options->patience < 0 ? PATIENCE : options->patience;
    return (struct patience){cs_clock() + (uint64_t)(seconds * cs_clock_hz()), target, options->over};
}

static bool is_asked_to_end(const struct patience *p)
{
    return p->over && __atomic_load_n(p->over, __ATOMIC_RELAXED);
}

static bool over(const struct patience *p)
{
    return cs_clock() >= p->end || is_asked_to_end(p) || cs_observe_target_ended(p->target);
}

static int open_segment(struct patience *p, struct cs_reader **reader, struct cs_error *err)
{
    char why[CS_WHY_MAX];
    int rc;
    while ((rc = cs_reader_open_pid(cs_observe_target_pid(p->target), reader, why)) < 0) {
        if (rc != -ENOENT && rc != -ESRCH)
            return cs_fail(err, -rc, "%s", why);
        if (over(p) || rc == -ESRCH)
            return cs_fail(err, ENOENT, "%s published no signals%s; link it with signals/ (see cyclescope.h)",
                           cs_observe_target_program(p->target),
                           cs_observe_target_ended(p->target) ? " before it ended"
                           : is_asked_to_end(p)               ? " before the observer was asked to end"
                                                              : " in the time that --wait gives");
        wait_us(200);
    }
    return 0;
}

static int add(struct cs_observe_choice *c, const struct cs_seen_signal *s)
{
    if (s->kind == CS_SIGNAL_TAG) {
        if (c->n_tags == CS_TAGS_MAX)
            return -ENOSPC;
        c->tags[c->n_tags++] = *s;
    } else {
        if (c->n_counters == CS_COUNTERS_MAX)
            return -ENOSPC;
        c->counters[c->n_counters++] = *s;
    }
    return 0;
}

static void leave_out(struct cs_observe_choice *c, const char *name)
{
    const size_t used = strlen(c->left_names), room = sizeof c->left_names - used;
    if (strlen(name) + sizeof ", …" + 1 < room)
        snprintf(c->left_names + used, room, "%s%s", used ? ", " : "", name);
    else if (!strstr(c->left_names, "…"))
        snprintf(c->left_names + used, room, ", …");
    c->left_out++;
}

static const struct cs_seen_signal *named(const struct cs_seen_signal *all, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

static int no_signal(struct cs_observe_target *target, const struct cs_seen_signal *all, unsigned n,
                     const char *name, struct cs_error *err)
{
    struct cs_resembling r = {.word = name};
    for (unsigned i = 0; i < n; i++)
        cs_resembling_try(&r, all[i].name);
    for (unsigned i = 0; i < 2; i++)
        cs_resembling_try(&r, os_tags[i].name);
    return cs_fail(err, ENOENT, "%s defines no signal %s%s", cs_observe_target_program(target), name,
                   cs_did_you_mean(&r).text);
}

/* Those wished by name; NULL, or the first that isn't defined. */
static const char *take_named(const struct cs_observe_options *options, const struct cs_seen_signal *all,
                              unsigned n, struct cs_observe_choice *choice)
{
    memset(choice, 0, sizeof *choice);
    for (unsigned i = 0; i < options->n_signals; i++) {
        const struct cs_seen_signal *s = os_tag(options->signals[i]);
        s = s ? s : named(all, n, options->signals[i]);
        if (!s)
            return options->signals[i];
        if (add(choice, s) < 0)
            leave_out(choice, s->name);
    }
    return NULL;
}

void cs_observe_choose_os_tags(const struct cs_observe_options *options, struct cs_observe_choice *choice)
{
    assert(options->n_signals <= CS_TAGS_MAX + CS_COUNTERS_MAX);
    memset(choice, 0, sizeof *choice);
    if (options->n_signals) {
        take_named(options, NULL, 0, choice);
        return;
    }
    choice->tags[choice->n_tags++] = os_tags[1];
    choice->tags[choice->n_tags++] = os_tags[0];
}

bool cs_observe_choose_add_thread(struct cs_observe_choice *choice)
{
    for (unsigned t = 0; t < choice->n_tags; t++)
        if (choice->tags[t].word == CS_WORD_OS_THREAD)
            return true;
    return add(choice, &os_tags[0]) == 0;
}

int cs_observe_choose_signals(const struct cs_observe_options *options, struct cs_observe_target *target,
                              struct cs_reader **reader, struct cs_observe_choice *choice,
                              struct cs_error *err)
{
    struct cs_seen_signal all[CS_SIGNALS_MAX];
    struct patience p = patience(options, target);
    *reader = NULL;
    int rc = open_segment(&p, reader, err);
    if (rc < 0)
        return rc;
    unsigned n = 0, before = 0, quiet = 0;
    const char *missing = NULL;
    for (;; wait_us(200)) {
        n = cs_reader_signals(*reader, all);
        if (options->n_signals) {
            missing = take_named(options, all, n, choice);
            if (!missing)
                break;
        } else {
            /* All that it defines: until nothing was added for some milliseconds. */
            quiet = n && n == before ? quiet + 1 : 0;
            before = n;
            if (quiet == 25)
                break;
        }
        if (over(&p))
            break;
    }
    if (missing)
        return no_signal(target, all, n, missing, err);
    if (n == 0)
        return cs_fail(err, ENOENT, "%s defines no signals", cs_observe_target_program(target));
    if (!options->n_signals) {
        memset(choice, 0, sizeof *choice);
        for (unsigned i = 0; i < n; i++)
            if (add(choice, &all[i]) < 0)
                leave_out(choice, all[i].name);
    } else if (choice->left_out) {
        return cs_fail(err, E2BIG, "at most %d tags and %d counters can be read at once: leave out %s",
                       CS_TAGS_MAX, CS_COUNTERS_MAX, choice->left_names);
    }
    return 0;
}

static uint64_t changes(const struct cs_reader *reader, const struct cs_observe_choice *c, uint32_t line)
{
    uint64_t seen[CS_TAGS_MAX + CS_COUNTERS_MAX], n = 0;
    for (int look = 0; look < 50; look++) {
        unsigned k = 0;
        for (unsigned i = 0; i < c->n_tags + c->n_counters; i++, k++) {
            const struct cs_seen_signal *s = i < c->n_tags ? &c->tags[i] : &c->counters[i - c->n_tags];
            if (cs_observe_choose_is_os(s))
                continue;
            uint64_t now = *cs_reader_word(reader, line, s->word);
            n += look && now != seen[k];
            seen[k] = now;
        }
        wait_us(20);
    }
    return n;
}

int cs_observe_choose_line(const struct cs_observe_options *options, const struct cs_reader *reader,
                           const struct cs_observe_choice *choice, struct cs_observe_target *target,
                           uint32_t *line, pid_t *thread, unsigned *threads, struct cs_error *err)
{
    struct patience p = patience(options, target);
    *line = 0;
    for (bool last = false;; last = over(&p)) {
        uint64_t most = 0;
        uint32_t used = cs_reader_lines(reader);
        bool found = false;
        *threads = 0;
        for (uint32_t i = 0; i < used; i++) {
            struct cs_seen_thread t;
            if (!cs_reader_thread(reader, i, &t))
                continue;
            ++*threads;
            pid_t tid = cs_reader_tid(reader, t.tid);
            if (options->thread && tid != options->thread)
                continue;
            uint64_t n = options->thread ? 1 : changes(reader, choice, i);
            if (!found || n > most) {
                most = n;
                *line = i;
                *thread = tid ? tid : (pid_t)t.tid;
                found = true;
            }
        }
        if (found && (most > 0 || last))
            return 0;
        if (last)
            return options->thread ? cs_fail(err, ESRCH, "process %d has no thread %d that publishes signals",
                                             (int)cs_observe_target_pid(target), (int)options->thread)
                                   : cs_fail(err, ESRCH, "no thread of process %d publishes signals",
                                             (int)cs_observe_target_pid(target));
    }
}
