/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interrupt finds a thread at the instruction after the one that took the time. */
#include "image/code.h"
#include "store/base/array.h"
#include "store/base/bisect.h"

#include <stdlib.h>

/* Files are hostile: procedures that nest could be decoded again and again. */
#define BYTES_MAX (64u << 20)

struct insn {
    uint64_t offset, target;
    bool follows, entered; /* the one before goes nowhere else; a branch may come from elsewhere */
};

/* The first part of the procedure that was asked for last: cold parts have few samples. */
struct charged {
    const struct cs_image_procedure *procedure;
    size_t bytes; /* decoded so far, of all */
    CS_ARRAY(struct insn) insns;
};

static const char KEY;

static struct insn *find(const struct charged *c, uint64_t offset)
{
    const size_t at = cs_bisect(c->insns.n, i, c->insns.at[i].offset < offset);
    return at < c->insns.n && c->insns.at[at].offset == offset ? &c->insns.at[at] : NULL;
}

static void sweep(struct charged *c, struct cs_image_code *code)
{
    enum cs_isa isa = cs_image_isa(code);
    const struct cs_image_part *part = &c->procedure->parts[0];
    size_t n = 0;
    const uint8_t *bytes = isa == CS_ISA_NONE ? NULL : cs_image_bytes_at(code, part->start, &n, NULL);
    bool follows = false;
    n = !bytes ? 0 : n < part->size ? n : (size_t)part->size;
    n = c->bytes + n <= BYTES_MAX ? n : 0;
    c->bytes += n;
    c->insns.n = 0;
    for (size_t at = 0; at < n;) {
        struct cs_isa_insn decoded = {0};
        struct insn *insn = cs_array_add(&c->insns);
        if (!insn)
            break;
        const bool known = cs_isa_decode_flow(isa, bytes + at, n - at, part->start + at, &decoded) > 0;
        *insn = (struct insn){.offset = part->start + at, .target = decoded.target, .follows = follows};
        follows = known && decoded.flow == CS_ISA_FLOW_NEXT;
        at += known ? decoded.length : cs_isa_step(isa);
    }
    for (size_t i = 0; i < c->insns.n; i++) {
        struct insn *to = c->insns.at[i].target ? find(c, c->insns.at[i].target) : NULL;
        if (to)
            to->entered = true;
    }
}

static void destroy(void *pointer)
{
    struct charged *c = pointer;
    cs_array_free(&c->insns);
    free(c);
}

uint64_t cs_image_charged(struct cs_image_code *code, uint64_t offset)
{
    const struct cs_image_procedure *procedure = cs_image_procedure_at(code, offset);
    struct charged *c = cs_image_attached(code, &KEY);
    if (!procedure)
        return offset;
    if (!c && (!(c = calloc(1, sizeof *c)) || cs_image_attach(code, &KEY, c, destroy) < 0))
        return offset;
    if (c->procedure != procedure) {
        c->procedure = procedure;
        sweep(c, code);
    }
    const struct insn *insn = find(c, offset);
    return insn && insn->follows && !insn->entered ? insn[-1].offset : offset;
}
