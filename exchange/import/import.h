/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other tools' recordings into a store.
 *
 * Files of this module:
 *   import             what the caller sees
 *   perfdata           header, features, order by time
 *   perfdata_frames    bytes into records
 *   perfdata_event     attributes of events
 *   perfdata_record    one record
 *   data_source        which memory answered an access
 *   perfdata_internal  what these four share
 *   perfdata_import    records to samples of images
 *   imported_images    images and their tables, until the store has them
 *   recorded_stacks    copies of stacks to call chains
 *   recorded_jit       names of code without a file
 *   kernel_names       names of the recorded kernel's procedures
 *   address_spaces     which file lies where in a process
 *
 * Brings recordings of other tools into the store: the same profiles that the sampler would have written.
 * Everything is read before anything is merged: a file that turns out malformed leaves the store as it was.
 */
#pragma once

#include "exchange/import/perfdata.h"
#include "store/store.h"

/* samples = stored + unknown + without_event; lost is what the recorder says that it lost. */
struct cs_import_summary {
    struct cs_perfdata_counts read;
    uint64_t stored, unknown;
    uint64_t stacks, branches;  /* call chains and branch-stack entries taken over */
    uint64_t accesses;          /* samples that tell how long an access took, or which memory answered */
    uint64_t unwound, complete; /* stacks copied by the recorder: unwound here, and to the beginning */
    uint64_t branches_dropped;  /* duplicated or impossible entries (from > to of a straight run) */
    unsigned images, events;
    char host[256];
};

/* Every `every` records with the records read so far; may be NULL. */
typedef void cs_import_progress(uint64_t records, void *arg);

struct cs_import_options { /* all-zero: none */
    const char *
        symfs; /* the recorded machine's files lie beneath this folder, and those without build-ids are believed */
    bool
        trust_paths; /* files at their recorded paths are believed to be those that ran, where nothing says otherwise */
    const char *beside; /* the recording's folder: names of JIT code may lie there */
    cs_import_progress *progress;
    void *arg;
};

/* Into a new epoch of `store`. `store` may be NULL: then the file is only read and counted. */
int cs_import_perfdata(FILE *file, const char *name, const struct cs_import_options *options,
                       struct cs_store *store, struct cs_import_summary *summary, struct cs_error *err);
