/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What opening, collecting and sending share: an open spool. */
#pragma once

#include "exchange/fleet/batch.h"
#include "exchange/fleet/sent.h"

#define BATCH_PREFIX "batch-"

struct cs_fleet_spool {
    char path[CS_STORE_PATHNAME_MAX / 2];
    int lock;
    uint64_t number, next;
    bool is_new;
    struct cs_fleet_sent told; /* the profile that cs_fleet_spool_note_sent spoke of last */
};

/* Its number and the next sequence, on disk before that sequence is used. */
int cs_fleet_spool_write(const struct cs_fleet_spool *spool, struct cs_error *err);
int cs_fleet_spool_no_memory(struct cs_error *err);
