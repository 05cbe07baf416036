/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns out of a table of points, and the image's part of the edge flow. */
#include "analysis/frequency/evidence.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int cs_frequency_evidence_init(struct cs_frequency_evidence *e, struct cs_table *points,
                               const struct cs_edge_flow *flow, const char *image_id, struct cs_error *err)
{
    size_t n = points ? cs_table_rows(points) : 0;
    uint32_t image = flow ? cs_edge_flow_image(flow, image_id) : UINT32_MAX;
    *e = (struct cs_frequency_evidence){.offsets = malloc((n + 1) * sizeof *e->offsets),
                                        .counts = malloc((n + 1) * sizeof *e->counts)};
    int rc = e->offsets && e->counts ? 0 : cs_fail(err, ENOMEM, "no memory for %zu sampled places", n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const uint64_t *row = cs_table_row(points, i);
        assert(i == 0 || e->offsets[i - 1] < row[0] /* points ascend */);
        e->offsets[i] = row[0];
        e->counts[i] = (double)row[1];
        e->samples += e->counts[i];
    }
    e->input = (struct cs_frequency_input){
        .flow = flow, .image = image, .sample_offset = e->offsets, .sample_count = e->counts, .n_samples = n};
    if (rc == 0)
        rc = image == UINT32_MAX ? cs_edge_profile_make(NULL, 0, &e->edges, err)
                                 : cs_edge_flow_profile(flow, image, &e->edges, err);
    if (rc < 0)
        cs_frequency_evidence_fini(e);
    return rc;
}

void cs_frequency_evidence_fini(struct cs_frequency_evidence *e)
{
    cs_edge_profile_close(e->edges);
    free(e->offsets);
    free(e->counts);
    *e = (struct cs_frequency_evidence){.input = {.image = UINT32_MAX}};
}
