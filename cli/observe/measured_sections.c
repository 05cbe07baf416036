/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the text that cs_sites_write writes: a line "site" for each section, then its lines "bin". Cycles are TSC cycles;
 * bins are those of dte/bins.h. */
#include "cli/observe/measured_sections.h"
#include "cli/observe/observed.h"
#include "dte/bins.h"
#include "store/base/array.h"
#include "store/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 24

struct section {
    char name[128];
    uint64_t runs, cycles, switched, switched_cycles, pair_cycles, bins[CS_DTE_CYCLE_BINS];
    int told;
};

static const struct column columns[] = {
    {.key = "section", .head = "section", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "runs", .head = "runs", .kind = COLUMN_COUNT},
    {.key = "mean_cycles", .head = "mean", .kind = COLUMN_NUMBER, .digits = 1},
    {.key = "p1_cycles", .head = "1 %", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "p50_cycles", .head = "median", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "p99_cycles", .head = "99 %", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "switched", .head = "lost CPU", .kind = COLUMN_COUNT},
    {.key = "switched_mean_cycles", .head = "their mean", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "pair_cycles", .head = "taken off", .kind = COLUMN_COUNT},
    {.key = "bins", .kind = COLUMN_JSON},
};

static double least_of(unsigned bin)
{
    return bin >= CS_DTE_CYCLE_BINS ? 2 * (double)cs_dte_cycle_bin_least(CS_DTE_CYCLE_BINS - 1)
                                    : (double)cs_dte_cycle_bin_least(bin);
}

static void put_section(struct table *table, const struct section *s)
{
    json_t *bins = json_array();
    for (unsigned b = 0; b < CS_DTE_CYCLE_BINS; b++)
        if (s->bins[b])
            json_array_append_new(
                bins, json_pack("[I,I]", (json_int_t)cs_dte_cycle_bin_least(b), (json_int_t)s->bins[b]));
    table_text(table, s->name);
    table_count(table, s->runs);
    if (s->runs) {
        table_number(table, (double)s->cycles / (double)s->runs);
        table_number(table, cs_dte_cycle_quantile(s->bins, 0.01));
        table_number(table, cs_dte_cycle_quantile(s->bins, 0.5));
        table_number(table, cs_dte_cycle_quantile(s->bins, 0.99));
    } else {
        table_none(table, 4);
    }
    table_count_if(table, s->told, s->switched);
    table_number(table, s->switched ? (double)s->switched_cycles / (double)s->switched : (double)NAN);
    table_count(table, s->pair_cycles);
    table_json(table, bins);
}

static void draw(struct output *out, const struct section *s)
{
    double bins[CS_DTE_CYCLE_BINS], most = 0, outside;
    struct histogram_row rows[ROWS];
    for (unsigned b = 0; b < CS_DTE_CYCLE_BINS; b++)
        bins[b] = (double)s->bins[b];
    unsigned n = histogram_rows(bins, CS_DTE_CYCLE_BINS, least_of, ROWS, rows, &outside);
    output_line(out, "%s", "");
    output_line(out, "%s: TSC cycles per run, of %" PRIu64 " run%s that kept %s CPU", s->name, s->runs,
                plural((double)s->runs), s->runs == 1 ? "its" : "their");
    for (unsigned r = 0; r < n; r++)
        most = rows[r].share > most ? rows[r].share : most;
    for (unsigned r = 0; r < n; r++) {
        char bar[3 * 40 + 1];
        bar_draw(bar, rows[r].share / most, 40);
        output_line(out, "%10.0f … %-10.0f %5.1f %% %s", rows[r].least, rows[r].most, 100 * rows[r].share,
                    bar);
    }
    if (outside > 0.00005)
        output_line(out, "%29.2f %% beyond", 100 * outside);
}

/* One line of the file; false where it is none. */
static bool take_line(const char *line, struct section **all, size_t *n)
{
    struct section s = {0};
    uint64_t least, count;
    if (sscanf(line, "site\t%127[^\t]\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%d",
               s.name, &s.runs, &s.cycles, &s.switched, &s.switched_cycles, &s.pair_cycles, &s.told) == 7) {
        if (cs_array_resize(*all, *n + 1) < 0)
            return false;
        (*all)[(*n)++] = s;
        return true;
    }
    if (*n == 0 || sscanf(line, "bin\t%" SCNu64 "\t%" SCNu64, &least, &count) != 2)
        return false;
    (*all)[*n - 1].bins[cs_dte_cycle_bin(least)] += count;
    return true;
}

static int read_sections(const char *path, struct section **all, size_t *n)
{
    FILE *file = fopen(path, "re");
    char line[512];
    bool good = true;
    unsigned number = 0;
    if (!file)
        return failed_with("cannot read %s: %s", path, strerror(errno));
    while (good && fgets(line, sizeof line, file)) {
        number++;
        good = take_line(line, all, n);
    }
    fclose(file);
    if (!good)
        return failed_with("%s, line %u: not what cs_sites_write writes (cyclescope_measure.h)", path,
                           number);
    return *n ? CS_EXIT_OK : failed_with("%s has no sections: none ran before it was written", path);
}

int measured_sections_print(struct output *out, const char *path, const char *only)
{
    struct section *all = NULL;
    size_t n = 0, shown = 0;
    int rc = read_sections(path, &all, &n);
    if (rc == CS_EXIT_OK) {
        struct table *table = output_table(out, "sections", columns, sizeof columns / sizeof columns[0]);
        struct cs_resembling meant = {.word = only ? only : ""};
        for (size_t i = 0; i < n; i++)
            if (!only || strcmp(only, all[i].name) == 0) {
                put_section(table, &all[i]);
                shown++;
            } else
                cs_resembling_try(&meant, all[i].name);
        for (size_t i = 0; i < n && shown; i++)
            if (all[i].runs && (!only || strcmp(only, all[i].name) == 0))
                draw(out, &all[i]);
        if (all && !all[0].told)
            output_note(out, "runs that lost their CPU could not be distinguished from others there");
        if (shown == 0)
            rc = failed_with("%s has no section %s%s", path, only, cs_did_you_mean(&meant).text);
    }
    free(all);
    return rc;
}
