/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bursts leave in the store besides edges: the contract between the sampler, which writes these
 * profiles, and the analysis of culprits, which reads them. One table an image; offsets are ELF virtual
 * addresses as everywhere.
 *
 *   event                schema         what
 *   burst-edges          edges          every edge of every burst
 *   burst-edges-512      edges          the part of it from the first 512 instructions of each burst
 *   burst-edges-4096     edges          ... from the first 4096
 *   burst-windows        windows        the edges of each burst apart
 *   burst-beginnings     beginnings     where each of these began, and how long it was
 *   burst-paces          paces          how fast the thread ran natively what a burst had followed
 *   burst-starts         points         where bursts began, one a burst
 *   burst-memory         memory         what each memory instruction touched
 *   burst-crowded        points         accesses to near lines whose set of the first-level cache had too many others since
 *   burst-branches       branches       how predictable each conditional or indirect branch was
 *   burst-lines          code-lines     how soon each 64-byte line of code was fetched again
 *   burst-footprints     footprints     lines drawn from those that a memory instruction touched
 *   burst-sharing        sharing        accesses whose lines another thread takes away
 *   burst-page-sizes     page-sizes     which data lie on huge pages
 *
 * Edges of a timed burst are from some hundred thousand instructions, everything else is from its first
 * 16,000. A burst starts in proportion to time, later parts of it come nearer to proportion to instructions:
 * edges against edges-512 show that bias. How often two bursts draw the same line tells how many there are.
 *
 * Epoch counters: "bursts", "burst-instructions", "burst-end.CAUSE", "burst-skip.CAUSE", "burst-held-ns".
 *
 * All counts are sums over bursts. Within a burst (some 16,000 instructions) memory starts untouched. So
 * "first" means first in its burst: it may be in a cache all the same. "Distance" is the number of *other*
 * lines (pages) touched since, counted exactly for short distances: near = fewer than 256 lines (64 pages),
 * else far. Addresses are virtual.
 */
#pragma once

#include "store/table/table.h"

#include <stdbool.h>

/* Event "burst-windows": per-burst edges, the edges of each burst apart, for the first CS_PER_BURST_EDGES_MAX
 * bursts of an epoch (two kilobytes a burst): how bursts differ tells how sure an estimate is, which sums
 * can't. Keys burst (any number that is the burst's own, say its start in ns), from, to_image (text, "" =
 * same image), to | count. Written beside "burst-edges", not instead of it. */
extern const struct cs_schema cs_schema_per_burst_edges;
#define CS_PER_BURST_EDGES_MAX 4096

/* Of events of kind edges: not a part of another one ("burst-edges-512"), nor about where paths began and
 * ended. */
bool cs_edges_are_whole(const char *event);

/* What paths interpreted from samples leave (sampler/burst/paths.h): "path-edges", "path-starts" and
 * "path-ends" of schema edges, and "path-windows", in which `burst` stands for all paths that came first to
 * the branch at `offset` of that image. */
uint64_t cs_path_group(const char *image_id, uint64_t offset);

/* Event "burst-beginnings", the burst entries, beside them: the branch that each of these bursts executed
 * most in its first 16,000 instructions, where it began, and how many it was followed for. Keys burst,
 * offset, start_image (text, "" = same image), start | instructions. */
extern const struct cs_schema cs_schema_burst_entries;

/* Event "burst-paces": how fast the thread ran natively what a burst had followed: timed intervals of some
 * 0.1 ms whose instructions are known exactly. Key "offset" is the branch that the interval executed most,
 * "burst" as in the per-burst edges, "after_ns" the thread's time since it was let go: odd where register
 * snapshots timed the interval, even where polled words did. An interval after 0 ns has the way out of the
 * kernel and cold caches in its time. */
extern const struct cs_schema cs_schema_instruction_rates;
enum cs_instruction_rate_column {
    CS_INSTRUCTION_RATE_OFFSET,
    CS_INSTRUCTION_RATE_BURST,
    CS_INSTRUCTION_RATE_AFTER_NS,
    CS_INSTRUCTION_RATE_NS,
    CS_INSTRUCTION_RATE_INSTRUCTIONS,
    CS_INSTRUCTION_RATE_N,
};

/* Key "offset" of the instruction; columns as below, in this order. */
extern const struct cs_schema cs_schema_memory;
enum cs_memory_column {
    CS_MEMORY_OFFSET,
    CS_MEMORY_EXECUTIONS,  /* accesses; a repeated string instruction is one */
    CS_MEMORY_BURSTS,      /* bursts that executed it */
    CS_MEMORY_LOADS,       /* accesses that read */
    CS_MEMORY_STORES,      /* accesses that wrote (read-modify-write counts in both) */
    CS_MEMORY_BYTES,       /* sum of sizes */
    CS_MEMORY_LINES,       /* distinct 64-byte lines, summed over bursts */
    CS_MEMORY_PAGES,       /* distinct 4 KB pages, summed over bursts */
    CS_MEMORY_FIRST_LINES, /* accesses to a line that nothing in the burst touched before */
    CS_MEMORY_FAR_LINES,   /* accesses to a line with 256 or more other lines touched since its last use */
    CS_MEMORY_FIRST_PAGES, /* accesses to a page that nothing in the burst touched before */
    CS_MEMORY_FAR_PAGES,   /* accesses to a page with 64 or more others touched since its last use */
    CS_MEMORY_STRIDES,     /* pairs of successive executions: the base of the four columns below */
    CS_MEMORY_STRIDE_SAME, /* the same stride as the pair before: a prefetcher follows */
    CS_MEMORY_STRIDE_ZERO, /* the same address again */
    CS_MEMORY_STRIDE_LINE, /* moved by less than a line */
    CS_MEMORY_STRIDE_PAGE, /* moved by a page or more */
    CS_MEMORY_SPLIT,       /* crossed a line */
    CS_MEMORY_PAGE_SPLIT,  /* crossed a page */
    CS_MEMORY_MISALIGNED,  /* address not a multiple of the (power of two) size */
    CS_MEMORY_FORWARDED,   /* loads wholly inside one of the 48 youngest stores */
    CS_MEMORY_BLOCKED,     /* loads that such a store covers in part only: store-forwarding fails */
    CS_MEMORY_ALIASED,     /* loads that differ from such a store by a multiple of 4 KB: 4K aliasing */
    CS_MEMORY_POINTER,     /* loads whose address depends on the value of a load executed less than 16
                              instructions before */
    CS_MEMORY_N,
};

/* Key "offset" of the branch instruction. Returns are guessed by the stack that a processor keeps of calls: "missed" and
 * "missed_global" count all wrong ones, "missed_local" those that lie deeper than that stack. Returns to one place have a
 * row of their own, too, at the last byte before it, which is the call's: it counts those that the stack can judge. */
extern const struct cs_schema cs_schema_branches;
enum cs_branch_column {
    CS_BRANCH_OFFSET,
    CS_BRANCH_EXECUTIONS,
    CS_BRANCH_BURSTS,
    CS_BRANCH_TAKEN,         /* conditional: taken; indirect, call, return: executions */
    CS_BRANCH_TRANSITIONS,   /* direction or target other than at the execution before */
    CS_BRANCH_MISSED_LOCAL,  /* wrong guesses of a predictor with 8 bits of this branch's own history */
    CS_BRANCH_MISSED_GLOBAL, /* ... with 12 bits of global history (indirect: of targets) */
    CS_BRANCH_MISSED, /* ... of one with tags and 8 to 128 bits of global history, whose base is the better
                         of both for each branch */
    CS_BRANCH_KIND, /* maximum: 0 conditional, 1 indirect jump, 2 indirect call, 3 return, 4 call returned to */
    CS_BRANCH_N,
};

/* Key "offset" of the first byte of the 64-byte line (address in memory rounded down, then made an offset).
 */
extern const struct cs_schema cs_schema_code_lines;
enum cs_code_line_column {
    CS_CODE_LINE_OFFSET,
    CS_CODE_LINE_VISITS, /* times control came to the line from another line */
    CS_CODE_LINE_BURSTS,
    CS_CODE_LINE_FIRST,      /* visits that were the burst's first */
    CS_CODE_LINE_FAR,        /* visits with 512 or more other lines of code since the last one */
    CS_CODE_LINE_PAGE_FIRST, /* visits that were the first of the line's page */
    CS_CODE_LINE_PAGE_FAR,   /* visits with 64 or more other pages of code since that page's last one */
    CS_CODE_LINE_N,
};

/* Keys "offset" of the instruction and "line" (address / 64); values: how often that line was drawn, and in
 * how many bursts. Up to CS_FOOTPRINT_DRAWS of each instruction and burst, only of instructions that come to
 * new lines. Instructions that ran fewer than 8 times in a burst draw one line each, with 0 for an offset: together they tell
 * what memory a program of many small functions goes over. */
extern const struct cs_schema cs_schema_footprints;
#define CS_FOOTPRINT_DRAWS 16
enum cs_footprint_column {
    CS_FOOTPRINT_OFFSET,
    CS_FOOTPRINT_LINE,
    CS_FOOTPRINT_DRAWN,
    CS_FOOTPRINT_BURSTS,
    CS_FOOTPRINT_N,
};

/* Event "burst-page-sizes": of how many places that an instruction touched, drawn at random, the page's size was asked, and
 * how many of these lie on pages of 2 MB or more. Only of instructions that come to new pages. Key "offset" of the
 * instruction. */
extern const struct cs_schema cs_schema_page_sizes;
enum cs_page_sizes_column {
    CS_PAGE_SIZES_OFFSET,
    CS_PAGE_SIZES_ASKED,
    CS_PAGE_SIZES_HUGE,
    CS_PAGE_SIZES_N,
};

/* Event "burst-sharing": accesses of an instruction to lines that another thread of the process used at the time on another
 * core, as hot as itself, where one of the two writes. Keys: "offset" of the instruction, the first byte "at" that it
 * touches of the line and its "size", whether it "writes", and the same of the other thread's instruction that takes the
 * line most; "other_image" is "" for the same image. Bytes that don't overlap are false sharing. */
extern const struct cs_schema cs_schema_sharing;
enum cs_sharing_column {
    CS_SHARING_OFFSET,
    CS_SHARING_AT,
    CS_SHARING_SIZE,
    CS_SHARING_WRITES, /* 0 or 1 */
    CS_SHARING_OTHER_IMAGE,
    CS_SHARING_OTHER,
    CS_SHARING_OTHER_AT,
    CS_SHARING_OTHER_SIZE,
    CS_SHARING_OTHER_WRITES,
    CS_SHARING_EXECUTIONS, /* of the instruction on such lines */
    CS_SHARING_TAKEN, /* of them at most so many found that the line had been taken since the access before */
    CS_SHARING_INSTRUCTIONS, /* between the accesses to such a line by its thread, summed over executions */
    CS_SHARING_BURSTS,
    CS_SHARING_N,
};
