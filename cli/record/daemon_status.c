/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon answers in lines "key value"; the table says which of them people read, and in which unit. */
#include "cli/record/daemon_status.h"

#include "cli/command/figures.h"
#include "cli/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys in the order of the text; those not here are in JSON only. */
static const struct shown {
    const char *key, *head, *unit;
    double factor; /* 0 = text as it is */
    int digits;
} shown[] = {
    {"store", "store", "", 0, 0},
    {"epoch", "epoch", "", 0, 0},
    {"driver", "driver", "", 0, 0},
    {"event", "event", "", 0, 0},
    {"uptime_s", "up for", " s", 1, 0},
    {"rate_hz", "rate on a busy CPU", " Hz", 1, 1},
    {"rested_percent", "time rested, to keep the budget", " %", 1, 1},
    {"loss_percent", "loss of the profiled work", " %", 1, 3},
    {"sample_cost_us", "cost per sample", " us", 1, 1},
    {"cpu_percent", "CPU time of the daemon", " % of one CPU", 1, 3},
    {"cpu_percent_lately", "CPU time, last second", " % of one CPU", 1, 3},
    {"memory_bytes", "memory", " MB", 1e-6, 1},
    {"memory_peak_bytes", "memory, peak", " MB", 1e-6, 1},
    {"samples", "samples", "", 1, 0},
    {"table_hit_percent", "hits in the kernel's table", " %", 1, 1},
    {"unknown", "samples unknown", "", 1, 0},
    {"unknown_percent", "samples unknown, share", " %", 1, 3},
    {"lost", "samples lost", "", 1, 0},
    {"chains.complete", "call chains, complete", "", 0, 0},
    {"chain_bytes", "unwind tables in the kernel", " MB", 1e-6, 1},
    {"wait_seconds", "waiting time of threads", " s", 1, 0},
    {"waits_kept", "waits kept", "", 1, 0},
    {"waits_all_from_ms", "all waits kept that took", " ms or more", 1, 0},
    {"waits_lost", "waits lost", "", 1, 0},
    {"waits_uncounted", "waits beyond the limit", "", 1, 0},
    {"map_records_lost", "mapping records lost", "", 1, 0},
    {"mappings_cut", "mappings beyond the limit", "", 1, 0},
    {"images_cut", "files beyond the limit", "", 1, 0},
    {"interpreters_cut", "interpreters beyond the limit", "", 1, 0},
    {"unanswered", "reads without an answer", "", 1, 0},
    {"image_conflicts", "images with a false build-id", "", 1, 0},
    {"jit_cut", "processes, JIT names cut", "", 1, 0},
    {"merged", "samples on disk", "", 1, 0},
    {"pending", "samples in memory", "", 1, 0},
    {"images", "images", "", 1, 0},
    {"processes", "processes", "", 1, 0},
    {"merges", "merges", "", 1, 0},
    {"merge_failures", "merges failed", "", 1, 0},
    {"exports", "exports", "", 1, 0},
    {"export_failures", "exports failed", "", 1, 0},
    {"last_merge_age_s", "since the last merge", " s", 1, 0},
    {"last_merge_took_ms", "last merge took", " ms", 1, 0},
    {"interval_ms", "length of intervals", " s", 1e-3, 1},
    {"bursts", "bursts", "", 1, 0},
    {"burst_held_median_us", "pause of a burst, median", " us", 1, 0},
    {"burst_held_p99_us", "pause, 99th percentile", " us", 1, 0},
    {"burst_held_max_us", "pause, longest", " us", 1, 0},
    {"burst_runners", "burst runners now", "", 1, 0},
    {"burst_memory_bytes", "memory of burst runners", " MB", 1e-6, 1},
    {"paths", "paths", "", 1, 0},
    {"path_moments", "register snapshots", "", 1, 0},
    {"status_age_s", "age of these numbers", " s", 1, 1},
    {"last_failure", "last failure", "", 0, 0},
};

static const struct shown *find(const char *key)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(shown[i].key, key) == 0)
            return &shown[i];
    return NULL;
}

static void put_line(struct output *out, const char *key, const char *value)
{
    const struct shown *line = find(key);
    if (!line)
        return;
    if (line->factor == 0)
        output_line(out, "%-32s %s", line->head, value);
    else if (line->factor == 1 && !line->digits && !*line->unit) /* a count */
        output_line(out, "%-32s %s", line->head, thousands(strtod(value, NULL)).text);
    else
        output_line(out, "%-32s %.*f%s", line->head, line->digits, line->factor * strtod(value, NULL),
                    line->unit);
}

/* "92.0 % of 786". `rest` has the lines "chains.END N" of the chains that ended early. */
static void put_chains(struct output *out, const char *complete, const char *rest)
{
    char share[64];
    double whole = strtod(complete, NULL), all = whole;
    for (const char *line = rest; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, "chains.", 7) == 0 && strchr(line, ' '))
            all += strtod(strchr(line, ' '), NULL);
    if (!(all > 0))
        return;
    snprintf(share, sizeof share, "%.1f %% of %s", 100 * whole / all, thousands(all).text);
    put_line(out, "chains.complete", share);
}

static json_t *json_value(const char *value, bool is_text)
{
    char *end;
    double number = strtod(value, &end);
    if (is_text || *end || end == value)
        return json_text(value);
    if (strchr(value, '.'))
        return json_real(number);
    return json_integer((json_int_t)strtoll(value, NULL, 10));
}

int daemon_status_print(const struct parsed *args, char *text)
{
    struct output *out = output_open(args);
    json_t *events = json_array(), *causes = json_object(), *chains = json_object();
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *value = strchr(line, ' ');
        if (!value)
            continue;
        *value++ = '\0';
        const struct shown *known = find(line);
        if (strcmp(line, "chains.complete") == 0)
            put_chains(out, value, next);
        else
            put_line(out, line, value);
        if (strcmp(line, "event") == 0)
            json_array_append_new(events, json_text(value));
        else if (strncmp(line, "unknown.", 8) == 0)
            json_object_set_new(causes, line + 8, json_value(value, false));
        else if (strncmp(line, "chains.", 7) == 0)
            json_object_set_new(chains, line + 7, json_value(value, false));
        else
            output_set(out, line, json_value(value, known && known->factor == 0));
    }
    output_set(out, "events", events);
    output_set(out, "unknown_causes", causes);
    output_set(out, "chain_ends", chains);
    return output_close(out);
}
