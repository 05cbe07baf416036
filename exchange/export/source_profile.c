/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure becomes a tree of functions: each instruction goes down from its procedure through what was inlined
 * around it. A location keeps the maximum over its instructions. */
#include "exchange/export/source_profile.h"
#include "analysis/cfg/cfg.h"
#include "analysis/frequency/evidence.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_MAX 32
#define LARGEST 1e7

struct building {
    struct cs_export *from;
    uint64_t procedures, procedures_done;
    struct cs_export_source_profile *to;
    struct cs_edge_flow *flow;
    struct cs_exported_image *image;
    struct cs_error *err;
    enum cs_export_discriminators discriminators;
    double largest;
    struct cs_export_source_loss_notes notes;
    uint32_t n_sites;
};

static int no_memory(struct building *b)
{
    return cs_fail(b->err, ENOMEM, "out of memory while building the source profile");
}

/* A compiler's clones count for the function they were made of. */
static char *plain_name(const char *name)
{
    size_t n = strlen(name);
    static const char *const suffixes[] = {".cold", ".part.", ".isra.", ".constprop.", ".llvm."};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *at = strstr(name, suffixes[i]);
        if (at && (size_t)(at - name) < n && at > name)
            n = (size_t)(at - name);
    }
    return strndup(name, n);
}

static struct cs_export_source_function *function_in(struct cs_export_source_function **list, unsigned *n,
                                                     const char *name, uint32_t line, uint32_t discriminator)
{
    char *plain = plain_name(name);
    if (!plain)
        return NULL;
    for (unsigned i = *n; i-- > 0;) {
        struct cs_export_source_function *f = &(*list)[i];
        if (f->line == line && f->discriminator == discriminator && strcmp(f->name, plain) == 0) {
            free(plain);
            return f;
        }
    }
    if (cs_array_resize(*list, *n + 1) < 0) {
        free(plain);
        return NULL;
    }
    (*list)[*n] =
        (struct cs_export_source_function){.name = plain, .line = line, .discriminator = discriminator};
    return &(*list)[(*n)++];
}

static struct cs_export_source_site *site_in(struct building *b, struct cs_export_source_function *f,
                                             uint32_t line, uint32_t discriminator)
{
    unsigned low = cs_bisect(f->n_sites, i,
                             f->sites[i].line < line ||
                                 (f->sites[i].line == line && f->sites[i].discriminator < discriminator));
    if (low < f->n_sites && f->sites[low].line == line && f->sites[low].discriminator == discriminator)
        return &f->sites[low];
    if (cs_array_resize(f->sites, f->n_sites + 1) < 0)
        return NULL;
    memmove(&f->sites[low + 1], &f->sites[low], (f->n_sites - low) * sizeof *f->sites);
    f->sites[low] =
        (struct cs_export_source_site){.line = line, .discriminator = discriminator, .number = b->n_sites++};
    f->n_sites++;
    return &f->sites[low];
}

static int add_call(struct building *b, struct cs_export_source_site *site, const char *callee, double count)
{
    char *plain = plain_name(callee);
    if (!plain)
        return no_memory(b);
    for (unsigned i = 0; i < site->n_calls; i++)
        if (strcmp(site->calls[i].callee, plain) == 0) {
            site->calls[i].count += count;
            free(plain);
            return 0;
        }
    if (cs_array_resize(site->calls, site->n_calls + 1) < 0) {
        free(plain);
        return no_memory(b);
    }
    site->calls[site->n_calls++] = (struct cs_export_source_call){plain, count};
    return 0;
}

/* Lines above the declaration (macros, other files) wrap in 16 bits, as the compilers themselves compute it.
 */
static uint32_t offset_of(unsigned line, unsigned first_line)
{
    return (line - first_line) & 0xffff;
}

/* The first of the numbers that clang packs (llvm/IR/DebugInfoMetadata.h, prefix encoding). */
static uint32_t first_packed(uint32_t discriminator)
{
    if (discriminator & 1)
        return 0;
    uint32_t u = discriminator >> 1;
    return u & 0x20 ? ((u >> 1) & 0xfe0) | (u & 0x1f) : u & 0x1f;
}

static uint32_t base_of(const struct building *b, uint32_t discriminator)
{
    return b->discriminators == CS_EXPORT_DISCRIMINATORS_LLVM ? first_packed(discriminator) : discriminator;
}

static uint32_t copies_of(const struct building *b, uint32_t discriminator)
{
    if (b->discriminators != CS_EXPORT_DISCRIMINATORS_LLVM)
        return 1;
    uint32_t rest = discriminator & 1 ? discriminator >> 1 : discriminator >> (discriminator & 0x40 ? 14 : 7);
    uint32_t copies = first_packed(rest);
    return copies ? copies : 1;
}

/* The site of an instruction: down from the procedure through what was inlined around it. NULL with *rc = 0
 * where there is no line to speak of. */
static struct cs_export_source_site *site_of(struct building *b, uint64_t offset, uint32_t *copies, int *rc)
{
    struct cs_image_frame frames[INLINE_MAX];
    unsigned n = cs_image_frames_at(b->image->code, offset, frames, INLINE_MAX);
    *rc = 0;
    if (n == 0 || n == INLINE_MAX || frames[0].line == 0 || !*frames[n - 1].function ||
        !frames[n - 1].first_line)
        return NULL;
    struct cs_export_source_function *f =
        function_in(&b->to->functions, &b->to->n_functions, frames[n - 1].function, 0, 0);
    for (unsigned i = n - 1; f && i-- > 0;) {
        if (!*frames[i].function)
            return NULL;
        f = function_in(&f->inlined, &f->n_inlined, frames[i].function,
                        offset_of(frames[i + 1].line, frames[i + 1].first_line),
                        base_of(b, frames[i + 1].discriminator));
    }
    struct cs_export_source_site *site = f ? site_in(b, f, offset_of(frames[0].line, frames[0].first_line),
                                                     base_of(b, frames[0].discriminator))
                                           : NULL;
    *copies = copies_of(b, frames[0].discriminator);
    if (!site)
        *rc = no_memory(b);
    return site;
}

/* Where a call instruction went: observed targets, each with its share; else the direct
 * target. */
static int add_calls(struct building *b, struct cs_export_source_site *site,
                     const struct cs_cfg_instruction *insn, const struct cs_edge_profile *seen, double count)
{
    struct cs_export_source_loss *loss = &b->to->loss;
    double total = 0;
    size_t first = cs_edge_profile_from(seen, insn->offset), end = first;
    for (; end < seen->n_own && seen->by_from[end].from == insn->offset; end++)
        total += seen->by_from[end].count;
    int rc = 0;
    loss->calls += count;
    if (total <= 0) {
        const struct cs_image_procedure *callee =
            insn->target ? cs_image_procedure_at(b->image->code, insn->target) : NULL;
        if (callee && callee->start == insn->target)
            return add_call(b, site, callee->name, count);
        loss->calls_unnamed += count;
        return 0;
    }
    for (size_t i = first; rc == 0 && i < end; i++) {
        const struct cs_seen_edge *edge = &seen->by_from[i];
        const struct cs_image_procedure *callee =
            edge->to_image ? NULL : cs_image_procedure_at(b->image->code, edge->to);
        if (callee && callee->start == edge->to)
            rc = add_call(b, site, callee->name, count * edge->count / total);
        else
            loss->calls_unnamed += count * edge->count / total;
    }
    return rc;
}

static int add_procedure(struct building *b, const struct cs_image_procedure *procedure,
                         const struct cs_cfg *cfg, const struct cs_frequency *f,
                         const struct cs_edge_profile *seen)
{
    int rc = 0;
    uint32_t first_block = 0;
    for (uint32_t k = 0; rc == 0 && k < cfg->n_blocks; k++) {
        double count = f->block[k];
        uint32_t noted = cs_export_source_loss_block(&b->notes, count, cfg->blocks[k].n_insns);
        first_block = k == 0 ? noted : first_block;
        if (count > b->largest)
            b->largest = count;
        for (uint32_t i = 0; rc == 0 && i < cfg->blocks[k].n_insns; i++) {
            const struct cs_cfg_instruction *insn = &cfg->insns[cfg->blocks[k].first_insn + i];
            uint32_t copies = 1;
            struct cs_export_source_site *site = site_of(b, insn->offset, &copies, &rc);
            if (!site)
                continue;
            if (count * copies > site->count)
                site->count = count * copies;
            cs_export_source_loss_place(&b->notes, site->number, copies);
            if (insn->flow == CS_ISA_FLOW_CALL)
                rc = add_calls(b, site, insn, seen, count);
        }
    }
    for (uint32_t e = 0; rc == 0 && e < cfg->n_edges; e++)
        if (cfg->edges[e].from < cfg->n_blocks && cfg->edges[e].to < cfg->n_blocks)
            cs_export_source_loss_flow(&b->notes, first_block + cfg->edges[e].from,
                                       first_block + cfg->edges[e].to, f->edge[e]);
    if (b->notes.failed)
        rc = no_memory(b);
    struct cs_image_frame frames[INLINE_MAX];
    unsigned n = rc == 0 ? cs_image_frames_at(b->image->code, procedure->start, frames, INLINE_MAX) : 0;
    if (n == 0 || n == INLINE_MAX || !*frames[n - 1].function)
        return rc;
    struct cs_export_source_function *top =
        function_in(&b->to->functions, &b->to->n_functions, frames[n - 1].function, 0, 0);
    if (!top)
        return no_memory(b);
    for (uint32_t e = 0; e < cfg->n_edges; e++)
        if (cfg->edges[e].kind == CS_CFG_EDGE_ENTRY)
            top->head += f->edge[e];
    return 0;
}

static const struct cs_exported_profile *points_of(const struct cs_exported_image *image)
{
    const struct cs_exported_profile *best = NULL;
    for (unsigned i = 0; i < image->n_profiles; i++) {
        const struct cs_exported_profile *p = &image->profiles[i];
        bool timed = strcmp(p->unit, "ns") == 0 || strcmp(p->unit, "cycles") == 0;
        if (p->kind == CS_KIND_POINTS && timed &&
            (!best || cs_table_sum(p->table, 1) > cs_table_sum(best->table, 1)))
            best = p;
    }
    return best;
}

static int add_image(struct building *b)
{
    const struct cs_exported_profile *points = points_of(b->image);
    struct cs_frequency_evidence evidence;
    int rc = cs_frequency_evidence_init(&evidence, points ? points->table : NULL, b->flow, b->image->image.id,
                                        b->err);
    if (rc < 0)
        return rc;
    const uint64_t *offsets = evidence.offsets;
    size_t n = evidence.input.n_samples;
    b->to->loss.samples += evidence.samples;
    b->to->loss.samples_elsewhere += evidence.samples; /* until a procedure claims it */
    size_t sample = 0;
    for (size_t i = 0; rc == 0 && i < cs_image_procedures(b->image->code); i++) {
        const struct cs_image_procedure *p = cs_image_procedure_nth(b->image->code, i);
        cs_export_report_progress(b->from, "procedures", b->procedures_done++, b->procedures);
        /* Only what ran: its samples or its edges tell. */
        while (sample < n && offsets[sample] < p->start)
            sample++;
        size_t edge = cs_edge_profile_from(evidence.edges, p->start);
        bool sampled = sample < n && offsets[sample] < p->start + p->size;
        bool transferred =
            edge < evidence.edges->n_own && evidence.edges->by_from[edge].from < p->start + p->size;
        if (!sampled && !transferred)
            continue;
        struct cs_cfg *cfg = NULL;
        struct cs_frequency f = {0};
        rc = cs_cfg_build(b->image->code, p, evidence.edges, &cfg, b->err);
        if (rc == -EINVAL) { /* no bytes to decode: nothing to say of it */
            rc = 0;
            continue;
        }
        for (size_t s = sample; s < n && offsets[s] < p->start + p->size; s++)
            b->to->loss.samples_elsewhere -= evidence.counts[s];
        if (rc == 0)
            rc = cs_frequency_estimate(cfg, &evidence.input, CS_FREQUENCY_BURSTS, &f, b->err);
        if (rc == 0)
            rc = add_procedure(b, p, cfg, &f, evidence.edges);
        cs_frequency_fini(&f);
        cs_cfg_close(cfg);
    }
    cs_frequency_evidence_fini(&evidence);
    return rc;
}

static void note_counts(const struct cs_export_source_function *f, double *by_number)
{
    for (unsigned i = 0; i < f->n_sites; i++)
        by_number[f->sites[i].number] = f->sites[i].count;
    for (unsigned i = 0; i < f->n_inlined; i++)
        note_counts(&f->inlined[i], by_number);
}

static int sum_loss(struct building *b)
{
    double *by_number = calloc((size_t)b->n_sites + 1, sizeof *by_number);
    if (!by_number)
        return no_memory(b);
    for (unsigned i = 0; i < b->to->n_functions; i++)
        note_counts(&b->to->functions[i], by_number);
    int rc = cs_export_source_loss_sum(&b->notes, by_number, &b->to->loss);
    free(by_number);
    return rc < 0 ? no_memory(b) : 0;
}

static void scale(struct cs_export_source_function *f, double by)
{
    f->head *= by;
    for (unsigned i = 0; i < f->n_sites; i++) {
        f->sites[i].count *= by;
        for (unsigned k = 0; k < f->sites[i].n_calls; k++)
            f->sites[i].calls[k].count *= by;
    }
    for (unsigned i = 0; i < f->n_inlined; i++)
        scale(&f->inlined[i], by);
}

double cs_export_source_total(const struct cs_export_source_function *function)
{
    double total = 0;
    for (unsigned i = 0; i < function->n_sites; i++)
        total += function->sites[i].count;
    for (unsigned i = 0; i < function->n_inlined; i++)
        total += cs_export_source_total(&function->inlined[i]);
    return total;
}

int cs_export_source_profile_open(struct cs_export *from, enum cs_export_discriminators discriminators,
                                  struct cs_export_source_profile *out, struct cs_error *err)
{
    assert(from->store);
    struct building b = {.from = from, .to = out, .err = err, .discriminators = discriminators};
    *out = (struct cs_export_source_profile){0};
    int rc = cs_export_edge_flow(from, &b.flow, err);
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++)
        b.procedures += cs_image_procedures(from->images[i].code);
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++) {
        b.image = &from->images[i];
        if (cs_image_isa(b.image->code) != CS_ISA_NONE)
            rc = add_image(&b);
    }
    if (rc == 0 && (out->n_functions == 0 || b.largest <= 0))
        rc = cs_fail(err, ENODATA,
                     "no profiled image has line information; build the program with -g (and clang's "
                     "-fdebug-info-for-profiling) and record again");
    if (rc == 0)
        rc = sum_loss(&b);
    cs_export_source_loss_fini(&b.notes);
    for (unsigned i = 0; rc == 0 && i < out->n_functions; i++)
        scale(&out->functions[i], LARGEST / b.largest);
    if (b.flow)
        cs_edge_flow_close(b.flow);
    if (rc < 0)
        cs_export_source_profile_close(out);
    return rc;
}

static void close_functions(struct cs_export_source_function *functions, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned s = 0; s < functions[i].n_sites; s++) {
            for (unsigned k = 0; k < functions[i].sites[s].n_calls; k++)
                free(functions[i].sites[s].calls[k].callee);
            free(functions[i].sites[s].calls);
        }
        free(functions[i].sites);
        free(functions[i].name);
        close_functions(functions[i].inlined, functions[i].n_inlined);
    }
    free(functions);
}

void cs_export_source_profile_close(struct cs_export_source_profile *profile)
{
    close_functions(profile->functions, profile->n_functions);
    *profile = (struct cs_export_source_profile){0};
}
