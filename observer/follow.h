/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following who runs on the target's CPU: when the os line says that another thread took it, the loop's
 * pointers move to that thread's line of the signal segment, or to a private line where every tag is
 * CS_TAG_AWAY when the thread isn't the target's. It takes the place of the kernel patch of shim-2015
 * section 3.
 *
 * Owned by the loop's thread while that runs. No system call, no allocation. Cost of a switch: a cache probe;
 * on a thread's first switch a scan of the owner words. */
#ifndef CS_OBSERVER_FOLLOW_H
#define CS_OBSERVER_FOLLOW_H

#include "observer/sample.h"
#include "signals/segment.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_TAG_AWAY UINT64_MAX /* the value of every signal tag while the target doesn't run */
#define CS_FOLLOW_CACHE 256

struct cs_loop;

/* The os line, written by observer.bpf.c: one a CPU, 64 bytes. */
struct cs_os_line {
    uint64_t who;     /* switches << 32 | tid; one store */
    uint64_t process; /* tgid */
    uint64_t thread;  /* tid, as a tag */
    uint64_t syscall; /* number + 1 of the system call that the running thread is in, 0 = none */
    uint64_t apart[4];
};

/* Where a tag or counter comes from: a word of the running thread's line, or an address that stays. */
struct cs_follow_word {
    const volatile uint64_t *fixed; /* NULL: `word` of the line */
    unsigned word;
};

struct cs_follow {
    const volatile struct cs_os_line *os;
    uint32_t pid;                     /* the target's process */
    const volatile uint32_t *n_lines; /* how many lines were ever claimed; NULL without a segment */
    const volatile struct cs_segment_owner *owners;
    const volatile char *lines;
    uint32_t lines_max, line_bytes;
    struct cs_follow_word tags[CS_TAGS_MAX], softs[CS_COUNTERS_MAX];
    unsigned n_tags, n_softs;
    uint64_t away_line[CS_SIGNALS_MAX], blank_line[CS_SIGNALS_MAX]; /* nobody's; a thread without a line */
    struct {
        uint32_t tid, line;
    } cache[CS_FOLLOW_CACHE];
    uint64_t switches, lineless; /* seen by the loop; to threads of the target that publish nothing */
};

/* Points the loop at the thread in `who`; true when that thread isn't the target's. */
bool cs_follow_switch(struct cs_loop *l, uint64_t who);

#endif
