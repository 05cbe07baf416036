/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a thread still of the program, and has it still the rights, that the runner was made for? */
#pragma once

#include "sampler/burst/wire.h"

/* Keeps what tells the process's program from others, and gives its real user and group. 0, or a code to die with: the
 * process is gone, or became another program after the runner's descriptors were opened; its rights can't be told. */
int program_keep(uint32_t pid, uint32_t *uid, uint32_t *gid);
/* Before a burst. CS_BURST_SKIP_NONE: it is the same. */
enum cs_burst_skip program_open(uint32_t tid);
/* Again, of the same thread. */
enum cs_burst_skip program_look(uint32_t tid);
