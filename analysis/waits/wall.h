/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All time of threads, by function: on a CPU by samples, off it by waits. Samples are scaled to the exact time on a CPU. Waits
 * are not: what their exact time by kind has beyond the kept ones is a row of its own. So the rows and the stolen time add
 * up to all threads' time. CPUs that idle and the kernel's threads are in no row. */
#pragma once

#include "analysis/waits/wait_groups.h"

/* Names of rows that aren't functions. */
#define CS_WALL_WITHOUT_CHAIN "[waits without a call chain]"
#define CS_WALL_WITHOUT_SAMPLES "[on a CPU, without samples]"

struct cs_wall_row {
    const char *name;                   /* cs_wait_place's function, brief; "" where a chain has none */
    const struct cs_store_image *image; /* NULL: none */
    uint64_t on_ns, waiting_ns;
    uint64_t idle_ns; /* waits for something to do (cs_wait_is_idle), beside waiting_ns */
    const char
        *mostly; /* the kind of its largest group of waits, else of those that idle; NULL: it never waited */
    uint64_t mostly_ns;
};

struct cs_wall {
    struct cs_wall_row *rows; /* most time on CPU and waiting first; idling alone last */
    size_t n, capacity;
    uint64_t all_ns, on_ns, stolen_ns; /* stolen is in no row */
    uint64_t samples;                  /* of programs, that have a chain */
};

/* Names live as long as both inputs: `running` are the call chains of samples. -ENOMEM. */
int cs_wall_make(struct cs_wall *wall, const struct cs_wait_groups *waits, struct cs_calls *running);
void cs_wall_fini(struct cs_wall *wall);
