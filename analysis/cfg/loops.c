/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From each edge that comes to the head, a walk against the edges that stops at the head (Aho, Sethi, Ullman 1986, section
 * 10.4). Where it comes to an entry, the head doesn't dominate the edge's source, and that edge closes no loop. */
#include "analysis/cfg/loops.h"

#include <assert.h>

static bool has(const uint32_t *blocks, uint32_t n, uint32_t block)
{
    for (uint32_t i = 0; i < n; i++)
        if (blocks[i] == block)
            return true;
    return false;
}

/* Adds what comes back by the edge from `source`. Returns the new number of blocks; `n` where it closes no loop; more than
 * `most` where there is no room. */
static uint32_t add_way(const struct cs_cfg *cfg, uint32_t source, uint32_t *blocks, uint32_t n,
                        uint32_t most)
{
    const uint32_t before = n;
    if (has(blocks, n, source))
        return n;
    if (n == most)
        return most + 1;
    blocks[n++] = source;
    for (uint32_t at = before; at < n; at++) {
        const struct cs_basic_block *b = &cfg->blocks[blocks[at]];
        for (uint32_t i = b->first_in; i < b->first_in + b->n_in; i++) {
            const uint32_t from = cfg->edges[cfg->in[i]].from;
            if (from < cfg->n_blocks && has(blocks, n, from))
                continue;
            if (from >= cfg->n_blocks)
                return before;
            if (n == most)
                return most + 1;
            blocks[n++] = from;
        }
    }
    return n;
}

uint32_t cs_cfg_loop(const struct cs_cfg *cfg, uint32_t head, uint32_t *blocks, uint32_t most)
{
    assert(head < cfg->n_blocks && most > 0);
    const struct cs_basic_block *b = &cfg->blocks[head];
    uint32_t n = 1;
    bool closed = false;
    blocks[0] = head;
    for (uint32_t i = b->first_in; i < b->first_in + b->n_in; i++) {
        const uint32_t from = cfg->edges[cfg->in[i]].from;
        if (from >= cfg->n_blocks)
            continue;
        const bool known = has(blocks, n, from);
        const uint32_t more = add_way(cfg, from, blocks, n, most);
        if (more > most)
            return 0;
        closed |= known || more > n;
        n = more;
    }
    return closed ? n : 0;
}

double cs_cfg_loop_entries(const struct cs_cfg *cfg, const double *ran, const uint32_t *blocks, uint32_t n)
{
    assert(n > 0 && blocks[0] < cfg->n_blocks);
    const struct cs_basic_block *head = &cfg->blocks[blocks[0]];
    double entries = 0;
    for (uint32_t i = head->first_in; i < head->first_in + head->n_in; i++) {
        const uint32_t edge = cfg->in[i];
        if (cfg->edges[edge].from >= cfg->n_blocks || !has(blocks, n, cfg->edges[edge].from))
            entries += ran[edge];
    }
    return entries;
}
