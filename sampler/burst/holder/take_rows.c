/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies rows and results out of the memory that the replayer can write, each once, and bounds what the copy
 * says. So what reaches the profiler doesn't change any more, and can't say more than a burst can be. */
#include "sampler/burst/holder/take_rows.h"
#include "sampler/burst/runner/libc.h"
#include "store/table/burst_schemas.h"

#define BLOCK_MAX 40 /* instructions that a burst may go on after its last one */
#define INSTRUCTIONS_A_NS 64
#define ACCESSES_MAX 16      /* of an instruction: a gather's */
#define BYTES_MAX (64 << 10) /* of an instruction, on average: a repeated one's */

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static void take_intervals(struct cs_burst_outcome *to, const struct cs_burst_outcome *from,
                           uint64_t watched_ns)
{
    to->timing_tried = from->timing_tried != 0;
    to->timing_found = from->timing_found != 0;
    to->timing_ambiguous = from->timing_ambiguous != 0;
    to->timing_beyond = from->timing_beyond != 0;
    to->timing_cost_ns = least(from->timing_cost_ns, watched_ns);
    for (uint32_t i = 0; i < from->n_intervals && i < CS_BURST_INTERVALS_MAX; i++) {
        struct cs_burst_timed_interval interval = from->interval[i]; /* `from` is ours */
        if (interval.ns && interval.ns <= watched_ns && interval.after_ns <= watched_ns &&
            interval.instructions <= INSTRUCTIONS_A_NS * watched_ns)
            to->interval[to->n_intervals++] = interval;
    }
}

/* No count of a row is higher than so many accesses of each instruction followed. */
static void bound_columns(uint32_t *column, unsigned n, uint64_t most)
{
    for (unsigned i = 0; i < n; i++)
        column[i] = least(column[i], most);
}

static void bound_rows(struct cs_burst_shared *to)
{
    const struct cs_burst_outcome *outcome = &to->outcome;
    uint64_t followed = outcome->followed;
    for (uint32_t i = 0; i < outcome->n_edges; i++) {
        struct cs_burst_edge_row *edge = &to->edges[i];
        edge->count = least(edge->count, followed);
        edge->count_512 = least(edge->count_512, edge->count);
        edge->count_4096 = least(edge->count_4096, edge->count);
        if (edge->kind > CS_BURST_CALL)
            edge->kind = CS_BURST_JUMP;
    }
    for (uint32_t i = 0; i < outcome->n_memory; i++) {
        uint32_t *column = to->memory[i].column, bytes = column[CS_MEMORY_BYTES - 1];
        bound_columns(column, CS_BURST_MEMORY_COLUMNS, ACCESSES_MAX * followed);
        column[CS_MEMORY_BYTES - 1] = least(bytes, BYTES_MAX * followed);
        to->memory[i].crowded = least(to->memory[i].crowded, ACCESSES_MAX * followed);
    }
    for (uint32_t i = 0; i < outcome->n_branches; i++) {
        uint32_t *column = to->branches[i].column;
        bound_columns(column, CS_BURST_BRANCH_COLUMNS, followed);
        column[CS_BRANCH_KIND - 1] = least(column[CS_BRANCH_KIND - 1], 4);
    }
    for (uint32_t i = 0; i < outcome->n_lines; i++)
        bound_columns(to->lines[i].column, CS_BURST_LINE_COLUMNS, ACCESSES_MAX * followed);
}

void take_rows(struct cs_burst_shared *to, const struct cs_burst_shared *rows, bool timed,
               uint64_t watched_ns)
{
    static struct cs_burst_outcome from;
    struct cs_burst_outcome *outcome = &to->outcome;
    memcpy(&from, &rows->outcome, sizeof from);
    outcome->cause = from.cause < CS_BURST_CAUSE_N ? from.cause : CS_BURST_UNSUPPORTED;
    uint64_t wanted = timed ? to->command.timed_instructions : to->command.instructions;
    outcome->followed = least(from.followed, wanted + BLOCK_MAX);
    outcome->instructions = least(from.instructions, outcome->followed);
    outcome->blocks = least(from.blocks, outcome->followed);
    outcome->hot_branch = from.hot_branch;
    outcome->denormal = from.denormal != 0;
    outcome->rows_dropped = least(from.rows_dropped, outcome->followed);
    outcome->n_edges = least(from.n_edges, CS_BURST_EDGES_MAX);
    outcome->n_memory = least(from.n_memory, CS_BURST_ROWS_MAX);
    outcome->n_branches = least(from.n_branches, CS_BURST_ROWS_MAX);
    outcome->n_lines = least(from.n_lines, CS_BURST_ROWS_MAX);
    memcpy(to->edges, rows->edges, outcome->n_edges * sizeof *to->edges);
    memcpy(to->memory, rows->memory, outcome->n_memory * sizeof *to->memory);
    memcpy(to->branches, rows->branches, outcome->n_branches * sizeof *to->branches);
    memcpy(to->lines, rows->lines, outcome->n_lines * sizeof *to->lines);
    bound_rows(to);
    if (timed)
        take_intervals(outcome, &from, watched_ns);
}
