/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import: recordings of other tools into the store. */
#include "exchange/import/import.h"
#include "cli/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void show(uint64_t records, void *bar)
{
    progress_step(bar, records);
}

static int report(const struct parsed *args, const char *file, const struct cs_import_summary *s)
{
    const struct {
        const char *key, *what;
        uint64_t n;
    } rows[] = {
        {"samples", "samples in the file", s->read.samples},
        {"stored", "placed in an image", s->stored},
        {"unknown", "in no known image", s->unknown},
        {"without_event", "of no described event", s->read.without_event},
        {"lost", "lost, as its recorder says", s->read.lost},
        {"stacks", "call chains", s->stacks},
        {"unwound", "of them unwound from copies of stacks", s->unwound},
        {"complete", "of these to the beginning", s->complete},
        {"branches", "branch-stack entries", s->branches},
        {"branches_dropped", "impossible branch entries, dropped", s->branches_dropped},
        {"accesses", "with the latency or the source of a memory access", s->accesses},
        {"records", "records", s->read.records},
        {"mappings", "executable mappings", s->read.mappings},
        {"throttled", "throttle marks", s->read.throttled},
        {"skipped", "records of kinds not needed, skipped", s->read.skipped},
        {"trailing_bytes", "bytes behind the last record", s->read.trailing_bytes},
        {"images", "images", s->images},
        {"events", "events", s->events},
    };
    static const struct column columns[] = {
        {.head = "count", .key = "count", .kind = COLUMN_COUNT},
        {.head = "what", .key = "what", .kind = COLUMN_TEXT},
    };
    struct output *out = output_open(args);
    output_set(out, "file", json_text(file));
    if (output_form(out) == OUTPUT_JSON) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            output_set(out, rows[i].key, json_integer((json_int_t)rows[i].n));
        return output_close(out);
    }
    struct table *table = output_table(out, "import", columns, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n || i < 3) {
            table_count(table, rows[i].n);
            table_text(table, rows[i].what);
        }
    if (!option_given(args, "dry-run"))
        output_hint(out, "next:", "prof", NULL, "--store", store_location(args), "");
    return output_close(out);
}

static int run(const struct parsed *args)
{
    const char *name = operand(args, 0);
    if (operand_count(args) != 1)
        return usage_error("expected one file (or - for standard input), got %d", operand_count(args));
    bool from_stdin = strcmp(name, "-") == 0;
    FILE *file = from_stdin ? stdin : fopen(name, "rbe");
    if (!file)
        return failed_with("%s: %s", name, strerror(errno));

    struct cs_error err;
    struct cs_store *store = NULL;
    struct cs_import_summary summary = {0};
    struct progress bar;
    char folder[4096], root[PATH_MAX];
    const char *symfs = option(args, "symfs");
    if (symfs && !realpath(symfs, root)) { /* the store keeps the paths of the files below it */
        int saved = errno;
        if (!from_stdin)
            fclose(file);
        return failed_with("--symfs %s: %s", symfs, strerror(saved));
    }
    const char *slash = strrchr(name, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - name) + 1 : 1, slash ? name : ".");
    const struct cs_import_options how = {.symfs = symfs ? root : NULL,
                                          .trust_paths = option_given(args, "trust-paths"),
                                          .beside = from_stdin ? NULL : folder,
                                          .progress = show,
                                          .arg = &bar};
    progress_init(&bar, "reading", "records", 0);
    int rc =
        option_given(args, "dry-run") ? 0 : cs_store_open(store_location(args), CS_STORE_WRITE, &store, &err);
    if (rc == 0)
        rc = cs_import_perfdata(file, name, &how, store, &summary, &err);
    progress_fini(&bar);
    cs_store_close(store);
    if (!from_stdin)
        fclose(file);
    return rc < 0 ? failed(&err) : report(args, name, &summary);
}

static const struct option_entry options[] = {
    {"symfs", 0, "DIR",
     "look for the files of the recorded machine below DIR, and accept them without a build-id"},
    {"trust-paths", 0, NULL, "without a build-id, accept the file at the recorded path as the one that ran"},
    {"dry-run", 0, NULL, "read and count, store nothing"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_import = {
    "import",
    "FILE",
    "bring a recording of perf (perf.data, file or pipe, any byte order) into the store",
    "Samples get (image, offset, event) as in our own recordings. Call chains become stacks. Branch stacks "
    "(LBR) become an edge profile (lbr-edges), straight runs (lbr-ranges) and mispredicted branches "
    "(lbr-mispredicts). A malformed file is refused completely; records of unknown kinds are counted and "
    "skipped. FILE - is standard input.\n"
    "\n"
    "If an executable isn't on this machine, its offsets are kept as file offsets. Without build-ids (perf "
    "record -z has none) a file is accepted if its inode is the recorded one and it hasn't changed since. "
    "--trust-paths accepts any file at the recorded path, --symfs those of another machine.\n"
    "\n"
    "Names of JIT code are read from perf-PID.map and jit-PID.dump next to the recording, or from where the "
    "runtime left them.",
    options,
    run,
};
