/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What memory instructions and code touched in a burst: columns of cs_schema_memory and cs_schema_code_lines.
 * Distances are counts of distinct lines (pages) since the last use, exact below the threshold. They are
 * found by a scan over what the burst touched. It runs only where the number of *changes* of line in between
 * leaves the answer open. */
#include "sampler/burst/replayer/trace/memory_profile.h"
#include "sampler/burst/replayer/trace/cache_sets.h"
#include "sampler/burst/replayer/translator/blocks.h"
#include "sampler/burst/replayer/translator/code_pages.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/runner/libc.h"

#include "store/table/burst_schemas.h"

/* ---- which lines were used, and when ---- */
#define USES_MAX 16384
#define USE_SLOTS (USES_MAX * 2)
struct uses {
    uint32_t generation, tick;
    unsigned n;
    uint64_t last;
    struct {
        uint64_t key;
        uint32_t tick;
    } use[USES_MAX];
    struct {
        uint32_t generation, index;
    } slot[USE_SLOTS];
};
enum { SAME, FIRST, NEAR, FAR };

static void uses_begin(struct uses *uses)
{
    uses->generation++;
    uses->n = 0;
    uses->tick = 0;
    uses->last = ~0ULL;
}

static int use(struct uses *uses, uint64_t key, unsigned far)
{
    if (key == uses->last)
        return SAME;
    uses->last = key;
    uses->tick++;
    unsigned slot = (unsigned)(key * 0x9e3779b97f4a7c15ULL >> 40) % USE_SLOTS;
    for (;; slot = (slot + 1) % USE_SLOTS) {
        if (uses->slot[slot].generation != uses->generation) {
            if (uses->n == USES_MAX)
                return FIRST; /* beyond what a burst can touch */
            uses->slot[slot].generation = uses->generation;
            uses->slot[slot].index = uses->n;
            uses->use[uses->n].key = key;
            uses->use[uses->n++].tick = uses->tick;
            return FIRST;
        }
        if (uses->use[uses->slot[slot].index].key == key)
            break;
    }
    uint32_t *tick = &uses->use[uses->slot[slot].index].tick, before = *tick;
    *tick = uses->tick;
    if (uses->tick - before <= far)
        return NEAR;
    unsigned since = 0;
    for (unsigned i = 0; i < uses->n && since <= far; i++)
        since += uses->use[i].tick > before;
    return since > far ? FAR : NEAR; /* `since` counts the line itself */
}

static struct uses lines, memory_pages, code_lines, code_line_pages;
#define FAR_LINES 256
#define FAR_PAGES 64
#define FAR_CODE_LINES 512

/* ---- rows by key ---- */
#define ROW_SLOTS (CS_BURST_ROWS_MAX * 2)
struct index {
    uint16_t slot[ROW_SLOTS]; /* 1 + row */
    uint64_t key[CS_BURST_ROWS_MAX];
};
/* Row of the key; `*n` grows when it is new. -1 when there are too many. */
static int row_of(struct index *index, uint64_t key, uint32_t *n)
{
    unsigned slot = (unsigned)(key * 0x9e3779b97f4a7c15ULL >> 40) % ROW_SLOTS;
    for (; index->slot[slot]; slot = (slot + 1) % ROW_SLOTS)
        if (index->key[index->slot[slot] - 1] == key)
            return index->slot[slot] - 1;
    if (*n == CS_BURST_ROWS_MAX)
        return -1;
    index->key[*n] = key;
    index->slot[slot] = (uint16_t)++ * n;
    return (int)*n - 1;
}

static struct cs_burst_shared *shared;
static struct cache_sets sets;
static unsigned ways;
static struct index memory_index, line_index;
static struct {
    uint64_t addr;
    int64_t stride;
    uint8_t known; /* addresses seen: 0, 1, 2 */
} before[CS_BURST_ROWS_MAX];

/* Pairs (row, line) and (row, page) seen in this burst. */
#define PAIRS 65536
static struct {
    uint32_t generation;
    uint32_t row;
    uint64_t key;
} pairs[PAIRS];
static uint32_t pair_generation;

static bool new_pair(unsigned row, uint64_t key)
{
    unsigned slot = (unsigned)((key * 0x9e3779b97f4a7c15ULL ^ row * 0xff51afd7ed558ccdULL) >> 40) % PAIRS;
    for (unsigned tries = 0; tries < 64; tries++, slot = (slot + 1) % PAIRS) {
        if (pairs[slot].generation != pair_generation) {
            pairs[slot].generation = pair_generation;
            pairs[slot].row = row;
            pairs[slot].key = key;
            return true;
        }
        if (pairs[slot].row == row && pairs[slot].key == key)
            return false;
    }
    return true;
}

/* ---- the youngest stores ---- */
#define STORES 48
static struct {
    uint64_t addr, size;
} stores[64];
static uint64_t n_stores;
static uint64_t newest_store[512]; /* 1 + number, by 8-byte granule within 4 KB */

static void remember_store(uint64_t addr, uint64_t size)
{
    stores[n_stores % 64].addr = addr;
    stores[n_stores % 64].size = size;
    n_stores++;
    for (uint64_t granule = addr / 8; granule <= (addr + size - 1) / 8 && granule < addr / 8 + 16; granule++)
        newest_store[granule % 512] = n_stores;
}

static void compare_with_stores(uint32_t *column, uint64_t addr, uint64_t size)
{
    uint64_t newest = 0;
    for (uint64_t granule = addr / 8; granule <= (addr + size - 1) / 8 && granule < addr / 8 + 16; granule++)
        if (newest_store[granule % 512] > newest)
            newest = newest_store[granule % 512];
    if (!newest || n_stores - newest >= STORES)
        return;
    uint64_t from = stores[(newest - 1) % 64].addr, to = from + stores[(newest - 1) % 64].size;
    if (from <= addr && addr + size <= to)
        column[CS_MEMORY_FORWARDED - 1]++;
    else if (from < addr + size && addr < to)
        column[CS_MEMORY_BLOCKED - 1]++;
    else if (from / PAGE != addr / PAGE && from % PAGE < addr % PAGE + size &&
             addr % PAGE < from % PAGE + (to - from))
        column[CS_MEMORY_ALIASED - 1]++;
}

void memory_profile_begin(struct cs_burst_shared *with)
{
    shared = with;
    uses_begin(&lines);
    uses_begin(&memory_pages);
    uses_begin(&code_lines);
    uses_begin(&code_line_pages);
    memset(memory_index.slot, 0, sizeof memory_index.slot);
    memset(line_index.slot, 0, sizeof line_index.slot);
    memset(newest_store, 0, sizeof newest_store);
    n_stores = 0;
    pair_generation++;
    if (!ways)
        ways = cache_sets_ways_here();
    cache_sets_begin(&sets, ways);
}

static void strides(int row, uint32_t *column, uint64_t addr)
{
    if (before[row].known) {
        int64_t stride = (int64_t)(addr - before[row].addr);
        uint64_t far = (uint64_t)(stride < 0 ? -stride : stride);
        column[CS_MEMORY_STRIDES - 1]++;
        column[CS_MEMORY_STRIDE_SAME - 1] += before[row].known == 2 && stride == before[row].stride;
        column[CS_MEMORY_STRIDE_ZERO - 1] += stride == 0;
        column[CS_MEMORY_STRIDE_LINE - 1] += stride != 0 && far < 64;
        column[CS_MEMORY_STRIDE_PAGE - 1] += far >= PAGE;
        before[row].stride = stride;
        before[row].known = 2;
    } else {
        before[row].known = 1;
    }
    before[row].addr = addr;
}

static void places(int row, uint32_t *column, uint64_t addr, uint64_t size)
{
    for (uint64_t line = addr / 64; line <= (addr + size - 1) / 64; line++) {
        int how = use(&lines, line, FAR_LINES);
        column[CS_MEMORY_FIRST_LINES - 1] += how == FIRST;
        column[CS_MEMORY_FAR_LINES - 1] += how == FAR;
        if (how != SAME && !cache_sets_use(&sets, line))
            shared->memory[row].crowded += how == NEAR;
        column[CS_MEMORY_LINES - 1] += new_pair((unsigned)row, line);
    }
    for (uint64_t page = addr / PAGE; page <= (addr + size - 1) / PAGE; page++) {
        int how = use(&memory_pages, page, FAR_PAGES);
        column[CS_MEMORY_FIRST_PAGES - 1] += how == FIRST;
        column[CS_MEMORY_FAR_PAGES - 1] += how == FAR;
        column[CS_MEMORY_PAGES - 1] += new_pair((unsigned)row, page | 1ULL << 63);
        if (how == FIRST)
            page_touched(page * PAGE);
    }
}

/* A uniform draw without knowing how many will come (Vitter's reservoir). */
static void draw_address(struct cs_burst_memory_row *row, uint64_t addr)
{
    static uint64_t state = 88172645463325252;
    uint32_t n = row->column[CS_MEMORY_EXECUTIONS - 1]; /* this one counted */
    uint32_t at = n - 1;
    if (n > CS_BURST_DRAWS) {
        state = state * 6364136223846793005 + 1442695040888963407;
        at = (uint32_t)((state >> 32) * n >> 32);
    }
    if (at < CS_BURST_DRAWS)
        row->drawn[at] = addr;
}

void memory_profile_access(uint64_t insn, unsigned number, unsigned flags, uint64_t addr, uint64_t size,
                           bool pointer)
{
    uint32_t rows = shared->outcome.n_memory;
    int row = row_of(&memory_index, insn * 2 + (number > 0), &rows);
    if (row < 0 || !size) {
        shared->outcome.rows_dropped += row < 0;
        return;
    }
    uint32_t *column = shared->memory[row].column;
    if (rows > shared->outcome.n_memory) {
        shared->outcome.n_memory = rows;
        shared->memory[row] = (struct cs_burst_memory_row){.addr = insn};
        column[CS_MEMORY_BURSTS - 1] = !number;
        before[row].known = 0;
    }
    column[CS_MEMORY_EXECUTIONS - 1]++;
    draw_address(&shared->memory[row], addr);
    column[CS_MEMORY_LOADS - 1] += (flags & OP_READ) != 0;
    column[CS_MEMORY_STORES - 1] += (flags & OP_WRITE) != 0;
    column[CS_MEMORY_BYTES - 1] += (uint32_t)size;
    column[CS_MEMORY_POINTER - 1] += pointer && (flags & OP_READ);
    column[CS_MEMORY_SPLIT - 1] += size <= 64 && addr / 64 != (addr + size - 1) / 64;
    column[CS_MEMORY_PAGE_SPLIT - 1] += size <= 64 && addr / PAGE != (addr + size - 1) / PAGE;
    column[CS_MEMORY_MISALIGNED - 1] += size <= 64 && !(size & (size - 1)) && addr % size;
    strides(row, column, addr);
    places(row, column, addr, size);
    if (flags & OP_READ && size <= 64)
        compare_with_stores(column, addr, size);
    if (flags & OP_WRITE)
        remember_store(addr, size);
}

void memory_profile_code(uint64_t from, uint64_t to)
{
    code_ran(from, to);
    for (uint64_t line = from / 64; line <= (to - 1) / 64; line++) {
        int how = use(&code_lines, line, FAR_CODE_LINES);
        if (how == SAME)
            continue;
        uint32_t rows = shared->outcome.n_lines;
        int row = row_of(&line_index, line, &rows);
        if (row < 0) {
            shared->outcome.rows_dropped++;
            continue;
        }
        uint32_t *column = shared->lines[row].column;
        if (rows > shared->outcome.n_lines) {
            shared->outcome.n_lines = rows;
            shared->lines[row] = (struct cs_burst_line_row){.addr = line * 64};
            column[CS_CODE_LINE_BURSTS - 1] = 1;
        }
        int page = use(&code_line_pages, line / 64, FAR_PAGES);
        column[CS_CODE_LINE_VISITS - 1]++;
        column[CS_CODE_LINE_FIRST - 1] += how == FIRST;
        column[CS_CODE_LINE_FAR - 1] += how == FAR;
        column[CS_CODE_LINE_PAGE_FIRST - 1] += page == FIRST;
        column[CS_CODE_LINE_PAGE_FAR - 1] += page == FAR;
    }
}
