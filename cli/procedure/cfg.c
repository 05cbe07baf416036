/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfg: the control-flow graph of a procedure, its blocks with samples and frequencies. dcpi-1997 figure 3's
 * relative. */
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/output/output.h"
#include "cli/procedure/analysed_image.h"
#include "cli/procedure/graph.h"
#include "image/isa/decode.h"
#include "store/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_BLOCKS_MAX 400 /* more make no picture: only those that ran are drawn */

struct view {
    struct analysed_image ev;
    const struct cs_image_procedure *procedure;
    struct cs_cfg *cfg;
    struct cs_frequency f;
};

static void successors(const struct cs_cfg *cfg, const struct cs_frequency *f, uint32_t block, char *text,
                       size_t capacity)
{
    const struct cs_basic_block *b = &cfg->blocks[block];
    size_t n = 0;
    text[0] = 0;
    for (uint32_t k = 0; k < b->n_out && n + 40 < capacity; k++) {
        const struct cs_cfg_edge *e = &cfg->edges[b->first_out + k];
        double left = cs_frequency_left(cfg, f, block),
               share = left > 0 ? 100 * f->edge[b->first_out + k] / left : 0;
        if (e->to < cfg->n_blocks)
            n += (size_t)snprintf(text + n, capacity - n, "%s%" PRIx64, k ? " " : "",
                                  cfg->blocks[e->to].start);
        else
            n += (size_t)snprintf(text + n, capacity - n, "%s%s", k ? " " : "",
                                  e->kind == CS_CFG_EDGE_RETURN      ? "return"
                                  : e->kind == CS_CFG_EDGE_TAIL      ? "tail"
                                  : e->kind == CS_CFG_EDGE_NO_RETURN ? "never"
                                                                     : "?");
        if (b->n_out > 1 && left > 0)
            n += (size_t)snprintf(text + n, capacity - n, " (%.0f %%)", share);
    }
}

static int print_text(const struct parsed *args, struct view *v)
{
    static const struct column columns[] = {
        {.key = "block", .head = "block", .kind = COLUMN_HEX},
        {.key = "instructions", .head = "instr.", .kind = COLUMN_COUNT},
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "frequency", .head = "executions", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "confidence", .head = "confidence"},
        {.key = "class", .head = "class", .kind = COLUMN_COUNT},
        {.key = "line", .head = "source line", .elastic = true, .keep_end = true},
        {.key = "successors", .head = "goes to", .elastic = true, .wraps = true},
    };
    const struct cs_cfg *cfg = v->cfg;
    struct cs_equivalence_classes classes;
    char name[512], text[1024];
    if (cs_cfg_classes(cfg, &classes) < 0)
        return failed_with("no memory for the classes of %s", v->procedure->name);
    struct output *out = output_open(args);
    output_line(out, "%s in %s: %u instruction%s, %u block%s, %u edge%s, %u class%s that run equally often",
                cs_image_demangle(v->procedure->name, name, sizeof name),
                v->ev.image ? image_name(&v->ev.image->image) : cs_image_path(v->ev.code), cfg->n_insns,
                plural(cfg->n_insns), cfg->n_blocks, plural(cfg->n_blocks), cfg->n_edges,
                plural(cfg->n_edges), classes.n_classes, classes.n_classes == 1 ? "" : "es");
    if (cfg->n_jumps)
        output_line(out, "%u indirect jump%s, %u resolved by a jump table", cfg->n_jumps,
                    plural(cfg->n_jumps), cfg->n_tables);
    if (cfg->n_bad)
        output_note(out, "The decoder knows no instruction in %u byte%s", cfg->n_bad, plural(cfg->n_bad));
    if (cfg->missing)
        output_note(out, "Edges are missing: an indirect jump has only the targets that were seen.");
    output_line(out, "%s", "");
    struct table *table = output_table(out, "blocks", columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        const struct cs_basic_block *b = &cfg->blocks[i];
        struct cs_image_frame frame;
        table_count(table, b->start);
        table_count(table, b->n_insns);
        table_count(table, (uint64_t)v->f.samples[i]);
        table_number(table, v->f.block[i]);
        table_text(table, cs_confidence_name(v->f.block_confidence[i]));
        table_count(table, classes.of_block[i]);
        if (cs_image_line_at(v->ev.code, b->start, &frame))
            table_textf(table, "%s:%u", cs_base_name(frame.file), frame.line);
        else
            table_text(table, NULL);
        successors(cfg, &v->f, i, text, sizeof text);
        table_text(table, text);
    }
    cs_cfg_classes_fini(&classes);
    return output_close(out);
}

/* ---- the picture ---- */

static void quote(FILE *to, const char *text)
{
    char clean[1024];
    cs_text_clean(clean, sizeof clean, text, strlen(text));
    for (text = clean; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
}

static void draw_block(FILE *to, struct view *v, uint32_t i, double hottest)
{
    const struct cs_cfg *cfg = v->cfg;
    const struct cs_basic_block *b = &cfg->blocks[i];
    char text[256];
    double heat = hottest > 0 ? v->f.samples[i] / hottest : 0;
    fprintf(to, "  b%u [label=\"%" PRIx64 "  x %s (%s)  samples %.0f\\l", i, b->start,
            figure(v->f.block[i], 3).text, cs_confidence_name(v->f.block_confidence[i]), v->f.samples[i]);
    for (uint32_t k = 0; k < b->n_insns; k++) {
        const struct cs_cfg_instruction *insn = &cfg->insns[b->first_insn + k];
        size_t capacity;
        const uint8_t *bytes = cs_image_bytes_at(v->ev.code, insn->offset, &capacity, NULL);
        if (b->n_insns > 14 && k == 6) { /* the middle of a long block says little */
            fprintf(to, "  ... %u more\\l", b->n_insns - 12);
            k = b->n_insns - 7;
            continue;
        }
        if (!bytes)
            continue;
        fprintf(to, "%" PRIx64 "  ", insn->offset);
        quote(to,
              cs_isa_decode_text(cs_image_isa(v->ev.code), bytes, capacity, insn->offset, text, sizeof text));
        fputs("\\l", to);
    }
    fprintf(to, "\",fillcolor=\"0.05 %.2f 1.0\"];\n", 0.6 * sqrt(heat));
}

static void draw(FILE *to, struct view *v)
{
    const struct cs_cfg *cfg = v->cfg;
    char name[512];
    double hottest = 0, most = 0;
    bool all = cfg->n_blocks <= ALL_BLOCKS_MAX;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        hottest = fmax(hottest, v->f.samples[i]);
        most = fmax(most, v->f.block[i]);
    }
    fputs("digraph procedure {\n  graph [labelloc=t,fontname=\"sans-serif\",label=\"", to);
    quote(to, cs_image_demangle(v->procedure->name, name, sizeof name));
    fprintf(to, "\\ncolour: share of the samples of the hottest block (%.0f); x: relative executions%s\"];\n",
            hottest, all ? "" : "; blocks that never ran are left out");
    fputs("  node [shape=box,style=filled,fontname=\"monospace\",fontsize=9];\n"
          "  edge [fontname=\"sans-serif\",fontsize=8];\n  entry "
          "[shape=oval,label=\"entry\",fillcolor=white];\n"
          "  exit [shape=oval,label=\"exit\",fillcolor=white];\n",
          to);
    for (uint32_t i = 0; i < cfg->n_blocks; i++)
        if (all || v->f.block[i] > 0 || v->f.samples[i] > 0)
            draw_block(to, v, i, hottest);
    for (uint32_t e = 0; e < cfg->n_edges; e++) {
        const struct cs_cfg_edge *edge = &cfg->edges[e];
        char from[16] = "entry", into[16] = "exit";
        if (!all && v->f.edge[e] <= 0)
            continue;
        if (edge->from < cfg->n_blocks)
            snprintf(from, sizeof from, "b%u", edge->from);
        if (edge->to < cfg->n_blocks)
            snprintf(into, sizeof into, "b%u", edge->to);
        fprintf(to, "  %s -> %s [label=\"%s\",penwidth=%.2f%s];\n", from, into, figure(v->f.edge[e], 3).text,
                0.5 + (most > 0 ? 4 * sqrt(v->f.edge[e] / most) : 0),
                edge->kind == CS_CFG_EDGE_TABLE || edge->kind == CS_CFG_EDGE_OBSERVED ? ",style=dashed" : "");
    }
    fputs("}\n", to);
}

static int print_picture(const struct parsed *args, struct view *v)
{
    char *dot = NULL;
    size_t n = 0;
    struct cs_error err = {0};
    FILE *to = open_memstream(&dot, &n);
    if (!to)
        return failed_with("no memory for the picture");
    draw(to, v);
    if (fclose(to) != 0) {
        free(dot);
        return failed_with("no memory for the picture");
    }
    int rc = CS_EXIT_OK;
    if (option_given(args, "dot"))
        fwrite(dot, 1, n, stdout);
    else if (graph_render(dot, option_given(args, "ps") ? "ps" : "svg", stdout, &err) < 0)
        rc = failed(&err);
    free(dot);
    return rc;
}

/* ---- whole images: what decodes, what is resolved ---- */

static int audit(const struct parsed *args)
{
    static const struct column columns[] = {
        {.key = "image", .head = "image", .elastic = true},
        {.key = "procedures", .head = "functions", .kind = COLUMN_COUNT},
        {.key = "instructions", .head = "instructions", .kind = COLUMN_COUNT},
        {.key = "undecoded", .head = "undecoded bytes", .kind = COLUMN_COUNT},
        {.key = "blocks", .head = "blocks", .kind = COLUMN_COUNT},
        {.key = "jumps", .head = "indirect jumps", .kind = COLUMN_COUNT},
        {.key = "tables", .head = "by table", .kind = COLUMN_COUNT},
        {.key = "missing", .head = "with missing edges", .kind = COLUMN_COUNT},
    };
    struct cs_error err = {0};
    struct output *out = output_open(args);
    struct table *table = output_table(out, "images", columns, sizeof columns / sizeof *columns);
    for (int o = 0; o < operand_count(args); o++) {
        struct cs_image_code *code;
        uint64_t insns = 0, bad = 0, blocks = 0, jumps = 0, tables = 0, missing = 0;
        int rc = cs_image_open_file(operand(args, o), &code, &err);
        size_t n = rc < 0 ? 0 : cs_image_procedures(code);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            struct cs_cfg *cfg;
            if ((rc = cs_cfg_build(code, cs_image_procedure_nth(code, i), NULL, &cfg, &err)) < 0)
                break;
            insns += cfg->n_insns;
            bad += cfg->n_bad;
            blocks += cfg->n_blocks;
            jumps += cfg->n_jumps;
            tables += cfg->n_tables;
            missing += cfg->missing;
            if (cfg->n_bad)
                output_note(out, "%s: %u bytes of %s (0x%" PRIx64 ") do not decode", operand(args, o),
                            cfg->n_bad, cfg->procedure->name, cfg->procedure->start);
            cs_cfg_close(cfg);
        }
        if (rc < 0) {
            output_drop(out);
            return failed(&err);
        }
        cs_image_close(code);
        table_text(table, operand(args, o));
        table_count(table, n);
        table_count(table, insns);
        table_count(table, bad);
        table_count(table, blocks);
        table_count(table, jumps);
        table_count(table, tables);
        table_count(table, missing);
    }
    return output_close(out);
}

static int open_in_file(struct view *v, const char *path, const char *name, struct cs_error *err)
{
    int rc = cs_image_open_file(path, &v->ev.code, err);
    if (rc < 0)
        return rc;
    v->ev.found.input.image = UINT32_MAX;
    v->procedure = cs_image_procedure_named(v->ev.code, name, 0, NULL);
    return v->procedure ? 0 : cs_fail(err, ENOENT, "%s has no function %s", path, name);
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct profile profile = {0};
    struct cs_edge_flow *flow = NULL;
    struct view v = {0};
    const char *file = option(args, "file");
    int rc;
    if (option_given(args, "audit"))
        return operand_count(args) ? audit(args) : usage_error("--audit needs FILES");
    if (operand_count(args) != 1)
        return usage_error("needs a FUNCTION");
    struct profile_filter filter = {
        .image = option(args, "image"), .epoch = recording_asked(args), .main_event = option(args, "event")};
    if (file)
        rc = open_in_file(&v, file, operand(args, 0), &err);
    else if ((rc = profile_open(&profile, store_location(args), &filter, &err)) == 0 &&
             (rc = profile_edge_flow(&profile, &flow, &err)) == 0)
        rc = analysed_procedure_open(&v.ev, &profile, operand(args, 0), flow, &v.procedure, &err);
    if (rc < 0 || cs_cfg_build(v.ev.code, v.procedure, v.ev.found.edges, &v.cfg, &err) < 0 ||
        cs_frequency_estimate(v.cfg, &v.ev.found.input, CS_FREQUENCY_BURSTS, &v.f, &err) < 0)
        rc = failed(&err);
    else if (option_given(args, "dot") || option_given(args, "svg") || option_given(args, "ps"))
        rc = print_picture(args, &v);
    else
        rc = print_text(args, &v);
    cs_frequency_fini(&v.f);
    cs_cfg_close(v.cfg);
    analysed_image_close(&v.ev);
    cs_edge_flow_close(flow);
    profile_close(&profile);
    return rc;
}

static const struct option_entry options[] = {
    OPTIONS_WHAT,
    {"svg", 0, NULL, "a picture (needs graphviz's library)"},
    {"dot", 0, NULL, "the picture's description for graphviz"},
    {"ps", 0, NULL, "the picture as PostScript"},
    {"file", 0, "FILE", "the function of an executable, without a profile"},
    {"audit", 0, NULL,
     "operands are executables: report how much of them decodes and which jumps are resolved"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_cfg = {
    .name = "cfg",
    .operands = "FUNCTION",
    .summary = "the control-flow graph of a function, with samples and execution counts",
    .details = "FUNCTION is a name, IMAGE:NAME, or 0xADDRESS. Blocks of the same class always run equally "
               "often. Cold parts that the compiler moved away are shown with their function.",
    .options = options,
    .run = run,
};
