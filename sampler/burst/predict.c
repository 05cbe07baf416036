/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How predictable branches are: a two-level predictor with local history (Yeh and Patt 1991), gshare with
 * global history (McFarling 1993), a chooser for each branch; for indirect branches a table of targets by
 * history of targets, for returns a stack. Tables live on from burst to burst, histories start anew in each.
 * Real predictors are better; a branch that these two miss often is hard for any. Columns of
 * cs_schema_branches. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#include "store/burst_schemas.h"

#define COUNTERS 65536
static uint8_t local_counter[COUNTERS], global_counter[COUNTERS]; /* 0 to 3, 2 and more: taken */
static struct {
    uint32_t tag;
    uint64_t target;
} target_by_history[16384];
static uint32_t global_history, target_history;
#define RETURNS 64
static uint64_t returns[RETURNS];
static unsigned n_returns;

#define SLOTS (CS_BURST_ROWS_MAX * 2)
static uint16_t slots[SLOTS];
static struct {
    uint64_t target; /* the last */
    uint8_t local_history, chooser, seen;
} state[CS_BURST_ROWS_MAX];
static struct cs_burst_shared *shared;

void predict_begin(struct cs_burst_shared *with)
{
    shared = with;
    memset(slots, 0, sizeof slots);
    global_history = target_history = 0;
    n_returns = 0;
}

static int row_of(uint64_t branch)
{
    unsigned slot = (unsigned)(branch * 0x9e3779b97f4a7c15ULL >> 40) % SLOTS;
    for (; slots[slot]; slot = (slot + 1) % SLOTS)
        if (shared->branches[slots[slot] - 1].addr == branch)
            return slots[slot] - 1;
    uint32_t row = shared->outcome.n_branches;
    if (row == CS_BURST_ROWS_MAX) {
        shared->outcome.rows_dropped++;
        return -1;
    }
    slots[slot] = (uint16_t)++shared->outcome.n_branches;
    shared->branches[row] = (struct cs_burst_branch_row){.addr = branch};
    shared->branches[row].column[CS_BRANCH_BURSTS - 1] = 1;
    memset(&state[row], 0, sizeof state[row]);
    return (int)row;
}

static bool guess(uint8_t *counter, bool taken)
{
    bool right = (*counter >= 2) == taken;
    if (taken && *counter < 3)
        ++*counter;
    else if (!taken && *counter > 0)
        --*counter;
    return right;
}

/* The better of two guesses, by a counter that learns which. */
static void score(uint32_t *column, uint8_t *chooser, bool local_right, bool global_right)
{
    bool right = *chooser >= 2 ? global_right : local_right;
    column[CS_BRANCH_MISSED_LOCAL - 1] += !local_right;
    column[CS_BRANCH_MISSED_GLOBAL - 1] += !global_right;
    column[CS_BRANCH_MISSED - 1] += !right;
    if (global_right && !local_right && *chooser < 3)
        ++*chooser;
    else if (local_right && !global_right && *chooser > 0)
        --*chooser;
}

static void conditional(int row, uint32_t *column, uint64_t branch, bool taken)
{
    uint32_t hash = (uint32_t)(branch * 0x9e3779b97f4a7c15ULL >> 44);
    bool local = guess(&local_counter[(hash << 8 ^ state[row].local_history ^ hash >> 8) % COUNTERS], taken);
    bool global = guess(&global_counter[(hash ^ (global_history & 0xfff) << 4) % COUNTERS], taken);
    score(column, &state[row].chooser, local, global);
    state[row].local_history = (uint8_t)(state[row].local_history << 1 | taken);
    global_history = global_history << 1 | taken;
    column[CS_BRANCH_TAKEN - 1] += taken;
}

static void indirect(int row, uint32_t *column, uint64_t branch, uint64_t to)
{
    uint32_t tag = (uint32_t)(branch * 0x9e3779b97f4a7c15ULL >> 32) ^ target_history * 0x85ebca6bU;
    unsigned i = (tag ^ tag >> 16) % 16384;
    bool local = state[row].seen && state[row].target == to;
    bool global = target_by_history[i].tag == tag && target_by_history[i].target == to;
    target_by_history[i].tag = tag;
    target_by_history[i].target = to;
    score(column, &state[row].chooser, local, global);
    target_history = (target_history << 6 ^ (uint32_t)(to >> 1)) & 0xffffff;
    column[CS_BRANCH_TAKEN - 1]++;
}

void predict(uint64_t branch, unsigned end, uint64_t to, uint64_t after)
{
    if (end == END_CALL || end == END_ICALL)
        returns[n_returns++ % RETURNS] = after;
    if (end == END_JUMP || end == END_CALL)
        return;
    int row = row_of(branch);
    if (row < 0)
        return;
    uint32_t *column = shared->branches[row].column;
    column[CS_BRANCH_EXECUTIONS - 1]++;
    column[CS_BRANCH_TRANSITIONS - 1] += state[row].seen && state[row].target != to;
    if (end == END_COND) {
        conditional(row, column, branch, to != after);
    } else if (end == END_RET) {
        column[CS_BRANCH_KIND - 1] = 3;
        column[CS_BRANCH_TAKEN - 1]++;
        if (n_returns) { /* of deeper ones nothing is known */
            bool right = returns[--n_returns % RETURNS] == to;
            score(column, &state[row].chooser, right, right);
        }
    } else {
        column[CS_BRANCH_KIND - 1] = end == END_ICALL ? 2 : 1;
        indirect(row, column, branch, to);
    }
    state[row].target = to;
    state[row].seen = 1;
}
