/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which epochs have to go: by age first, then the oldest ones until the rest fits. Pure, no I/O, no clock of
 * its own. The newest epoch and those in use always stay. Time that runs backwards removes nothing: an epoch
 * written "in the future" has age 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_store_retention {
    uint64_t most_age_s; /* since the last write; 0 = any age */
    uint64_t most_bytes; /* of all epochs together; 0 = any size */
};

struct cs_store_epoch_extent {
    const char *name;
    int64_t written_s; /* last write, seconds since 1970 */
    uint64_t bytes;
    bool in_use;
    bool goes; /* the result */
};

/* Sets `goes` of each; returns how many. Sorts `epochs` by last write, then name. */
size_t cs_store_retention_choose(const struct cs_store_retention *retention, int64_t now_s,
                                 struct cs_store_epoch_extent *epochs, size_t n);
