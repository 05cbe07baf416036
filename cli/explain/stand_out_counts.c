/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bursts counted: how often a line calls, and how many bytes a call of a copying function writes.
 *
 * A function's returns are loads that bursts saw. Their number is the number of its calls, in the same bursts as the bytes of
 * its stores. */
#include "analysis/frequency/edge_flow.h"
#include "cli/explain/stand_out.h"
#include "cli/profile/called/chain_line.h"
#include "image/isa/semantics.h"
#include "store/table/burst_schemas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CALLS_FROM 16 /* that bursts saw, for a mean */

double stand_out_rate(const struct calc_subject *s)
{
    const double samples = (double)s->rows.total[s->profile.main_event],
                 seconds = s->evidence && s->evidence->machine.core_hz > 0
                               ? samples * s->evidence->cycles_a_sample / s->evidence->machine.core_hz
                               : 0;
    return s->flow && seconds > 0 ? s->flow->executions_a_flow_ns * s->flow->user_ns / seconds : 0;
}

/* "malloc" of "malloc@plt", and of "__libc_malloc" no more. */
static bool is_named(const char *name, const char *callee)
{
    const size_t n = strlen(callee);
    return strncmp(name, callee, n) == 0 && (!name[n] || name[n] == '@');
}

static bool is_call(struct cs_image_code *code, const struct cs_counted_edge *e, const char *callee)
{
    if (e->image != e->to_image)
        return true; /* the line says which */
    const struct cs_image_procedure *to = cs_image_procedure_at(code, e->to);
    return to && to->start == e->to && (!callee || is_named(to->name, callee));
}

double stand_out_call_rate(const struct calc_subject *s, const char *file, unsigned line, const char *callee)
{
    const double rate = stand_out_rate(s);
    double calls = 0;
    for (size_t i = 0; rate > 0 && i < s->flow->n;) {
        const uint32_t image = s->flow->list[i].image;
        const struct profile_image *of = profile_image_of(&s->profile, s->flow->images[image]);
        struct cs_image_code *code =
            of && of->image.kind == CS_IMAGE_ELF ? profile_code(&s->profile, of) : NULL;
        for (; i < s->flow->n && s->flow->list[i].image == image; i++) {
            const struct cs_counted_edge *e = &s->flow->list[i];
            struct cs_image_frame frame;
            if (code && e->flow > 0 && is_call(code, e, callee) && chain_line_frame(code, e->from, &frame) &&
                frame.line == line && strcmp(frame.file, file) == 0)
                calls += e->flow;
        }
        if (code)
            cs_image_close(code);
    }
    return calls > 0 ? calls * rate : (double)NAN;
}

/* Of one image's functions of that name: "__memmove_avx512_unaligned_erms" is memmove and memcpy. */
static bool copies(const char *name, const char *callee)
{
    const bool copy = strcmp(callee, "memcpy") == 0 || strcmp(callee, "memmove") == 0 ||
                      strcmp(callee, "__memcpy_chk") == 0;
    const bool set = strcmp(callee, "memset") == 0;
    return (copy && (strstr(name, "memcpy") || strstr(name, "memmove"))) || (set && strstr(name, "memset"));
}

static bool is_return(struct cs_image_code *code, uint64_t offset)
{
    size_t n = 0;
    struct cs_isa_op op;
    const uint8_t *bytes = cs_image_bytes_at(code, offset, &n, NULL);
    if (!bytes)
        return false;
    cs_isa_op_decode(cs_image_isa(code), bytes, n, offset, &op);
    return op.flags & CS_ISA_OP_RETURN;
}

double stand_out_written(const uint64_t *row)
{
    return (double)row[CS_MEMORY_BYTES] / (row[CS_MEMORY_LOADS] && row[CS_MEMORY_STORES] ? 2 : 1);
}

static void count_memory(const struct calc_subject *s, const struct profile_image *of, const char *callee,
                         double *calls, double *bytes)
{
    struct cs_culprit_evidence *evidence = NULL;
    struct cs_error ignored = {0};
    struct cs_image_code *code = profile_code(&s->profile, of);
    if (code &&
        cs_culprit_evidence_open(s->profile.store, s->flow, of->image.id, NULL, &evidence, &ignored) == 0 &&
        evidence->memory)
        for (size_t i = 0; i < cs_table_rows(evidence->memory); i++) {
            const uint64_t *row = cs_table_row(evidence->memory, i);
            const struct cs_image_procedure *p = cs_image_procedure_at(code, row[CS_MEMORY_OFFSET]);
            if (!p || !copies(p->name, callee))
                continue;
            if (is_return(code, row[CS_MEMORY_OFFSET]))
                *calls += (double)row[CS_MEMORY_EXECUTIONS];
            else if (row[CS_MEMORY_STORES] && row[CS_MEMORY_EXECUTIONS])
                *bytes += stand_out_written(row);
        }
    cs_culprit_evidence_close(evidence);
    if (code)
        cs_image_close(code);
}

double stand_out_call_bytes(const struct calc_subject *s, const char *callee)
{
    double calls = 0, bytes = 0;
    if (!copies(callee, callee))
        return (double)NAN;
    for (size_t i = 0; s->flow && i < s->profile.n_images; i++) {
        const struct profile_image *of = &s->profile.images[i];
        if (of->image.kind == CS_IMAGE_ELF && strstr(of->image.path, "libc"))
            count_memory(s, of, callee, &calls, &bytes);
    }
    return calls >= CALLS_FROM ? bytes / calls : (double)NAN;
}
