/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lives of a loop: from where it is entered to where it is left, and the way from there to where it is entered again.
 *
 * A path that closes is scheduled as if it went on for ever. A loop that ends after a few turns is entered again while
 * the core still has its last turns in hand. A chain that begins again in each life, such as the value of a number's
 * digits, overlaps with the one of the life before. So no turn takes longer than it does on average where whole lives
 * follow one another. */
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>

static uint32_t position(const uint32_t *loop, uint32_t n, uint32_t block)
{
    uint32_t i = 0;
    while (i < n && loop[i] != block)
        i++;
    return i;
}

static bool has_call(const struct accounting *x, uint32_t block)
{
    const struct cs_basic_block *b = &x->a->cfg->blocks[block];
    for (uint32_t i = b->first_insn; i < b->first_insn + b->n_insns; i++)
        if (x->a->insns[i].op.flags & (CS_ISA_OP_CALL | CS_ISA_OP_SYSCALL | CS_ISA_OP_SERIALISE))
            return true;
    return false;
}

/* The edge by which most leave the loop, where that is most of all that leave; CS_CFG_EXIT: there is none. `*lives`: how
 * often it is left. */
static uint32_t likely_exit(const struct accounting *x, const uint32_t *loop, uint32_t n, double *lives)
{
    const struct cs_cfg *cfg = x->a->cfg;
    uint32_t best = CS_CFG_EXIT;
    double most = 0;
    *lives = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct cs_basic_block *b = &cfg->blocks[loop[i]];
        for (uint32_t e = b->first_out; e < b->first_out + b->n_out; e++) {
            if (position(loop, n, cfg->edges[e].to) < n)
                continue;
            *lives += x->edge_visits[e];
            if (x->edge_visits[e] > most)
                most = x->edge_visits[e], best = e;
        }
    }
    return most > 0.5 * *lives ? best : CS_CFG_EXIT;
}

struct way {
    uint32_t blocks[LIFE_OUTSIDE];
    uint32_t n;
    uint32_t enters; /* position in the loop */
};

/* The way from an edge out of the loop to where it is entered again. False: most don't come back, or not soon. */
static bool way_back(const struct accounting *x, const uint32_t *loop, uint32_t n, uint32_t edge,
                     double lives, struct way *way)
{
    const struct cs_cfg *cfg = x->a->cfg;
    way->n = 0;
    while (edge != CS_CFG_EXIT && x->edge_visits[edge] > 0.5 * lives) {
        const uint32_t to = cfg->edges[edge].to;
        way->enters = position(loop, n, to);
        if (way->enters < n)
            return true;
        if (to >= cfg->n_blocks || way->n == LIFE_OUTSIDE || position(way->blocks, way->n, to) < way->n ||
            has_call(x, to))
            return false;
        way->blocks[way->n++] = to;
        edge = account_likely_out(x, to);
    }
    return false;
}

static size_t insns_of(const struct accounting *x, const uint32_t *blocks, uint32_t n)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += x->a->cfg->blocks[blocks[i]].n_insns;
    return sum;
}

uint32_t account_life(const struct accounting *x, const uint32_t *loop, uint32_t n, size_t most_insns,
                      uint32_t *life, uint32_t most_blocks)
{
    double lives;
    struct way way;
    const uint32_t edge = x->a->frequencies ? likely_exit(x, loop, n, &lives) : CS_CFG_EXIT;
    if (edge == CS_CFG_EXIT || !way_back(x, loop, n, edge, lives, &way))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (has_call(x, loop[i]))
            return 0;
    const uint32_t last = position(loop, n, x->a->cfg->edges[edge].from);
    const double turns = fmax(1, round(x->a->blocks[loop[last]].visits / lives));
    const size_t insns = insns_of(x, loop, n);
    if (turns * (double)insns > (double)most_insns)
        return 0;
    uint32_t length = 0, passed = 0;
    size_t used = insns_of(x, way.blocks, way.n);
    for (uint32_t i = way.enters; passed < (uint32_t)turns; i = (i + 1) % n) {
        used += x->a->cfg->blocks[loop[i]].n_insns;
        if (length + way.n == most_blocks || used > most_insns)
            return 0;
        life[length++] = loop[i];
        passed += i == last;
    }
    for (uint32_t k = 0; k < way.n; k++)
        life[length++] = way.blocks[k];
    return length;
}
