/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address space of the traced command: its translated blocks, in areas of memory near the code that they stand for. One owner.
 *
 * Other threads of the program run translations while we add some. What is written never changes what they may be
 * executing, but for four aligned bytes of a jump, old and new both being right. */
#pragma once

#include "sampler/count/block.h"
#include "sampler/images/images.h"
#include "store/base/error.h"

#include <sys/types.h>

#define CS_COUNT_BLOCKS_MAX (1U << 18)
#define CS_COUNT_SLOTS 256U   /* threads at a time */
#define CS_COUNT_AHEAD_MAX 32 /* exits that are translated with a block */
#define CS_COUNT_BUCKETS (4 * CS_COUNT_BLOCKS_MAX)

struct cs_count_block {
    uint64_t start, code;
    uint32_t insns_at; /* in the space's insns */
    uint16_t n_insns;
    uint8_t end; /* enum cs_count_end */
    struct cs_mapped_image *image;
    uint64_t offset;
};

struct cs_count_area {
    uint64_t start;
    uint32_t used;
    uint64_t trap, syscall; /* of its lookup: cs_count_lookup */
};

struct cs_count_mapping {
    uint64_t start, end, vaddr;
    struct cs_mapped_image *image; /* NULL: code without a file */
};

struct cs_count_known_exit {
    uint64_t trap, target, link, far;
};

struct cs_count_space {
    int mem; /* /proc/PID/mem */
    unsigned users;
    uint64_t region; /* tables, then the threads' slots */
    bool slot_used[CS_COUNT_SLOTS];
    struct cs_count_area area[8];
    unsigned n_areas;
    struct cs_count_block *block;
    size_t n_blocks, block_capacity;
    struct cs_count_insn *insn;
    size_t n_insns, insn_capacity;
    struct cs_count_known_exit *exit;
    size_t n_exits, exit_capacity;
    uint32_t *by_start, *by_trap; /* hash tables: 0, or 1 + index */
    struct cs_count_mapping *mapping;
    size_t n_mappings;
    bool mappings_known;
    struct
    { /* translations of one go lie side by side: they are written at once, before anything of them runs */
        uint64_t start;
        size_t n;
        uint8_t bytes[(CS_COUNT_AHEAD_MAX + 1) * (CS_COUNT_CODE_MAX + 16)];
    } fresh;
    uint64_t stretch_at; /* of the program's code, as it was read */
    size_t n_stretch;
    uint8_t stretch[16384];
};

/* A system call that the stopped thread makes for us, from the two bytes of a `syscall` at `at`. */
typedef int64_t cs_count_call(void *arg, uint64_t at, long number, const uint64_t argument[6]);
struct cs_count_caller {
    cs_count_call *call;
    void *arg;
    pid_t pid;
    struct cs_images *images;
};

/* Just after an exec; `entry` is where the thread stands. */
struct cs_count_space *cs_count_space_open(const struct cs_count_caller *caller, uint64_t entry,
                                           struct cs_error *err);
/* Of a child that got a copy of the memory. */
struct cs_count_space *cs_count_space_copy(const struct cs_count_space *space, pid_t child,
                                           struct cs_error *err);
void cs_count_space_close(struct cs_count_space *space);

/* The GS base of a new thread, its counters 0; 0: too many threads. */
uint64_t cs_count_slot(struct cs_count_space *space);
unsigned cs_count_slot_number(const struct cs_count_space *space, uint64_t gs);
void cs_count_slot_free(struct cs_count_space *space, uint64_t gs);
/* Sets all counters of the slot to 0. */
int cs_count_slot_clear(struct cs_count_space *space, uint64_t gs);

/* 0 or -EFAULT. */
int cs_count_put(const struct cs_count_space *space, uint64_t addr, const void *bytes, size_t n);
/* One that code at `pc` can reach, and that can reach what it reaches; `syscall`: bytes of a `syscall`. NULL, with a sentence. */
struct cs_count_area *cs_count_area_near(struct cs_count_space *space, const struct cs_count_caller *caller,
                                         uint64_t pc, uint64_t syscall, struct cs_error *err);
bool cs_count_in_areas(const struct cs_count_space *space, uint64_t addr);
/* Where the code for `pc` is, made if need be; 0, with a sentence: there is none. */
uint64_t cs_count_code_of(struct cs_count_space *space, const struct cs_count_caller *caller, uint64_t pc,
                          struct cs_error *err);
/* Where a thread goes on that trapped at `trap`; 0 with err->text empty: it isn't ours. */
uint64_t cs_count_after_trap(struct cs_count_space *space, const struct cs_count_caller *caller,
                             uint64_t trap, uint64_t gs, struct cs_error *err);
/* New code was mapped there. False: translated code lay there. */
bool cs_count_mapped(struct cs_count_space *space, uint64_t start, uint64_t bytes);
