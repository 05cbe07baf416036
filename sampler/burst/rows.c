/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a runner answered, as rows of the tables that bursts fill. */
#include "sampler/burst/rows.h"
#include "sampler/burst/page_sizes.h"
#include "sampler/burst/placed_rows.h"
#include "sampler/burst/runs_beside.h"
#include "sampler/burst/shared_lines.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
    EDGES,
    EDGES_512,
    EDGES_4096,
    STARTS,
    MEMORY,
    CROWDED,
    BRANCHES,
    LINES,
    PER_BURST_EDGES,
    ENTRIES,
    FOOTPRINTS,
    SHARING,
    PAGE_SIZES,
    RATES,
    N_KINDS
};
static const struct cs_placed_rows_kind kinds[N_KINDS] = {
    [EDGES] = {"burst-edges", &cs_schema_edges},
    [EDGES_512] = {"burst-edges-512", &cs_schema_edges},
    [EDGES_4096] = {"burst-edges-4096", &cs_schema_edges},
    [STARTS] = {"burst-starts", &cs_schema_points},
    [MEMORY] = {"burst-memory", &cs_schema_memory},
    [CROWDED] = {"burst-crowded", &cs_schema_points},
    [BRANCHES] = {"burst-branches", &cs_schema_branches},
    [LINES] = {"burst-lines", &cs_schema_code_lines},
    [PER_BURST_EDGES] = {"burst-windows", &cs_schema_per_burst_edges},
    [ENTRIES] = {"burst-beginnings", &cs_schema_burst_entries},
    [FOOTPRINTS] = {"burst-footprints", &cs_schema_footprints},
    [SHARING] = {"burst-sharing", &cs_schema_sharing},
    [PAGE_SIZES] = {"burst-page-sizes", &cs_schema_page_sizes},
    [RATES] = {"burst-paces", &cs_schema_instruction_rates},
};

#define SHARING_ROWS 20000
#define HOT_ACCESSES 1024 /* of a burst */
#define HOT_EXECUTIONS 8  /* of an instruction in a burst */
#define HOT_EXECUTIONS_A_LINE 4
#define FOOTPRINT_ROWS 200000 /* of an image between two merges: some 2 MB on disk */

struct cs_burst_rows {
    struct cs_placed_rows *rows;
    struct cs_burst_shared_lines *lines;
    struct cs_page_sizes *page_sizes;
    uint32_t asked;              /* moves on with each burst */
    struct cs_burst_access *hot; /* room for those of a burst; NULL: not needed yet */
    pid_t tid;                   /* the thread whose burst is added */
    int core;                    /* its core; -1: not asked yet */
    unsigned windows;            /* bursts whose edges went to PER_BURST_EDGES too */
};

struct cs_burst_rows *cs_burst_rows_open(struct cs_sampler *sampler)
{
    assert(sampler);
    struct cs_burst_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        rows->rows = cs_placed_rows_open(sampler, kinds, N_KINDS);
    if (rows)
        rows->lines = cs_burst_shared_lines_open();
    if (rows)
        rows->page_sizes = cs_page_sizes_open();
    if (rows && rows->rows && rows->lines && rows->page_sizes)
        return rows;
    cs_burst_rows_close(rows);
    return NULL;
}

void cs_burst_rows_close(struct cs_burst_rows *rows)
{
    if (rows) {
        cs_placed_rows_close(rows->rows);
        cs_burst_shared_lines_close(rows->lines);
        cs_page_sizes_close(rows->page_sizes);
        free(rows->hot);
    }
    free(rows);
}

static int add_window(struct cs_placed_rows_image *from, uint64_t offset,
                      const struct cs_placed_rows_image *to, uint64_t to_offset, uint64_t burst,
                      uint64_t count)
{
    int64_t name = cs_placed_rows_name(from, PER_BURST_EDGES, to);
    uint64_t row[] = {burst, offset, (uint64_t)name, to_offset, count};
    return name < 0 ? -ENOMEM : cs_placed_rows_add(from, PER_BURST_EDGES, row);
}

static int add_beginning(struct cs_burst_rows *rows, const struct cs_burst_outcome *outcome, uint64_t burst)
{
    uint64_t offset, start;
    struct cs_placed_rows_image *image = cs_placed_rows_place(rows->rows, outcome->hot_branch, &offset);
    const struct cs_placed_rows_image *from =
        image ? cs_placed_rows_place(rows->rows, outcome->start, &start) : NULL;
    if (!from)
        return 0;
    int64_t name = cs_placed_rows_name(image, ENTRIES, from);
    uint64_t row[] = {burst, offset, (uint64_t)name, start, outcome->followed};
    return name < 0 ? -ENOMEM : cs_placed_rows_add(image, ENTRIES, row);
}

/* `burst`: its number in what is kept apart, 0 when nothing is any more. */
static int add_edges(struct cs_burst_rows *rows, const struct cs_burst_shared *answer, uint64_t burst)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < answer->outcome.n_edges; i++) {
        const struct cs_burst_edge_row *edge = &answer->edges[i];
        uint64_t offset, to_offset;
        struct cs_placed_rows_image *from = cs_placed_rows_place(rows->rows, edge->from, &offset);
        struct cs_placed_rows_image *to =
            from ? cs_placed_rows_place(rows->rows, edge->to, &to_offset) : NULL;
        if (!to)
            continue;
        if (edge->count)
            rc = cs_placed_rows_add_edge(from, EDGES, offset, to, to_offset, edge->count);
        if (!rc && edge->count_512)
            rc = cs_placed_rows_add_edge(from, EDGES_512, offset, to, to_offset, edge->count_512);
        if (!rc && edge->count_4096)
            rc = cs_placed_rows_add_edge(from, EDGES_4096, offset, to, to_offset, edge->count_4096);
        if (!rc && burst && edge->count)
            rc = add_window(from, offset, to, to_offset, burst, edge->count);
    }
    return rc;
}

static int add_columns(struct cs_burst_rows *rows, unsigned kind, uint64_t addr, const uint32_t *column,
                       unsigned n)
{
    uint64_t row[CS_TABLE_COLUMNS_MAX];
    struct cs_placed_rows_image *image = cs_placed_rows_place(rows->rows, addr, &row[0]);
    if (!image)
        return 0;
    for (unsigned c = 0; c < n; c++)
        row[1 + c] = column[c];
    return cs_placed_rows_add(image, kind, row);
}

static int add_intervals(struct cs_burst_rows *rows, const struct cs_burst_outcome *outcome, uint64_t burst)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < outcome->n_intervals && i < CS_BURST_INTERVALS_MAX; i++) {
        const struct cs_burst_timed_interval *interval = &outcome->interval[i];
        uint64_t row[CS_INSTRUCTION_RATE_N] = {0, burst, interval->after_ns, interval->ns,
                                               interval->instructions};
        struct cs_placed_rows_image *image =
            cs_placed_rows_place(rows->rows, interval->hot_branch, &row[CS_INSTRUCTION_RATE_OFFSET]);
        if (image)
            rc = cs_placed_rows_add(image, RATES, row);
    }
    return rc;
}

#define PAGES_ASKED 4    /* of an instruction in a burst */
#define NEW_EACH 50      /* executions, or it comes to new lines and pages too seldom */
#define OWN_EXECUTIONS 8 /* fewer say nothing of the instruction, but something of the program */

/* The lines that an instruction drew, where it came to new ones; an instruction's share of a table is
 * bounded. Those that ran a few times in their burst draw one line, under offset 0 together. */
static int add_footprint(struct cs_burst_rows *rows, const struct cs_burst_memory_row *memory)
{
    uint64_t row[CS_FOOTPRINT_N];
    const uint32_t *column = memory->column;
    uint32_t n = column[CS_MEMORY_EXECUTIONS - 1];
    uint32_t fresh = column[CS_MEMORY_FIRST_LINES - 1] + column[CS_MEMORY_FAR_LINES - 1] + memory->crowded;
    if (!n || fresh * (uint64_t)NEW_EACH < n)
        return 0;
    struct cs_placed_rows_image *image =
        cs_placed_rows_place(rows->rows, memory->addr, &row[CS_FOOTPRINT_OFFSET]);
    if (!image || cs_placed_rows_n(image, FOOTPRINTS) > FOOTPRINT_ROWS)
        return 0;
    int rc = 0;
    uint32_t drawn = n < OWN_EXECUTIONS ? 1 : n < CS_BURST_DRAWS ? n : CS_BURST_DRAWS;
    row[CS_FOOTPRINT_OFFSET] = n < OWN_EXECUTIONS ? 0 : row[CS_FOOTPRINT_OFFSET];
    for (uint32_t i = 0; i < drawn && rc == 0; i++) {
        row[CS_FOOTPRINT_LINE] = memory->drawn[i] / 64;
        row[CS_FOOTPRINT_DRAWN] = 1;
        row[CS_FOOTPRINT_BURSTS] = 1;
        for (uint32_t k = 0; k < i; k++) /* drawn twice in this burst: one burst */
            if (memory->drawn[k] / 64 == memory->drawn[i] / 64)
                row[CS_FOOTPRINT_BURSTS] = 0;
        rc = cs_placed_rows_add(image, FOOTPRINTS, row);
    }
    return rc;
}

/* Where instructions come to new pages, how many of some places that they drew are on huge ones. */
static int add_page_sizes(struct cs_burst_rows *rows, pid_t pid, const struct cs_burst_memory_row *memory,
                          uint32_t n_memory)
{
    uint64_t at[CS_PAGE_SIZES_MOST];
    uint32_t of[CS_PAGE_SIZES_MOST];
    unsigned n = 0;
    for (uint32_t j = 0; j < n_memory && n + PAGES_ASKED <= CS_PAGE_SIZES_MOST; j++) {
        const uint32_t i = (rows->asked + j) % n_memory; /* another burst begins with others */
        const uint32_t *column = memory[i].column, ran = column[CS_MEMORY_EXECUTIONS - 1];
        const uint64_t fresh = column[CS_MEMORY_FIRST_PAGES - 1] + (uint64_t)column[CS_MEMORY_FAR_PAGES - 1];
        for (uint32_t k = 0; fresh * NEW_EACH >= ran && k < ran && k < PAGES_ASKED; k++) {
            of[n] = i;
            at[n++] = memory[i].drawn[k];
        }
    }
    int rc = 0;
    rows->asked += 7;
    if (n == 0 || !cs_page_sizes_ask(rows->page_sizes, pid, at, n))
        return 0;
    for (unsigned i = 0, end; rc == 0 && i < n; i = end) {
        uint64_t row[CS_PAGE_SIZES_N] = {0};
        for (end = i; end < n && of[end] == of[i]; end++) {
            row[CS_PAGE_SIZES_ASKED] += at[end] != CS_FOREIGN_PAGE_UNKNOWN;
            row[CS_PAGE_SIZES_HUGE] += at[end] == CS_FOREIGN_PAGE_HUGE;
        }
        struct cs_placed_rows_image *image =
            cs_placed_rows_place(rows->rows, memory[of[i]].addr, &row[CS_PAGE_SIZES_OFFSET]);
        if (image && row[CS_PAGE_SIZES_ASKED])
            rc = cs_placed_rows_add(image, PAGE_SIZES, row);
    }
    return rc;
}

/* An instruction's hot accesses: one a place that was drawn. */
static unsigned hot_accesses(struct cs_burst_rows *rows, const struct cs_burst_memory_row *memory,
                             struct cs_burst_access *to, unsigned room)
{
    const uint32_t *column = memory->column;
    uint32_t n = column[CS_MEMORY_EXECUTIONS - 1], drawn = n < CS_BURST_DRAWS ? n : CS_BURST_DRAWS;
    unsigned found = 0;
    if (n < HOT_EXECUTIONS || n / HOT_EXECUTIONS_A_LINE < column[CS_MEMORY_LINES - 1])
        return 0;
    uint64_t offset;
    struct cs_placed_rows_image *image = cs_placed_rows_place(rows->rows, memory->addr, &offset);
    for (uint32_t i = 0; image && i < drawn; i++) {
        uint64_t addr = memory->drawn[i], size = column[CS_MEMORY_BYTES - 1] / n, left = 64 - addr % 64;
        unsigned k = 0;
        while (k < found && to[k].addr != addr)
            k++;
        if (k == room)
            break;
        if (k == found)
            to[found++] = (struct cs_burst_access){.addr = addr,
                                                   .size = (uint32_t)(!size         ? 1
                                                                      : size < left ? size
                                                                                    : left),
                                                   .writes = column[CS_MEMORY_STORES - 1] > 0,
                                                   .image = image,
                                                   .offset = offset};
        to[k].executions += n / drawn;
    }
    return found;
}

static double beside(void *with, pid_t pid, pid_t tid)
{
    struct cs_burst_rows *rows = with;
    if (rows->core < 0)
        rows->core = cs_core_of_thread(pid, rows->tid);
    return cs_thread_runs_beside(pid, tid, rows->core);
}

static int add_conflict(void *with, const struct cs_burst_conflict *c)
{
    (void)with;
    struct cs_placed_rows_image *image = c->own.image;
    int64_t name = cs_placed_rows_name(image, SHARING, c->other.image);
    uint64_t row[CS_SHARING_N] = {
        c->own.offset,
        c->own.addr % 64,
        c->own.size,
        c->own.writes,
        (uint64_t)name,
        c->other.offset,
        c->other.addr % 64,
        c->other.size,
        c->other.writes,
        c->own.executions,
        (uint64_t)c->taken,
        (uint64_t)c->instructions,
        1,
    };
    if (name < 0)
        return -ENOMEM;
    return cs_placed_rows_n(image, SHARING) < SHARING_ROWS ? cs_placed_rows_add(image, SHARING, row) : 0;
}

static int add_sharing(struct cs_burst_rows *rows, pid_t pid, pid_t tid, const struct cs_burst_shared *answer)
{
    unsigned n = 0;
    if (!cs_burst_shared_lines_wanted(rows->lines, pid, tid))
        return 0;
    if (!rows->hot && !(rows->hot = calloc(HOT_ACCESSES, sizeof *rows->hot)))
        return -ENOMEM;
    for (uint32_t i = 0; i < answer->outcome.n_memory; i++)
        n += hot_accesses(rows, &answer->memory[i], rows->hot + n, HOT_ACCESSES - n);
    rows->tid = tid;
    rows->core = -1;
    return cs_burst_shared_lines_add(rows->lines, pid, tid, answer->outcome.instructions, rows->hot, n,
                                     beside, add_conflict, rows);
}

bool cs_burst_rows_apart(const struct cs_burst_rows *rows)
{
    return rows->windows < CS_PER_BURST_EDGES_MAX;
}

long cs_burst_rows_add(struct cs_burst_rows *rows, pid_t pid, pid_t tid, const struct cs_burst_shared *answer)
{
    _Static_assert(CS_BURST_MEMORY_COLUMNS == CS_MEMORY_N - 1, "wire and store agree");
    _Static_assert(CS_BURST_BRANCH_COLUMNS == CS_BRANCH_N - 1, "wire and store agree");
    _Static_assert(CS_BURST_DRAWS == CS_FOOTPRINT_DRAWS, "wire and store agree");
    _Static_assert(CS_BURST_LINE_COLUMNS == CS_CODE_LINE_N - 1, "wire and store agree");
    static const uint32_t one = 1;
    cs_placed_rows_begin(rows->rows, pid, UINT64_MAX);
    int rc = add_columns(rows, STARTS, answer->outcome.start, &one, 1);
    uint64_t burst = cs_burst_rows_apart(rows) ? cs_clock_ns(CLOCK_REALTIME) : 0;
    rows->windows += burst != 0;
    if (!rc)
        rc = add_edges(rows, answer, burst);
    if (!rc && burst)
        rc = add_beginning(rows, &answer->outcome, burst);
    if (!rc && burst)
        rc = add_intervals(rows, &answer->outcome, burst);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_memory; i++)
        rc = add_columns(rows, MEMORY, answer->memory[i].addr, answer->memory[i].column,
                         CS_BURST_MEMORY_COLUMNS);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_memory; i++)
        if (answer->memory[i].crowded)
            rc = add_columns(rows, CROWDED, answer->memory[i].addr, &answer->memory[i].crowded, 1);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_memory; i++)
        rc = add_footprint(rows, &answer->memory[i]);
    if (!rc)
        rc = add_page_sizes(rows, pid, answer->memory, answer->outcome.n_memory);
    if (!rc)
        rc = add_sharing(rows, pid, tid, answer);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_branches; i++)
        rc = add_columns(rows, BRANCHES, answer->branches[i].addr, answer->branches[i].column,
                         CS_BURST_BRANCH_COLUMNS);
    for (uint32_t i = 0; !rc && i < answer->outcome.n_lines; i++)
        rc = add_columns(rows, LINES, answer->lines[i].addr, answer->lines[i].column, CS_BURST_LINE_COLUMNS);
    return rc ? rc : (long)cs_placed_rows_unplaced(rows->rows);
}

int cs_burst_rows_merge(struct cs_burst_rows *rows, struct cs_store *store, struct cs_error *err)
{
    return cs_placed_rows_merge(rows->rows, store, err);
}
