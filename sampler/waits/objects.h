/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a wait was for, in words: a file's path, a socket's peer, a futex's word. What comes from a process is cleaned and
 * bounded. One owner. */
#pragma once

#include "sampler/waits/wait_records.h"

#define CS_WAIT_DEAD_LOCK                                                                                    \
    ", dead lock"              /* ends the text of a lock whose holder waits, at last, for this thread */
#define CS_WAIT_OBJECT_MAX 160 /* bytes with the NUL */

struct cs_wait_objects;
struct cs_wait_objects *cs_wait_objects_open(const char *proc);
void cs_wait_objects_close(struct cs_wait_objects *objects);

/* "": nothing in particular. */
void cs_wait_object(struct cs_wait_objects *objects, const struct cs_wait_record *record,
                    char out[CS_WAIT_OBJECT_MAX]);
