/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edges: the edge profile of a procedure. For every transfer of control between its blocks: how often bursts saw it, its estimated execution count, the confidence. (dcpi-1997 section 7) */
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/output/output.h"
#include "cli/procedure/analysed_image.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [CS_CFG_EDGE_ENTRY] = "entry",
    [CS_CFG_EDGE_FALL] = "falls through",
    [CS_CFG_EDGE_TAKEN] = "taken",
    [CS_CFG_EDGE_JUMP] = "jump",
    [CS_CFG_EDGE_TABLE] = "jump table",
    [CS_CFG_EDGE_OBSERVED] = "seen only",
    [CS_CFG_EDGE_RETURN] = "return",
    [CS_CFG_EDGE_TAIL] = "tail call",
    [CS_CFG_EDGE_NO_RETURN] = "never returns",
    [CS_CFG_EDGE_UNKNOWN] = "unresolved",
};

struct place {
    char text[512];
};

static struct place place_of(struct cs_image_code *code, uint64_t offset)
{
    struct place p;
    struct cs_image_frame frame;
    if (!cs_image_line_at(code, offset, &frame))
        return (struct place){""};
    snprintf(p.text, sizeof p.text, "%s:%u", cs_base_name(frame.file), frame.line);
    return p;
}

/* Counts of an edge as seen: from the block's last instruction to the edge's target. */
static double seen(const struct cs_edge_profile *profile, const struct cs_cfg *cfg,
                   const struct cs_cfg_edge *edge)
{
    double count = 0;
    if (!profile || edge->from >= cfg->n_blocks)
        return 0;
    uint64_t from = cfg->blocks[edge->from].last;
    for (size_t i = cs_edge_profile_from(profile, from);
         i < profile->n_own && profile->by_from[i].from == from; i++) {
        const struct cs_seen_edge *e = &profile->by_from[i];
        bool inside = !e->to_image && cs_cfg_block(cfg, e->to) < cfg->n_blocks;
        if (edge->to < cfg->n_blocks ? !e->to_image && e->to == cfg->blocks[edge->to].start : !inside)
            count += e->count;
    }
    return count;
}

struct line {
    uint32_t edge;
    double frequency;
};

CS_ORDER(hottest_first, struct line, cs_order(b->frequency, a->frequency), cs_order(a->edge, b->edge))

static int print_edges(const struct parsed *args, struct analysed_image *ev, const struct cs_cfg *cfg,
                       const struct cs_frequency *f)
{
    static const struct column columns[] = {
        {.key = "frequency", .head = "executions", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "percent_of_source", .head = "of its block %", .kind = COLUMN_SHARE, .spare = true},
        {.key = "error_percent", .head = "± %", .kind = COLUMN_NUMBER, .digits = 1, .spare = true},
        {.key = "confidence", .head = "confidence"},
        {.key = "seen", .head = "seen", .kind = COLUMN_COUNT},
        {.key = "from", .head = "from", .kind = COLUMN_HEX},
        {.key = "from_line", .head = "", .elastic = true, .keep_end = true},
        {.key = "to", .head = "to", .kind = COLUMN_HEX},
        {.key = "to_line", .head = "", .elastic = true, .keep_end = true},
        {.key = "kind", .head = "how"},
    };
    char name[512];
    struct line *lines = malloc((cfg->n_edges + 1) * sizeof *lines);
    if (!lines)
        return failed_with("no memory for %u edges", cfg->n_edges);
    for (uint32_t e = 0; e < cfg->n_edges; e++)
        lines[e] = (struct line){e, f->edge[e]};
    cs_sort(lines, cfg->n_edges, hottest_first);
    struct output *out = output_open(args);
    output_line(out, "%s in %s: %u block%s, %u edge%s, %s edge%s seen%s",
                cs_image_demangle(cfg->procedure->name, name, sizeof name),
                ev->image ? image_name(&ev->image->image) : cs_image_path(ev->code), cfg->n_blocks,
                plural(cfg->n_blocks), cfg->n_edges, plural(cfg->n_edges), thousands(f->observed).text,
                plural(f->observed),
                cfg->missing ? "; an indirect jump has only the targets that were seen" : "");
    if (f->from_samples)
        output_note(out, "No burst and no branch record saw this function: the execution counts come only "
                         "from samples and are worth little (record --bursts sees branches).");
    else if (ev->found.input.flow->from_paths)
        output_note(out,
                    "Execution counts are relative, from short paths that were interpreted from samples: "
                    "slow iterations are overstated (record --bursts sees more, nearly without that bias).");
    else
        output_note(out, "Execution counts are relative, in edges seen: nothing counted executions.");
    output_line(out, "%s", "");
    struct table *table = output_table(out, "edges", columns, sizeof columns / sizeof *columns);
    table_limit(table, option_given(args, "all") ? 0 : 20, "--all shows them");
    for (uint32_t i = 0; i < cfg->n_edges; i++) {
        uint32_t e = lines[i].edge;
        const struct cs_cfg_edge *edge = &cfg->edges[e];
        bool inside = edge->from < cfg->n_blocks;
        table_number(table, f->edge[e]);
        double left = inside ? cs_frequency_left(cfg, f, edge->from) : 0;
        table_number(table, left > 0 ? 100 * f->edge[e] / left : (double)NAN);
        table_number(table,
                     f->from_samples || f->edge[e] <= 0 ? (double)NAN : 100 * (double)f->edge_error[e]);
        table_text(table, cs_confidence_name(f->edge_confidence[e]));
        table_count(table, (uint64_t)seen(ev->found.edges, cfg, edge));
        table_count_if(table, inside, inside ? cfg->blocks[edge->from].last : 0);
        table_text(table, inside ? place_of(ev->code, cfg->blocks[edge->from].last).text : "");
        table_count_if(table, edge->to < cfg->n_blocks || edge->target,
                       edge->to < cfg->n_blocks ? cfg->blocks[edge->to].start : edge->target);
        table_text(table,
                   edge->to < cfg->n_blocks ? place_of(ev->code, cfg->blocks[edge->to].start).text : "");
        table_text(table, kinds[edge->kind]);
    }
    free(lines);
    output_line(out, "%s", "");
    output_next(out, args, "next:", "list", operand(args, 0), "      (where its samples are)");
    return output_close(out);
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct profile profile = {0};
    struct cs_edge_flow *flow = NULL;
    struct analysed_image ev = {0};
    const struct cs_image_procedure *procedure = NULL;
    struct cs_cfg *cfg = NULL;
    struct cs_frequency f = {0};
    if (operand_count(args) != 1)
        return usage_error("needs a FUNCTION");
    struct profile_filter filter = {
        .image = option(args, "image"), .epoch = recording_asked(args), .main_event = option(args, "event")};
    int rc = profile_open(&profile, store_location(args), &filter, &err);
    if (rc < 0)
        return failed(&err);
    if (profile_edge_flow(&profile, &flow, &err) < 0 ||
        analysed_procedure_open(&ev, &profile, operand(args, 0), flow, &procedure, &err) < 0 ||
        cs_cfg_build(ev.code, procedure, ev.found.edges, &cfg, &err) < 0 ||
        cs_frequency_estimate(cfg, &ev.found.input, CS_FREQUENCY_BURSTS, &f, &err) < 0)
        rc = failed(&err);
    else
        rc = print_edges(args, &ev, cfg, &f);
    cs_frequency_fini(&f);
    cs_cfg_close(cfg);
    analysed_image_close(&ev);
    cs_edge_flow_close(flow);
    profile_close(&profile);
    return rc;
}

static const struct option_entry options[] = {
    OPTIONS_WHAT,
    OPTION_ALL,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_edges = {
    .name = "edges",
    .operands = "FUNCTION",
    .summary = "the edge profile of a function: which way its branches go, how often",
    .details = "FUNCTION is a name, IMAGE:NAME, or 0xADDRESS. The evidence comes from bursts (record "
               "--bursts) and branch records of imported files. The estimate corrects for bursts starting "
               "more often in slow code. ± is one standard error, relative to the function.",
    .options = options,
    .run = run,
};
