/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record: samples a command, a process or the whole machine into a profile store. */
#include "cli/record/record.h"
#include "analysis/machine/machine.h"
#include "cli/command/interrupt.h"
#include "cli/output/output.h"
#include "cli/record/record_exact.h"
#include "sampler/daemon/settings.h"
#include "sampler/placing/intervals.h"
#include "sampler/sampler.h"
#include "store/base/cache.h"
#include "store/base/clock.h"
#include "store/kept_code.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define MERGE_SECONDS 60                 /* what a power cut may cost */
#define NO_PMU "no hardware cycles here" /* as sampler/perf/events.c begins */
#define STATUS_SECONDS 0.25

/* From CS_LABEL_PROCESS on. */
static const char *const label_names[] = {"process",   "command",        "cgroup", "thread",
                                          "container", "attribute=NAME", NULL};
#define ATTRIBUTE "attribute"

struct recording {
    struct cs_sampler *sampler;
    struct cs_store *store;
    struct cs_burst *burst; /* NULL = none */
    struct recorded_paths paths;
    struct cs_intervals *intervals; /* NULL = none */
    struct exact_counts exact;      /* of a command */
    struct charged charged;
    const struct parsed *args;
    const struct cs_sampler_config *config;
    pid_t pids[RECORD_PIDS_MAX]; /* beside the first */
    double began, seconds;       /* when it was let go; how long it took */
};

/* Samples of this thread are copied with all of its stack at first. So what is large and over before the recording keeps
 * its frame to itself. */
#define OWN_FRAME __attribute__((noinline))

/* That a machine has no PMU is news once. A marker in the user's cache remembers; without one it is told each time. */
OWN_FRAME static bool was_told(void)
{
    char folder[PATH_MAX], path[PATH_MAX + 32];
    if (cs_cache_folder(folder, sizeof folder) < 0)
        return false;
    snprintf(path, sizeof path, "%s/told.no-pmu", folder);
    if (access(path, F_OK) == 0)
        return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
    return false;
}

static void say(void *arg, const char *sentence)
{
    (void)arg;
    if (strncmp(sentence, NO_PMU, strlen(NO_PMU)) != 0 || !was_told())
        remark("%s", sentence);
}

static void placed(void *arg, const struct cs_sampler_placed *placed)
{
    struct recording *r = arg;
    (void)cs_intervals_add(r->intervals, placed, cs_sampler_event(r->sampler, placed->event));
}

/* Read as the daemon's settings of the same names are. */
OWN_FRAME static int parse_intervals(const struct parsed *args, struct cs_sampler_config *config,
                                     struct recording *r)
{
    static const char *const names[] = {"intervals", "intervals-size"};
    struct cs_daemon_settings settings;
    struct cs_error err;
    cs_daemon_settings_init(&settings);
    settings.intervals_s = 0;
    for (unsigned i = 0; i < 2; i++) {
        const char *value = option(args, names[i]);
        if (value && cs_daemon_settings_set(&settings, names[i], value, &err) < 0)
            return usage_error("--%s %s: expected a %s", names[i], value,
                               i ? "size from 4k on, as 4M" : "time up to a day, as 10s or 100ms");
    }
    uint64_t length_ms = (uint64_t)(settings.intervals_s * 1000);
    if (settings.intervals_s <= 0)
        return CS_EXIT_OK;
    if (cs_intervals_open(length_ms, (uint64_t)settings.intervals_bytes, &r->intervals) < 0)
        return failed_with("not enough memory for intervals");
    config->resolve_ms = length_ms / 4 + 1;
    config->placed = placed;
    config->arg = r;
    return CS_EXIT_OK;
}

static int parse_rate(const struct parsed *args, struct cs_sampler_config *config)
{
    if (option_given(args, "frequency") + option_given(args, "period") + option_given(args, "budget") > 1)
        return usage_error("give one of -F, -c and --budget");
    config->frequency_hz = option_number(args, "frequency", 0, 1, 100000);
    config->period = (uint64_t)option_number(args, "period", 0, 1, 1e18);
    const char *budget = option(args, "budget");
    if (budget) { /* "0.5" and "0.5%" are both 0.5 % */
        char *end;
        double percent = strtod(budget, &end);
        if (end == budget || (*end && strcmp(end, "%") != 0) || !(percent > 0 && percent <= 50))
            return usage_error("--budget %s: expected a share from 0 to 50 %%, as 0.5%%", budget);
        config->budget = percent / 100;
    }
    return CS_EXIT_OK;
}

static void parse_choices(const struct parsed *args, struct cs_sampler_config *config)
{
    static const char *const drivers[] = {
        [CS_SAMPLER_DRIVER_AUTO] = "auto",   [CS_SAMPLER_DRIVER_BPF] = "bpf",
        [CS_SAMPLER_DRIVER_RING] = "ring",   [CS_SAMPLER_DRIVER_TIMERS] = "timers",
        [CS_SAMPLER_DRIVER_STOPS] = "stops", NULL};
    config->driver = option_choice(args, "driver", drivers, CS_SAMPLER_DRIVER_AUTO);
    const char *label = option(args, "label");
    if (label && strncmp(label, ATTRIBUTE "=", sizeof ATTRIBUTE) == 0 && label[sizeof ATTRIBUTE]) {
        config->label = CS_LABEL_ATTRIBUTE;
        config->attribute = label + sizeof ATTRIBUTE;
    } else if (label) {
        config->label = CS_LABEL_PROCESS + option_choice(args, "label", label_names, 0);
    }
}

/* Caches, latencies and the core's clock, measured now or within the last hour: what the culprit analysis
 * needs to know of this machine. */
OWN_FRAME static json_t *machine_meta(double *age_s)
{
    struct cs_machine machine;
    struct cs_error ignored = {0};
    char text[2048];
    cs_machine_detect(&machine);
    (void)cs_machine_recall(&machine, age_s, &ignored);
    return cs_machine_to_json(&machine, text, sizeof text) > 0 ? json_loads(text, 0, NULL) : json_null();
}

static json_t *arguments_json(char *const *command)
{
    json_t *all = json_array();
    for (; *command; command++)
        json_array_append_new(all, json_text(*command));
    return all;
}

static json_t *epoch_meta(const struct cs_sampler_config *config, double burst_rate_hz)
{
    struct utsname host;
    char *command = NULL;
    size_t size;
    FILE *f = open_memstream(&command, &size);
    if (!f || uname(&host) != 0)
        return NULL;
    for (int i = 0; config->command && config->command[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", config->command[i]);
    fclose(f);
    json_t *meta = json_pack("{s:s, s:o, s:s, s:o}", "writer", "record", "host", json_text(host.nodename),
                             "kernel", host.release, "command", json_text(command));
    double age_s = 0;
    if (config->label)
        json_object_set_new(
            meta, "label",
            json_string(config->attribute ? ATTRIBUTE : label_names[config->label - CS_LABEL_PROCESS]));
    if (config->attribute)
        json_object_set_new(meta, ATTRIBUTE, json_text(config->attribute));
    json_object_set_new(meta, "bursts", json_boolean(config->bursts));
    if (burst_rate_hz > 0)
        json_object_set_new(meta, "burst_rate_hz", json_real(burst_rate_hz));
    json_object_set_new(meta, "machine", machine_meta(&age_s));
    json_object_set_new(meta, "machine_age_s", json_integer((json_int_t)age_s));
    if (config->command) /* apart, too: for a shell each has to be quoted */
        json_object_set_new(meta, "arguments", arguments_json(config->command));
    free(command);
    return meta;
}

static int begin_epoch(struct recording *r, json_t *meta, struct cs_error *err)
{
    json_t *events = json_array();
    for (unsigned e = 0; e < cs_sampler_events(r->sampler); e++)
        json_array_append_new(events, json_text(cs_sampler_event(r->sampler, e)));
    json_object_set_new(meta, "events", events);
    char *text = json_dumps(meta, JSON_COMPACT);
    int rc = cs_store_epoch(r->store, text, err);
    free(text);
    return rc;
}

/* How long it took, where it is of few programs; how many of each event there were, so that none can be told from not
 * counted. */
static int keep_counts(struct recording *r, struct cs_error *err)
{
    int rc = r->config->target == CS_TARGET_ALL
                 ? 0
                 : cs_store_count(r->store, "elapsed_ms", (uint64_t)(r->seconds * 1000), err);
    for (unsigned e = 0; rc >= 0 && e < cs_sampler_events(r->sampler); e++) {
        char ran[80], counted[80];
        uint64_t n;
        snprintf(ran, sizeof ran, "counted.%s", cs_sampler_event(r->sampler, e));
        snprintf(counted, sizeof counted, "events.%s", cs_sampler_event(r->sampler, e));
        if (cs_sampler_counted(r->sampler, e, &n))
            rc = cs_store_count_all(r->store, (struct cs_counter[]){{ran, 1}, {counted, n}}, 2, err);
    }
    return rc;
}

static int merge(struct recording *r, struct cs_error *err)
{
    int rc = cs_sampler_merge(r->sampler, err);
    if (rc >= 0 && r->burst)
        rc = cs_burst_merge(r->burst, r->store, err);
    if (rc >= 0 && r->paths.paths)
        rc = cs_paths_merge(r->paths.paths, r->store, err);
    if (rc >= 0 && r->intervals)
        rc = cs_intervals_merge(r->intervals, r->store, r->sampler, err);
    return rc;
}

/* Lets it run: until the target ends, the time is over, or somebody interrupts. */
static int run_session(struct recording *r, double seconds, struct cs_error *err)
{
    double merged = cs_monotonic_seconds(), told = 0;
    bool shown = record_status_wanted(r->config);
    int rc;
    for (;;) {
        double now = cs_monotonic_seconds(), left = seconds - (now - r->began);
        if (shown && now - told >= STATUS_SECONDS) {
            record_status(r->sampler, r->burst, now - r->began, seconds);
            told = now;
        }
        rc = 0;
        if (interrupt_number() || (seconds > 0 && left <= 0))
            break;
        rc = cs_sampler_poll(r->sampler, seconds > 0 && left < 1 ? (int)(left * 1000) + 1 : 1000, err);
        if (rc <= 0)
            break;
        if (now - merged >= MERGE_SECONDS) {
            rc = merge(r, err);
            if (rc < 0)
                break;
            merged = now;
        }
    }
    r->seconds = cs_monotonic_seconds() - r->began;
    record_charged_end(&r->charged);
    if (shown)
        record_status_end();
    return rc;
}

/* The command's own, as a shell gives it; 0 where the recording ended first. */
static int exit_code_of(const struct cs_sampler *sampler, const struct cs_sampler_config *config)
{
    int status = cs_sampler_child_status(sampler);
    if (config->target != CS_TARGET_COMMAND || interrupt_number())
        return CS_EXIT_OK;
    if (status == -1) {
        remark("%s still runs, as process %d: the recording ended before it", config->command[0],
               (int)cs_sampler_child(sampler));
        return CS_EXIT_OK;
    }
    if (WIFSIGNALED(status))
        remark("%s ended by signal %d (%s)", config->command[0], WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        remark("%s ended with exit code %d", config->command[0], WEXITSTATUS(status));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Bursts and paths are opened before the command runs: of a shell's child that was started between, nothing
 * would tell. */
static int open_flow(void *arg, struct cs_sampler *sampler, struct cs_error *err)
{
    struct recording *r = arg;
    struct cs_sampler_statistics now;
    r->began = cs_monotonic_seconds();
    cs_sampler_statistics(sampler, &now);
    if (r->config->target == CS_TARGET_COMMAND)
        record_exact_open(&r->exact, cs_sampler_child(sampler), option_given(r->args, "calibrate"));
    r->began = cs_monotonic_seconds();
    bool asked = option_given(r->args, "bursts") || option_given(r->args, "burst-rate") ||
                 option_given(r->args, "paths") || option_given(r->args, "path-rate");
    if ((strcmp(now.driver, "timers") == 0 || strcmp(now.driver, "stops") == 0) &&
        !asked) /* both begin with an event of the kernel's */
        return 0;
    int rc = record_bursts_open(r->args, r->config, sampler, &r->burst, err);
    if (rc == 0)
        rc = record_paths_open(r->args, r->config, sampler, r->burst != NULL, &r->paths, err);
    r->began = cs_monotonic_seconds();
    return rc;
}

/* For who waits until samples are taken: a script, or a program that profiles itself (signals/profile.c). */
static void tell_ready(int fd)
{
    static const char ready[] = "ready\n";
    if (fd >= 0 && write(fd, ready, sizeof ready - 1) < 0)
        remark("--ready-fd %d: %s", fd, strerror(errno));
}

/* One after the other; what fails ends it with its sentence. */
static int record(struct recording *r, const struct parsed *args, struct cs_sampler_config *config,
                  struct cs_error *err)
{
    config->bursts = record_bursts_wanted(args, config);
    json_t *meta = epoch_meta(config, option_number(args, "burst-rate", 0, 0.01, 1000));
    r->args = args;
    r->config = config;
    config->arg = r;
    config->ready = open_flow;
    int rc = cs_sampler_open(config, &r->sampler, err);
    if (rc == 0)
        rc = begin_epoch(r, meta, err);
    json_decref(meta);
    if (rc == 0)
        record_charged_begin(&r->charged, config);
    if (rc == 0)
        tell_ready((int)option_number(args, "ready-fd", -1, 0, 1 << 20));
    if (rc == 0)
        rc = run_session(r, option_number(args, "seconds", 0, 0.001, 1e9), err);
    if (r->burst)
        cs_burst_stop(r->burst);
    if (r->paths.paths)
        cs_paths_stop(r->paths.paths);
    if (rc >= 0)
        rc = cs_sampler_stop(r->sampler, err);
    if (rc >= 0)
        rc = merge(r, err);
    if (rc >= 0)
        rc = keep_counts(r, err);
    if (rc >= 0)
        rc = record_charged_keep(&r->charged, r->sampler, config, r->store, store_location(args), err);
    if (rc >= 0)
        rc = record_exact_keep(&r->exact, r->seconds, r->store, err);
    return rc;
}

static int run(const struct parsed *args)
{
    struct cs_sampler_config config = {.notify = say,
                                       .chains = !option_given(args, "no-chains"),
                                       .waits = option_given(args, "waits"),
                                       .period_exact = option_given(args, "exact-period")};
    const char *events[CS_SAMPLER_EVENTS_MAX + 1], *event;
    static struct recording recording; /* large: not on a stack that is copied */
    struct cs_error err = {0};
    const char *where = store_location(args);
    config.keep_code_max = option_given(args, "no-keep-code") ? 0 : CS_KEPT_CODE_STORE_MAX;

    int rc = record_target(args, &config, recording.pids);
    if (rc == CS_EXIT_OK)
        rc = parse_rate(args, &config);
    if (rc != CS_EXIT_OK)
        return rc;
    parse_choices(args, &config);
    for (; (event = option_nth(args, "event", config.n_events)) != NULL; config.n_events++) {
        if (config.n_events == CS_SAMPLER_EVENTS_MAX)
            return usage_error("at most %d events at once", CS_SAMPLER_EVENTS_MAX);
        events[config.n_events] = event;
    }
    config.events = events;
    config.cpi = true;
    rc = parse_intervals(args, &config, &recording);
    if (rc != CS_EXIT_OK)
        return rc;

    FILE *json = NULL;
    if (option_given(args, "json-to") && !(json = fopen(option(args, "json-to"), "we")))
        return failed_with("--json-to %s: %s", option(args, "json-to"), strerror(errno));
    rc = cs_store_open(where, CS_STORE_WRITE, &recording.store, &err);
    config.store = recording.store;
    interrupt_catch(NULL);
    if (rc == 0)
        rc = record(&recording, args, &config, &err);
    if (rc >= 0) {
        rc = exit_code_of(recording.sampler, &config);
        const struct recorded done = {.sampler = recording.sampler,
                                      .config = &config,
                                      .burst = recording.burst,
                                      .paths = &recording.paths,
                                      .charged = &recording.charged,
                                      .store = where,
                                      .epoch = cs_store_epoch_name(recording.store),
                                      .seconds = recording.seconds,
                                      .burst_rate_hz = option_number(args, "burst-rate", 0, 0.01, 1000),
                                      .exit_code = rc,
                                      .verbose = option_given(args, "verbose")};
        if (option_given(args, "json"))
            record_summary_json(&done, stdout);
        else
            record_summary(&done);
        if (json)
            record_summary_json(&done, json);
        if (json && (ferror(json) || fclose(json) != 0))
            rc = failed_with("--json-to %s: not written in full: %s", option(args, "json-to"),
                             strerror(errno));
    } else {
        rc = failed(&err);
        if (json)
            fclose(json);
    }
    cs_burst_close(recording.burst);
    record_paths_close(&recording.paths);
    cs_intervals_close(recording.intervals);
    cs_sampler_close(recording.sampler);
    cs_store_close(recording.store);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_PID,
    OPTION_WHOLE_MACHINE,
    OPTION_SECONDS,
    OPTION_EVENT,
    OPTION_FREQUENCY,
    OPTION_PERIOD,
    {"exact-period", 0, NULL, "do not randomise the period (only to demonstrate aliasing)"},
    OPTION_BUDGET,
    OPTION_LABEL,
    OPTION_DRIVER,
    OPTIONS_CHAINS,
    OPTION_WAITS,
    OPTIONS_BURSTS,
    {"burst-rate", 0, "HZ", "bursts per second on each busy CPU (default: by the budget)"},
    {"burst-length", 0, "N", "most instructions of a burst (16000)"},
    {"burst-real-time", 0, NULL, "also trace threads with a real-time policy; they may miss deadlines"},
    OPTIONS_PATHS,
    {"path-rate", 0, "HZ", "paths per second on each busy CPU (251, or by the budget)"},
    OPTIONS_INTERVALS,
    {"calibrate", 0, NULL,
     "also time a fixed loop before and after the command: gate then knows what the machine did"},
    {"ready-fd", 0, "FD", "write a line to this descriptor when sampling begins"},
    {"json-to", 0, "FILE",
     "write the JSON summary to this file (/dev/fd/3: a descriptor), separate from the output of the "
     "command"},
    {"no-keep-code", 0, NULL, "do not copy the sampled binaries into the store (at most 512 MB are copied)"},
    OPTION_VERBOSE,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_record = {
    "record",
    "(-a | -p PID | -- COMMAND [ARG...])",
    "sample a command, a process or the whole machine into a profile store",
    "Samples the program counter every N events and adds the counts, by image and offset, to the store. The "
    "events are cycles and, where they can be counted together, instructions: their ratio is CPI. Without "
    "hardware counters the event is cpu-clock, a timer. The period is randomised, so that no loop runs in "
    "step with it.\n"
    "\n"
    "-e may be given several times. Bursts are on with a command; without bursts, paths are on. -v also "
    "reports how the recording was made: rates, call chains, bursts and their pauses.",
    options,
    run,
};
