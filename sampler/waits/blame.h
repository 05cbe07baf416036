/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What those who ended a wait did while it lasted. A thread's last waits are remembered. The wait is walked back from
 * its end: while its waker ran, it is the waker's running. While the waker waited and was woken in turn, that one's
 * doing. Otherwise it is the waker's own wait. That is the path through threads that the wait took (Alexander, Kim et
 * al., wPerf, OSDI 2018, section 3, for one wait). Between two waits that were kept the thread's own totals say how
 * long it ran. The rest of that time it spent in waits like those of its short ones that were kept. Where it waited for
 * a CPU it is the doing of who had that. Bounded. One owner. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cs_blame;
struct cs_blame *cs_blame_open(void);
void cs_blame_close(struct cs_blame *blame);

/* How long a thread had run, `ran_ns`, at `at_ns`; it began at `began_ns`. at_ns 0: not known. */
struct cs_blame_ran {
    uint64_t began_ns, at_ns, ran_ns;
};

struct cs_blame_wait {
    uint32_t tid, waker_tid; /* 0: no thread */
    uint64_t out_ns, wake_ns, in_ns;
    uint8_t reason;
    bool is_short;                   /* others like it weren't kept */
    struct cs_blame_ran ran, waker;  /* at out_ns; the waker at wake_ns */
    uint64_t context, waker_context; /* the latter 0: the waker isn't followed */
    uint64_t turn_ns;                /* of its wait for a CPU `turn` had that; 0: nobody knows who */
    char thread[16], turn[16];
    char waker_name[16]; /* "": that of a wait of its own, where one was kept */
};
void cs_blame_note(struct cs_blame *blame, const struct cs_blame_wait *wait);

struct cs_blame_part {
    const char *thread;
    int reason; /* of its wait; -1: it ran; -2: nothing is known of it; -3: it waited, nobody knows for what */
    uint64_t context;
    uint64_t ns;
};
/* The parts of a wait, which add up to wake_ns - out_ns. `name` is the waker's. */
void cs_blame_each(struct cs_blame *blame, const struct cs_blame_wait *wait, const char *name,
                   void (*each)(void *arg, const struct cs_blame_part *part), void *arg);
/* The parts of its wait for a CPU, from wake_ns on or throughout: none where nobody knows who had it. */
void cs_blame_queue(struct cs_blame *blame, const struct cs_blame_wait *wait,
                    void (*each)(void *arg, const struct cs_blame_part *part), void *arg);
