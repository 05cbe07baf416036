/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store: what a profile store holds, whether it is whole. */
#include "store/store.h"
#include "cli/command.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
    json_t *profiles; /* NULL = print text */
    char epoch[128];
    struct cs_error *err;
    uint64_t n_profiles, bytes;
};

static int list_profile(const struct cs_profile_ref *ref, void *arg)
{
    struct listing *listing = arg;
    struct cs_table *table;
    struct stat st = {.st_size = 0};
    int rc = cs_store_load(ref, &table, listing->err);
    if (rc < 0)
        return rc;
    const struct cs_schema *schema = cs_table_schema(table);
    uint64_t rows = cs_table_rows(table);
    uint64_t sum = schema->n_columns > schema->n_keys ? cs_table_sum(table, schema->n_keys) : rows;
    uint64_t bytes = stat(ref->file, &st) == 0 ? (uint64_t)st.st_size : 0;
    listing->n_profiles++;
    listing->bytes += bytes;
    if (listing->profiles) {
        json_array_append_new(
            listing->profiles,
            json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "epoch",
                      ref->epoch, "image", ref->image->id, "image_kind", (int)ref->image->kind, "path",
                      ref->image->path, "event", ref->head->event, "label", ref->head->label, "unit",
                      ref->head->unit, "kind", ref->kind, "rows", (json_int_t)rows, "sum", (json_int_t)sum,
                      "period_sum", (json_int_t)ref->head->period_sum, "enabled_ns",
                      (json_int_t)ref->head->enabled_ns, "running_ns", (json_int_t)ref->head->running_ns,
                      "bytes", (json_int_t)bytes, "file", ref->file));
    } else {
        if (strcmp(listing->epoch, ref->epoch) != 0) {
            snprintf(listing->epoch, sizeof listing->epoch, "%s", ref->epoch);
            printf("%sepoch %s\n%12s %10s %8s  %-20s %-10s %s\n", listing->n_profiles > 1 ? "\n" : "",
                   ref->epoch, "sum", "rows", "bytes", "event", "kind", "image");
        }
        printf("%12" PRIu64 " %10" PRIu64 " %8" PRIu64 "  %-20s %-10s %s%s%s\n", sum, rows, bytes,
               ref->head->event, ref->kind, ref->image->path[0] ? ref->image->path : ref->image->id,
               ref->head->label[0] ? "  @" : "", ref->head->label);
    }
    cs_table_close(table);
    return 0;
}

static int list_store(const char *path, bool as_json)
{
    struct cs_store *store;
    struct cs_error err;
    struct listing listing = {.profiles = as_json ? json_array() : NULL, .err = &err};
    int rc = cs_store_open(path, CS_STORE_READ, &store, &err);
    if (rc == 0)
        rc = cs_store_each(store, list_profile, &listing, &err);
    cs_store_close(store);
    if (rc == 0 && as_json) {
        json_t *all = json_pack("{s:s, s:O}", "store", path, "profiles", listing.profiles);
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    } else if (rc == 0) {
        printf("%s%" PRIu64 " profiles, %" PRIu64 " bytes\n", listing.n_profiles ? "\n" : "",
               listing.n_profiles, listing.bytes);
    }
    json_decref(listing.profiles);
    return rc < 0 ? failed(&err) : CS_EXIT_OK;
}

static void print_bad(const char *sentence, void *arg)
{
    (void)arg;
    fprintf(stderr, "cyclescope store: %s\n", sentence);
}

static int verify_store(const char *path)
{
    struct cs_error err;
    int bad = cs_store_verify(path, print_bad, NULL, &err);
    if (bad < 0)
        return failed(&err);
    if (bad)
        return failed_with("%d damaged %s in %s", bad, bad == 1 ? "file" : "files", path);
    printf("%s is whole\n", path);
    return CS_EXIT_OK;
}

static int run(const struct parsed *args)
{
    const char *what = operand(args, 0), *path = operand(args, 1);
    if (!what || !path)
        return usage_error("expected ls STORE or verify STORE");
    if (strcmp(what, "ls") == 0)
        return list_store(path, option_given(args, "json"));
    if (strcmp(what, "verify") == 0)
        return verify_store(path);
    return usage_error("store has no %s", what);
}

static const struct option_entry options[] = {{NULL, 0, NULL, NULL}};

extern const struct command command_store;
const struct command command_store = {
    "store",
    "ls|verify STORE",
    "what a profile store holds, and whether it is whole",
    "ls lists every profile: the sum of its first value column (samples, counts), its rows, its bytes.\n"
    "verify reads every file to its last byte and says which are damaged (exit 1).",
    options,
    run,
};
