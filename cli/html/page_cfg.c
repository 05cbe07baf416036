/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's control-flow graphs. graphviz's library lays them out as SVG without colours. The page's style table has
 * the colours (light and dark) by class: of nodes (h0…h5, heat) and edges (e0…e5, flow). */
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "cli/procedure/analysed_image.h"
#include "cli/procedure/graph.h"
#include "store/base/order.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX 120 /* more make neither a picture nor a page */
#define EDGES_MAX 150  /* graphviz takes 0.1 s for 150, 0.6 s for 200, 2.7 s for 225 of a switch */
#define BLOCKS_HOT 50  /* what is drawn of those that have more */
#define CLASSES 5

struct drawn {
    const struct analysed_image *ev;
    const struct cs_image_procedure *procedure;
    struct cs_cfg *cfg;
    struct cs_frequency f;
    double samples, most; /* of all blocks; flow of the busiest one */
    bool ran;             /* blocks that never ran are left out */
    double least;         /* samples of the least block that is drawn, 0 = all that ran */
};

static int step_of(double share)
{
    return share <= 0 ? 0 : share >= 1 ? CLASSES : 1 + (int)(share * (CLASSES - 1));
}

/* "lines 12-14", where the block's first and last instruction come from. */
static void put_lines(FILE *to, struct cs_image_code *code, const struct cs_basic_block *b)
{
    struct cs_image_frame first, last;
    if (!cs_image_line_at(code, b->start, &first))
        return;
    bool range = cs_image_line_at(code, b->last, &last) && last.line > first.line &&
                 strcmp(last.file, first.file) == 0;
    if (range)
        fprintf(to, "lines %u-%u\\l", first.line, last.line);
    else
        fprintf(to, "line %u\\l", first.line);
}

static void put_block(FILE *to, struct drawn *d, uint32_t i)
{
    const struct cs_basic_block *b = &d->cfg->blocks[i];
    double share = d->samples > 0 ? d->f.samples[i] / d->samples : 0;
    fprintf(to, "b%u [id=\"b%" PRIx64 "\",class=\"h%d\",label=\"%" PRIx64 "  %u instr.\\l", i, b->start,
            step_of(share * 2), b->start, b->n_insns);
    put_lines(to, d->ev->code, b);
    fprintf(to, "%.1f %%   x %s%s\\l\"];\n", 100 * share, figure(d->f.block[i], 3).text,
            d->f.block_confidence[i] == CS_CONFIDENCE_LOW ? " ?" : "");
}

static bool shown(const struct drawn *d, uint32_t block)
{
    if (d->least > 0)
        return d->f.samples[block] >= d->least;
    return !d->ran || d->f.samples[block] > 0 || d->f.block[block] > 0;
}

static bool shown_edge(const struct drawn *d, const struct cs_cfg_edge *edge)
{
    bool outside = edge->from >= d->cfg->n_blocks || edge->to >= d->cfg->n_blocks;
    return (edge->from >= d->cfg->n_blocks || shown(d, edge->from)) &&
           (edge->to >= d->cfg->n_blocks || shown(d, edge->to)) && !(d->least > 0 && outside);
}

static void put_edge(FILE *to, const struct drawn *d, uint32_t e)
{
    const struct cs_cfg_edge *edge = &d->cfg->edges[e];
    char from[16] = "entry", into[16] = "exit";
    double flow = d->most > 0 ? d->f.edge[e] / d->most : 0;
    if (!shown_edge(d, edge))
        return;
    if (edge->from < d->cfg->n_blocks)
        snprintf(from, sizeof from, "b%u", edge->from);
    if (edge->to < d->cfg->n_blocks)
        snprintf(into, sizeof into, "b%u", edge->to);
    fprintf(to, "%s -> %s [class=\"e%d\",penwidth=%.1f,label=\" %s\"];\n", from, into, step_of(sqrt(flow)),
            0.7 + 3 * sqrt(flow), figure(d->f.edge[e], 3).text);
}

static char *render(struct drawn *d)
{
    char *dot = NULL, *svg = NULL;
    size_t n = 0;
    struct cs_error ignored = {0};
    FILE *to = open_memstream(&dot, &n);
    if (!to)
        return NULL;
    fputs("digraph g{bgcolor=transparent;\n"
          "node[shape=box,fontname=monospace,fontsize=10,margin=\"0.08,0.03\",height=0];\n"
          "edge[fontname=\"sans-serif\",fontsize=9,arrowsize=0.6];\n",
          to);
    if (!(d->least > 0)) /* else little of the way in and out is drawn */
        fputs("entry[shape=plain,label=\"entry\"];exit[shape=plain,label=\"exit\"];\n", to);
    for (uint32_t i = 0; i < d->cfg->n_blocks; i++)
        if (shown(d, i))
            put_block(to, d, i);
    for (uint32_t e = 0; e < d->cfg->n_edges; e++)
        put_edge(to, d, e);
    fputs("}\n", to);
    int rc = fclose(to);
    to = rc == 0 ? open_memstream(&svg, &n) : NULL;
    if (to) {
        rc = graph_render(dot, "svg", to, &ignored);
        if (fclose(to) != 0 || rc < 0) {
            free(svg);
            svg = NULL;
        }
    }
    free(dot);
    return svg;
}

static size_t drawn_blocks(const struct drawn *d)
{
    size_t n = 0;
    for (uint32_t i = 0; i < d->cfg->n_blocks; i++)
        n += shown(d, i);
    return n;
}

static bool too_large(const struct drawn *d)
{
    uint32_t edges = 0;
    for (uint32_t e = 0; e < d->cfg->n_edges; e++)
        edges += shown_edge(d, &d->cfg->edges[e]);
    return edges > EDGES_MAX || drawn_blocks(d) > BLOCKS_MAX;
}

CS_ORDER(descending, double, cs_order(*b, *a))

/* All blocks; of a large procedure those that ran; of one of which hundreds ran the hottest. */
static void choose_blocks(struct drawn *d)
{
    uint32_t n = d->cfg->n_blocks;
    double *samples = malloc((n + 1) * sizeof *samples);
    d->ran = too_large(d);
    if (d->ran && n > BLOCKS_HOT && samples && too_large(d)) {
        memcpy(samples, d->f.samples, n * sizeof *samples);
        cs_sort(samples, n, descending);
        d->least = samples[BLOCKS_HOT - 1] > 1 ? samples[BLOCKS_HOT - 1] : 1;
    }
    free(samples);
}

json_t *page_cfg(const struct analysed_image *image, const struct profile_row *row)
{
    assert(image->code);
    struct drawn d = {.ev = image};
    struct cs_error ignored = {0};
    json_t *picture = NULL;
    d.procedure = cs_image_procedure_at(image->code, row->start);
    if (d.procedure && cs_cfg_build(image->code, d.procedure, image->found.edges, &d.cfg, &ignored) == 0 &&
        cs_frequency_estimate(d.cfg, &image->found.input, CS_FREQUENCY_BURSTS, &d.f, &ignored) == 0) {
        for (uint32_t i = 0; i < d.cfg->n_blocks; i++) {
            d.samples += d.f.samples[i];
            d.most = fmax(d.most, d.f.block[i]);
        }
        choose_blocks(&d);
        size_t n = drawn_blocks(&d); /* one block alone shows no flow */
        char *svg = n > 1 && n <= BLOCKS_MAX ? render(&d) : NULL;
        const char *body = svg ? strstr(svg, "<svg") : NULL; /* without the XML head */
        if (body)
            picture = json_pack("{s:o, s:i, s:i}", "svg", json_string(body), "shown", (int)n, "blocks",
                                (int)d.cfg->n_blocks);
        free(svg);
    }
    cs_frequency_fini(&d.f);
    cs_cfg_close(d.cfg);
    return picture ? picture : json_null();
}
