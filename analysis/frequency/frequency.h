/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often did each block and edge of a procedure run? dcpi-1997 section 6.1, with control transfers as
 * evidence in place of samples (why: an out-of-order core spends its time where it stalls, not where it
 * works).
 *
 *      struct cs_evidence evidence = {transfers, image, samples...};
 *      struct cs_frequency f;
 *      cs_frequency_estimate(cfg, &evidence, CS_METHOD_BURSTS, &f, &err);
 *      f.block[cs_cfg_block(cfg, offset)]      executions, in the unit of observed transfers
 *      cs_frequency_fini(&f);
 *
 * Relative numbers: one unit for all procedures of a store, the transfers' (which may know how many
 * executions that is: executions_a_flow_ns). A block that no transfer tells of gets a prior from its samples,
 * of low confidence. */
#ifndef CS_ANALYSIS_FREQUENCY_H
#define CS_ANALYSIS_FREQUENCY_H

#include "analysis/cfg/cfg.h"
#include "analysis/frequency/edge_flow.h"

enum cs_method {
    CS_METHOD_BURSTS,  /* control transfers (bursts, LBR); samples only where they are silent */
    CS_METHOD_EQUAL,   /* every block of a procedure equally often: the floor of any comparison */
    CS_METHOD_NAIVE,   /* an instruction ran as often as it was sampled */
    CS_METHOD_AVERAGE, /* a block ran as often as its samples an instruction */
    CS_METHOD_DCPI,    /* smallest consistent S/M of a class, then local propagation: as published */
};

enum cs_confidence { CS_CONFIDENCE_LOW, CS_CONFIDENCE_MEDIUM, CS_CONFIDENCE_HIGH };

struct cs_evidence {
    const struct cs_transfers *transfers; /* NULL = none */
    uint32_t image;                       /* in transfers; UINT32_MAX = it has none */
    const uint64_t *sample_offset;        /* ascending */
    const double *sample_count;
    size_t n_samples;
    const double *m; /* static cycles of each instruction of the graph, for CS_METHOD_DCPI; NULL = 1 each */
    const int32_t *waits_for; /* beside it: the instruction whose result it waits for, -1 = none */
};

struct cs_frequency {
    uint32_t n_blocks, n_edges, n_insns;
    double *block, *edge;            /* by number in the graph */
    double *insn;                    /* by instruction; equals its block's but for CS_METHOD_NAIVE */
    float *block_error, *edge_error; /* standard deviation of the natural logarithm, within the procedure */
    uint8_t *block_confidence, *edge_confidence;
    double *samples;   /* by block */
    double *seen;      /* by block: transfers seen in or out of it */
    double observed;   /* transfers seen in the procedure: 0 = all is prior */
    bool from_samples; /* all is prior */
};

/* Samples of offsets in [start, end). */
double cs_evidence_samples(const struct cs_evidence *evidence, uint64_t start, uint64_t end);

int cs_frequency_estimate(const struct cs_cfg *cfg, const struct cs_evidence *evidence, enum cs_method method,
                          struct cs_frequency *f, struct cs_error *err);
void cs_frequency_fini(struct cs_frequency *f);
const char *cs_confidence_name(enum cs_confidence confidence); /* "low", "medium", "high" */

/* The image's transfers as the edge profile that cs_cfg_build takes. */
int cs_transfers_profile(const struct cs_transfers *transfers, uint32_t image, struct cs_edge_profile **out,
                         struct cs_error *err);

#endif
