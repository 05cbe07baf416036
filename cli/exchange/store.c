/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store: what a profile store holds, whether it is whole; merging stores, removing old epochs. */
#include "store/store.h"
#include "cli/command/command.h"
#include "cli/output/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct column ls_columns[] = {
    {.key = "epoch", .head = "epoch", .kind = COLUMN_TEXT},
    {.key = "sum", .head = "sum", .kind = COLUMN_COUNT},
    {.key = "rows", .head = "rows", .kind = COLUMN_COUNT},
    {.key = "bytes", .head = "bytes", .kind = COLUMN_COUNT},
    {.key = "event", .head = "event", .kind = COLUMN_TEXT},
    {.key = "kind", .head = "kind", .kind = COLUMN_TEXT, .spare = true},
    {.key = "label", .head = "label", .kind = COLUMN_TEXT, .spare = true},
    {.key = "path", .head = "image", .kind = COLUMN_TEXT, .elastic = true, .keep_end = true},
    {.key = "image", .kind = COLUMN_TEXT},
    {.key = "image_kind", .kind = COLUMN_COUNT},
    {.key = "unit", .kind = COLUMN_TEXT},
    {.key = "period_sum", .kind = COLUMN_COUNT},
    {.key = "enabled_ns", .kind = COLUMN_COUNT},
    {.key = "running_ns", .kind = COLUMN_COUNT},
    {.key = "file", .kind = COLUMN_TEXT},
};

struct ls {
    struct sheet *sheet;
    struct cs_error *err;
    uint64_t n_profiles, bytes;
};

static int list_profile(const struct cs_profile_ref *ref, void *arg)
{
    struct ls *ls = arg;
    struct cs_table *table;
    struct stat st = {.st_size = 0};
    int rc = cs_store_load(ref, &table, ls->err);
    if (rc < 0)
        return rc;
    const struct cs_schema *schema = cs_table_schema(table);
    uint64_t rows = cs_table_rows(table);
    uint64_t bytes = stat(ref->file, &st) == 0 ? (uint64_t)st.st_size : 0;
    ls->n_profiles++;
    ls->bytes += bytes;
    sheet_text(ls->sheet, ref->epoch);
    sheet_count(ls->sheet, schema->n_columns > schema->n_keys ? cs_table_sum(table, schema->n_keys) : rows);
    sheet_count(ls->sheet, rows);
    sheet_count(ls->sheet, bytes);
    sheet_text(ls->sheet, ref->head->event);
    sheet_text(ls->sheet, ref->kind);
    sheet_text(ls->sheet, ref->head->label);
    sheet_text(ls->sheet, ref->image->path);
    sheet_text(ls->sheet, ref->image->id);
    sheet_count(ls->sheet, ref->image->kind);
    sheet_text(ls->sheet, ref->head->unit);
    sheet_count(ls->sheet, ref->head->period_sum);
    sheet_count(ls->sheet, ref->head->enabled_ns);
    sheet_count(ls->sheet, ref->head->running_ns);
    sheet_text(ls->sheet, ref->file);
    cs_table_close(table);
    return 0;
}

static int run_ls(const struct parsed *args)
{
    struct cs_store *store;
    struct cs_error err;
    int rc = cs_store_open(operand(args, 1), CS_STORE_READ, &store, &err);
    if (rc < 0)
        return failed(&err);
    struct output *out = output_open(args);
    struct ls ls = {.sheet =
                        output_sheet(out, "profiles", ls_columns, sizeof ls_columns / sizeof *ls_columns),
                    .err = &err};
    rc = cs_store_each(store, list_profile, &ls, &err);
    cs_store_close(store);
    if (rc < 0) {
        output_drop(out);
        return failed(&err);
    }
    output_set(out, "store", json_text(operand(args, 1)));
    output_set(out, "bytes", json_integer((json_int_t)ls.bytes));
    output_line(out, "%" PRIu64 " %s, %" PRIu64 " bytes", ls.n_profiles,
                ls.n_profiles == 1 ? "profile" : "profiles", ls.bytes);
    return output_close(out);
}

static int run_dump(const struct parsed *args)
{
    struct cs_profile_head head;
    struct cs_table *table;
    struct cs_error err;
    struct column columns[CS_TABLE_COLUMNS_MAX];
    if (cs_store_load_file(operand(args, 1), &head, &table, &err) < 0)
        return failed(&err);
    const struct cs_schema *schema = cs_table_schema(table);
    for (unsigned c = 0; c < schema->n_columns; c++) {
        enum cs_column_kind kind = schema->columns[c].kind;
        columns[c] = (struct column){.key = schema->columns[c].name,
                                     .head = schema->columns[c].name,
                                     .kind = kind == CS_KEY_TEXT ? COLUMN_TEXT
                                             : kind == CS_KEY    ? COLUMN_HEX
                                                                 : COLUMN_COUNT};
    }
    struct output *out = output_open(args);
    output_set(out, "kind", json_text(schema->kind));
    output_set(out, "event", json_text(head.event));
    output_set(out, "label", json_text(head.label));
    output_set(out, "unit", json_text(head.unit));
    output_set(out, "period_sum", json_integer((json_int_t)head.period_sum));
    output_set(out, "enabled_ns", json_integer((json_int_t)head.enabled_ns));
    output_set(out, "running_ns", json_integer((json_int_t)head.running_ns));
    struct sheet *sheet = output_sheet(out, "rows", columns, schema->n_columns);
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        for (unsigned c = 0; c < schema->n_columns; c++)
            if (columns[c].kind == COLUMN_TEXT)
                sheet_text(sheet, cs_table_string(table, row[c]));
            else
                sheet_count(sheet, row[c]);
    }
    int rc = output_close(out);
    cs_table_close(table);
    return rc;
}

static void print_bad(const char *sentence, void *arg)
{
    (void)arg;
    fprintf(stderr, "cyclescope store: %s\n", sentence);
}

static int run_verify(const struct parsed *args)
{
    struct cs_error err;
    int bad = cs_store_verify(operand(args, 1), print_bad, NULL, &err);
    if (bad < 0)
        return failed(&err);
    if (bad)
        return failed_with("%d damaged %s in %s", bad, bad == 1 ? "file" : "files", operand(args, 1));
    struct output *out = output_open(args);
    output_set(out, "damaged", json_integer(0));
    output_line(out, "%s is whole", operand(args, 1));
    return output_close(out);
}

static void step(void *bar, uint64_t files)
{
    progress_step(bar, files);
}

static int run_merge(const struct parsed *args)
{
    struct cs_error err;
    int n = 0;
    if (operand_count(args) < 3)
        return usage_error("merge needs the store to merge into, then the stores to merge");
    for (int i = 2; i < operand_count(args); i++) {
        struct progress bar;
        progress_init(&bar, "merging", "files", 0);
        int rc = cs_store_combine(operand(args, 1), operand(args, i), option(args, "into"),
                                  option_given(args, "add"), step, &bar, &err);
        progress_fini(&bar);
        if (rc < 0)
            return failed(&err);
        n += rc;
    }
    struct output *out = output_open(args);
    output_set(out, "epochs", json_integer(n));
    output_line(out, "%d %s merged into %s", n, n == 1 ? "epoch" : "epochs", operand(args, 1));
    return output_close(out);
}

static void list_removed(const char *epoch, uint64_t bytes, void *arg)
{
    sheet_text(arg, epoch);
    sheet_count(arg, bytes);
}

static int run_gc(const struct parsed *args)
{
    static const struct column columns[] = {
        {.key = "epoch", .head = "removed epoch", .kind = COLUMN_TEXT},
        {.key = "bytes", .head = "bytes", .kind = COLUMN_COUNT},
    };
    struct cs_error err;
    double days = option_number(args, "keep-days", 0, 0, 1e5),
           bytes = option_number(args, "keep-bytes", 0, 0, 1e18);
    struct cs_retention retention = {.most_age_s = (uint64_t)(days * 86400), .most_bytes = (uint64_t)bytes};
    struct output *out = output_open(args);
    int n = cs_store_gc(operand(args, 1), &retention, NULL, list_removed,
                        output_sheet(out, "removed", columns, 2), &err);
    if (n < 0) {
        output_drop(out);
        return failed(&err);
    }
    output_line(out, "%d %s removed", n, n == 1 ? "epoch" : "epochs");
    return output_close(out);
}

static const struct verb {
    const char *name, *operand;
    int (*run)(const struct parsed *args);
} verbs[] = {
    {"ls", "STORE", run_ls},          {"verify", "STORE", run_verify}, {"dump", "FILE", run_dump},
    {"merge", "STORE...", run_merge}, {"gc", "STORE", run_gc},
};

static int run(const struct parsed *args)
{
    const char *name = operand(args, 0);
    for (size_t i = 0; name && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return operand(args, 1) ? verbs[i].run(args)
                                    : usage_error("%s needs a %s", name, verbs[i].operand);
    if (!name)
        return usage_error("expected ls, verify, dump, merge or gc");
    return usage_error("there is no store %s: expected ls, verify, dump, merge or gc", name);
}

static const struct option_entry options[] = {
    {"keep-days", 0, "DAYS", "gc: remove epochs last written more than DAYS ago"},
    {"keep-bytes", 0, "BYTES", "gc: remove the oldest epochs until the rest has at most BYTES (k, M, G)"},
    {"into", 0, "EPOCH", "merge: fold all epochs into this one"},
    {"add", 0, NULL, "merge: add to epochs that are there already"},
    {NULL, 0, NULL, NULL},
};

extern const struct command command_store;
const struct command command_store = {
    "store",
    "ls|verify|gc STORE | merge STORE FROM... | dump FILE",
    "what a profile store holds, whether it is whole; merge stores, remove old epochs",
    "ls lists every profile: the sum of its first value column (samples, counts), its rows and bytes.\n"
    "verify reads every file to its last byte and names the damaged ones (exit 1).\n"
    "merge adds the epochs of other stores; an epoch that is there already is refused, because it would\n"
    "count twice, unless --add says that this is wanted. --into folds them all into one epoch.\n"
    "gc removes whole epochs by age and size, never the newest one.\n"
    "dump prints the rows of one file.",
    options,
    run,
};
