/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregates into the common store and back. What one run saw is added to what earlier runs saw: every number
 * is a sum. Two profiles of the program's pseudo-image (CS_IMAGE_TAG):
 *
 *  - event "observed-cycles", points: the value of the first tag → TSC cycles under it. Values that are code
 *    addresses go to the image that they lie in instead. So `prof` has interrupt samples and observed cycles
 *    of a procedure in one row. One "sample" is one cycle.
 *  - event "observed", kind "observed": all of a sink. Rows are (what, of, value, bin) → number, cycles,
 *    events, squares; T is the tag's index, C the name of a counter:
 *
 *      what         of             value   bin   number     cycles            events      squares
 *      tag          tag's name     value   T     samples    twice the cycles  visits      0
 *      rate T C     tag's name     value   0     kept       kept cycles       events      2^10 Σ events²/cycles
 *      edge T C     tag's name     value   0     0          edge cycles       events      2^10 others' events
 *      bin T C      tag's name     value   bin   kept       0                 0           0
 *      name T TEXT  tag's name     value   T     runs       0                 0           0   (T > 0)
 *      ratio T A/B  tag's name     value   0     kept       events of B       events of A 2^10 Σ A²/B
 *      quotient T A/B  tag's name  value   bin   kept       0                 0           0
 *      rate C       ""             0       0     the same of all kept intervals, whatever the tag
 *      bin C        ""             0       bin   the same
 *      ratio A/B, quotient A/B  "" 0       bin   the same
 *      joint C      first counter  0       bin   0          cycles            events of C 0
 *      verdict      its name       0       0     intervals  cycles            0           0
 *      period, gap  ""             0       bin   number     0                 0           0
 *      run          ""             0       0     runs       cycles not seen   cycles a    samples
 *                                                                             second × runs
 *
 * store/FORMAT.md "What the observer leaves" says the same for other readers. */
#pragma once

#include "observer/sample/sink.h"
#include "store/base/array.h"
#include "store/store.h"

struct cs_observe_save_names {
    const char *program; /* path */
    double cycles_per_second;
    const char *tags[CS_TAGS_MAX], *counters[CS_COUNTERS_MAX];
    /* Name of a value, NULL = none. */
    const char *(*name)(void *arg, unsigned tag, uint64_t value);
    /* The image and offset of a value that is an address; false = it isn't one, or lies nowhere. */
    bool (*resolve)(void *arg, unsigned tag, uint64_t value, struct cs_store_image *image, uint64_t *offset);
    void *arg;
};

/* Adds a sink to the store's current epoch. */
int cs_observe_save(struct cs_store *store, const struct cs_sink *sink,
                    const struct cs_observe_save_names *names, struct cs_error *err);

/* What a store has of one program, as a sink. */
struct cs_observe_saved {
    struct cs_sink *sink;
    char program[512], image_id[CS_IMAGE_ID_MAX];
    double cycles_per_second;
    uint64_t runs;
    char tags[CS_TAGS_MAX][64], counters[CS_COUNTERS_MAX][64];
    unsigned programs; /* how many were observed in this store */
    CS_ARRAY(struct cs_observe_saved_name {
        unsigned tag;
        uint64_t value;
        char *text;
    })
    names; /* of values of the second and further tags; the first tag's are the image's */
};
/* `program` is a path or base name; NULL = the one with most cycles. `rule` is not used but kept in the sink.
 * -ENOENT with a sentence where nothing was observed. */
int cs_observe_load(struct cs_store *store, const char *program, struct cs_observe_saved *kept,
                    struct cs_error *err);
void cs_observe_saved_fini(struct cs_observe_saved *kept);
