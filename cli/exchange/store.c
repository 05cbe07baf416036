/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store: what a profile store holds, whether it is complete; merging stores, removing old epochs. */
#include "store/store.h"
#include "cli/output/output.h"
#include "sampler/dynamic/jit_code.h"
#include "store/base/text.h"
#include "store/catalog.h"
#include "store/kept_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The store that a verb is about: its operand, else as everywhere. */
static const char *of_store(const struct parsed *args)
{
    return operand(args, 1) ? operand(args, 1) : store_location(args);
}

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

/* The bytes of its file, or a negative errno. */
static int64_t list_profile(struct table *table, const struct cs_store_profile_ref *ref, struct cs_error *err)
{
    struct cs_table *loaded;
    struct stat st = {.st_size = 0};
    int rc = cs_store_load(ref, &loaded, err);
    if (rc < 0)
        return rc;
    const struct cs_schema *schema = cs_table_schema(loaded);
    uint64_t rows = cs_table_rows(loaded);
    uint64_t bytes = stat(ref->file, &st) == 0 ? (uint64_t)st.st_size : 0;
    table_text(table, ref->epoch);
    table_count(table, schema->n_columns > schema->n_keys ? cs_table_sum(loaded, schema->n_keys) : rows);
    table_count(table, rows);
    table_count(table, bytes);
    table_text(table, ref->head->event);
    table_text(table, ref->kind_name);
    table_text(table, ref->head->label);
    table_text(table, ref->image->path);
    table_text(table, ref->image->id);
    table_count(table, ref->image->kind);
    table_text(table, ref->head->unit);
    table_count(table, ref->head->period_sum);
    table_count(table, ref->head->enabled_ns);
    table_count(table, ref->head->running_ns);
    table_text(table, ref->file);
    cs_table_close(loaded);
    return (int64_t)bytes;
}

static int run_ls(const struct parsed *args)
{
    struct cs_store *store;
    struct cs_error err;
    int rc = cs_store_open(of_store(args), CS_STORE_READ, &store, &err);
    if (rc < 0)
        return failed(&err);
    struct output *out = output_open(args);
    struct table *table = output_table(out, "profiles", ls_columns, sizeof ls_columns / sizeof *ls_columns);
    const struct cs_catalog *catalog;
    size_t n_profiles = 0;
    uint64_t all_bytes = 0;
    rc = cs_store_catalog(store, &catalog, &err);
    for (; rc == 0 && n_profiles < catalog->n_profiles; n_profiles++) {
        int64_t bytes = list_profile(table, &catalog->profiles[n_profiles], &err);
        rc = bytes < 0 ? -1 : 0;
        all_bytes += (uint64_t)bytes;
    }
    cs_store_close(store);
    if (rc < 0) {
        output_drop(out);
        return failed(&err);
    }
    output_set(out, "store", json_text(of_store(args)));
    output_set(out, "bytes", json_integer((json_int_t)all_bytes));
    output_line(out, "%zu %s, %" PRIu64 " bytes", n_profiles, n_profiles == 1 ? "profile" : "profiles",
                all_bytes);
    return output_close(out);
}

static int run_dump(const struct parsed *args)
{
    struct cs_store_profile_head head;
    struct cs_table *loaded;
    struct cs_error err;
    struct column columns[CS_TABLE_COLUMNS_MAX];
    const char *path = operand(args, 1);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return failed_with(
            "%s is a directory: dump takes one file of a store, such as %s/EPOCH/IMAGE/cpu-clock.prof", path,
            path);
    if (cs_store_load_file(path, &head, &loaded, &err) < 0)
        return failed(&err);
    const struct cs_schema *schema = cs_table_schema(loaded);
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
    struct table *table = output_table(out, "rows", columns, schema->n_columns);
    for (size_t i = 0; i < cs_table_rows(loaded); i++) {
        const uint64_t *row = cs_table_row(loaded, i);
        for (unsigned c = 0; c < schema->n_columns; c++)
            if (columns[c].kind == COLUMN_TEXT)
                table_text(table, cs_table_string(loaded, row[c]));
            else
                table_count(table, row[c]);
    }
    int rc = output_close(out);
    cs_table_close(loaded);
    return rc;
}

static void print_bad(const char *sentence, void *arg)
{
    (void)arg;
    remark("%s", sentence);
}

static int run_verify(const struct parsed *args)
{
    struct cs_error err;
    int bad = cs_store_verify(of_store(args), print_bad, NULL, &err);
    if (bad < 0)
        return failed(&err);
    if (bad)
        return failed_with("%d damaged %s in %s", bad, bad == 1 ? "file" : "files", of_store(args));
    struct output *out = output_open(args);
    output_set(out, "damaged", json_integer(0));
    output_line(out, "%s is complete, every file as it was written", of_store(args));
    return output_close(out);
}

static void step(void *bar, uint64_t files)
{
    progress_step(bar, files);
}

/* Of one runtime each store has the code of the methods that it saw. */
static int merge_code(const char *to, const char *from, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    struct cs_store *store;
    struct cs_error failed;
    unsigned n = 0;
    int rc = cs_kept_code_combine(to, from, CS_KEPT_CODE_STORE_MAX, err);
    if (rc >= 0)
        rc = cs_store_open(from, CS_STORE_READ, &store, err);
    if (rc < 0)
        return rc;
    rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_images && n < CS_JIT_CODE_IMAGES; i++) {
        const struct cs_store_image *image = catalog->images[i].image;
        if (image->kind != CS_IMAGE_JIT || !catalog->images[i].is_first)
            continue;
        n++;
        if (cs_jit_code_combine(to, from, image->id, CS_KEPT_CODE_STORE_MAX, &failed) < 0)
            remark("%s", failed.text);
    }
    cs_store_close(store);
    return rc;
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
        n += rc > 0 ? rc : 0;
        if (rc >= 0)
            rc = merge_code(operand(args, 1), operand(args, i), &err);
        if (rc < 0)
            return failed(&err);
    }
    struct output *out = output_open(args);
    output_set(out, "epochs", json_integer(n));
    output_line(out, "%d %s merged into %s", n, n == 1 ? "epoch" : "epochs", operand(args, 1));
    return output_close(out);
}

static void list_removed(const char *epoch, uint64_t bytes, void *arg)
{
    table_text(arg, epoch);
    table_count(arg, bytes);
}

static int run_gc(const struct parsed *args)
{
    static const struct column columns[] = {
        {.key = "epoch", .head = "removed epoch", .kind = COLUMN_TEXT},
        {.key = "bytes", .head = "bytes", .kind = COLUMN_COUNT},
    };
    struct cs_error err;
    double age_s = option_seconds(args, "keep-age", 0), bytes = option_number(args, "keep-size", 0, 0, 1e18);
    struct cs_store_retention retention = {.most_age_s = (uint64_t)age_s, .most_bytes = (uint64_t)bytes};
    struct output *out = output_open(args);
    int n = cs_store_gc(of_store(args), &retention, NULL, list_removed,
                        output_table(out, "removed", columns, 2), &err);
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
    {"ls", NULL, run_ls},       {"verify", NULL, run_verify},     {"gc", NULL, run_gc},
    {"dump", "FILE", run_dump}, {"merge", "STORE...", run_merge},
};

static int run(const struct parsed *args)
{
    const char *name = operand(args, 0);
    for (size_t i = 0; name && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return !verbs[i].operand || operand(args, 1)
                       ? verbs[i].run(args)
                       : usage_error("%s needs a %s", name, verbs[i].operand);
    if (!name)
        return usage_error("expected ls, verify, dump, merge or gc");
    struct cs_resembling r = {.word = name};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        cs_resembling_try(&r, verbs[i].name);
    return usage_error("%s: expected ls, verify, dump, merge or gc%s", name, cs_did_you_mean(&r).text);
}

static const struct option_entry options[] = {
    OPTIONS_KEEP,
    {"into", 0, "EPOCH", "merge: fold all epochs into this one"},
    {"add", 0, NULL, "merge: add to epochs that are there already"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_store = {
    "store",
    "ls|verify|gc | merge STORE FROM... | dump FILE",
    "what a profile store holds, whether it is complete; merge stores, remove old epochs",
    "ls lists every profile: the sum of its first value column (samples, counts), its rows and bytes.\n\n"
    "verify reads every file to its last byte and names the damaged ones (exit 1).\n\n"
    "merge adds the epochs of other stores, and their copies of binaries. It refuses an epoch that is there "
    "already, because that would count twice; --add allows it. --into folds all epochs into one. If several "
    "stores have a JIT method of the same name, the code of the first is kept.\n\n"
    "gc removes whole epochs by age and size, never the newest one.\n\n"
    "dump prints the rows of one file.",
    options,
    run,
};
