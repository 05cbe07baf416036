/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calling-context tree that one CPU's handler grows (Ammons, Ball, Larus, PLDI 1997, section 4). It has a cell for
 * each (parent, frame), found by open addressing. So a chain costs memory only for what no chain before it had. Shared
 * by the BPF program, its reader and the tests: plain structs and arithmetic.
 *
 *   cell, 16 bytes; four are a cache line; a cell's number is its place and its name as a parent
 *   63 62 61   60  57      49 48 47                          0   31      0   31      0
 *  +--+--+--+--------+------+--+-----------------------------+  +---------+ +---------+
 *  |in|rt|lf|  event |      |k | address                     |  | parent  | | count   |
 *  +--+--+--+--------+------+--+-----------------------------+  +---------+ +---------+
 *    an interpreted frame: bit 49, the interpreter's number in the four above, and the address of what it runs
 *    a leaf is where samples of `event` were taken; a root's low 48 bits are end (4) | generation (11) | PID, or TID (32)
 *
 * Invariant: a cell in use never moves and never changes but for its count, until its reader empties the whole half.
 * Exact: a frame is another frame's cell only if parent, address and kind are equal. A tree that is full takes no new
 * cell and says so; what it has still counts. */
#pragma once

#include <linux/types.h>

#define CS_TREE_WAYS 4
#define CS_TREE_PROBES                                                                                       \
    8 /* lines looked at: beyond them the tree counts as full. First met at 5/8 full or more */
#define CS_TREE_NONE 0xFFFFFFFFU
#define CS_TREE_ROOM(cells) ((cells) / 4 * 3) /* of a half: taken before it counts as full */

#define CS_TREE_ADDR_MASK ((1ULL << 48) - 1)
#define CS_TREE_KERNEL (1ULL << 48)
#define CS_TREE_INTERPRETED (1ULL << 49) /* of a user's frame; in addresses handed out, too */
#define CS_TREE_INTERPRETER_SHIFT 50
#define CS_TREE_INTERPRETED_BITS (31ULL << 49)
/* Of what is interpreted, which lies at a multiple of 8 below 2^47: a hash of the module that it runs in. Code is freed, and its memory
 * becomes other code's; the two are told apart by this, in most cases. Bit 0 is for who says "a return" by adding 1. */
#define CS_TREE_MODULE_BITS (1ULL << 47 | 6)
#define CS_TREE_CODE_MASK (CS_TREE_ADDR_MASK & ~CS_TREE_MODULE_BITS & ~1ULL)
#define CS_TREE_RUN (1ULL << 55) /* the handler's own mark, never in a cell */
#define CS_TREE_EVENT_SHIFT 57
#define CS_TREE_EVENT_MASK 15U
#define CS_TREE_LEAF (1ULL << 61)
#define CS_TREE_ROOT (1ULL << 62)
#define CS_TREE_USED (1ULL << 63)
#define CS_TREE_GENERATION_SHIFT 32
#define CS_TREE_GENERATION_MASK 0x7FFU
#define CS_TREE_END_SHIFT 43
#define CS_TREE_END_MASK 15U

struct cs_tree_cell {
    __u64 key; /* 0: free */
    __u32 parent;
    __u32 count;
};

struct cs_tree_line {
    struct cs_tree_cell way[CS_TREE_WAYS];
};

/* `end`: why the chain goes no further up (enum cs_unwind_end). */
static inline __u64 cs_tree_root(__u32 pid, __u32 generation, __u32 end)
{
    return CS_TREE_USED | CS_TREE_ROOT | ((__u64)(end & CS_TREE_END_MASK) << CS_TREE_END_SHIFT) |
           ((__u64)(generation & CS_TREE_GENERATION_MASK) << CS_TREE_GENERATION_SHIFT) | pid;
}
/* Bits 48 and up of a kernel's address are ones: one of them is enough. */
static inline __u64 cs_tree_frame(__u64 addr)
{
    return CS_TREE_USED | (addr >> 63) << 48 |
           (addr & (addr >> 63 ? CS_TREE_ADDR_MASK : CS_TREE_ADDR_MASK | CS_TREE_INTERPRETED_BITS));
}
static inline __u64 cs_tree_leaf(__u64 addr, __u32 event)
{
    return cs_tree_frame(addr) | CS_TREE_LEAF | ((__u64)event << CS_TREE_EVENT_SHIFT);
}
static inline __u64 cs_tree_addr(__u64 key)
{
    return (key & CS_TREE_KERNEL) ? key | ~CS_TREE_ADDR_MASK
                                  : key & (CS_TREE_ADDR_MASK | CS_TREE_INTERPRETED_BITS);
}
static inline __u32 cs_tree_event(__u64 key)
{
    return (__u32)(key >> CS_TREE_EVENT_SHIFT) & CS_TREE_EVENT_MASK;
}
static inline __u32 cs_tree_generation(__u64 root)
{
    return (__u32)(root >> CS_TREE_GENERATION_SHIFT) & CS_TREE_GENERATION_MASK;
}
static inline __u32 cs_tree_end(__u64 root)
{
    return (__u32)(root >> CS_TREE_END_SHIFT) & CS_TREE_END_MASK;
}

/* The line to look at first; the next ones follow it. */
static inline __u32 cs_tree_hash(__u64 key, __u32 parent)
{
    __u64 h = (key ^ ((__u64)parent << 29) ^ parent) * 0x9E3779B97F4A7C15ULL;
    return (__u32)(h >> 32);
}

/* Looks for a cell in one line: 0 … 3 its way; CS_TREE_WAYS: not here, and the line is full, so look at the next one;
 * -1 - way: not here nor behind, and that way is free. */
static inline int cs_tree_look(const struct cs_tree_line *line, __u64 key, __u32 parent)
{
#ifdef __clang__
#pragma unroll
#endif
    for (int w = 0; w < CS_TREE_WAYS; w++) {
        if (line->way[w].key == key && line->way[w].parent == parent)
            return w;
        if (!line->way[w].key)
            return -1 - w;
    }
    return CS_TREE_WAYS;
}

#ifdef CS_TREE_LINE /* (half, number) → struct cs_tree_line *, or NULL: the includer's way to a line */
/* The number of `parent`'s child, made if it is new and `*room` allows; CS_TREE_NONE: the tree is full. */
static inline __u32 cs_tree_child(CS_TREE_HALF half, __u32 lines, __u64 key, __u32 parent, __u32 *room)
{
    __u32 first = cs_tree_hash(key, parent);
    for (__u32 probe = 0; probe < CS_TREE_PROBES; probe++) {
        __u32 number = (first + probe) & (lines - 1);
        struct cs_tree_line *line = CS_TREE_LINE(half, number);
        if (!line)
            break;
        int way = cs_tree_look(line, key, parent);
        if (way < 0) {
            struct cs_tree_cell *cell = &line->way[(-1 - way) & (CS_TREE_WAYS - 1)];
            if (!*room)
                break;
            --*room;
            cell->parent = parent;
            cell->count = 0;
            cell->key = key;
            return number * CS_TREE_WAYS + (__u32)(-1 - way);
        }
        if (way < CS_TREE_WAYS)
            return number * CS_TREE_WAYS + (__u32)way;
    }
    return CS_TREE_NONE;
}
#endif
