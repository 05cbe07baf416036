/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How predictable branches are: a two-level predictor with local history (Yeh and Patt 1991), gshare with
 * global history (McFarling 1993), and a chooser for each branch. Above them are tables with tags by
 * geometric lengths of history (TAGE: Seznec and Michaud 2006), as real cores have. Indirect branches have
 * the same with targets, returns a stack (return_stack.h). Tables live on from burst to burst, histories start
 * empty in each. A branch that all of them miss is hard for any. Columns of cs_schema_branches. */
#include "sampler/burst/replayer/trace/branch_predictors.h"
#include "sampler/burst/replayer/trace/return_stack.h"
#include "sampler/burst/replayer/translator/blocks.h"
#include "sampler/burst/runner/libc.h"

#include "store/table/burst_schemas.h"

#define COUNTERS 65536
static uint8_t local_counter[COUNTERS], global_counter[COUNTERS]; /* 0 to 3, 2 and more: taken */
static struct {
    uint32_t tag;
    uint64_t target;
} target_by_history[16384];
static uint32_t global_history, target_history;
/* Longest first. A table speaks when its tag knows this branch after this history. */
enum { LONG_TABLES = 5, LONG_ENTRIES = 8192 };
static const uint8_t long_bits[LONG_TABLES] = {128, 64, 32, 16, 8};
static struct {
    uint16_t tag;     /* 0 = empty */
    int8_t direction; /* -4 to 3, 0 and more: taken; of a target: how sure */
    uint8_t useful;
} long_table[LONG_TABLES][LONG_ENTRIES];
static uint64_t long_targets[LONG_TABLES][LONG_ENTRIES]; /* of indirect branches */
static uint64_t long_history[2];
static struct return_stack returns;
/* Asked for once: a virtual machine's host answers. */
static struct return_stack_model return_model;
static bool asked_for_model;

#define SLOTS (CS_BURST_ROWS_MAX * 2)
static uint16_t slots[SLOTS];
static struct {
    uint64_t target; /* the last */
    uint8_t local_history, chooser, seen;
} state[CS_BURST_ROWS_MAX];
static struct cs_burst_shared *shared;

void branch_predictors_begin(struct cs_burst_shared *with)
{
    shared = with;
    memset(slots, 0, sizeof slots);
    global_history = target_history = 0;
    memset(long_history, 0, sizeof long_history);
    if (!asked_for_model)
        return_model = return_stack_model_here();
    asked_for_model = true;
    return_stack_begin(&returns, return_model);
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
static bool score(uint32_t *column, uint8_t *chooser, bool local_right, bool global_right)
{
    bool right = *chooser >= 2 ? global_right : local_right;
    column[CS_BRANCH_MISSED_LOCAL - 1] += !local_right;
    column[CS_BRANCH_MISSED_GLOBAL - 1] += !global_right;
    if (global_right && !local_right && *chooser < 3)
        ++*chooser;
    else if (local_right && !global_right && *chooser > 0)
        --*chooser;
    return right;
}

struct place {
    uint16_t index, tag;
};

static void places(uint64_t branch, struct place place[LONG_TABLES])
{
    for (int t = 0; t < LONG_TABLES; t++) {
        unsigned bits = long_bits[t];
        uint64_t low = bits < 64 ? long_history[0] & ((UINT64_C(1) << bits) - 1) : long_history[0];
        uint64_t hash = (low ^ branch * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
        if (bits > 64)
            hash ^= (long_history[1] + branch) * 0xa0761d6478bd642fULL;
        hash ^= hash >> 29;
        hash *= 0xbf58476d1ce4e5b9ULL;
        place[t] = (struct place){(uint16_t)(hash >> 51), (uint16_t)((hash >> 32 & 0xffff) | 1)};
    }
}

static void remember(uint64_t bits, unsigned n)
{
    long_history[1] = long_history[1] << n | long_history[0] >> (64 - n);
    long_history[0] = long_history[0] << n | bits;
}

/* After a wrong guess of table `speaker` (LONG_TABLES: of the base) a longer history gets the branch. */
static void allocate(const struct place *place, int speaker, uint64_t target, bool taken)
{
    for (int t = speaker - 1; t >= 0; t--) {
        if (long_table[t][place[t].index].useful == 0) {
            long_table[t][place[t].index].tag = place[t].tag;
            if (target)
                long_targets[t][place[t].index] = target;
            long_table[t][place[t].index].direction = taken ? 0 : -1;
            return;
        }
        long_table[t][place[t].index].useful--;
    }
}

/* The longest history that is known speaks; a new entry, which is not sure yet, leaves it to the next. */
static bool long_guess(uint64_t branch, bool taken, bool base)
{
    struct place place[LONG_TABLES];
    int speaker = LONG_TABLES, second = LONG_TABLES;
    places(branch, place);
    for (int t = 0; t < LONG_TABLES && second == LONG_TABLES; t++)
        if (long_table[t][place[t].index].tag == place[t].tag)
            *(speaker == LONG_TABLES ? &speaker : &second) = t;
    bool other = base; /* is right */
    if (second < LONG_TABLES)
        other = (long_table[second][place[second].index].direction >= 0) == taken;
    if (speaker == LONG_TABLES) {
        if (!base)
            allocate(place, speaker, 0, taken);
        return base;
    }
    int8_t *direction = &long_table[speaker][place[speaker].index].direction;
    uint8_t *useful = &long_table[speaker][place[speaker].index].useful;
    bool own = (*direction >= 0) == taken, sure = *direction < -1 || *direction > 0;
    bool right = sure ? own : other;
    if (own != other && (own ? *useful < 3 : *useful > 0))
        *useful = (uint8_t)(own ? *useful + 1 : *useful - 1);
    if (taken && *direction < 3)
        ++*direction;
    else if (!taken && *direction > -4)
        --*direction;
    if (!right)
        allocate(place, speaker, 0, taken);
    return right;
}

static bool long_target(uint64_t branch, uint64_t to, bool base)
{
    struct place place[LONG_TABLES];
    int speaker = LONG_TABLES;
    places(~branch, place);
    for (int t = 0; t < LONG_TABLES && speaker == LONG_TABLES; t++)
        if (long_table[t][place[t].index].tag == place[t].tag)
            speaker = t;
    bool right = base;
    if (speaker < LONG_TABLES) {
        uint64_t *target = &long_targets[speaker][place[speaker].index];
        int8_t *sure = &long_table[speaker][place[speaker].index].direction;
        bool own = *target == to;
        right = *sure > 0 ? own : own || base;
        if (own && *sure < 3)
            ++*sure;
        else if (!own && *sure > 0)
            --*sure;
        else if (!own)
            *target = to;
    }
    if (!right)
        allocate(place, speaker, to, true);
    return right;
}

static void conditional(int row, uint32_t *column, uint64_t branch, bool taken)
{
    uint32_t hash = (uint32_t)(branch * 0x9e3779b97f4a7c15ULL >> 44);
    bool local = guess(&local_counter[(hash << 8 ^ state[row].local_history ^ hash >> 8) % COUNTERS], taken);
    bool global = guess(&global_counter[(hash ^ (global_history & 0xfff) << 4) % COUNTERS], taken);
    bool base = score(column, &state[row].chooser, local, global);
    column[CS_BRANCH_MISSED - 1] += !long_guess(branch, taken, base);
    state[row].local_history = (uint8_t)(state[row].local_history << 1 | taken);
    global_history = global_history << 1 | taken;
    remember(taken, 1);
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
    bool base = score(column, &state[row].chooser, local, global);
    column[CS_BRANCH_MISSED - 1] += !long_target(branch, to, base);
    target_history = (target_history << 6 ^ (uint32_t)(to >> 1)) & 0xffffff;
    remember(to >> 2 & 7, 3);
    column[CS_BRANCH_TAKEN - 1]++;
}

/* By where it returns to as well, since that is where its time shows: there only what the stack can judge. */
static void returned(uint32_t *column, uint64_t to, enum return_outcome outcome)
{
    const bool wrong = outcome == RETURN_TOO_DEEP || outcome == RETURN_ELSEWHERE;
    const int call = outcome == RETURN_UNKNOWN ? -1 : row_of(to - 1);
    uint32_t *of[2] = {column, call < 0 ? NULL : shared->branches[call].column};
    for (int i = 0; i < 2; i++) {
        if (!of[i])
            continue;
        of[i][CS_BRANCH_EXECUTIONS - 1] += i == 1;
        of[i][CS_BRANCH_KIND - 1] = i == 0 ? 3 : 4;
        of[i][CS_BRANCH_TAKEN - 1]++;
        of[i][CS_BRANCH_MISSED_LOCAL - 1] += outcome == RETURN_TOO_DEEP;
        of[i][CS_BRANCH_MISSED_GLOBAL - 1] += wrong;
        of[i][CS_BRANCH_MISSED - 1] += wrong;
    }
}

void branch_predictors_execute(uint64_t branch, unsigned end, uint64_t to, uint64_t after)
{
    if (end == END_CALL || end == END_ICALL)
        return_stack_call(&returns, to, after);
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
        const uint64_t last = state[row].seen ? state[row].target : 0;
        returned(column, to, return_stack_return(&returns, to, last));
    } else {
        column[CS_BRANCH_KIND - 1] = end == END_ICALL ? 2 : 1;
        indirect(row, column, branch, to);
    }
    state[row].target = to;
    state[row].seen = 1;
}
