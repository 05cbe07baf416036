/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BOLT's fdata (llvm-bolt -data=FILE). There is one line a branch and where it went, "1 from-function
 * hex-offset 1 to-function hex-offset mispredicted count". Where a store has no edges, the form without them:
 * "no_lbr EVENT", then "1 function offset count". Functions as exchange/export/bolt_names.h says. A branch
 * that falls through is a line like another, as perf2bolt writes them: without it BOLT takes what follows for
 * cold. Where a block ends without a branch, llvm-bolt -infer-fall-throughs finds the count. */
#include "exchange/export/bolt_names.h"
#include "exchange/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define COUNT_SCALE 16.0 /* estimated flows are no whole numbers */

static void side(FILE *to, const struct cs_export_bolt_place *place)
{
    if (place->number)
        fprintf(to, "1 %s/%u %" PRIx64 " ", place->name, place->number, place->offset);
    else
        fprintf(to, "1 %s %" PRIx64 " ", place->name, place->offset);
}

/* Transfers that start in the chosen images, and why some aren't in the file; in estimated executions.
 */
struct bolt_loss {
    double all, elsewhere, nameless, rare;
};

static unsigned branches_of(FILE *to, struct cs_exported_image *image,
                            const struct cs_export_bolt_names *names, const struct cs_edge_flow *flow,
                            struct bolt_loss *loss)
{
    uint32_t index = cs_edge_flow_image(flow, image->image.id);
    unsigned written = 0;
    for (size_t i = 0; index != UINT32_MAX && i < flow->n; i++) {
        const struct cs_counted_edge *t = &flow->list[i];
        struct cs_export_bolt_place place, target;
        if (t->image != index)
            continue;
        loss->all += t->flow;
        if (t->to_image != index)
            loss->elsewhere += t->flow;
        else if (!cs_export_bolt_names_find(names, image->code, t->from, &place) ||
                 !cs_export_bolt_names_find(names, image->code, t->to, &target))
            loss->nameless += t->flow;
        else if (t->flow * COUNT_SCALE < 0.5)
            loss->rare += t->flow;
        else {
            side(to, &place);
            side(to, &target);
            fprintf(to, "0 %.0f\n", t->flow * COUNT_SCALE);
            written++;
        }
    }
    return written;
}

static unsigned points_of(FILE *to, struct cs_exported_image *image, const struct cs_export_bolt_names *names)
{
    unsigned written = 0;
    for (unsigned k = 0; k < image->n_profiles; k++) {
        const struct cs_exported_profile *p = &image->profiles[k];
        if (p->kind != CS_KIND_POINTS || strncmp(p->event, "lbr-", 4) == 0)
            continue;
        for (size_t r = 0; r < cs_table_rows(p->table); r++) {
            const uint64_t *row = cs_table_row(p->table, r);
            struct cs_export_bolt_place place;
            if (cs_export_bolt_names_find(names, image->code, row[0], &place)) {
                side(to, &place);
                fprintf(to, "%" PRIu64 "\n", row[1]);
                written++;
            }
        }
    }
    return written;
}

static int write_bolt(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct cs_edge_flow *flow = NULL;
    struct bolt_loss loss = {0};
    unsigned written = 0;
    int rc = cs_export_edge_flow(from, &flow, err);
    if (rc < 0)
        return rc;
    bool edges = flow->n > 0;
    if (!edges)
        fputs("no_lbr cpu-clock:\n", to);
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++) {
        struct cs_exported_image *image = &from->images[i];
        struct cs_export_bolt_names *names = cs_export_bolt_names_open(image->code);
        if (names)
            written += edges ? branches_of(to, image, names, flow, &loss) : points_of(to, image, names);
        else
            rc = cs_fail(err, ENOMEM, "out of memory while reading the symbols of %s", image->image.path);
        cs_export_bolt_names_close(names);
    }
    cs_edge_flow_close(flow);
    if (rc < 0)
        return rc;
    if (loss.all > 0)
        snprintf(from->note, sizeof from->note,
                 "%.1f %% of the branches, taken or not, are in this file: %.1f %% go to other images, %.1f "
                 "%% start or end where no symbol is, %.1f %% were estimated to run too rarely to count",
                 100 * (1 - (loss.elsewhere + loss.nameless + loss.rare) / loss.all),
                 100 * loss.elsewhere / loss.all, 100 * loss.nameless / loss.all, 100 * loss.rare / loss.all);
    return written ? 0
                   : cs_fail(err, ENODATA,
                             "no profiled function has a symbol, which BOLT needs; link without -s (and with "
                             "-Wl,--emit-relocs) and record again");
}

const struct cs_exporter cs_export_bolt = {"bolt", false, write_bolt};
