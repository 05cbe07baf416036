/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose rights the replayer gets. */
#ifndef CS_SAMPLER_BURST_HOLDER_RIGHTS_H
#define CS_SAMPLER_BURST_HOLDER_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct rights { /* of a thread: its real user and group */
    uint32_t uid, gid;
    bool own; /* all its users are our own */
};
bool rights_read(uint32_t tid, uint32_t own_uid, struct rights *rights);
/* Has this thread the rights that the first one had? One that gave up a user may not find its instructions
 * repeated with it, nor one that gained something. */
bool rights_unchanged(uint32_t tid);
/* The number of a field, "NoNewPrivs:", in the text of /proc/TID/status; 0 when it isn't there. */
uint32_t status_number(const char *text, const char *field);

#endif
