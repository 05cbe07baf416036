/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop: polls the session, serves requests and signals, does what is due, keeps memory within bounds. */
#include "sampler/daemon/daemon.h"

#include "sampler/daemon/state.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define POLL_MS 1000 /* own CPU share is looked at as often */
#define MEMORY_EVERY_NS (SECOND_NS / 10)
#define GC_EVERY_NS (3600 * SECOND_NS)
#define LARGE_BLOCK_BYTES (128 << 10) /* has its own pages */
#define CONFIG_BYTES_MAX 65536

/* Defaults, then the file, then the options. */
static int read_settings(const struct cs_daemon_start *start, struct cs_daemon_settings *settings,
                         struct cs_error *err)
{
    int rc = 0;
    cs_daemon_settings_init(settings);
    if (start->config_file) {
        char *text = calloc(1, CONFIG_BYTES_MAX + 1);
        FILE *file = text ? fopen(start->config_file, "re") : NULL;
        if (!file)
            rc = cs_fail(err, errno, "can't read the configuration %s: %s", start->config_file,
                         strerror(errno));
        else if (fread(text, 1, CONFIG_BYTES_MAX + 1, file) > CONFIG_BYTES_MAX)
            rc = cs_fail(err, EFBIG, "the configuration %s is too long", start->config_file);
        else
            rc = cs_daemon_settings_parse(settings, text, start->config_file, err);
        if (file)
            fclose(file);
        free(text);
    }
    for (const struct cs_daemon_setting_given *given = start->given; rc == 0 && given->name; given++)
        rc = cs_daemon_settings_set(settings, given->name, given->value, err);
    if (rc == 0 && !settings->store[0])
        rc = cs_fail(err, EINVAL, "the daemon needs a store: give one with -o or in the configuration");
    if (rc == 0 && !settings->log[0])
        snprintf(settings->log, sizeof settings->log, "%.1000s/daemon.log", settings->store);
    if (rc == 0 && strcmp(settings->log, "-") == 0)
        settings->log[0] = '\0';
    return rc;
}

static int open_store(struct cs_daemon *daemon, struct cs_error *err)
{
    int rc = cs_store_open(daemon->settings.store, CS_STORE_WRITE, &daemon->store, err);
    if (rc == 0)
        rc = cs_store_check_place(daemon->store, err);
    return rc < 0 ? rc : cs_daemon_epoch(daemon, err);
}

static void clean_up(struct cs_daemon *daemon, uint64_t now)
{
    struct cs_error err;
    struct cs_store_retention retention = cs_daemon_settings_retention(&daemon->settings);
    daemon->last_gc_ns = now;
    int n =
        cs_store_gc(daemon->settings.store, &retention, cs_store_epoch_name(daemon->store), NULL, NULL, &err);
    if (n > 0) {
        daemon->epochs_removed += (uint64_t)n;
        cs_daemon_notify(&daemon->log, "%d old %s removed from the store", n,
                         n == 1 ? "epoch was" : "epochs were");
    } else if (n < 0) {
        cs_daemon_notify(&daemon->log, "%s", err.text);
    }
}

static bool begin_epoch(struct cs_daemon *daemon, struct cs_error *err)
{
    int rc = cs_daemon_merge(daemon, err);
    if (rc == 0)
        rc = cs_daemon_epoch(daemon, err);
    if (rc == 0)
        cs_daemon_due_epoch(&daemon->due, cs_monotonic_ns());
    return rc == 0;
}

static bool same_session(const struct cs_daemon_settings *a, const struct cs_daemon_settings *b)
{
    return strcmp(a->store, b->store) == 0 && strcmp(a->events, b->events) == 0 && a->budget == b->budget &&
           a->frequency_hz == b->frequency_hz && a->period == b->period && a->label == b->label &&
           strcmp(a->attribute, b->attribute) == 0 && a->driver == b->driver && a->pid == b->pid &&
           a->daily_bytes == b->daily_bytes && a->bursts == b->bursts && a->burst_bytes == b->burst_bytes &&
           a->burst_real_time == b->burst_real_time && a->paths == b->paths && a->chains == b->chains &&
           a->waits == b->waits && a->intervals_s == b->intervals_s &&
           a->intervals_bytes == b->intervals_bytes && a->keep_code_bytes == b->keep_code_bytes;
}

static void open_accounts(struct cs_daemon *daemon)
{
    const struct cs_daemon_settings *s = &daemon->settings;
    const double now = (double)cs_monotonic_ns() / 1e9;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    cs_cpu_account_init(&daemon->cpu, s->frequency_hz > 0 || s->period > 0 ? 0 : s->budget,
                        cpus > 0 ? (unsigned)cpus : 1, now, cs_daemon_cpu_seconds());
    cs_disk_account_init(&daemon->disk, s->daily_bytes, now);
    daemon->disk_state = CS_DISK_ROOM;
    daemon->cost = (struct cs_rate_cost){0}; /* of another event, perhaps */
}

/* SIGHUP. What can't be read changes nothing. */
static void reload(struct cs_daemon *daemon)
{
    struct cs_daemon_settings fresh;
    struct cs_error err;
    if (read_settings(daemon->start, &fresh, &err) < 0) {
        cs_daemon_notify(&daemon->log, "the configuration was not changed: %s", err.text);
        return;
    }
    bool same = same_session(&fresh, &daemon->settings);
    bool moved = strcmp(fresh.store, daemon->settings.store) != 0;
    if (!same)
        cs_daemon_session_close(daemon);
    daemon->settings = fresh;
    if (!same)
        open_accounts(daemon);
    cs_daemon_log_open(&daemon->log, daemon->settings.log);
    cs_daemon_due_change(&daemon->due, fresh.merge_s, fresh.epoch_s, cs_monotonic_ns());
    if (moved) {
        struct cs_store *old = daemon->store;
        if (open_store(daemon, &err) < 0) {
            cs_daemon_notify(&daemon->log, "%s; the store stays %s", err.text, cs_store_path(old));
            cs_store_close(daemon->store);
            daemon->store = old;
            snprintf(daemon->settings.store, sizeof daemon->settings.store, "%s", cs_store_path(old));
        } else {
            cs_store_close(old);
            daemon->n_owed = 0; /* the old store's */
        }
    }
    daemon->next_session_ns = 0;
    cs_daemon_notify(&daemon->log, "the configuration was read again");
}

static void take_signals(struct cs_daemon *daemon)
{
    struct signalfd_siginfo signal;
    while (read(daemon->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP)
            reload(daemon);
        else
            daemon->stopping = true;
    }
}

static bool answer(const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX], void *arg)
{
    struct cs_daemon *daemon = arg;
    struct cs_error err = {0};
    bool well = true;
    if (strcmp(request, "status") == 0) {
        cs_daemon_status(daemon, text);
    } else if (strcmp(request, "flush") == 0) {
        well = cs_daemon_merge(daemon, &err) == 0;
    } else if (strcmp(request, "epoch") == 0) {
        well = begin_epoch(daemon, &err);
    } else {
        well = false;
        cs_fail(&err, EINVAL, "the daemon doesn't know the request \"%.40s\"", request);
    }
    if (!well)
        snprintf(text, CS_DAEMON_CONTROL_ANSWER_MAX, "%s", err.text);
    else if (strcmp(request, "status") != 0)
        snprintf(text, CS_DAEMON_CONTROL_ANSWER_MAX, "%s", cs_store_epoch_name(daemon->store));
    return well;
}

static void keep_accounts(struct cs_daemon *daemon, uint64_t now, double cpu_s);

static void once_a_second(struct cs_daemon *daemon, uint64_t now)
{
    if (now - daemon->check_ns < SECOND_NS)
        return;
    double cpu = cs_daemon_cpu_seconds();
    daemon->cpu_share = (cpu - daemon->cpu_at_check) / ((double)(now - daemon->check_ns) / 1e9);
    daemon->cpu_at_check = cpu;
    daemon->check_ns = now;
    keep_accounts(daemon, now, cpu);
    cs_daemon_desk_publish(daemon->desk, answer, daemon);
}

/* Its own memory, without pages of files and of the kernel's tables, which a new session would have again. */
static enum cs_memory_state memory_state(struct cs_daemon *daemon)
{
    uint64_t own, resident = cs_daemon_resident_bytes(&own);
    if (resident > daemon->resident_peak)
        daemon->resident_peak = resident;
    if (!daemon->own_at_begin)
        daemon->own_at_begin = own;
    return cs_memory_state(cs_daemon_memory_bytes(&daemon->settings), own,
                           cs_sampler_jit_room(daemon->sampler), daemon->own_at_begin);
}

/* True: a merge is due for want of memory. */
static bool pressed(struct cs_daemon *daemon, uint64_t now)
{
    if (!daemon->sampler || now - daemon->memory_ns < MEMORY_EVERY_NS)
        return false;
    daemon->memory_ns = now;
    enum cs_memory_state state = memory_state(daemon);
    if (state == CS_MEMORY_NEAR) {
        malloc_trim(0);
        state = memory_state(daemon);
    }
    if (state == CS_MEMORY_NEAR) {
        cs_daemon_notify(&daemon->log, "memory is near its bound of %.0f MB: the session starts again",
                         cs_daemon_memory_bytes(&daemon->settings) / 1e6);
        cs_daemon_session_close(daemon);
        return false;
    }
    if (state == CS_MEMORY_ROOM || now - daemon->pressed_ns < 10 * SECOND_NS)
        return false;
    daemon->pressed_ns = now;
    return true;
}

/* A session remembers all images and interpreters that it met, up to a bound; the next one begins without. */
static void forget_images(struct cs_daemon *daemon, uint64_t now)
{
    struct cs_sampler_statistics s;
    if (!daemon->sampler)
        return;
    cs_sampler_statistics(daemon->sampler, &s);
    if (!cs_session_is_full(now - daemon->session_began_ns, s.images_cut, s.interpreters_cut))
        return;
    cs_daemon_notify(&daemon->log,
                     "more executable files than are remembered (%llu mappings, %llu interpreters): the "
                     "session starts again",
                     (unsigned long long)s.images_cut, (unsigned long long)s.interpreters_cut);
    cs_daemon_session_close(daemon);
}

static void rest(struct cs_daemon *daemon, double seconds)
{
    const uint64_t now = cs_monotonic_ns();
    cs_daemon_session_close(daemon);
    daemon->resting_until_ns = daemon->next_session_ns = now + (uint64_t)(seconds * 1e9);
}

/* Once a second: what was used is paid, and what the store grew by is looked at. */
static void keep_accounts(struct cs_daemon *daemon, uint64_t now, double cpu_s)
{
    const enum cs_disk_state disk = daemon->disk_state;
    if (!daemon->sampler)
        return;
    const double seconds = cs_cpu_account_update(&daemon->cpu, (double)now / 1e9, cpu_s);
    cs_sampler_limit_waits(daemon->sampler, cs_cpu_account_waits(&daemon->cpu));
    cs_sampler_limit_tables(daemon->sampler, cs_cpu_account_tables(&daemon->cpu));
    if (seconds > 0) {
        cs_daemon_notify(&daemon->log,
                         "more CPU time was used than the budget allows: nothing is sampled for %.0f s, "
                         "until that is made up for",
                         seconds);
        rest(daemon, seconds);
    } else if (disk == CS_DISK_FULL) {
        rest(daemon, cs_disk_account_day_left_s(&daemon->disk, (double)now / 1e9));
        daemon->disk_state = CS_DISK_ROOM; /* of the next day */
    } else if (disk != daemon->session_disk_state) {
        cs_daemon_session_close(daemon); /* and begins without chains and waits, or with them again */
    }
}

static void keep_session(struct cs_daemon *daemon, uint64_t now)
{
    struct cs_error err;
    if (daemon->sampler || now < daemon->next_session_ns)
        return;
    daemon->resting_until_ns = 0;
    daemon->session_disk_state = daemon->disk_state;
    if (cs_daemon_session_open(daemon, &err) == 0) {
        daemon->session_failures = 0;
        return;
    }
    uint64_t failures = daemon->session_failures < 9 ? ++daemon->session_failures : 9;
    daemon->next_session_ns = now + (SECOND_NS << (failures - 1));
    cs_daemon_notify(&daemon->log, "%s; tried again in %llu s", err.text, 1ull << (failures - 1));
    snprintf(daemon->last_failure, sizeof daemon->last_failure, "%.255s", err.text);
}

/* Sending is another process's work: it takes memory and may wait for a server. Its sentence is in the log.
 */
static void keep_sending(struct cs_daemon *daemon, uint64_t now)
{
    const struct cs_daemon_settings *settings = &daemon->settings;
    int status;
    if (daemon->sender) {
        if (waitpid(daemon->sender, &status, WNOHANG) == 0)
            return;
        daemon->sender = 0;
        daemon->sends++;
        daemon->send_failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    /* A merge may have nothing new for the server, but nothing is new without a merge. */
    if (!settings->export_to[0] || !daemon->start->send || daemon->last_merge_ns <= daemon->last_send_ns ||
        (double)(now - daemon->last_send_ns) < settings->export_s * 1e9)
        return;
    daemon->last_send_ns = now;
    pid_t sender = daemon->start->send(settings->store, settings->export_to, daemon->log.fd);
    if (sender > 0)
        daemon->sender = sender;
    else
        cs_daemon_notify(&daemon->log, "can't start a process that sends to %s", settings->export_to);
}

static void do_what_is_due(struct cs_daemon *daemon)
{
    struct cs_error err;
    uint64_t now = cs_monotonic_ns();
    once_a_second(daemon, now);
    bool is_pressed = pressed(daemon, now);
    keep_sending(daemon, now);
    unsigned due = cs_daemon_due_now(&daemon->due, now, is_pressed);
    if (due & CS_DAEMON_DUE_EPOCH) {
        if (!begin_epoch(daemon, &err))
            cs_daemon_notify(&daemon->log, "%s", err.text);
    } else if (due & CS_DAEMON_DUE_MERGE) {
        cs_daemon_merge(daemon, &err);
    }
    if (due & CS_DAEMON_DUE_MERGE)
        forget_images(daemon, now);
    if (due && now - daemon->last_gc_ns > GC_EVERY_NS)
        clean_up(daemon, now);
}

static void run(struct cs_daemon *daemon)
{
    while (!daemon->stopping) {
        struct epoll_event events[4];
        struct cs_error err;
        int wait_ms = cs_daemon_due_wait_ms(&daemon->due, cs_monotonic_ns(), POLL_MS);
        keep_session(daemon, cs_monotonic_ns());
        int rc = daemon->sampler ? cs_sampler_poll(daemon->sampler, wait_ms, &err) : 1;
        if (rc < 0) {
            cs_daemon_notify(&daemon->log, "%s; the session starts again", err.text);
            cs_daemon_session_close(daemon);
            daemon->next_session_ns = cs_monotonic_ns() + SECOND_NS;
        } else if (rc == 0) {
            cs_daemon_notify(&daemon->log, "the profiled process has ended");
            daemon->stopping = true;
        }
        int n = epoll_wait(daemon->epoll, events, 4, daemon->sampler ? 0 : wait_ms);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == daemon->signals)
                take_signals(daemon);
            else
                cs_daemon_desk_serve(daemon->desk, answer, daemon);
        }
        do_what_is_due(daemon);
    }
}

static int watch(struct cs_daemon *daemon, struct cs_error *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int rc = cs_daemon_desk_open(&daemon->control, &daemon->desk, &daemon->wake, err);
    if (rc < 0)
        return rc;
    daemon->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    daemon->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (daemon->signals < 0 || daemon->epoll < 0)
        return cs_fail(err, errno, "can't wait for signals: %s", strerror(errno));
    const int watched[] = {daemon->signals, daemon->wake};
    for (size_t i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = watched[i]};
        if (epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, watched[i], &event) < 0)
            return cs_fail(err, errno, "can't wait for requests: %s", strerror(errno));
    }
    return 0;
}

/* The C library would keep ever larger blocks in its heap once it has seen one freed, where a small block behind them holds them
 * all: after a storm the daemon would stay as large as it was. */
static void give_back_freed_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES);
}

int cs_daemon_run(const struct cs_daemon_start *start, struct cs_error *err)
{
    assert(start->given);
    char default_socket[CS_DAEMON_CONTROL_PATH_MAX];
    struct cs_daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon)
        return cs_fail(err, ENOMEM, "not enough memory for the daemon");
    give_back_freed_memory();
    daemon->start = start;
    daemon->log.fd = daemon->control.fd = daemon->control.lock = daemon->epoll = daemon->signals = -1;
    daemon->started_ns = daemon->check_ns = cs_monotonic_ns();
    cs_daemon_control_default_path(default_socket);

    int rc = read_settings(start, &daemon->settings, err);
    if (rc == 0)
        rc = cs_daemon_control_open(&daemon->control,
                                    start->socket_path ? start->socket_path : default_socket, err);
    if (rc == 0)
        rc = watch(daemon, err);
    if (rc == 0)
        rc = open_store(daemon, err);
    if (rc == 0) {
        cs_daemon_log_open(&daemon->log, daemon->settings.log);
        open_accounts(daemon);
        rc = cs_daemon_session_open(daemon, err);
    }
    if (rc < 0)
        goto out;
    cs_daemon_due_init(&daemon->due, daemon->settings.merge_s, daemon->settings.epoch_s, cs_monotonic_ns());
    clean_up(daemon, cs_monotonic_ns());
    cs_daemon_desk_publish(daemon->desk, answer, daemon);
    if (start->ready)
        start->ready(start->arg);
    run(daemon);
    cs_daemon_session_close(daemon);
out:
    cs_store_close(daemon->store);
    cs_daemon_desk_close(daemon->desk);
    cs_daemon_control_close(&daemon->control);
    cs_daemon_log_close(&daemon->log);
    if (daemon->epoll >= 0)
        close(daemon->epoll);
    if (daemon->signals >= 0)
        close(daemon->signals);
    free(daemon);
    return rc;
}
