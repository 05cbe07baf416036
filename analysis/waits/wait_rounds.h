/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of waits that say something of one another: who waited while another thread waited elsewhere. */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "store/base/array.h"

struct cs_wait_meanwhile { /* `waiter` waited for a thread that waited in `on`: rows */
    size_t waiter, on;
    uint64_t ns;
};

/* Reads all rows. What a row says of the rows that wait for it, and they of it, changes with their readings: it ends when none
 * does. -ENOMEM. */
int cs_wait_rounds(struct cs_wait_groups *groups, const struct cs_wait_meanwhile *meanwhile, size_t n);

/* Waits that ran out of time and those that somebody ended are one row, where they are waits: takes `from` into it. NULL: it
 * has no other part. */
struct cs_wait_group *cs_wait_other_part(struct cs_wait_groups *groups, const struct cs_wait_group *from);
int cs_wait_absorb(struct cs_wait_group *into, struct cs_wait_group *from);

/* A first thread that sleeps while others work may only look on: reads such rows again. */
void cs_wait_read_lookers(struct cs_wait_groups *groups);

/* Which functions serve clients: a thread that waits deeper in them than for its client has a request under way. */
struct cs_wait_servers {
    const struct cs_calls *waits;
    uint16_t *below; /* by function: its own functions between it and a wait for a client, 0: none is */
    CS_ARRAY(struct cs_wait_deferred {
        uint32_t node;
        size_t group;
        uint64_t ns;
    })
    deferred;
};
/* A wait of that row and chain. */
int cs_wait_servers_note(struct cs_wait_servers *servers, const struct cs_wait_group *group, size_t number,
                         uint32_t node, uint64_t ns);
/* Once all are noted: sets `serving_ns`. */
void cs_wait_servers_tell(const struct cs_wait_servers *servers, struct cs_wait_groups *groups);
void cs_wait_servers_fini(struct cs_wait_servers *servers);
