/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/daemon/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITS_BYTES 32e6

enum form { TEXT, SECONDS, BYTES, PERCENT, NUMBER, SWITCH, LABEL, DRIVER };

const struct cs_daemon_setting cs_daemon_setting_list[] = {
    {"store", "DIR", "where profiles go"},
    {"log", "FILE", "where remarks go; reopened on SIGHUP (default: daemon.log in the store)"},
    {"events", "LIST", "events by libpfm4 name (default: cycles where there are any, else cpu-clock)"},
    {"budget", "PERCENT", "of the profiled work's time that may be lost (default 0.5%)"},
    {"frequency", "HZ", "samples a second of a busy CPU, instead of a budget"},
    {"period", "N", "events (cpu-clock: ns) a sample, instead of a budget"},
    {"merge-interval", "TIME", "between merges to disk: s, m, h, d (default 10m)"},
    {"epoch-length", "TIME", "after which a new epoch begins; 0 = never (default 24h)"},
    {"keep-age", "TIME", "epochs last written longer ago are removed; 0 = never (default 90d)"},
    {"keep-size", "BYTES", "oldest epochs are removed until the rest fits: k, M, G; 0 = any (default 1G)"},
    {"daily-size", "BYTES", "the store grows by at most so much in a day; 0 = any (default 50M)"},
    {"keep-code", "BYTES", "keep copies of the programs that were sampled, up to this; 0 = none (default)"},
    {"intervals", "TIME", "also keep what happened in each interval of this length; 0 = off (default 1m)"},
    {"intervals-size", "BYTES", "bound of an epoch's intervals: beyond, they become longer (default 4M)"},
    {"memory", "BYTES", "the daemon's own bound (default 32M; waits take up to 32M more)"},
    {"pid", "PID", "profile this process and what it starts only; the daemon ends with it"},
    {"bursts", "on|off", "follow threads through bursts of instructions, within the budget (default off)"},
    {"burst-memory", "BYTES", "bound of the runners that bursts need, beside the daemon's own (default 96M)"},
    {"burst-real-time", "on|off", "follow threads of a real-time policy, too (default off)"},
    {"paths", "on|off", "interpret short paths from registers at timer samples (default off)"},
    {"chains", "on|off", "call chains of all samples (default on)"},
    {"waits", "on|off", "time off the CPU: where threads wait, and for what (default off)"},
    {"label", "NAME", "keep profiles apart by process, command, cgroup or attribute=NAME (default none)"},
    {"driver", "NAME", "auto, bpf or ring (default auto)"},
    {"export-to", "URL",
     "send what is new to this ClickHouse server; \"otlp URL\", \"pyroscope URL\", \"parca URL\": ended "
     "epochs (see export)"},
    {"export-interval", "TIME", "between exports at least; they follow a merge (default 10m)"},
    {NULL, NULL, NULL},
};

/* In the order of the list above. */
static const struct field {
    enum form form;
    size_t offset;
    double least, most;
} fields[] = {
    {TEXT, offsetof(struct cs_daemon_settings, store), 0, 0},
    {TEXT, offsetof(struct cs_daemon_settings, log), 0, 0},
    {TEXT, offsetof(struct cs_daemon_settings, events), 0, 0},
    {PERCENT, offsetof(struct cs_daemon_settings, budget), 0.0001, 0.5},
    {NUMBER, offsetof(struct cs_daemon_settings, frequency_hz), 0, 1e6},
    {NUMBER, offsetof(struct cs_daemon_settings, period), 0, 1e15},
    {SECONDS, offsetof(struct cs_daemon_settings, merge_s), 0.05, 86400},
    {SECONDS, offsetof(struct cs_daemon_settings, epoch_s), 0, 3e9},
    {SECONDS, offsetof(struct cs_daemon_settings, keep_age_s), 0, 3e9},
    {BYTES, offsetof(struct cs_daemon_settings, keep_bytes), 0, 1e18},
    {BYTES, offsetof(struct cs_daemon_settings, daily_bytes), 0, 1e18},
    {BYTES, offsetof(struct cs_daemon_settings, keep_code_bytes), 0, 1e18},
    {SECONDS, offsetof(struct cs_daemon_settings, intervals_s), 0, 86400},
    {BYTES, offsetof(struct cs_daemon_settings, intervals_bytes), 4096, 1e12},
    {BYTES, offsetof(struct cs_daemon_settings, memory_bytes), 8e6, 1e12},
    {NUMBER, offsetof(struct cs_daemon_settings, pid), 0, 4194304},
    {SWITCH, offsetof(struct cs_daemon_settings, bursts), 0, 0},
    {BYTES, offsetof(struct cs_daemon_settings, burst_bytes), 8e6, 1e12},
    {SWITCH, offsetof(struct cs_daemon_settings, burst_real_time), 0, 0},
    {SWITCH, offsetof(struct cs_daemon_settings, paths), 0, 0},
    {SWITCH, offsetof(struct cs_daemon_settings, chains), 0, 0},
    {SWITCH, offsetof(struct cs_daemon_settings, waits), 0, 0},
    {LABEL, offsetof(struct cs_daemon_settings, label), 0, 0},
    {DRIVER, offsetof(struct cs_daemon_settings, driver), 0, 0},
    {TEXT, offsetof(struct cs_daemon_settings, export_to), 0, 0},
    {SECONDS, offsetof(struct cs_daemon_settings, export_s), 0.05, 3e9},
};

void cs_daemon_settings_init(struct cs_daemon_settings *settings)
{
    *settings = (struct cs_daemon_settings){
        .budget = 0.005,
        .merge_s = 600,
        .epoch_s = 86400,
        .keep_age_s = 90 * 86400.0,
        .keep_bytes = 1e9,
        .daily_bytes = 50e6,
        .intervals_s = 60,
        .intervals_bytes = 4e6,
        .memory_bytes = 32e6,
        .burst_bytes = 96e6,
        .export_s = 600,
        .chains = true,
        .label = CS_LABEL_NONE,
        .driver = CS_SAMPLER_DRIVER_AUTO,
    };
}

double cs_daemon_memory_bytes(const struct cs_daemon_settings *settings)
{
    return settings->memory_bytes + (settings->waits ? WAITS_BYTES : 0);
}

static const struct unit {
    const char *suffix;
    double factor;
} seconds[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}},
  bytes[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}},
  percents[] = {{"", 0.01}, {"%", 0.01}}, plain[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}};

static bool number_of(const char *value, const struct unit *units, size_t n_units, const struct field *field,
                      double *out)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || !isfinite(number))
        return false;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < n_units; i++)
        if (strcmp(end, units[i].suffix) == 0) {
            *out = number * units[i].factor;
            return *out >= field->least && *out <= field->most;
        }
    return false;
}

static bool choice_of(const char *value, const char *const *names, unsigned *out)
{
    for (unsigned i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

#define NUMBER_IN(units) number_of(value, units, sizeof(units) / sizeof *(units), field, (double *)at)

static bool assign(const struct field *field, char *at, const char *value)
{
    static const char *const labels[] = {"none", "process", "command", "cgroup", NULL};
    static const char *const drivers[] = {"auto", "bpf", "ring", NULL};
    static const char *const switches[] = {"off", "on", NULL};
    struct cs_daemon_settings *all = (void *)(at - field->offset);
    unsigned choice = 0;
    switch (field->form) {
    case TEXT:
        return (size_t)snprintf(at, CS_DAEMON_SETTING_TEXT_MAX, "%s", value) < CS_DAEMON_SETTING_TEXT_MAX;
    case SECONDS:
        return NUMBER_IN(seconds);
    case BYTES:
        return NUMBER_IN(bytes);
    case PERCENT:
        return NUMBER_IN(percents);
    case NUMBER:
        return NUMBER_IN(plain);
    case SWITCH:
        if (!choice_of(value, switches, &choice))
            return false;
        *(bool *)(void *)at = choice == 1;
        return true;
    case LABEL:
        if (strncmp(value, "attribute=", 10) == 0 && value[10])
            choice = CS_LABEL_ATTRIBUTE;
        else if (!choice_of(value, labels, &choice))
            return false;
        all->label = (enum cs_label)choice;
        snprintf(all->attribute, sizeof all->attribute, "%s", choice == CS_LABEL_ATTRIBUTE ? value + 10 : "");
        return true;
    case DRIVER:
        if (!choice_of(value, drivers, &choice))
            return false;
        *(enum cs_sampler_driver *)(void *)at = (enum cs_sampler_driver)choice;
        return true;
    }
    return false;
}

int cs_daemon_settings_set(struct cs_daemon_settings *settings, const char *name, const char *value,
                           struct cs_error *err)
{
    assert(name && value);
    for (size_t i = 0; cs_daemon_setting_list[i].name; i++) {
        if (strcmp(cs_daemon_setting_list[i].name, name) != 0)
            continue;
        struct cs_daemon_settings changed = *settings;
        if (!assign(&fields[i], (char *)&changed + fields[i].offset, value))
            return cs_fail(err, EINVAL, "\"%.80s\" is no value for %s (%s)", value, name,
                           cs_daemon_setting_list[i].help);
        *settings = changed;
        return 0;
    }
    return cs_fail(err, ENOENT, "there is no setting \"%.80s\"", name);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

int cs_daemon_settings_parse(struct cs_daemon_settings *settings, const char *text, const char *where,
                             struct cs_error *err)
{
    struct cs_daemon_settings parsed = *settings;
    struct cs_error inner;
    for (unsigned number = 1; *text; number++) {
        char line[CS_DAEMON_SETTING_TEXT_MAX + 64];
        size_t n = strcspn(text, "\n");
        if (n >= sizeof line)
            return cs_fail(err, EINVAL, "%s line %u is too long", where, number);
        memcpy(line, text, n);
        line[n] = '\0';
        text += n + (text[n] == '\n');
        line[strcspn(line, "#")] = '\0';
        char *name = trim(line);
        if (!*name)
            continue;
        char *equals = strchr(name, '=');
        if (!equals)
            return cs_fail(err, EINVAL, "%s line %u: expected name = value", where, number);
        *equals = '\0';
        int rc = cs_daemon_settings_set(&parsed, trim(name), trim(equals + 1), &inner);
        if (rc < 0)
            return cs_fail(err, -rc, "%s line %u: %.400s", where, number, inner.text);
    }
    *settings = parsed;
    return 0;
}

struct cs_store_retention cs_daemon_settings_retention(const struct cs_daemon_settings *settings)
{
    return (struct cs_store_retention){.most_age_s = (uint64_t)settings->keep_age_s,
                                       .most_bytes = (uint64_t)settings->keep_bytes};
}
