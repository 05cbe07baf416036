/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that still wait when a recording ends: where they stand, for how long, and for a lock who holds it. Read from outside:
 * registers by the driver, stacks and locks from the processes' memory, which nobody believes. */
#pragma once

#include "sampler/waits/waits.h"

#include <stdbool.h>

struct cs_wait_standing {
    const struct cs_wait_copied
        *record; /* as of a wait that ended now, with waker_kind CS_WAKER_NO_END; NULL: it doesn't wait */
    bool is_new; /* it has no row: it never left or got a CPU since `began_ns` */
    uint32_t pid, tid;
    uint64_t since_ns;
    uint8_t reason;
    const char *comm; /* not cleaned */
};

/* What the driver can't tell, or memory is short for, is left out. */
void cs_wait_standing_each(const struct cs_wait_kernel *kernel, uint64_t began_ns, uint64_t now_ns,
                           void (*each)(void *arg, const struct cs_wait_standing *standing), void *arg);
