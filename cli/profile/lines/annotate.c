/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a line are those of all instructions that came from it, inlined code included. The line is the one in
 * the procedure's own source (the outermost frame). A file's listing takes the innermost
 * frame instead, so that each sample counts once wherever the code was inlined. */
#include "cli/profile/lines/annotate.h"

#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 32
#define INSNS_MAX 200000
#define LINES_MAX 2000000

const struct profile_row *find_procedure(const struct profile_rows *rows, const char *name)
{
    const struct profile_row *best = NULL;
    int best_fit = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct profile_row *r = &rows->row[i];
        if (!r->image || !r->name || (!name && !r->readable))
            continue;
        int fits = name ? cs_image_name_fits(r->name, name) : 1;
        if (fits > best_fit) {
            best = r;
            best_fit = fits;
        }
    }
    return best;
}

const char *typed_name(const struct profile_rows *rows, const struct profile_row *row, char *text,
                       size_t capacity)
{
    cs_image_short_name(row->name, text, capacity);
    return find_procedure(rows, text) == row ? text : cs_image_demangle(row->name, text, capacity);
}

struct cs_did_you_mean procedure_meant(const struct profile_rows *rows, const char *name)
{
    struct cs_resembling r = {.word = name};
    for (size_t i = 0; i < rows->n; i++) {
        const struct profile_row *row = &rows->row[i];
        char typed[1024];
        if (row->image && row->name)
            cs_resembling_try_function(&r, cs_image_short_name(row->name, typed, sizeof typed));
    }
    return cs_did_you_mean(&r);
}

struct annotated_line *annotation_line(struct annotation *a, unsigned line)
{
    if (line >= LINES_MAX)
        return NULL;
    if (line >= a->n_line) {
        size_t n = line + 64 > 2 * a->n_line ? line + 64 : 2 * a->n_line;
        struct annotated_line *more = realloc(a->line, n * sizeof *more);
        if (!more)
            return NULL;
        memset(more + a->n_line, 0, (n - a->n_line) * sizeof *more);
        a->line = more;
        a->n_line = n;
    }
    a->first = a->first == 0 || line < a->first ? line : a->first;
    a->last = line > a->last ? line : a->last;
    return &a->line[line];
}

static int count(uint64_t **samples, unsigned n_events, unsigned event, uint64_t n)
{
    if (!*samples)
        *samples = calloc(n_events, sizeof **samples);
    if (!*samples)
        return -ENOMEM;
    (*samples)[event] += n;
    return 0;
}

/* ---- a procedure ---- */

/* The line of the procedure's own source at `offset`, 0 unknown; the file is that of the first one found. */
static unsigned own_line(struct annotation *a, struct cs_image_code *code, uint64_t offset)
{
    struct cs_image_frame frames[FRAMES_MAX];
    unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
    if (n == 0 || frames[n - 1].line == 0)
        return 0;
    const struct cs_image_frame *own = &frames[n - 1];
    if (!a->file && *own->file)
        a->file = strdup(own->file);
    return a->file && strcmp(a->file, own->file) == 0 ? own->line : 0;
}

static int disassemble(struct annotation *a, struct cs_image_code *code, const struct cs_image_part *part,
                       size_t *capacity)
{
    enum cs_isa isa = cs_image_isa(code);
    uint64_t offset = part->start, end = part->start + part->size;
    size_t n = 0;
    const uint8_t *bytes = cs_image_bytes_at(code, offset, &n, NULL);
    if (!bytes || isa == CS_ISA_NONE)
        return 0;
    n = n < part->size ? n : part->size;
    while (offset < end && n && a->n_insns < INSNS_MAX) {
        struct cs_isa_insn decoded;
        struct annotated_insn insn = {.offset = offset};
        insn.length = cs_isa_decode_flow(isa, bytes, n, offset, &decoded);
        if (insn.length)
            cs_isa_decode_text(isa, bytes, n, offset, insn.text, sizeof insn.text);
        else
            snprintf(insn.text, sizeof insn.text, "(bad)");
        if (!insn.length)
            insn.length = n < cs_isa_step(isa) ? (unsigned)n : cs_isa_step(isa);
        insn.line = own_line(a, code, offset);
        insn.charged = own_line(a, code, cs_image_charged(code, offset));
        if (insn.line) {
            struct annotated_line *l = annotation_line(a, insn.line);
            if (l)
                l->code = true;
        }
        if (cs_array_room(a->insn, a->n_insns, *capacity) < 0)
            return -ENOMEM;
        a->insn[a->n_insns++] = insn;
        offset += insn.length;
        bytes += insn.length;
        n -= insn.length;
    }
    return 0;
}

struct annotated_insn *annotation_insn(const struct annotation *a, uint64_t offset)
{
    const size_t at = cs_bisect(a->n_insns, i, a->insn[i].offset + a->insn[i].length <= offset);
    return at < a->n_insns && a->insn[at].offset <= offset ? &a->insn[at] : NULL;
}

struct placing {
    const struct profile *profile;
    struct annotation *a;
    struct cs_image_code *code;
    const struct cs_image_procedure *procedure;
    uint64_t elsewhere; /* samples between instructions as we decode them, or past the end of the bytes */
    bool failed;
};

CS_ORDER(by_offset, struct annotated_insn, cs_order(a->offset, b->offset))

static void place(unsigned event, const char *label, uint64_t offset, uint64_t samples, void *arg)
{
    struct placing *p = arg;
    struct annotation *a = p->a;
    (void)label;
    bool inside = false;
    for (unsigned i = 0; i < p->procedure->n_parts; i++)
        inside |= offset - p->procedure->parts[i].start < p->procedure->parts[i].size;
    /* A smaller procedure may nest in this one: its samples are its own. */
    if (!inside || cs_image_procedure_at(p->code, offset) != p->procedure)
        return;
    a->total[event] += samples;
    struct annotated_insn *insn = annotation_insn(a, offset);
    const bool precise = p->profile->events[event].precise;
    unsigned line = !insn ? own_line(a, p->code, offset) : precise ? insn->line : insn->charged;
    if (insn && count(&insn->samples, a->n_events, event, samples) < 0)
        p->failed = true;
    if (!insn)
        p->elsewhere += samples;
    struct annotated_line *l = line ? annotation_line(a, line) : NULL;
    if (l && count(&l->samples, a->n_events, event, samples) < 0)
        p->failed = true;
}

int annotate_procedure(const struct profile *profile, const struct profile_row *row,
                       struct cs_image_code *code, const char *source_root, struct annotation *out,
                       struct cs_error *err)
{
    assert(row->image);
    *out = (struct annotation){.image = row->image, .n_events = profile->n_events};
    const struct cs_image_procedure *procedure = cs_image_procedure_at(code, row->start);
    if (!procedure)
        return cs_fail(err, ENOENT, "%s has no function at 0x%llx any more: was the file replaced?",
                       row->image->image.path, (unsigned long long)row->start);
    snprintf(out->trouble, sizeof out->trouble, "%s", cs_image_trouble(code));
    out->name = strdup(procedure->name);
    out->total = calloc(profile->n_events, sizeof *out->total);
    int rc = out->name && out->total ? 0 : -ENOMEM;
    size_t capacity = 0;
    own_line(out, code, procedure->start);
    for (unsigned i = 0; i < procedure->n_parts && rc == 0; i++)
        rc = disassemble(out, code, &procedure->parts[i], &capacity);
    cs_sort(out->insn, out->n_insns, by_offset);
    struct placing placing = {.profile = profile, .a = out, .code = code, .procedure = procedure};
    if (rc == 0)
        rc = profile_points(row->image, -1, place, &placing, err);
    if (rc == -ENOMEM || placing.failed)
        rc = cs_fail(err, ENOMEM, "out of memory while annotating %s", procedure->name);
    if (rc == 0 && out->file)
        source_read(&out->source, out->file, source_root);
    if (rc == 0 && !*out->trouble && out->file)
        snprintf(out->trouble, sizeof out->trouble, "%s", out->source.trouble);
    if (rc < 0)
        annotation_fini(out);
    return rc;
}

/* ---- a file ---- */

bool annotation_is_file(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0 && (n == m || end[0] == '/' || path[n - m - 1] == '/');
}

int annotate_file(struct profile *profile, const struct cs_calls_wanted *wanted, const char *name,
                  const char *source_root, struct annotation *out, struct cs_error *err)
{
    struct profile_rows rows;
    struct cs_resembling meant = {.word = name};
    int rc = profile_sum(profile, BY_LINE, &rows, err);
    if (rc < 0)
        return rc;
    *out = (struct annotation){.n_events = profile->n_events};
    out->total = calloc(profile->n_events, sizeof *out->total);
    rc = out->total ? 0 : -ENOMEM;
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        const struct profile_row *r = &rows.row[i];
        if (!r->file || !r->line)
            continue;
        if (!annotation_is_file(r->file, name)) {
            cs_resembling_try(&meant, cs_base_name(r->file));
            continue;
        }
        if (!out->file) { /* the hottest file of that name; samples of others stay out */
            out->file = strdup(r->file);
            out->image = r->image;
        }
        if (!out->file || strcmp(out->file, r->file) != 0)
            continue;
        struct annotated_line *l = annotation_line(out, r->line);
        for (unsigned e = 0; l && e < profile->n_events && rc == 0; e++) {
            rc = count(&l->samples, out->n_events, e, r->samples[e]);
            out->total[e] += r->samples[e];
        }
        if (l)
            l->code = true;
    }
    profile_rows_fini(&rows);
    if (rc == -ENOMEM)
        rc = cs_fail(err, ENOMEM, "out of memory while annotating %s", name);
    else
        rc = annotate_totals(profile, wanted, out, name, err);
    if (rc == 0 && (!out->file || !out->image))
        rc = cs_fail(err, ENOENT,
                     "no samples fell on %s: it is neither a function nor a source file of this profile%s",
                     name, cs_did_you_mean(&meant).text);
    else if (rc == 0)
        source_read(&out->source, out->file, source_root);
    if (rc < 0)
        annotation_fini(out);
    else
        snprintf(out->trouble, sizeof out->trouble, "%s", out->source.trouble);
    return rc;
}

void annotation_fini(struct annotation *a)
{
    for (size_t i = 0; i < a->n_line; i++)
        free(a->line[i].samples);
    for (size_t i = 0; i < a->n_insns; i++)
        free(a->insn[i].samples);
    free(a->line);
    free(a->insn);
    free(a->total);
    free(a->name);
    free(a->file);
    source_fini(&a->source);
    *a = (struct annotation){.n_events = 0};
}
