/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of one procedure with their live samples. Where its bytes are not known (the kernel's,
 * JIT code) only the sampled offsets are shown. */
#include "cli/top/live.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSNS_MAX 20000
#define FRAMES_MAX 16

struct collecting {
    struct live_insns *insns;
    size_t capacity;
    bool failed;
};

static struct live_insn *add(struct collecting *c, uint64_t offset)
{
    struct live_insns *all = c->insns;
    if (cs_array_room(all->insn, all->n, c->capacity) < 0) {
        c->failed = true;
        return NULL;
    }
    all->insn[all->n] = (struct live_insn){.offset = offset};
    return &all->insn[all->n++];
}

static void decode_part(struct collecting *c, struct cs_image_code *code, const struct cs_image_part *part)
{
    size_t n = 0;
    enum cs_isa isa = cs_image_isa(code);
    const uint8_t *bytes = isa != CS_ISA_NONE ? cs_image_bytes_at(code, part->start, &n, NULL) : NULL;
    n = bytes && n < part->size ? n : bytes ? (size_t)part->size : 0;
    for (uint64_t offset = part->start; n && c->insns->n < INSNS_MAX;) {
        struct cs_isa_insn decoded;
        struct cs_image_frame frames[FRAMES_MAX];
        struct live_insn *insn = add(c, offset);
        if (!insn)
            return;
        unsigned length = cs_isa_decode_flow(isa, bytes, n, offset, &decoded);
        if (length)
            cs_isa_decode_text(isa, bytes, n, offset, insn->text, sizeof insn->text);
        else
            snprintf(insn->text, sizeof insn->text, "(bad)");
        if (!length)
            length = n < cs_isa_step(isa) ? (unsigned)n : cs_isa_step(isa);
        /* The line where it came from, inlined or not: that is where to look. */
        if (cs_image_frames_at(code, offset, frames, FRAMES_MAX)) {
            if (!*c->insns->file)
                snprintf(c->insns->file, sizeof c->insns->file, "%s", frames[0].file);
            insn->line = strcmp(frames[0].file, c->insns->file) == 0 ? frames[0].line : 0;
        }
        offset += length;
        bytes += length;
        n -= length;
    }
}

CS_ORDER(by_offset, struct live_insn, cs_order(a->offset, b->offset))

static void place(uint64_t offset, uint64_t samples, void *arg)
{
    struct collecting *c = arg;
    struct live_insn key = {.offset = offset}, *insn = NULL;
    c->insns->total += samples;
    if (c->insns->n)
        insn = bsearch(&key, c->insns->insn, c->insns->n, sizeof key, by_offset);
    if (!insn &&
        (insn = add(c, offset)) != NULL) { /* not among the decoded ones: kept in order all the same */
        insn->samples = samples;
        cs_sort(c->insns->insn, c->insns->n, by_offset);
        return;
    }
    if (insn)
        insn->samples += samples;
}

int live_instructions(struct live *l, uint32_t number, pid_t pid, struct live_insns *insns)
{
    struct collecting c = {.insns = insns};
    struct cs_image_code *code;
    const char *name;
    uint64_t start;
    *insns = (struct live_insns){.n = 0};
    if (!live_procedure(l, number, &name, &code, &start))
        return -ENOENT;
    snprintf(insns->name, sizeof insns->name, "%s", name);
    const struct cs_image_procedure *procedure = cs_image_procedure_at(code, start);
    for (unsigned i = 0; procedure && i < procedure->n_parts; i++)
        decode_part(&c, code, &procedure->parts[i]);
    if (insns->n == 0)
        snprintf(insns->trouble, sizeof insns->trouble, "%s",
                 *cs_image_trouble(code) ? cs_image_trouble(code) : "its instructions can't be read here");
    cs_sort(insns->insn, insns->n, by_offset);
    live_points(l, number, pid, place, &c);
    if (c.failed) {
        live_insns_fini(insns);
        return -ENOMEM;
    }
    return 0;
}

void live_insns_fini(struct live_insns *insns)
{
    free(insns->insn);
    *insns = (struct live_insns){.n = 0};
}
