/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals: what a live process publishes: its signals, its threads and what each does now. */
#include "cli/observe/addresses.h"
#include "cli/output/output.h"
#include "signals/reader/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `parse`, `1234`, `main loop 2 (x.c:12)`: one signal of one thread as text. */
static void value_text(char *out, size_t size, struct cs_reader *reader, struct addresses *addresses,
                       const struct cs_seen_signal *signal, uint64_t value)
{
    const char *name = signal->kind == CS_SIGNAL_TAG ? cs_reader_name(reader, signal->word, value) : NULL;
    if (!name && signal->is_address)
        name = value == 0 ? "(no tag yet)" : addresses_text(addresses, value);
    if (name)
        snprintf(out, size, "%s", name);
    else if (signal->is_address)
        snprintf(out, size, "0x%" PRIx64, cs_reader_address(reader, value));
    else
        snprintf(out, size, "%" PRIu64, value);
}

static const struct column signal_columns[] = {
    {.key = "signal", .head = "signal", .kind = COLUMN_TEXT},
    {.key = "kind", .head = "kind", .kind = COLUMN_TEXT},
    {.key = "word", .head = "word", .kind = COLUMN_COUNT},
    {.key = "address", .head = "values", .kind = COLUMN_TEXT},
};

static const struct column thread_columns[] = {
    {.key = "tid", .head = "thread", .kind = COLUMN_COUNT},
    {.key = "line", .head = "line", .kind = COLUMN_COUNT},
    {.key = "generation", .head = NULL, .kind = COLUMN_COUNT},
    {.key = "signal", .head = "signal", .kind = COLUMN_TEXT},
    {.key = "value", .head = NULL, .kind = COLUMN_COUNT},
    {.key = "text", .head = "value", .kind = COLUMN_TEXT, .elastic = true},
};

static void show_threads(struct output *out, struct cs_reader *reader, struct addresses *addresses,
                         const struct cs_seen_signal *signals, unsigned n_signals, bool all)
{
    struct table *rows = output_table(out, "threads", thread_columns, 6);
    struct cs_seen_thread thread;
    const uint32_t lines = cs_reader_lines(reader);
    unsigned n_threads = 0;
    for (uint32_t line = 0; line < lines; line++) {
        if (!cs_reader_thread(reader, line, &thread))
            continue;
        n_threads++;
        const pid_t tid = cs_reader_tid(reader, thread.tid);
        for (unsigned i = 0; i < n_signals; i++) {
            const uint64_t value = thread.values[signals[i].word];
            char text[512];
            value_text(text, sizeof text, reader, addresses, &signals[i], value);
            table_count(rows, tid > 0 ? (uint64_t)tid : thread.tid);
            table_count(rows, line);
            table_count(rows, thread.generation);
            table_text(rows, signals[i].name);
            table_count(rows, value);
            table_text(rows, text);
        }
    }
    if (!all)
        table_limit(rows, 40, "--all shows all");
    output_line(out, "%u thread%s", n_threads, n_threads == 1 ? "" : "s");
    output_set(out, "n_threads", json_integer(n_threads));
}

static int show(const struct parsed *args, struct cs_reader *reader)
{
    struct output *out = output_open(args);
    struct cs_seen_signal signals[CS_SIGNALS_MAX];
    const unsigned n = cs_reader_signals(reader, signals);
    if (n == 0)
        output_note(out, "the process has a segment, but defined no signal yet");
    struct table *rows = output_table(out, "signals", signal_columns, 4);
    for (unsigned i = 0; i < n; i++) {
        table_text(rows, signals[i].name);
        table_text(rows, signals[i].kind == CS_SIGNAL_TAG ? "tag" : "counter");
        table_count(rows, signals[i].word);
        table_text(rows, signals[i].is_address ? "addresses" : "numbers");
    }
    output_line(out, "%s", "");
    struct addresses *addresses = addresses_open();
    addresses_read_mappings(addresses, cs_reader_pid(reader));
    addresses_of(addresses, reader);
    show_threads(out, reader, addresses, signals, n, option_given(args, "all"));
    addresses_close(addresses);
    if (cs_reader_lines_lost(reader) > 0)
        output_note(out, "%" PRIu64 " thread%s found no free line: not shown here",
                    cs_reader_lines_lost(reader), plural((double)cs_reader_lines_lost(reader)));
    if (cs_reader_names_lost(reader) > 0)
        output_note(out, "%" PRIu64 " name%s lost: the table of names is full", cs_reader_names_lost(reader),
                    plural((double)cs_reader_names_lost(reader)));
    output_set(out, "pid", json_integer(cs_reader_pid(reader)));
    return output_close(out);
}

static int run(const struct parsed *args)
{
    const char *pid = option(args, "pid"), *file = option(args, "segment");
    if ((pid != NULL) == (file != NULL) || operand_count(args) != 0)
        return usage_error("give one process with -p PID, or a copy of a segment with --segment");
    char why[CS_WHY_MAX];
    struct cs_reader *reader;
    const int rc = pid ? cs_reader_open_pid((pid_t)option_number(args, "pid", 0, 1, 4194304), &reader, why)
                       : cs_reader_open_file(file, &reader, why);
    if (rc < 0)
        return failed_with("%s", why);
    const int shown = show(args, reader);
    cs_reader_close(reader);
    return shown;
}

static const struct option_entry options[] = {
    OPTION_PID,
    {"segment", 0, "FILE", "a copy of its segment (cp /proc/PID/fd/N FILE) instead of a live process"},
    OPTION_ALL,
    {NULL, 0, NULL, NULL},
};

const struct command command_signals = {
    "signals",
    "-p PID",
    "what a process publishes: its signals, and what each thread does now",
    "A process publishes software signals when it is linked with libcyclescope (see cyclescope.h), built "
    "with the compiler plugin, or run under a binding. This command reads the values of its threads once, as "
    "they are now. `cyclescope observe` reads them millions of times per second.",
    options,
    run,
};
