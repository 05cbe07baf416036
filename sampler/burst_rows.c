/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table an image and event, filled from what a runner answered. Addresses are placed a page at a time: a
 * burst has some hundred rows on some ten pages. */
#include "sampler/burst_rows.h"
#include "store/burst_schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    EDGES,
    EDGES_512,
    EDGES_4096,
    STARTS,
    MEMORY,
    BRANCHES,
    LINES,
    WINDOWS,
    BEGINNINGS,
    FOOTPRINTS,
    PACES,
    N_TABLES
};
static const char *const events[N_TABLES] = {"burst-edges",      "burst-edges-512", "burst-edges-4096",
                                             "burst-starts",     "burst-memory",    "burst-branches",
                                             "burst-lines",      "burst-windows",   "burst-beginnings",
                                             "burst-footprints", "burst-paces"};
static const struct cs_schema *schema_of(int table)
{
    const struct cs_schema *const schemas[N_TABLES] = {
        &cs_schema_edges,      &cs_schema_edges,      &cs_schema_edges,      &cs_schema_points,
        &cs_schema_memory,     &cs_schema_branches,   &cs_schema_code_lines, &cs_schema_windows,
        &cs_schema_beginnings, &cs_schema_footprints, &cs_schema_paces};
    return schemas[table];
}

struct image_tables {
    const struct cs_image *image;
    struct cs_table *table[N_TABLES];
};

#define PAGES 256
#define FOOTPRINT_ROWS 200000 /* of an image between two merges: some 2 MB on disk */
struct placed_page {
    uint64_t page; /* address / 4096 + 1, 0 = free */
    struct image_tables *tables;
    uint64_t delta; /* address - offset */
};

struct cs_burst_rows {
    struct cs_sampler *sampler;
    struct image_tables **images;
    unsigned n_images, room;
    struct placed_page pages[PAGES]; /* of the burst being added */
    pid_t pid;
    long unplaced;
    unsigned windows; /* bursts whose edges went to WINDOWS too */
};

struct cs_burst_rows *cs_burst_rows_open(struct cs_sampler *sampler)
{
    struct cs_burst_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        rows->sampler = sampler;
    return rows;
}

void cs_burst_rows_close(struct cs_burst_rows *rows)
{
    for (unsigned i = 0; rows && i < rows->n_images; i++) {
        for (int t = 0; t < N_TABLES; t++)
            cs_table_close(rows->images[i]->table[t]);
        free(rows->images[i]);
    }
    if (rows)
        free(rows->images);
    free(rows);
}

static struct image_tables *tables_of(struct cs_burst_rows *rows, const struct cs_image *image)
{
    for (unsigned i = 0; i < rows->n_images; i++)
        if (rows->images[i]->image == image)
            return rows->images[i];
    if (rows->n_images == rows->room) {
        unsigned room = rows->room ? 2 * rows->room : 32;
        struct image_tables **more = realloc(rows->images, room * sizeof *more);
        if (!more)
            return NULL;
        rows->images = more;
        rows->room = room;
    }
    struct image_tables *tables = calloc(1, sizeof *tables);
    if (tables) {
        tables->image = image;
        rows->images[rows->n_images++] = tables;
    }
    return tables;
}

/* The tables of the image at addr, and its offset there; NULL where there is none. */
static struct image_tables *place(struct cs_burst_rows *rows, uint64_t addr, uint64_t *offset)
{
    struct placed_page *page = &rows->pages[addr / 4096 % PAGES];
    if (page->page != addr / 4096 + 1) {
        const struct cs_image *image = NULL;
        uint64_t at = 0;
        page->page = addr / 4096 + 1;
        page->tables = NULL;
        if (cs_sampler_locate(rows->sampler, rows->pid, addr, &image, &at) == 0)
            page->tables = tables_of(rows, image);
        page->delta = addr - at;
    }
    *offset = addr - page->delta;
    rows->unplaced += !page->tables;
    return page->tables;
}

static int add(struct image_tables *tables, int table, const uint64_t *row)
{
    if (!tables->table[table])
        tables->table[table] = cs_table_open(schema_of(table));
    return tables->table[table] ? cs_table_add(tables->table[table], row) : -ENOMEM;
}

/* The text's number in the table, <0 without memory; the table is there afterwards. */
static int64_t image_text(struct image_tables *tables, int table, const struct image_tables *named)
{
    if (!tables->table[table])
        tables->table[table] = cs_table_open(schema_of(table));
    if (!tables->table[table])
        return -ENOMEM;
    return cs_table_text(tables->table[table], tables == named ? "" : named->image->id);
}

static int add_edge(struct image_tables *from, int table, uint64_t row[6], const struct image_tables *to,
                    uint64_t count)
{
    if (!count)
        return 0;
    int64_t text = image_text(from, table, to);
    if (text < 0)
        return -ENOMEM;
    row[1] = (uint64_t)text;
    row[3] = count;
    row[4] = 1;
    row[5] = count * count;
    return cs_table_add(from->table[table], row);
}

static int add_window(struct image_tables *from, const uint64_t edge[6], const struct image_tables *to,
                      uint64_t burst, uint64_t count)
{
    int64_t text = image_text(from, WINDOWS, to);
    uint64_t row[5] = {burst, edge[0], (uint64_t)text, edge[2], count};
    return text < 0 ? -ENOMEM : cs_table_add(from->table[WINDOWS], row);
}

static int add_beginning(struct cs_burst_rows *rows, const struct cs_burst_outcome *outcome, uint64_t burst)
{
    uint64_t offset;
    struct image_tables *tables = place(rows, outcome->place, &offset);
    uint64_t start;
    const struct image_tables *from = tables ? place(rows, outcome->start, &start) : NULL;
    if (!from)
        return 0;
    int64_t image = image_text(tables, BEGINNINGS, from);
    uint64_t row[] = {burst, offset, (uint64_t)image, start, outcome->followed};
    return image < 0 ? -ENOMEM : cs_table_add(tables->table[BEGINNINGS], row);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* `burst`: its number in what is kept apart, 0 when nothing is any more. */
static int add_edges(struct cs_burst_rows *rows, const struct cs_burst_shared *answer, uint64_t burst)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < answer->outcome.n_edges; i++) {
        const struct cs_burst_edge_row *edge = &answer->edges[i];
        uint64_t row[6];
        struct image_tables *from = place(rows, edge->from, &row[0]);
        struct image_tables *to = from ? place(rows, edge->to, &row[2]) : NULL;
        if (!to)
            continue;
        rc = add_edge(from, EDGES, row, to, edge->count);
        if (!rc)
            rc = add_edge(from, EDGES_512, row, to, edge->count_512);
        if (!rc)
            rc = add_edge(from, EDGES_4096, row, to, edge->count_4096);
        if (!rc && burst && edge->count)
            rc = add_window(from, row, to, burst, edge->count);
    }
    return rc;
}

static int add_columns(struct cs_burst_rows *rows, int table, uint64_t addr, const uint32_t *column,
                       unsigned n)
{
    uint64_t row[CS_TABLE_COLUMNS_MAX];
    struct image_tables *tables = place(rows, addr, &row[0]);
    if (!tables)
        return 0;
    for (unsigned c = 0; c < n; c++)
        row[1 + c] = column[c];
    return add(tables, table, row);
}

static int add_paces(struct cs_burst_rows *rows, const struct cs_burst_outcome *outcome, uint64_t burst)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < outcome->n_paces && i < CS_BURST_PACES_MAX; i++) {
        const struct cs_burst_pace *pace = &outcome->pace[i];
        uint64_t row[CS_PACE_N] = {0, burst, pace->after_ns, pace->ns, pace->instructions};
        struct image_tables *tables = place(rows, pace->place, &row[CS_PACE_OFFSET]);
        if (tables)
            rc = add(tables, PACES, row);
    }
    return rc;
}

/* The lines that an instruction drew, where it came to new ones; an instruction's share of a table is
 * bounded. */
static int add_footprint(struct cs_burst_rows *rows, const struct cs_burst_memory_row *memory)
{
    uint64_t row[CS_FOOTPRINT_N];
    const uint32_t *column = memory->column;
    uint32_t n = column[CS_MEMORY_EXECUTIONS - 1];
    uint32_t fresh = column[CS_MEMORY_FIRST_LINES - 1] + column[CS_MEMORY_FAR_LINES - 1];
    if (n < 8 || fresh * 50ULL < n)
        return 0;
    struct image_tables *tables = place(rows, memory->addr, &row[CS_FOOTPRINT_OFFSET]);
    if (!tables || (tables->table[FOOTPRINTS] && cs_table_rows(tables->table[FOOTPRINTS]) > FOOTPRINT_ROWS))
        return 0;
    int rc = 0;
    uint32_t drawn = n < CS_BURST_DRAWS ? n : CS_BURST_DRAWS;
    for (uint32_t i = 0; i < drawn && rc == 0; i++) {
        row[CS_FOOTPRINT_LINE] = memory->line[i];
        row[CS_FOOTPRINT_DRAWN] = 1;
        row[CS_FOOTPRINT_BURSTS] = 1;
        for (uint32_t k = 0; k < i; k++) /* drawn twice in this burst: one burst */
            if (memory->line[k] == memory->line[i])
                row[CS_FOOTPRINT_BURSTS] = 0;
        rc = add(tables, FOOTPRINTS, row);
    }
    return rc;
}

bool cs_burst_rows_apart(const struct cs_burst_rows *rows)
{
    return rows->windows < CS_WINDOWS_MAX;
}

long cs_burst_rows_add(struct cs_burst_rows *rows, pid_t pid, const struct cs_burst_shared *answer)
{
    _Static_assert(CS_BURST_MEMORY_COLUMNS == CS_MEMORY_N - 1, "wire and store agree");
    _Static_assert(CS_BURST_BRANCH_COLUMNS == CS_BRANCH_N - 1, "wire and store agree");
    _Static_assert(CS_BURST_DRAWS == CS_FOOTPRINT_DRAWS, "wire and store agree");
    _Static_assert(CS_BURST_LINE_COLUMNS == CS_CODE_LINE_N - 1, "wire and store agree");
    static const uint32_t one = 1;
    memset(rows->pages, 0, sizeof rows->pages);
    rows->pid = pid;
    rows->unplaced = 0;
    int rc = add_columns(rows, STARTS, answer->outcome.start, &one, 1);
    uint64_t burst = cs_burst_rows_apart(rows) ? now_ns() : 0;
    rows->windows += burst != 0;
    if (!rc)
        rc = add_edges(rows, answer, burst);
    if (!rc && burst)
        rc = add_beginning(rows, &answer->outcome, burst);
    if (!rc && burst)
        rc = add_paces(rows, &answer->outcome, burst);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_memory; i++)
        rc = add_columns(rows, MEMORY, answer->memory[i].addr, answer->memory[i].column,
                         CS_BURST_MEMORY_COLUMNS);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_memory; i++)
        rc = add_footprint(rows, &answer->memory[i]);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_branches; i++)
        rc = add_columns(rows, BRANCHES, answer->branches[i].addr, answer->branches[i].column,
                         CS_BURST_BRANCH_COLUMNS);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_lines; i++)
        rc = add_columns(rows, LINES, answer->lines[i].addr, answer->lines[i].column, CS_BURST_LINE_COLUMNS);
    return rc ? rc : rows->unplaced;
}

int cs_burst_rows_merge(struct cs_burst_rows *rows, struct cs_store *store, struct cs_error *err)
{
    for (unsigned i = 0; i < rows->n_images; i++)
        for (int t = 0; t < N_TABLES; t++) {
            struct cs_table *table = rows->images[i]->table[t];
            struct cs_profile_head head = {.unit = ""};
            if (!table)
                continue;
            strncpy(head.event, events[t], sizeof head.event - 1);
            int rc = cs_store_merge(store, rows->images[i]->image, &head, table, err);
            if (rc < 0)
                return rc;
            cs_table_close(table);
            rows->images[i]->table[t] = NULL;
        }
    return 0;
}
