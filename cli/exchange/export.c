/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export: a store's profiles in the formats of other tools. */
#include "exchange/export/export.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/exchange/export.h"
#include "cli/output/output.h"
#include "store/base/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct cs_exporter *find(const char *name)
{
    for (const struct cs_exporter *const *e = cs_exporters; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    return NULL;
}

static int unknown_format(const char *name)
{
    char names[256] = "";
    struct cs_resembling r = {.word = name};
    cs_resembling_try(&r, "trace");
    for (const struct cs_exporter *const *e = cs_exporters; *e; e++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "trace, ", (*e)->name);
        cs_resembling_try(&r, (*e)->name);
    }
    return usage_error("--format %s: there are %s%s", name, names, cs_did_you_mean(&r).text);
}

/* One stage after another, each with a bar of its own. */
static void show(const char *unit, uint64_t done, uint64_t total, void *arg)
{
    struct progress *bar = arg;
    if (strcmp(bar->unit, unit) != 0) {
        progress_fini(bar);
        progress_init(bar, "exporting", unit, total);
    }
    progress_of(bar, done, total);
}

static int write_to(const struct cs_exporter *exporter, struct cs_export *from, const char *path,
                    struct progress *bar)
{
    struct cs_error err;
    FILE *to = path ? fopen(path, "wbe") : stdout;
    if (!to)
        return failed_with("%s: can't be written: %s", path, strerror(errno));
    int rc = exporter->write(from, to, &err);
    progress_fini(bar);
    bool lost = ferror(to) || (path ? fclose(to) : fflush(to)) != 0;
    if (rc < 0)
        return failed(&err);
    if (lost)
        return failed_with("%s: not written in full: %s", path ? path : "standard output", strerror(errno));
    if (*from->note)
        report_line(path ? stdout : stderr, "%s", from->note);
    return CS_EXIT_OK;
}

static int write_trace(const char *log, const char *path)
{
    if (!log)
        return usage_error("--format trace needs --log FILE, which cyclescope observe --log FILE writes");
    FILE *to = path ? fopen(path, "wbe") : stdout;
    if (!to)
        return failed_with("%s: can't be written: %s", path, strerror(errno));
    int exit_code = export_trace(log, to);
    bool lost = ferror(to) || (path ? fclose(to) : fflush(to)) != 0;
    if (lost && exit_code == CS_EXIT_OK)
        return failed_with("%s: not written in full: %s", path ? path : "standard output", strerror(errno));
    return exit_code;
}

static int run(const struct parsed *args)
{
    const char *format = option(args, "format"), *path = option(args, "to");
    if (format && strcmp(format, "trace") == 0)
        return write_trace(option(args, "log"), path);
    const struct cs_exporter *exporter = find(format ? format : "pprof");
    if (!exporter)
        return unknown_format(format);
    const bool timed =
        option_given(args, "from") || option_given(args, "until") || option_given(args, "last");
    if (timed && ((path && strcmp(path, "clickhouse") == 0) || option_given(args, "once")))
        return usage_error(
            "--to clickhouse and --once send all that is new: they go without --from, --until, --last");
    const bool pushed = path && export_is_receiver(path);
    if (option_given(args, "once") && !pushed)
        return usage_error("--once needs --to otlp, --to pyroscope or --to parca");
    if (path && strcmp(path, "clickhouse") == 0)
        return operand_count(args) == 1
                   ? export_to_clickhouse(args, operand(args, 0))
                   : usage_error("expected one URL: --to clickhouse http://HOST:8123/DATABASE");
    if (pushed)
        return export_to_receiver(args, path);
    if (operand_count(args) > 0)
        return usage_error("unexpected operand %s", operand(args, 0));
    if (exporter->binary && !path && isatty(STDOUT_FILENO))
        return usage_error("%s is binary: give --to FILE or redirect the output", exporter->name);
    struct cs_error err;
    struct cs_store *store = NULL;
    struct cs_export from = {0};
    struct progress bar;
    progress_init(&bar, "exporting", "images", 0);
    /* A bar in the middle of what goes to the same terminal would spoil it. */
    bool beside = path || !isatty(STDOUT_FILENO);
    const struct cs_export_watch watch = {beside ? show : NULL, &bar};
    int rc = recordings_open(store_location(args), recording_asked(args), RECORDINGS_OF_SAMPLES, &store, NULL,
                             &err);
    if (rc == 0)
        rc = cs_export_open(store, option(args, "event"), option(args, "image"), &watch, &from, &err);
    if (rc < 0)
        progress_fini(&bar);
    else
        export_name_source(args, &from);
    int exit_code = rc < 0 ? failed(&err) : write_to(exporter, &from, path, &bar);
    if (rc == 0)
        cs_export_close(&from);
    cs_store_close(store);
    return exit_code;
}

static const struct option_entry options[] = {
    {"format", 'f', "NAME",
     "pprof (default), otlp, folded, speedscope, firefox, trace, csv, json, llvm, gcov, gcov11, bolt"},
    {"to", 0, "FILE",
     "write to FILE instead of standard output; --to clickhouse, otlp, pyroscope or parca sends to a URL"},
    OPTIONS_WHAT,
    {"host", 0, "NAME", "host name of sent samples (default: the host of each recording)"},
    {"service", 0, "NAME", "service name of sent profiles (default: OTEL_SERVICE_NAME, else cyclescope)"},
    {"once", 0, NULL, "send each finished recording once; for the daemon and timers; not for clickhouse"},
    {"retry", 0, "SECONDS", "how long to retry while the server doesn't answer (60)"},
    {"spool", 0, "DIR", "clickhouse: where unsent batches are kept (default: in the store)"},
    {"spool-size", 0, "BYTES", "clickhouse: limit for unsent batches (64M); the store keeps the rest"},
    OPTION_LOG,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_export = {
    "export",
    "[--to clickhouse|otlp|pyroscope|parca URL]",
    "profiles of a store in the formats of other tools",
    "  pprof       gzip'd profile.proto with mappings, build-ids, lines and inlined frames: go tool pprof, "
    "Grafana\n"
    "  otlp        OpenTelemetry's ProfilesData (v1development): for its collector's tools\n"
    "  folded      one line per stack: flamegraph.pl, inferno\n"
    "  speedscope  speedscope.app\n"
    "  firefox     profiler.firefox.com\n"
    "  trace       an observer's log (--log) as a time line: ui.perfetto.dev, chrome://tracing\n"
    "  llvm        LLVM sample profile (text) for clang -fprofile-sample-use\n"
    "  gcov        AutoFDO profile for gcc -fauto-profile (gcov11: for GCC up to 11, and dump_gcov)\n"
    "  bolt        fdata for llvm-bolt -data; choose the executable with --image\n"
    "  csv, json   every row of every profile, with function, file and line\n"
    "\n"
    "Viewers' formats include waits (record --waits) as time, after the samples. --event waits exports only "
    "waits.\n"
    "\n"
    "--to clickhouse URL sends all new samples to a ClickHouse server, each exactly once even after failures "
    "(see fleet). URL is http[s]://[USER[:PASSWORD]@]HOST[:8123][/DATABASE].\n"
    "\n"
    "--to otlp, pyroscope or parca URL sends profiles to that back end. URL is http[s]://HOST[:PORT][/PATH], "
    "or grpc[s]://HOST[:PORT] for gRPC. CYCLESCOPE_EXPORT_URL holds a URL and CYCLESCOPE_EXPORT_HEADERS "
    "(NAME=VALUE,...) headers, with a key or a tenant, if they must not be in a command line. ~/.netrc may "
    "hold passwords.\n"
    "\n"
    "  otlp       an OpenTelemetry collector: http://HOST:4318 (PATH is by default /v1development/profiles) "
    "or grpc://HOST:4317, gzip'd. The variables OTEL_EXPORTER_OTLP_[PROFILES_]ENDPOINT, "
    "OTEL_EXPORTER_OTLP_[PROFILES_]PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_COMPRESSION "
    "apply\n"
    "  pyroscope  Grafana Pyroscope: http://HOST:4040 (or grpc://), pprof by push.v1\n"
    "  parca      Parca: grpc://HOST:7070, pprof by WriteRaw",
    options,
    run,
};
