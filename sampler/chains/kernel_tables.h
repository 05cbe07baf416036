/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the handler unwinds by, and what it tells: shared by the BPF program, which reads, and mapping_lists.c and
 * row_tables.c, which write. All of it is mmapped arrays.
 *
 *     words[PID & mask …]  →  list: its mappings, sorted  →  images[mapping.image]  →  words of row segments
 *
 * What the handler may reach never changes but by one store: a word of a process, the state of an image. What it
 * could reach before is used again only after a grace period.
 *
 *   a process's word      63       42 41        31 30            0
 *                        +-----------+------------+---------------+
 *                        | PID       | generation | list          |     0: free
 *                        +-----------+------------+---------------+
 *   so an exec makes a word void at once, and a fork's child gets its parent's list in the kernel. */
#pragma once

#include "image/interpreter/lua_offsets.h"
#include "image/interpreter/python_offsets.h"
#include "image/unwind/rows.h"

#define CS_CHAIN_USER_FRAMES 127
#define CS_CHAIN_KERNEL_FRAMES 64
#define CS_CHAIN_FRAMES 256 /* room for both, power of two */

/* Why a chain ended, beyond enum cs_unwind_end. At most 16 in all (context_tree.h). */
enum cs_chain_end {
    CS_CHAIN_END_NO_PROCESS = CS_UNWIND_ENDS, /* its mappings are not known (yet) */
    CS_CHAIN_END_TREE_FULL, /* counted without its chain: the tree has no room till the next drain */
    CS_CHAIN_END_COPY,      /* the copy of its stack goes no further */
    CS_CHAIN_END_NO_TABLE,  /* no table could be made of its image's file, and frame pointers lead nowhere */
    CS_CHAIN_ENDS,
};

#define CS_CHAIN_WORDS 65536U /* of processes, power of two */
#define CS_CHAIN_WORD_PROBES 8
#define CS_CHAIN_PID_SHIFT 42
#define CS_CHAIN_PID_MASK 0x3FFFFFU
#define CS_CHAIN_LIST_MASK 0x7FFFFFFFU

static inline __u64 cs_chain_word(__u32 pid, __u32 generation, __u32 list)
{
    return (__u64)(pid & CS_CHAIN_PID_MASK) << CS_CHAIN_PID_SHIFT | (__u64)(generation & 0x7FF) << 31 |
           (list & CS_CHAIN_LIST_MASK);
}

/* One executable mapping. A list is a head, whose `pages` is the number of mappings behind it, then those, ascending. */
struct cs_chain_mapping {
    __u64 start;
    __u64 bias; /* address - bias = ELF virtual address */
    __u32 pages;
    __u32 image; /* CS_CHAIN_NO_IMAGE: code without a file */
};
#define CS_CHAIN_PAGE_SHIFT 12
#define CS_CHAIN_MAPPINGS_MOST 8191U /* of a process: 13 steps of a search */
#define CS_CHAIN_NO_IMAGE 0xFFFFFFFFU

enum cs_chain_image_state {
    CS_CHAIN_IMAGE_ABSENT, /* not in the kernel: the handler asks for it */
    CS_CHAIN_IMAGE_LOADED,
    CS_CHAIN_IMAGE_NO_TABLE, /* none could be made: by frame pointers */
};

/* A table of image/unwind/rows.h in the row segments: where its parts begin, as numbers of 4-byte words. */
struct cs_chain_image {
    __u64 base, end;
    __u32 first, rows, rules;
    __u32 n_blocks, n_rules;
    __u32 state;
    __u32 asked;       /* written by the handler: it has told that it wants this image */
    __u32 used;        /* written by the handler: the turn in which it was used last */
    __u32 interpreter; /* 1 + its number; 0: none */
};

/* An image that interprets: where its loop and its state are (ELF virtual addresses). */
#define CS_CHAIN_INTERPRETERS 16
#define CS_CHAIN_OWN_FRAMES 128 /* of interpreters, power of two */
#define CS_CHAIN_RUNS 128       /* of an interpreter's loop, power of two: more than a chain has frames */
enum cs_chain_interpreter_kind { CS_CHAIN_PYTHON, CS_CHAIN_LUA };
struct cs_chain_interpreter {
    __u64 loop, loop_bytes, root;
    __u32 kind, padding;
    union {
        struct cs_python_offsets python;
        struct cs_lua_offsets lua;
    };
};

#define CS_CHAIN_SEGMENT_WORDS 65536U /* 256 KB */
#define CS_CHAIN_SEGMENTS 1024U
struct cs_chain_segment {
    __u32 word[CS_CHAIN_SEGMENT_WORDS];
};

/* One CPU's. The handler writes; the reader sets `room` of the half that isn't counted in, and clears `asked`. */
#define CS_CHAIN_ASKED 64
struct cs_chain_cpu {
    __u64 ends[16];
    __u64 frames;                /* of users' chains */
    __u64 samples;               /* with a chain, also where the tree was full */
    __u64 timed_ns, timed;       /* what the chains of some samples took, and how many those are */
    __u32 room[2];               /* cells that each half may still take */
    __u32 filling, turn;         /* told that this half is half full; the number of the turn, by the reader */
    __u32 asked[CS_CHAIN_ASKED]; /* PIDs told as wanted, by PID modulo */
    __u32 copy_room, padding;    /* bytes that may still be copied; the reader fills it up */
};

/* A sample whose chain could not be had in the kernel yet, because mappings or rows weren't there: its registers and the
 * top of its stack, to be unwound by the same rows later. What the reader gets is cut after `n_stack` bytes. */
#define CS_CHAIN_COPY_PAGES 16U /* power of two */
#define CS_CHAIN_COPY_STACK (CS_CHAIN_COPY_PAGES << 12)
#define CS_CHAIN_COPY_ROOM (4U << 20) /* of a CPU, between two drains */
struct cs_chain_copy {
    __u64 time_ns, pc; /* where the user's code goes on */
    __u64 from; /* the address of the stack's first byte here: SP, or below it where functions may use that */
    __u64 reg[32]; /* of it, by DWARF number */
    __u64 kernel[CS_CHAIN_KERNEL_FRAMES];
    __u32 pid, row, generation, event, end; /* `row`: what it is counted by; `end`: why there was no chain */
    __u32 n_kernel, n_stack, cut;           /* cut: the stack goes on behind what was copied */
    __u8 stack[CS_CHAIN_COPY_STACK + 4096];
};

/* What the handler asks for. */
struct cs_chain_want {
    __u32 pid, image; /* a process's mappings; or an image's rows; or neither: a tree fills up */
    __u64
        code; /* or, if not 0, the name of what is interpreted there (CS_TREE_INTERPRETED), while the process lives */
    __u64 caller, caller_at; /* what called it, and the address where that goes on; 0: not known */
};
#define CS_CHAIN_CODES 8192U /* of all processes, power of two: those that were told of, by hash */
