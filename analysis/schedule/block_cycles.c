/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/block_cycles.h"

#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct whose { /* of which block a path is */
    size_t graph;
    uint32_t block;
};

struct asking {
    struct cs_schedule_path *paths;
    struct cs_schedule_step **steps;
    struct whose *whose;
    size_t n, capacity;
};

static int grow(struct asking *a)
{
    size_t capacity = a->capacity ? 2 * a->capacity : 256;
    if (cs_array_resize(a->paths, capacity) < 0 || cs_array_resize(a->steps, capacity) < 0 ||
        cs_array_resize(a->whose, capacity) < 0)
        return -ENOMEM;
    a->capacity = capacity;
    return 0;
}

/* A block longer than a path may be is scheduled up to there; the rest keeps one cycle an instruction. */
static int add_block(struct asking *a, struct cs_image_code *code, struct cs_cfg *const *cfgs,
                     struct whose whose)
{
    const struct cs_cfg *cfg = cfgs[whose.graph];
    const struct cs_basic_block *b = &cfg->blocks[whose.block];
    size_t n = b->n_insns < CS_SCHEDULE_PATH_MAX ? b->n_insns : CS_SCHEDULE_PATH_MAX;
    if (a->n == a->capacity && grow(a) < 0)
        return -ENOMEM;
    struct cs_isa_op *ops = calloc(n + 1, sizeof *ops);
    struct cs_schedule_step *steps = calloc(n + 1, sizeof *steps);
    if (!ops || !steps) {
        free(ops);
        free(steps);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        size_t n_bytes = 0;
        uint64_t offset = cfg->insns[b->first_insn + i].offset;
        const uint8_t *bytes = cs_image_bytes_at(code, offset, &n_bytes, NULL);
        cs_isa_op_decode(cs_image_isa(code), bytes, bytes ? n_bytes : 0, offset, &ops[i]);
    }
    a->paths[a->n] = (struct cs_schedule_path){ops, n, false, false};
    a->steps[a->n] = steps;
    a->whose[a->n++] = whose;
    return 0;
}

static void take(const struct asking *a, struct cs_cfg *const *cfgs, struct cs_schedule_block_cycles *out)
{
    for (size_t p = 0; p < a->n; p++) {
        const struct cs_basic_block *b = &cfgs[a->whose[p].graph]->blocks[a->whose[p].block];
        struct cs_schedule_block_cycles *into = &out[a->whose[p].graph];
        for (size_t i = 0; i < a->paths[p].n; i++) {
            const struct cs_schedule_step *step = &a->steps[p][i];
            into->m[b->first_insn + i] = step->m;
            into->waits_for[b->first_insn + i] =
                step->producer >= 0 ? (int32_t)b->first_insn + step->producer : -1;
        }
    }
}

int cs_schedule_block_cycles(struct cs_image_code *code, struct cs_cfg *const *cfgs, size_t n,
                             double (*samples)(uint64_t start, uint64_t end, void *arg), void *arg,
                             struct cs_scheduler *scheduler, struct cs_schedule_block_cycles *out,
                             struct cs_error *err)
{
    assert(samples && (out || n == 0));
    struct asking a = {0};
    int rc = 0;
    for (size_t g = 0; g < n; g++)
        out[g] = (struct cs_schedule_block_cycles){0};
    for (size_t g = 0; g < n && rc == 0; g++) {
        out[g].m = malloc((cfgs[g]->n_insns + 1) * sizeof *out[g].m);
        out[g].waits_for = malloc((cfgs[g]->n_insns + 1) * sizeof *out[g].waits_for);
        if (!out[g].m || !out[g].waits_for)
            rc = -ENOMEM;
        for (uint32_t i = 0; rc == 0 && i < cfgs[g]->n_insns; i++) {
            out[g].m[i] = 1;
            out[g].waits_for[i] = -1;
        }
        for (uint32_t b = 0; rc == 0 && b < cfgs[g]->n_blocks; b++)
            if (samples(cfgs[g]->blocks[b].start, cfgs[g]->blocks[b].end, arg) > 0)
                rc = add_block(&a, code, cfgs, (struct whose){g, b});
    }
    if (rc < 0)
        cs_fail(err, ENOMEM, "no memory to schedule %zu blocks", a.n);
    else
        rc = cs_scheduler_run(scheduler, a.paths, a.n, a.steps, NULL, err);
    if (rc == 0)
        take(&a, cfgs, out);
    for (size_t p = 0; p < a.n; p++) {
        free((void *)(uintptr_t)a.paths[p].ops);
        free(a.steps[p]);
    }
    free(a.paths);
    free(a.steps);
    free(a.whose);
    for (size_t g = 0; g < n && rc < 0; g++)
        cs_schedule_block_cycles_fini(&out[g]);
    return rc < 0 ? rc : 0;
}

void cs_schedule_block_cycles_fini(struct cs_schedule_block_cycles *cycles)
{
    free(cycles->m);
    free(cycles->waits_for);
    *cycles = (struct cs_schedule_block_cycles){0};
}
