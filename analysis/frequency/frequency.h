/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From edges and samples to how often each block and edge of a procedure ran, and how sure that is.
 *
 * Files of this module:
 *   frequency            blocks and edges of one procedure, with confidence
 *   sample_priors        the same from samples alone: DCPI's rule and simpler ones
 *   evidence             samples and edges of one image, ready for an estimate
 *   edge_flow            how often every edge of a store ran
 *   edge_flow_internal   what the files below share
 *   load                 from the store's profiles to arrays
 *   edge_list            the list of edges, in order and by target
 *   burst_weights        how much the edges of each burst count
 *   instruction_rates    how fast hot-branch groups run, from timed intervals
 *   strata               bursts of one piece of code stand for its samples' time
 *   burst_boundaries     the branches at which bursts began and ended
 *   path_flow            edge counts from paths interpreted from samples
 *   markov_chain         visit frequencies of a sparse chain
 *   elimination_order    in which order its states are eliminated
 *   flow_cache           solved counts kept beside the store
 *   model                every constant that measurement chose
 *
 * Method of dcpi-1997 section 6.1, with edges as evidence in place of samples. An out-of-order core spends
 * its time where it stalls, not where it works.
 *
 *      struct cs_frequency_input input = {flow, image, samples...};
 *      struct cs_frequency f;
 *      cs_frequency_estimate(cfg, &input, CS_FREQUENCY_BURSTS, &f, &err);
 *      f.block[cs_cfg_block(cfg, offset)]      executions, in the unit of edges seen
 *      cs_frequency_fini(&f);
 *
 * Numbers are relative, with one unit for all procedures of a store; edge_flow.h may know how many executions
 * the unit is (executions_a_flow_ns). A block that no edge tells of gets a prior from its samples, of low
 * confidence. */
#pragma once

#include "analysis/cfg/cfg.h"
#include "analysis/frequency/edge_flow.h"

enum cs_frequency_method {
    CS_FREQUENCY_BURSTS,  /* edges (bursts, LBR); samples only where they are silent */
    CS_FREQUENCY_EQUAL,   /* every block of a procedure equally often: the floor of any comparison */
    CS_FREQUENCY_NAIVE,   /* an instruction ran as often as it was sampled */
    CS_FREQUENCY_AVERAGE, /* a block ran as often as its samples an instruction */
    CS_FREQUENCY_DCPI,    /* smallest consistent S/M of a class, then local propagation: as published */
};

enum cs_confidence { CS_CONFIDENCE_LOW, CS_CONFIDENCE_MEDIUM, CS_CONFIDENCE_HIGH };

struct cs_frequency_input {
    const struct cs_edge_flow *flow; /* NULL = none */
    uint32_t image;                  /* in edges; UINT32_MAX = it has none */
    const uint64_t *sample_offset;   /* ascending */
    const double *sample_count;
    size_t n_samples;
    const double
        *m; /* static cycles of each instruction of the graph, for CS_FREQUENCY_DCPI; NULL = 1 each */
    const int32_t *waits_for; /* beside it: the instruction whose result it waits for, -1 = none */
};

struct cs_frequency {
    uint32_t n_blocks, n_edges, n_insns;
    double *block, *edge;            /* by number in the graph */
    double *insn;                    /* by instruction; equals its block's but for CS_FREQUENCY_NAIVE */
    float *block_error, *edge_error; /* standard deviation of the natural logarithm, within the procedure */
    uint8_t *block_confidence, *edge_confidence;
    double *samples;   /* by block */
    double *seen;      /* by block: edges seen in or out of it */
    double observed;   /* edges seen in the procedure: 0 = all is prior */
    bool from_samples; /* all is prior */
};

/* Samples of offsets in [start, end). */
double cs_frequency_samples(const struct cs_frequency_input *evidence, uint64_t start, uint64_t end);

int cs_frequency_estimate(const struct cs_cfg *cfg, const struct cs_frequency_input *evidence,
                          enum cs_frequency_method method, struct cs_frequency *f, struct cs_error *err);
void cs_frequency_fini(struct cs_frequency *f);
/* How often control left a block: its own frequency, or the sum over its edges where they were estimated to be
 * more, so that no edge is more than all of its block. */
double cs_frequency_left(const struct cs_cfg *cfg, const struct cs_frequency *frequency, uint32_t block);
const char *cs_confidence_name(enum cs_confidence confidence); /* "low", "medium", "high" */
/* Of a standard deviation of the natural logarithm; NAN is low. */
enum cs_confidence cs_confidence_of(double error);

/* The image's edges as the edge profile that cs_cfg_build takes. */
int cs_edge_flow_profile(const struct cs_edge_flow *flow, uint32_t image, struct cs_edge_profile **out,
                         struct cs_error *err);
