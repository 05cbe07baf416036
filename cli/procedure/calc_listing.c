/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listing (dcpi-1997 figure 2): blocks with their best and actual cycles, instructions with bubbles above those that
 * stall. */
#include "cli/command/figures.h"
#include "cli/procedure/calc.h"

#include "image/isa/decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUBBLE_MIN 0.5     /* cycles */
#define JSON_ALL_MAX 50000 /* instructions; a function of a million would take 5 GB */

struct source {
    char path[1024];
    unsigned line;
    FILE *file;
    unsigned at; /* line that the next read gives */
};

/* Prints the line of source when it differs from the one before. */
static void print_source(struct output *out, struct source *s, struct cs_image_code *code, uint64_t offset)
{
    struct cs_image_frame frame;
    char text[512];
    if (!cs_image_line_at(code, offset, &frame) || (frame.line == s->line && !strcmp(frame.file, s->path)))
        return;
    if (strcmp(frame.file, s->path)) {
        if (s->file)
            fclose(s->file);
        snprintf(s->path, sizeof s->path, "%s", frame.file);
        s->file = fopen(s->path, "re");
        s->at = 1;
    }
    s->line = frame.line;
    const char *slash = strrchr(s->path, '/');
    text[0] = 0;
    if (s->file && s->at > s->line)
        rewind(s->file), s->at = 1;
    while (s->file && s->at <= s->line && fgets(text, sizeof text, s->file))
        s->at += strchr(text, '\n') != NULL;
    text[strcspn(text, "\n")] = 0;
    output_line(out, "%s:%u  %s", slash ? slash + 1 : s->path, s->line, text);
}

static void instruction_text(struct cs_image_code *code, uint64_t offset, char *text, size_t capacity)
{
    size_t n = 0;
    const uint8_t *bytes = cs_image_bytes_at(code, offset, &n, NULL);
    if (bytes)
        cs_isa_decode_text(cs_image_isa(code), bytes, n, offset, text, capacity);
    else
        snprintf(text, capacity, "?");
}

/* Cycles a visit. A block that takes fewer than the core needs to retire its instructions was visited less often
 * than estimated: NAN. */
static double possible_cycles(const struct cs_cycle_account *a, const struct cs_cycle_account_block *block)
{
    return block->actual >= block->operations * a->operation_cycles ? block->actual : (double)NAN;
}

/* The letters of the causes that share the stall, the largest first; then what each means, and where its culprit is. */
static void print_bubbles(struct output *out, const struct cs_cycle_account_insn *insn)
{
    const struct cs_culprit_classification *v = insn->classification;
    char letters[CS_CULPRIT_SUSPECTS_MAX + 3];
    unsigned n = 0;
    if (v->stall < BUBBLE_MIN)
        return;
    for (unsigned k = 0; k < v->n; k++)
        letters[n++] = cs_culprit_cause_names[v->suspects[k].cause].letter;
    if (v->unexplained > 0.1 * v->stall)
        letters[n++] = '?';
    letters[n] = 0;
    for (unsigned k = 0; k < v->n; k++) {
        const struct cs_culprit_suspect *s = &v->suspects[k];
        char size[40] = "";
        if (k == 0)
            snprintf(size, sizeof size, "... %.1f cy", v->stall);
        output_line(out, "   %-6s %-12s %c = %s%s at %" PRIx64 ", %.1f to %.1f: %s", letters, size,
                    cs_culprit_cause_names[s->cause].letter, cs_culprit_cause_names[s->cause].words,
                    s->observed ? "" : "?", s->responsible ? s->responsible : insn->op.offset, s->low,
                    fmin(s->high, v->stall), s->reason);
    }
    if (v->unexplained > 0.1 * v->stall)
        output_line(out, "   %-6s %-12s ? = unexplained, %.1f", letters, v->n ? "" : "...", v->unexplained);
    if (v->contradiction.found)
        output_line(
            out,
            "   %-6s %-12s bursts and counters disagree on %s: %.1f expected, the counted events allow %.1f",
            letters, "", cs_culprit_cause_names[v->contradiction.cause].words, v->contradiction.expected,
            v->contradiction.counted);
}

static void print_instruction(struct output *out, const struct cs_cycle_account *a, uint32_t i,
                              struct cs_image_code *code)
{
    const struct cs_cycle_account_insn *insn = &a->insns[i];
    char text[128], cycles[48] = "", culprit[160] = "";
    instruction_text(code, insn->op.offset, text, sizeof text);
    if (insn->fused)
        snprintf(cycles, sizeof cycles, "(fused)");
    else if (isfinite(insn->cycles) && (insn->attributed > 0 || insn->classification->stall > 0))
        snprintf(cycles, sizeof cycles, "%.1f", insn->cycles);
    size_t n = 0;
    for (unsigned k = 0; k < insn->classification->n && k < 3; k++) {
        const struct cs_culprit_suspect *s = &insn->classification->suspects[k];
        if (s->responsible && s->responsible != insn->op.offset && n < sizeof culprit - 24)
            n +=
                (size_t)snprintf(culprit + n, sizeof culprit - n, "%s%" PRIx64, n ? " " : "", s->responsible);
    }
    output_line(out, "%8" PRIx64 "  %-44.44s %9.0f %9s %5.1f  %s", insn->op.offset, text, insn->attributed,
                cycles, insn->step.m, culprit);
}

void listing_print(struct output *out, const struct cs_cycle_account *a, struct cs_image_code *code,
                   bool source, bool all)
{
    struct source s = {.path = ""};
    double most_visits = 0;
    unsigned hidden = 0;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++)
        most_visits = fmax(most_visits, a->blocks[b].visits);
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_basic_block *block = &a->cfg->blocks[b];
        const struct cs_cycle_account_block *acc = &a->blocks[b];
        if (!all && acc->attributed < 0.01 * (double)a->samples) {
            hidden += acc->attributed > 0;
            continue;
        }
        double n = block->n_insns;
        output_line(out, "%s", "");
        if (isfinite(acc->best) && isfinite(acc->actual)) {
            char actual[96] = "unknown (too few samples, or fewer executions than estimated)";
            if (isfinite(possible_cycles(a, acc)))
                snprintf(actual, sizeof actual, "%.1f / %.0f = %.2f CPI%s", acc->actual, n, acc->actual / n,
                         acc->actual < 0.995 * acc->best ? " (faster than the model allows)" : "");
            output_line(out,
                        "best case %.1f cycles / %.0f instruction%s = %.2f CPI, actual %s, execution count "
                        "%s%s (%.1f %% of samples)",
                        acc->best, n, plural(n), acc->best / n, actual,
                        figure(most_visits > 0 ? acc->visits / most_visits : 0, 3).text,
                        acc->measured  ? ", in a loop whose turn was measured"
                        : acc->on_path ? ", in a loop"
                                       : "",
                        100 * acc->attributed / fmax(1, (double)a->samples));
        } else
            output_line(out, "not seen by bursts: execution count unknown (%.1f %% of samples)",
                        100 * acc->attributed / fmax(1, (double)a->samples));
        output_line(out, "%8s  %-44s %9s %9s %5s  %s", "Addr", "Instruction", "Samples", "Cycles", "M",
                    "Culprit");
        for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
            if (source)
                print_source(out, &s, code, a->insns[i].op.offset);
            print_bubbles(out, &a->insns[i]);
            print_instruction(out, a, i, code);
        }
    }
    if (hidden)
        output_line(out, "(%u block%s with less than 1 %% of the samples each: --all shows them)", hidden,
                    plural(hidden));
    if (s.file)
        fclose(s.file);
}

static json_t *suspects_json(const struct cs_culprit_classification *v, uint64_t self)
{
    json_t *list = json_array();
    for (unsigned k = 0; k < v->n; k++) {
        const struct cs_culprit_suspect *s = &v->suspects[k];
        char responsible[24];
        snprintf(responsible, sizeof responsible, "0x%" PRIx64, s->responsible ? s->responsible : self);
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:s, s:b, s:o}", "cause",
                                              cs_culprit_cause_names[s->cause].name, "low", s->low, "high",
                                              fmin(s->high, v->stall), "share", s->share, "responsible",
                                              responsible, "observed", s->observed, "reason",
                                              json_text(s->reason)));
    }
    return list;
}

static json_t *contradiction_json(const struct cs_culprit_classification *v)
{
    return v->contradiction.found
               ? json_pack("{s:s, s:f, s:f}", "cause", cs_culprit_cause_names[v->contradiction.cause].name,
                           "expected", v->contradiction.expected, "counted", v->contradiction.counted)
               : json_null();
}

static json_t *real_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *blocks_json(const struct cs_cycle_account *a)
{
    json_t *list = json_array();
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_cycle_account_block *block = &a->blocks[b];
        double n = a->cfg->blocks[b].n_insns;
        char offset[24];
        snprintf(offset, sizeof offset, "0x%" PRIx64, a->cfg->blocks[b].start);
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:I, s:f, s:f, s:o, s:o, s:b}", "offset", offset, "instructions",
                      (json_int_t)n, "operations", (json_int_t)block->operations, "samples",
                      block->attributed, "percent", 100 * block->attributed / fmax(1, (double)a->samples),
                      "best_cpi", real_or_null(block->best / n), "actual_cpi",
                      real_or_null(possible_cycles(a, block) / n), "measured", block->measured));
    }
    return list;
}

json_t *listing_json(const struct cs_cycle_account *a, struct cs_image_code *code, bool all,
                     uint32_t *left_out)
{
    json_t *list = json_array();
    all |= a->cfg->n_insns <= JSON_ALL_MAX;
    *left_out = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        if (!all && !insn->samples && !(insn->attributed > 0) && !(insn->visits > 0)) {
            ++*left_out;
            continue;
        }
        char text[128], offset[24];
        instruction_text(code, insn->op.offset, text, sizeof text);
        snprintf(offset, sizeof offset, "0x%" PRIx64, insn->op.offset);
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:I, s:f, s:o, s:f, s:o, s:b, s:f, s:f, s:o, s:o}", "offset",
                            offset, "instruction", json_text(text), "block", (json_int_t)insn->block,
                            "samples", (json_int_t)insn->samples, "attributed", insn->attributed, "cycles",
                            real_or_null(insn->cycles), "m", insn->step.m, "visits",
                            real_or_null(insn->visits), "fused", insn->fused, "stall",
                            insn->classification->stall, "unexplained", insn->classification->unexplained,
                            "suspects", suspects_json(insn->classification, insn->op.offset), "contradiction",
                            contradiction_json(insn->classification)));
    }
    return list;
}
