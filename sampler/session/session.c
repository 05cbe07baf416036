/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session: opens the events on the target, lets it run, polls, ends. */
#include "sampler/session/session.h"
#include "sampler/perf/process_filter.h"
#include "sampler/perf/ring.h"
#include "sampler/session/by_timers.h"
#include "sampler/session/other_rights.h"
#include "sampler/session/reopen.h"
#include "sampler/timers/timers.h"
#include "store/base/array.h"
#include "store/base/foreign.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPIES_MAX (32UL << 20) /* bytes of copied stacks that wait for tables: some 4,000 samples */
#define FILES_KEPT_OPEN 256     /* to be copied into the store: more files than most programs map */
#define SIDEBAND_PAGES 64       /* 256 KB a CPU */
#define SIDEBAND_PAGES_SMALL 16
#define REPLACED_NS                                                                                          \
    (10 * 1000000000ULL) /* so long after code took the place of other code, more is expected to */
#define REPLACED_DRAIN_NS                                                                                    \
    100000000ULL     /* then rows are this long at most: each is one method's or shared by time */
#define THRIFTY 0.01 /* a budget that doesn't pay for ten drains a second */
#define KEEP_MS 10000ULL
#define DRAIN_SAMPLES 2000.0 /* a quarter of a log */
#define DRAIN_SECONDS_MIN 0.05
#define DRAIN_SECONDS_MAX 1.0
#define ANSWER_NS 10000000ULL         /* what the handler asks for is answered no more often, */
#define ANSWER_FRUGAL_NS 100000000ULL /* with a budget: each drain costs some 100 us */
#define LOOK_NS 1000000000ULL         /* for CPUs that come and go */

static int follow(struct cs_sampler *s, pid_t tid, struct cs_error *err)
{
    for (unsigned c = 0; c < s->events.cpus.n; c++) {
        if (!s->events.cpus.cpu[c].online)
            continue;
        int rc = cs_sideband_follow(s->sideband, tid, c, SIDEBAND_PAGES, err);
        if (rc == -EPERM && c == 0 && s->config.target != CS_TARGET_ALL) /* over the locked-memory limit */
            rc = cs_sideband_follow(s->sideband, tid, c, SIDEBAND_PAGES_SMALL, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* New threads may appear while the known ones are opened: until a pass finds none. */
static int open_process(struct cs_sampler *s, struct cs_error *err)
{
    pid_t *threads = NULL, *done = NULL;
    int n_done = 0, n, rc = 0;
    for (bool found = true; rc >= 0 && found;) {
        found = false;
        free(threads);
        n = cs_threads_of(s->config.pid, &threads, err);
        if (n < 0) {
            rc = n;
            break;
        }
        for (int i = 0; rc >= 0 && i < n; i++) {
            int k = 0;
            while (k < n_done && done[k] != threads[i])
                k++;
            if (k < n_done)
                continue;
            found = true;
            rc = follow(s, threads[i], err);
            if (rc >= 0)
                rc = cs_session_events_open(&s->events, &s->config, threads[i], err);
            if (rc == -ESRCH && threads[i] != s->config.pid)
                rc = 0; /* this thread has just ended */
            if (cs_array_resize(done, (size_t)n_done + 1) < 0) {
                rc = cs_fail(err, ENOMEM, "out of memory for the threads");
                break;
            }
            done[n_done++] = threads[i];
        }
    }
    free(threads);
    free(done);
    return rc;
}

/* A software event is counted in the midst of the kernel's work, which an interrupt (disabling the event is
 * one) finds half done. */
static bool in_interrupts(const struct cs_sampler *s)
{
    for (unsigned e = 0; e < s->events.n_asked; e++)
        if (!cs_event_is_clock(&s->events.asked[e]) && s->events.asked[e].attr.type != PERF_TYPE_HARDWARE &&
            s->events.asked[e].attr.type != PERF_TYPE_RAW)
            return false;
    return true;
}

static uint32_t process_of_thread(void *session, uint32_t tid)
{
    return (uint32_t)cs_maps_process_of(((struct cs_sampler *)session)->places.maps, (pid_t)tid);
}

static uint32_t process_of_row(void *session, uint32_t row)
{
    const struct cs_attribute_value *value =
        cs_attribute_of_row(&((struct cs_sampler *)session)->attribute_kernel, row);
    return value ? value->pid : row;
}

/* The kernel chooses the period of such an event, and a ring's samples don't tell it. */
static bool has_rates(const struct cs_sampler *s)
{
    for (unsigned e = 0; e < s->events.n_asked; e++)
        if (!cs_event_is_clock(&s->events.asked[e]) && !(s->config.period && s->config.budget <= 0))
            return true;
    return false;
}

static int open_driver(struct cs_sampler *s, struct cs_error *err)
{
    struct cs_error refused; /* then events are of threads */
    bool timers = cs_timers_are(s->events.driver);
    if (s->config.target != CS_TARGET_ALL && !s->config.of_threads && !timers)
        (void)cs_process_filter_open(&s->events.filter, &refused);
    struct cs_driver_config config = {
        .cpus = &s->events.cpus,
        .n_events = s->events.n_asked,
        .chains = s->config.chains,
        .in_interrupts = in_interrupts(s),
        .keep_ns = s->keep_ns,
        .generations = s->generations,
        /* of whom, the filter says: without one nobody but all could be followed */
        .waits = s->config.waits && s->config.chains && s->config.label != CS_LABEL_THREAD &&
                         (s->config.target == CS_TARGET_ALL || s->events.filter)
                     ? &s->wait_kernel
                     : NULL,
        .process_of = s->config.label == CS_LABEL_THREAD      ? process_of_thread
                      : s->config.label == CS_LABEL_ATTRIBUTE ? process_of_row
                                                              : NULL,
        .process_of_arg = s,
        .attributes = s->config.label == CS_LABEL_ATTRIBUTE ? &s->attribute_kernel : NULL,
        .filter = s->events.filter};
    if (config.attributes) { /* no other driver reads a thread's memory where its sample is taken */
        s->events.driver = &cs_driver_bpf;
        return timers || s->config.driver == CS_SAMPLER_DRIVER_RING
                   ? cs_fail(err, ENOTSUP,
                             "only the BPF driver reads attributes of threads: root, or CAP_BPF and "
                             "CAP_PERFMON, and events of the kernel are needed")
                   : s->events.driver->open(&config, &s->events.state, err);
    }
    if (timers)
        return s->events.driver->open(&config, &s->events.state, err);
    if (s->config.driver != CS_SAMPLER_DRIVER_RING) {
        s->events.driver = &cs_driver_bpf;
        int rc = s->events.driver->open(&config, &s->events.state, err);
        if (rc == 0 || s->config.driver == CS_SAMPLER_DRIVER_BPF)
            return rc;
        if (rc != -EPERM && rc != -EACCES)
            cs_session_remark(&s->config, "%s: samples come through rings instead", err->text);
    }
    s->events.driver = &cs_driver_ring;
    if (has_rates(s)) {
        cs_process_filter_close(s->events.filter);
        s->events.filter = NULL;
        config.filter = NULL;
    }
    return s->events.driver->open(&config, &s->events.state, err);
}

/* A process that runs, and all below it. */
static int choose(struct cs_sampler *s, pid_t pid, struct cs_error *err)
{
    pid_t *processes = NULL;
    (void)cs_process_filter_choose(s->events.filter, pid);
    int n = cs_processes_below(pid, &processes);
    for (int i = 0; i < n; i++) {
        cs_sideband_choose(s->sideband, processes[i]);
        (void)cs_maps_scan(s->places.maps, processes[i], 0);
    }
    free(processes);
    return n > 0 ? 0 : cs_fail(err, ESRCH, "there is no process %d", (int)pid);
}

/* On each CPU, for the chosen processes. */
static int open_filtered(struct cs_sampler *s, struct cs_error *err)
{
    pid_t pid = s->config.target == CS_TARGET_COMMAND ? s->target.command.pid : s->config.pid;
    int rc = cs_sideband_only_chosen(s->sideband) < 0 ? cs_fail(err, ENOMEM, "out of memory") : 0;
    if (rc >= 0)
        rc = follow(s, -1, err);
    if (rc >= 0)
        rc = cs_session_events_open(&s->events, &s->config, -1, err);
    if (rc < 0)
        return rc;
    if (s->config.target == CS_TARGET_COMMAND) {
        cs_process_filter_choose_at_exec(s->events.filter, pid);
        cs_sideband_choose(s->sideband, pid);
        return 0;
    }
    rc = choose(s, pid, err);
    for (unsigned i = 0; i < s->config.n_more_pids && rc == 0; i++)
        rc = choose(s, s->config.more_pids[i], err);
    return rc;
}

static int open_target(struct cs_sampler *s, struct cs_error *err)
{
    int rc;
    switch (s->config.target) {
    case CS_TARGET_ALL:
        rc = follow(s, -1, err);
        if (rc >= 0)
            rc = cs_session_events_open(&s->events, &s->config, -1, err);
        if (rc >= 0)
            (void)cs_maps_scan_all(s->places.maps, 0);
        return rc;
    case CS_TARGET_PID:
        s->target.pidfd = cs_pidfd(s->config.pid);
        if (s->target.pidfd < 0)
            return cs_fail(err, ESRCH, "there is no process %d", (int)s->config.pid);
        if (cs_timers_are(s->events.driver))
            return cs_session_by_timers_open(s, err);
        if (s->events.filter)
            return open_filtered(s, err);
        if (s->config.n_more_pids)
            return cs_fail(err, EPERM,
                           "several processes at once need the events of CPUs (root or CAP_PERFMON and "
                           "CAP_BPF): give one PID");
        rc = open_process(s, err);
        if (rc >= 0)
            (void)cs_maps_scan(s->places.maps, s->config.pid, 0);
        return rc;
    case CS_TARGET_COMMAND:
        if (cs_timers_are(s->events.driver))
            return cs_session_by_timers_open(s, err);
        rc = cs_waiting_command_open(&s->target.command, s->config.command, NULL, err);
        if (rc >= 0 && s->events.filter)
            return open_filtered(s, err);
        if (rc >= 0)
            rc = follow(s, s->target.command.pid, err);
        if (rc >= 0)
            rc = cs_session_events_open(&s->events, &s->config, s->target.command.pid, err);
        if (rc >= 0 && (s->events.opened_on = malloc(sizeof *s->events.opened_on)) != NULL)
            s->events.opened_on[s->events.n_opened_on++] = s->target.command.pid;
        return rc;
    }
    return -EINVAL;
}

static int start(struct cs_sampler *s, struct cs_error *err)
{
    int rc = 0;
    if (s->config.target != CS_TARGET_COMMAND || s->events.filter) /* else they begin with its exec */
        rc = cs_session_events_enable(&s->events, 0, s->events.n_open, true);
    if (rc < 0)
        return cs_fail(err, -rc, "an event can't be started: %s", strerror(-rc));
    return s->config.target == CS_TARGET_COMMAND
               ? cs_waiting_command_go(&s->target.command, s->config.command[0], err)
               : 0;
}

/* Rarely, because each costs some 50 µs whatever it finds; often enough that no log fills up, even if every
 * sample evicts an entry. */
static uint64_t drain_interval_ns(const struct cs_sampler *s)
{
    double seconds = DRAIN_SAMPLES / (s->rate.rate_hz * s->events.n_asked);
    if (s->config.resolve_ms && seconds > (double)s->config.resolve_ms * 1e-3)
        seconds = (double)s->config.resolve_ms * 1e-3;
    return (uint64_t)(1e9 * (seconds < DRAIN_SECONDS_MIN   ? DRAIN_SECONDS_MIN
                             : seconds > DRAIN_SECONDS_MAX ? DRAIN_SECONDS_MAX
                                                           : seconds));
}

/* The first drains come soon, twice as late each time: who asks where an address lies (bursts do, at once)
 * should not have to wait for a new program's images. */
bool cs_session_code_is_replaced(const struct cs_sampler *s)
{
    const uint64_t last_ns = cs_session_replaced_ns(&s->places);
    return last_ns && cs_monotonic_ns() - last_ns < REPLACED_NS;
}

static uint64_t next_drain_ns(struct cs_sampler *s)
{
    uint64_t settled = drain_interval_ns(s);
    const bool thrifty = s->config.budget > 0 && s->config.budget < THRIFTY;
    if (!thrifty && cs_session_code_is_replaced(s) && settled > REPLACED_DRAIN_NS)
        settled = REPLACED_DRAIN_NS;
    uint64_t ns = (uint64_t)(1e9 * DRAIN_SECONDS_MIN) << s->early_drains;
    if (ns >= settled)
        return cs_monotonic_ns() + settled;
    s->early_drains++;
    return cs_monotonic_ns() + ns;
}

int cs_sampler_open(const struct cs_sampler_config *config, struct cs_sampler **out, struct cs_error *err)
{
    struct cs_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return cs_fail(err, ENOMEM, "out of memory for the sampler");
    s->config = *config;
    s->keep_ns =
        1000000ULL * (config->resolve_ms && config->resolve_ms < KEEP_MS ? config->resolve_ms : KEEP_MS);
    cs_foreign_limit(CS_FOREIGN_LIMIT_MS);
    if (config->chains &&
        config->budget > 0) /* it will be large; else each child would wait for two processes' turns */
        cs_image_tables_prepare();
    s->target.pidfd = -1;
    s->target.command =
        (struct cs_waiting_command){.pid = -1, .go = -1, .failed = -1, .pidfd = -1, .status = -1};
    s->accounts.collector_seconds_at_start = cs_thread_cpu_seconds();
    char why[160];
    int rc = cs_session_by_timers(&s->config, why, sizeof why)
                 ? cs_session_by_timers_parse(&s->events, &s->config, why, err)
                 : cs_session_events_parse(&s->events, &s->config, err);
    if (rc >= 0) {
        s->generations = cs_generations_open();
        s->sideband = cs_cpus_open(&s->events.cpus) == 0 ? cs_sideband_open(&s->events.cpus) : NULL;
        s->events.sideband = s->sideband;
        rc = s->generations && s->sideband ? 0 : cs_fail(err, ENOMEM, "out of memory for the sampler");
    }
    if (rc >= 0)
        rc = open_driver(s, err);
    if (rc >= 0) {
        cs_session_events_prepare(&s->events, &s->config);
        rc = cs_session_rate_init(&s->rate, &s->events, &s->config, err);
    }
    if (rc >= 0)
        rc = cs_session_places_open(&s->places, s->config.label, err);
    if (rc >= 0)
        cs_jit_limit(s->places.jit, s->config.jit_bytes_max);
    if (rc >= 0 && s->config.label == CS_LABEL_ATTRIBUTE &&
        !(s->attributes =
              cs_session_attributes_open(&s->attribute_kernel, s->places.maps, s->config.attribute)))
        rc = cs_fail(err, ENOMEM, "out of memory for attributes");
    if (rc >= 0 && s->config.keep_code_max)
        cs_images_keep(s->places.images, FILES_KEPT_OPEN);
    if (rc >= 0 && s->config.keep_code_max && s->config.store)
        cs_jit_keep_code(s->places.jit, cs_store_path(s->config.store));
    if (rc >= 0 && !(s->profiles = cs_session_profiles_open(s->events.asked, s->events.n_asked)))
        rc = cs_fail(err, ENOMEM, "out of memory for the profiles");
    if (rc >= 0 && s->config.chains &&
        !(s->contexts = cs_session_contexts_open(s->events.asked, s->events.n_asked)))
        rc = cs_fail(err, ENOMEM, "out of memory for call chains");
    struct cs_chain_kernel *chains = rc >= 0 ? s->events.driver->chains(s->events.state) : NULL;
    if (chains && (!(s->tables = cs_image_tables_open(s->places.images)) ||
                   !(s->copies = cs_stack_copies_open(&s->places, s->tables, COPIES_MAX)) ||
                   !(s->chains = cs_session_chains_open(chains, &s->places, s->tables, s->generations))))
        rc = cs_fail(err, ENOMEM, "out of memory for call chains");
    cs_sampler_limit_tables(s, s->config.tables_cpu_max);
    if (rc >= 0 && s->wait_kernel.rows &&
        !(s->waits = cs_session_waits_open(&s->wait_kernel, &s->places, s->profiles, s->copies,
                                           s->config.waits_by_name, s->config.waits_cpu_max)))
        rc = cs_fail(err, ENOMEM, "out of memory for waits");
    if (rc >= 0 && s->config.waits && !s->waits)
        cs_session_remark(&s->config,
                          s->config.label == CS_LABEL_THREAD
                              ? "waits aren't recorded together with --label thread. Leave that label out: "
                                "waits --by thread distinguishes threads without it"
                              : "waits can't be recorded: they need root, call chains and Linux 5.8 with BTF "
                                "and kprobes%s%s",
                          s->wait_kernel.refused[0] ? "; the kernel says: " : "", s->wait_kernel.refused);
    if (rc >= 0)
        rc = open_target(s, err);
    const pid_t expected = s->config.target == CS_TARGET_COMMAND ? s->target.command.pid : s->config.pid;
    if (rc >= 0 && s->attributes)
        cs_session_attributes_expect(s->attributes, expected);
    if (rc >= 0 && s->chains && expected > 0)
        cs_session_chains_expect(s->chains, expected);
    if (rc >= 0 && s->chains)
        cs_session_chains_feed(s->chains, cs_monotonic_ns());
    if (rc >= 0 && !s->events.user_only && !s->events.asked[0].attr.exclude_kernel &&
        cs_kernel_reason(s->places.kernel)[0])
        cs_session_remark(&s->config, "%s", cs_kernel_reason(s->places.kernel));
    if (rc >= 0 && s->config.ready)
        rc = s->config.ready(s->config.arg, s, err);
    if (rc >= 0 && s->waits)
        cs_session_waits_begin(s->waits);
    if (rc >= 0)
        rc = start(s, err);
    if (rc < 0) {
        cs_sampler_close(s);
        return rc;
    }
    cs_session_rate_start(&s->rate, &s->events, &s->config);
    s->next_drain_ns = next_drain_ns(s);
    *out = s;
    return 0;
}

/* ---- running ---- */

static bool target_ended(struct cs_sampler *s)
{
    if (s->config.target == CS_TARGET_COMMAND)
        return cs_waiting_command_ended(&s->target.command);
    struct pollfd gone = {.fd = s->target.pidfd, .events = POLLIN};
    return s->target.pidfd >= 0 && poll(&gone, 1, 0) == 1;
}

static uint64_t answers_after_ns(const struct cs_sampler *s)
{
    return s->config.budget > 0 ? ANSWER_FRUGAL_NS : ANSWER_NS;
}

/* What came has to be answered or unwound soon. */
static bool is_behind(const struct cs_sampler *s)
{
    return cs_session_chains_busy(s->chains) || (s->copies && cs_stack_copies_wait(s->copies));
}

/* Waits for: a ring half full, the target's end, the caller's descriptor, the next thing due. */
static void wait_for(struct cs_sampler *s, int timeout_ms, uint64_t now)
{
    struct pollfd *fds = malloc((2UL * s->events.cpus.n + 3) * sizeof *fds);
    nfds_t n = 0;
    uint64_t due =
        s->next_drain_ns < cs_session_rate_due(&s->rate) ? s->next_drain_ns : cs_session_rate_due(&s->rate);
    int until_due = due <= now                     ? 0
                    : due - now > 1000000000000ULL ? 1000000
                                                   : (int)((due - now) / 1000000 + 1);
    if (!fds)
        return;
    const uint64_t answer_ns = answers_after_ns(s);
    const bool answers = !s->chains || now - s->drained_ns >= answer_ns;
    if ((!answers || is_behind(s)) && until_due > (int)(answer_ns / 1000000))
        until_due = (int)(answer_ns / 1000000); /* then look whether something was asked for */
    const int until_look = cs_session_attributes_due_ms(s->attributes, now);
    until_due = until_look < until_due ? until_look : until_due;
    for (unsigned i = 0; i < s->events.cpus.n; i++)
        if (cs_sideband_fd(s->sideband, i) >= 0)
            fds[n++] = (struct pollfd){.fd = cs_sideband_fd(s->sideband, i), .events = POLLIN};
    const nfds_t records = n;
    for (unsigned i = 0; answers && i < s->events.cpus.n; i++)
        if (s->events.driver->fd(s->events.state, i) >= 0)
            fds[n++] = (struct pollfd){.fd = s->events.driver->fd(s->events.state, i), .events = POLLIN};
    const nfds_t rings = n;
    if (s->config.wake_fd > 0)
        fds[n++] = (struct pollfd){.fd = s->config.wake_fd, .events = POLLIN};
    if (s->target.pidfd >= 0 || s->target.command.pidfd >= 0)
        fds[n++] = (struct pollfd){.fd = s->target.pidfd >= 0 ? s->target.pidfd : s->target.command.pidfd,
                                   .events = POLLIN};
    else if (s->config.target == CS_TARGET_COMMAND && until_due > 50)
        until_due = 50; /* no pidfd on this kernel: look often */
    int timeout = timeout_ms < until_due ? timeout_ms : until_due;
    const int ready = poll(fds, n, timeout);
    for (nfds_t i = 0; ready > 0 && i < rings; i++) {
        if (!(fds[i].revents & POLLIN))
            continue;
        if (i < records && s->config.budget > 0)
            s->records_wait = true;
        else
            s->next_drain_ns = 0;
    }
    free(fds);
}

int cs_sampler_poll(struct cs_sampler *s, int timeout_ms, struct cs_error *err)
{
    if (s->target.stopped || s->target.ended)
        return 0;
    wait_for(s, timeout_ms, cs_monotonic_ns());
    uint64_t now = cs_monotonic_ns();
    if (now >= cs_session_rate_due(&s->rate))
        if (cs_session_rate_tick(&s->rate, &s->events, &s->config, now) &&
            s->config.target != CS_TARGET_ALL && !s->events.filter)
            cs_session_events_reopen(&s->events, &s->config, s->places.maps,
                                     s->config.target == CS_TARGET_COMMAND ? s->target.command.pid
                                                                           : s->config.pid);
    cs_session_attributes_look(s->attributes, now);
    cs_session_look_for_other_rights(s);
    if (is_behind(s) && now - s->drained_ns >= answers_after_ns(s))
        s->next_drain_ns = now;
    if (now >= s->next_drain_ns) {
        const bool look = s->config.budget <= 0 || now - s->looked_ns >= LOOK_NS,
                   changed = look && cs_cpus_look(&s->events.cpus);
        s->looked_ns = look ? now : s->looked_ns;
        int rc = cs_session_drain(
            s, changed || cs_session_code_is_replaced(s) ? CS_DRIVER_DRAIN_FLUSH : CS_DRIVER_DRAIN_SOME, err);
        if (rc < 0)
            return rc;
        if (changed)
            cs_session_hotplug(s);
        s->next_drain_ns = next_drain_ns(s);
    } else if (s->records_wait) {
        int rc = cs_session_take_records(s, now - CS_RING_SETTLE_NS, err);
        if (rc < 0)
            return rc;
        cs_session_places_meet(&s->places);
    }
    s->records_wait = false;
    s->target.ended = s->config.target != CS_TARGET_ALL && target_ended(s);
    return !s->target.ended;
}

void cs_sampler_keep_up(struct cs_sampler *s)
{
    struct cs_error ignored; /* the next poll meets it again */
    if (s->target.stopped || s->target.ended || cs_monotonic_ns() < s->next_drain_ns)
        return;
    (void)cs_session_drain(s, CS_DRIVER_DRAIN_SOME, &ignored);
    s->next_drain_ns = next_drain_ns(s);
}

static void tell_lost_waits(const struct cs_sampler *s)
{
    struct cs_session_waits_counts counts;
    cs_session_waits_counts(s->waits, &counts);
    if (counts.lost)
        cs_session_remark(&s->config, "%llu kept waits were lost: they came faster than they could be read",
                          (unsigned long long)counts.lost);
    if (counts.no_row)
        cs_session_remark(&s->config, "more than %u threads at once: the time of some isn't counted as waits",
                          CS_WAIT_THREADS);
}

static void tell_about_attributes(const struct cs_sampler *s)
{
    const uint64_t lost = cs_session_attributes_lost(s->attributes);
    if (lost)
        cs_session_remark(&s->config,
                          "%llu samples are without their attribute: too many different values in a second",
                          (unsigned long long)lost);
    if (!cs_session_attributes_processes(s->attributes))
        cs_session_remark(&s->config,
                          "no program told an attribute \"%s\" of its threads (OpenTelemetry's thread "
                          "context), so no sample has a label",
                          s->config.attribute);
}

int cs_sampler_stop(struct cs_sampler *s, struct cs_error *err)
{
    if (s->target.stopped)
        return 0;
    (void)cs_session_events_enable(&s->events, 0, s->events.n_open, false);
    s->target.stopped = true;
    if (s->waits)
        cs_session_waits_end(s->waits);
    int rc = cs_session_drain(s, CS_DRIVER_DRAIN_LAST, err);
    if (s->waits)
        tell_lost_waits(s);
    if (s->attributes)
        tell_about_attributes(s);
    return rc;
}

void cs_sampler_close(struct cs_sampler *s)
{
    if (!s)
        return;
    cs_foreign_limit(0);
    cs_session_events_close(&s->events);
    cs_sideband_close(s->sideband);
    cs_session_profiles_close(s->profiles);
    cs_session_chains_close(s->chains);
    cs_held_rows_fini(&s->held);
    cs_stack_copies_close(s->copies);
    cs_image_tables_close(s->tables);
    cs_session_contexts_close(s->contexts);
    cs_session_attributes_close(s->attributes);
    cs_session_waits_close(s->waits);
    cs_session_places_close(&s->places);
    cs_generations_close(s->generations);
    cs_waiting_command_close(&s->target.command);
    if (s->target.pidfd >= 0)
        close(s->target.pidfd);
    free(s);
}
