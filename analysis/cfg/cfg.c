/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the graph step by step, and looks up in it by bisection. */
#include "analysis/cfg/cfg_internal.h"

#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define PROCEDURE_BYTES_MAX ((uint64_t)64 << 20)

uint32_t cs_cfg_insn(const struct cs_cfg *cfg, uint64_t offset)
{
    uint32_t low = cs_bisect(cfg->n_insns, i, cfg->insns[i].offset <= offset);
    if (low == 0 || offset - cfg->insns[low - 1].offset >= cfg->insns[low - 1].length)
        return CS_CFG_EXIT;
    return low - 1;
}

uint32_t cs_cfg_block(const struct cs_cfg *cfg, uint64_t offset)
{
    uint32_t low = cs_bisect(cfg->n_blocks, i, cfg->blocks[i].start <= offset);
    return low == 0 || offset >= cfg->blocks[low - 1].end ? CS_CFG_EXIT : low - 1;
}

/* What cfg.h promises of blocks and edges. */
static bool is_sound(const struct cs_cfg *cfg)
{
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        if (b->start >= b->end || (i && b->start < b[-1].end) || b->first_insn + b->n_insns > cfg->n_insns ||
            !b->n_insns || b->first_out + b->n_out > cfg->n_edges || b->first_in + b->n_in > cfg->n_edges)
            return false;
        for (uint32_t k = 0; k < b->n_out; k++)
            if (cfg->edges[b->first_out + k].from != i)
                return false;
        for (uint32_t k = 0; k < b->n_in; k++)
            if (cfg->edges[cfg->in[b->first_in + k]].to != i)
                return false;
    }
    return true;
}

int cs_cfg_build(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                 const struct cs_edge_profile *observed, struct cs_cfg **out, struct cs_error *err)
{
    struct cs_cfg *cfg = calloc(1, sizeof *cfg);
    struct cfg_building b = {.code = code, .seen = observed, .cfg = cfg};
    uint64_t size = 0;
    int rc = 0;
    for (unsigned i = 0; i < procedure->n_parts; i++)
        size += procedure->parts[i].size;
    if (cs_image_isa(code) == CS_ISA_NONE)
        rc = cs_fail(err, ENOTSUP, "%s: no x86-64, AArch64 or RISC-V code to read%s%s", procedure->name,
                     *cs_image_trouble(code) ? ": " : "", cs_image_trouble(code));
    else if (size > PROCEDURE_BYTES_MAX)
        rc = cs_fail(err, EFBIG, "%s claims %llu bytes: its symbol is damaged", procedure->name,
                     (unsigned long long)size);
    if (rc < 0) {
        free(cfg);
        return rc;
    }
    if (!cfg)
        return cs_fail(err, ENOMEM, "no memory for the control flow of %s", procedure->name);
    cfg->procedure = procedure;
    if (cfg_sweep(&b) < 0 || cfg_find_leaders(&b) < 0 || cfg_make_blocks(&b) < 0 || cfg_link_edges(&b) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for the control flow of %s", procedure->name);
    free(b.leader);
    free(b.never);
    free(b.resolved);
    free(b.jumps);
    free(b.targets.offset);
    if (rc < 0) {
        cs_cfg_close(cfg);
        return rc;
    }
    assert(is_sound(cfg));
    *out = cfg;
    return 0;
}

void cs_cfg_close(struct cs_cfg *cfg)
{
    if (!cfg)
        return;
    free(cfg->insns);
    free(cfg->blocks);
    free(cfg->edges);
    free(cfg->in);
    free(cfg);
}
