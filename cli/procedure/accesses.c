/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One row an instruction: rows of the store differ by operation and memory, too. */
#include "cli/procedure/accesses.h"

#include "image/isa/decode.h"
#include "store/base/order.h"
#include "store/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MAX = 12 };

struct accesses_of {
    uint64_t offset, samples, timed, cycles, most, tlb_misses;
    unsigned n_levels;
    struct {
        const char *name;
        uint64_t samples;
    } levels[LEVELS_MAX];
};

static void add_level(struct accesses_of *a, const char *name, uint64_t samples)
{
    unsigned i = 0;
    while (i < a->n_levels && strcmp(a->levels[i].name, name))
        i++;
    if (i == a->n_levels && i < LEVELS_MAX) /* there are fewer names */
        a->levels[a->n_levels++].name = name;
    if (i < LEVELS_MAX)
        a->levels[i].samples += samples;
}

CS_ORDER(by_cycles, struct accesses_of, cs_order(b->cycles, a->cycles), cs_order(b->samples, a->samples),
         cs_order(a->offset, b->offset))

/* "memory 61 %, L1 39 %" */
static void level_words(struct accesses_of *a, char *text, size_t room)
{
    size_t n = 0;
    *text = '\0';
    for (unsigned k = 0; k < a->n_levels && n + 40 < room; k++) {
        unsigned most = 0;
        for (unsigned i = 1; i < a->n_levels; i++)
            if (a->levels[i].samples > a->levels[most].samples)
                most = i;
        n += (size_t)snprintf(text + n, room - n, "%s%s %.0f %%", k ? ", " : "",
                              *a->levels[most].name ? a->levels[most].name : "not told",
                              100 * (double)a->levels[most].samples / (double)a->samples);
        a->levels[most].samples = 0;
    }
}

static void print(struct output *out, struct accesses_of *rows, size_t n, struct cs_image_code *code,
                  uint64_t top)
{
    static const struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "mean_cycles", .head = "mean latency", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "max_cycles", .head = "longest", .kind = COLUMN_COUNT},
        {.key = "tlb_miss_percent", .head = "TLB miss %", .kind = COLUMN_SHARE},
        {.key = "offset", .head = "offset", .kind = COLUMN_TEXT},
        {.key = "instruction", .head = "instruction", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "levels", .head = "data came from", .kind = COLUMN_TEXT, .elastic = true},
    };
    output_line(out, "%s", "");
    output_line(out, "accesses that the processor timed, in cycles: those that it picked, not all of them");
    struct table *table = output_table(out, "accesses", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        char text[128] = "?", offset[24], levels[400];
        size_t length = 0;
        const uint8_t *bytes = cs_image_bytes_at(code, rows[i].offset, &length, NULL);
        if (bytes)
            cs_isa_decode_text(cs_image_isa(code), bytes, length, rows[i].offset, text, sizeof text);
        snprintf(offset, sizeof offset, "%" PRIx64, rows[i].offset);
        level_words(&rows[i], levels, sizeof levels);
        table_count(table, rows[i].samples);
        if (rows[i].timed) {
            table_number(table, (double)rows[i].cycles / (double)rows[i].timed);
            table_count(table, rows[i].most);
        } else {
            table_none(table, 2);
        }
        table_number(table, 100 * (double)rows[i].tlb_misses / (double)rows[i].samples);
        table_text(table, offset);
        table_text(table, text);
        table_text(table, levels);
    }
    table_limit(table, top, "--all shows them");
}

int accesses_print(struct output *out, struct cs_store *store, const char *image_id,
                   struct cs_image_code *code, const struct cs_image_procedure *procedure, uint64_t top,
                   struct cs_error *err)
{
    const struct cs_query query = {.kind = CS_KIND_ACCESSES, .image_id = image_id};
    struct cs_table *accesses = NULL;
    int rc = cs_store_select(store, &query, &accesses, NULL, err);
    size_t n_rows = accesses ? cs_table_rows(accesses) : 0, n = 0;
    struct accesses_of *rows = calloc(n_rows + 1, sizeof *rows);
    if (rc == 0 && !rows)
        rc = cs_fail(err, ENOMEM, "no memory for %zu accesses", n_rows);
    for (size_t i = 0; rc == 0 && i < n_rows; i++) {
        const uint64_t *r = cs_table_row(accesses, i);
        if (cs_image_procedure_at(code, r[CS_ACCESS_OFFSET]) != procedure) /* not one that nests in it */
            continue;
        if (n == 0 || rows[n - 1].offset != r[CS_ACCESS_OFFSET]) /* rows ascend by it */
            rows[n++].offset = r[CS_ACCESS_OFFSET];
        struct accesses_of *a = &rows[n - 1];
        a->samples += r[CS_ACCESS_SAMPLES];
        a->timed += r[CS_ACCESS_TIMED];
        a->cycles += r[CS_ACCESS_CYCLES];
        a->tlb_misses += r[CS_ACCESS_TLB_MISSES];
        a->most = r[CS_ACCESS_CYCLES_MAX] > a->most ? r[CS_ACCESS_CYCLES_MAX] : a->most;
        add_level(a, cs_table_string(accesses, r[CS_ACCESS_LEVEL]), r[CS_ACCESS_SAMPLES]);
    }
    if (n) {
        cs_sort(rows, n, by_cycles);
        print(out, rows, n, code, top);
    }
    free(rows);
    cs_table_close(accesses);
    return rc;
}
