/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: what this machine can measure, what it can't, why, and how to enable it. */
#include "cli/doctor/doctor_events.h"
#include "cli/doctor/finding.h"
#include "cli/output/output.h"

#include <string.h>

static const char *const state_names[] = {"yes", "limited", "no"};
static const char *const state_colours[] = {"\033[32m", "\033[33m", "\033[31m"};

static const struct column columns[] = {
    {.key = "key", .kind = COLUMN_TEXT},
    {.key = "what", .kind = COLUMN_TEXT},
    {.key = "state", .kind = COLUMN_TEXT},
    {.key = "value", .kind = COLUMN_TEXT},
    {.key = "runtime_developer", .group = "means", .kind = COLUMN_TEXT},
    {.key = "architect", .group = "means", .kind = COLUMN_TEXT},
    {.key = "production", .group = "means", .kind = COLUMN_TEXT},
    {.key = "enable", .kind = COLUMN_TEXT},
};

static const struct column pair_columns[] = {
    {.key = "target_cpu", .kind = COLUMN_COUNT},
    {.key = "observer_cpu", .kind = COLUMN_COUNT},
    {.key = "by", .kind = COLUMN_TEXT},
};

/* One line "    label: text", wrapped at the terminal's width. */
static void wrapped(struct output *out, const char *label, const char *text)
{
    char line[512];
    size_t width = terminal_columns();
    width = width > 120 ? 120 : width;
    int indent = 29, used = snprintf(line, sizeof line, "    %-*s", indent - 4, label);
    size_t at = (size_t)used;
    bool fresh = true;
    for (const char *p = text; *p;) {
        size_t word = strcspn(p, " ");
        if (!fresh && at + 1 + word > width) {
            output_line(out, "%s", line);
            at = (size_t)snprintf(line, sizeof line, "%*s", indent, "");
            fresh = true;
        }
        int n = snprintf(line + at, sizeof line - at, "%s%.*s", fresh ? "" : " ", (int)word, p);
        at += (size_t)n < sizeof line - at ? (size_t)n : sizeof line - at - 1;
        fresh = false;
        p += word + (p[word] == ' ');
    }
    output_line(out, "%s", line);
}

static void show(struct output *out, const struct finding_rule *rule, const struct finding *f, bool explain)
{
    char what[64], state[16], value[sizeof f->value + 1];
    snprintf(what, sizeof what, "%-16s ", rule->what);
    snprintf(state, sizeof state, "%-8s", state_names[f->state]);
    snprintf(value, sizeof value, " %s", f->value);
    output_coloured_line(out, what, state_colours[f->state], state, value);
    if (!explain)
        return;
    const char *const users[] = {"runtime dev", "architect", "production"};
    const char *const means[] = {f->runtime, f->architect, f->production};
    for (int i = 0; i < 3; i++) {
        char label[64] = "";
        bool said = strcmp(means[i], "not needed") == 0;
        for (int k = 0; k < i; k++)
            said |= strcmp(means[i], means[k]) == 0;
        for (int k = i; k < 3 && !said; k++)
            if (strcmp(means[i], means[k]) == 0)
                snprintf(label + strlen(label), sizeof label - strlen(label), "%s%s", *label ? ", " : "",
                         users[k]);
        if (!said)
            wrapped(out, strchr(label, ',') && strstr(label, users[2]) && i == 0 ? "everybody" : label,
                    means[i]);
    }
    if (*f->enable)
        wrapped(out, "to enable", f->enable);
}

/* The two closing paragraphs: what can't be measured here, and what to run next. */
static void conclude(struct output *out, const struct machine *m)
{
    bool pmu = m->probes[PROBE_CYCLES_TASK] == 0, clock = m->probes[PROBE_CLOCK_TASK] == 0;
    if (pmu && clock && m->n_pairs)
        output_note(out,
                    "This machine can measure everything that cyclescope knows, but for the rows marked no.");
    if (!pmu)
        output_note(out, "Can't be measured here: IPC, cache misses and every other hardware event (see "
                         "PMU). What remains: time by function and instruction (cpu-clock), software "
                         "counters and tags at full resolution, edge profiles by bursts.");
    if (!clock)
        output_note(out, "Can't be measured here by this user: samples of any kind (see permission). What "
                         "remains: observing your own processes.");
    if (!m->n_pairs)
        output_note(
            out, "Can't be measured here: anything that needs an observer, because there is one CPU only.");
    output_line(out, "Next:");
    if (clock)
        output_line(out, "  cyclescope record -- COMMAND && cyclescope prof      where the time goes");
    if (m->n_pairs)
        output_line(out, "  cyclescope observe -- COMMAND                        rates of a program that "
                         "publishes signals");
}

static int report(const struct parsed *args, const struct machine *m)
{
    struct output *out = output_open(args);
    bool brief = option_given(args, "brief"), verbose = option_given(args, "verbose");
    struct table *rows = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    struct table *pairs = NULL;
    if (output_form(out) == OUTPUT_JSON)
        pairs = output_table(out, "pairs", pair_columns, sizeof pair_columns / sizeof *pair_columns);
    for (const struct finding_rule *rule = finding_rules; rule->key; rule++) {
        struct finding f = {.state = FINDING_GOOD, .enable = ""};
        rule->judge(m, &f);
        table_text(rows, rule->key);
        table_text(rows, rule->what);
        table_text(rows, state_names[f.state]);
        table_text(rows, f.value);
        table_text(rows, f.runtime);
        table_text(rows, f.architect);
        table_text(rows, f.production);
        table_text(rows, *f.enable ? f.enable : NULL);
        if (!brief)
            show(out, rule, &f, verbose || f.state != FINDING_GOOD);
    }
    for (unsigned i = 0; pairs && i < m->n_pairs; i++) {
        table_count(pairs, m->pairs[i].target);
        table_count(pairs, m->pairs[i].observer);
        table_text(pairs, m->pairs[i].by);
    }
    if (!brief)
        output_line(out, "%s", "");
    conclude(out, m);
    return output_close(out);
}

static int run(const struct parsed *args)
{
    const bool events = option_given(args, "events");
    if (operand_count(args) > events)
        return usage_error(events ? "%s: --events takes one pattern" : "%s: doctor takes no operand",
                           operand(args, events));
    if (events)
        return doctor_events(args, operand(args, 0));
    struct cs_error err = {0};
    const char *record = option(args, "record");
    if (record)
        return machine_record(record, &err) < 0 ? failed(&err) : CS_EXIT_OK;
    struct machine m;
    if (machine_gather(&m, option_given(args, "root") ? option(args, "root") : "", &err) < 0)
        return failed(&err);
    int rc = report(args, &m);
    machine_fini(&m);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_VERBOSE,
    {"brief", 0, NULL, "show only what can't be measured, and what to run next"},
    {"events", 0, NULL, "list the events that can be counted here; with PATTERN, only those that contain it"},
    {"record", 0, "DIR", "write what doctor saw to DIR (for a bug report)"},
    {"root", 0, "DIR", "look at a machine recorded with --record instead of this one"},
    {NULL, 0, NULL, NULL},
};

const struct command command_doctor = {
    "doctor",
    "[PATTERN]",
    "what this machine can measure, what it can't, why, and how to enable it",
    "Each row says what was found (yes, limited, no), what it means and how to enable it. The meaning is "
    "given for a runtime developer, an architect and for production. The answer of perf_event_open shows "
    "whether a PMU is absent, not permitted or busy. HWLOC_SYNTHETIC or HWLOC_XMLFILE can replace the "
    "topology. -v also explains the rows without a problem.",
    options,
    run,
};
