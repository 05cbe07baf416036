/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following the thread that runs on a CPU. When the os line says that another thread took it,
 * the loop's pointers move to that thread's line of the signal segment. When the thread isn't the target's,
 * they move to a private line where every tag is CS_TAG_DESCHEDULED.
 *
 * Owned by the loop's thread while that runs. No system call, no allocation. Cost of a switch: a cache probe;
 * on a thread's first switch a scan of the owner words. */
#pragma once

#include "observer/sample/sample.h"
#include "observer/source/os_line.h"
#include "signals/reader/reader.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_FOLLOW_CACHE 256

struct cs_loop;

/* Where a tag or counter comes from: a word of the running thread's line, or an address that stays. */
struct cs_follow_word {
    const volatile uint64_t *fixed; /* NULL: `word` of the line */
    unsigned word;
    bool always; /* fixed, and of interest while the target doesn't run too */
};

struct cs_follow {
    const volatile struct cs_os_line *os;
    const struct cs_reader *signals; /* NULL where the target publishes nothing */
    uint32_t pid;                    /* the target's process */
    uint32_t only;                   /* this thread alone is the target; 0 = all of the process */
    struct cs_follow_word tags[CS_TAGS_MAX], software[CS_COUNTERS_MAX];
    unsigned n_tags, n_software;
    uint64_t descheduled_line[CS_SIGNALS_MAX],
        blank_line[CS_SIGNALS_MAX]; /* nobody's; a thread without a line */
    struct {
        uint32_t tid, line;
    } cache[CS_FOLLOW_CACHE];
    uint64_t last;               /* thread_id */
    uint64_t switches, lineless; /* seen by the loop; to threads of the target that publish nothing */
};

/* Points the loop at the thread in `thread_id`; true when that thread isn't the target's. */
bool cs_follow_switch(struct cs_loop *l, uint64_t thread_id);
/* From now on who runs on the CPU of this line; while the loop isn't running. */
void cs_follow_line(struct cs_loop *l, const volatile struct cs_os_line *os);
