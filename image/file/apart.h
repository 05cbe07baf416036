/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work on a file that strangers wrote, apart from us: in a child process without rights (give_up_rights.h), bounded in
 * bytes and CPU time. Whatever a file can make its reader do, it does there. Our memory doesn't grow with it, and an
 * attacker who takes the child over has nothing. One owner.
 *
 * What it answers is a stranger's word: its owner looks whether it fits together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;

#define CS_APART_WELL_MAX 100 /* codes of work that went well */

struct cs_apart {
    pid_t pid;  /* 0: none is at work */
    int memory; /* where the answer is put */
    int file;
    uint64_t cpu_ns; /* of the last one that has ended */
};

/* What the child does: writes its answer to the descriptor `memory`, and returns a code up to CS_APART_WELL_MAX; above: it
 * failed. */
typedef int (*cs_apart_work)(const struct elf_file *file, int memory);

struct cs_apart_bounds {
    size_t answer_bytes;
    unsigned cpu_ms;
};

/* Children come from a small process from now on (forker.h): for who will be large, while it is small. */
void cs_apart_prepare(void);
/* Begins with the file behind `fd`, which the caller may close. 0 or -errno. */
int cs_apart_start(struct cs_apart *apart, int fd, const struct cs_apart_bounds *most, cs_apart_work work);
/* Waits until it is at an end, but not longer than `ns`; false: it isn't. */
bool cs_apart_wait(const struct cs_apart *apart, uint64_t ns);
/* 0: still at work. 1: done, with that code; `memory` and `file` stay until cs_apart_end. <0: it failed, and has ended. */
int cs_apart_done(struct cs_apart *apart, int *code);
/* Also of one that is at work: it is stopped. */
void cs_apart_end(struct cs_apart *apart);

/* For the child: false when the answer is too long. */
bool cs_apart_write(int memory, const void *bytes, size_t n);
