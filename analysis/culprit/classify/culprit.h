/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instruction is responsible for a stall. dcpi-1997 section 6.3: every cause is suspected until evidence
 * clears it.
 *
 * Files of this module:
 *   counted         what counted events say of a cause
 *   culprit         the classifier (this header): asks every rule, then bounds and divides a stall
 *   model           constants that manuals or measurement chose
 *   rules           the table of rules, one a cause
 *   rules_core      rules of the front end and the core
 *   rules_internal  what the files of rules share
 *   rules_memory    rules of caches, TLBs and stores
 *
 * A rule is a pure function of one stall. It clears its cause, or gives three figures. They are how many
 * cycles an execution the cause can cost (high), how many it most likely costs (expected), and which
 * instruction is responsible.
 *
 * What bursts saw confirms or clears. Where nothing was observed only the program's text can clear, and high
 * is what is left of the stall. Invariants of a classification: 0 <= low <= high for each possible cause. The
 * sum of lows and unexplained is at most the stall. The sum of shares and unexplained is the stall. Suspects
 * are ordered by share.
 *
 * The classifier is pure; any thread. */
#pragma once

#include "analysis/culprit/classify/counted.h"
#include "analysis/machine/machine.h"
#include "image/isa/semantics.h"

#include <stdbool.h>
#include <stddef.h>

enum cs_culprit_cause {
    /* dynamic */
    CS_CAUSE_DCACHE,
    CS_CAUSE_DTLB,
    CS_CAUSE_ICACHE,
    CS_CAUSE_ITLB,
    CS_CAUSE_MISPREDICT,
    CS_CAUSE_RETURN,
    CS_CAUSE_STORE_BUFFER,
    CS_CAUSE_FORWARD,
    CS_CAUSE_ALIAS,
    CS_CAUSE_SPLIT,
    CS_CAUSE_LOCK,
    CS_CAUSE_FALSE_SHARING,
    CS_CAUSE_TRUE_SHARING,
    CS_CAUSE_DENORMAL,
    CS_CAUSE_SYSCALL,
    CS_CAUSE_PAGE_FAULT,
    /* static, may also be dynamic where the model can't know the operands */
    CS_CAUSE_DIVIDER,
    CS_CAUSE_DEPENDENCY,
    CS_CAUSE_PORT,
    CS_CAUSE_FRONT,
    CS_N_CAUSES,
};

struct cs_culprit_cause_name {
    char letter;       /* of the bubble */
    const char *name;  /* in JSON: "d-cache" */
    const char *words; /* in tables: "D-cache miss" */
};
extern const struct cs_culprit_cause_name cs_culprit_cause_names[CS_N_CAUSES];

/* Lines that another thread, which ran at the time on another core, uses as well; one of the two writes. */
struct cs_culprit_sharing {
    double
        taken; /* of an execution: how often the line may have been taken since the access before; 0: no such line */
    double between;                /* instructions of this thread from one access of the line to the next */
    uint64_t other;                /* the instruction that takes it most */
    bool other_here, other_writes; /* it is of the same image; it writes */
    unsigned at, size, other_at, other_size; /* bytes within the line */
};

/* What bursts saw of a memory instruction, as rates of one execution. */
struct cs_culprit_memory {
    bool seen;
    double executions;
    double new_lines; /* first in the burst, 256 and more others since, or crowded: may miss */
    double far_lines; /* the second kind alone */
    double crowded; /* the third: fewer others since, but more of its set than the first level's sets hold */
    double new_pages; /* the same with 64 pages */
    double far_pages;
    double huge;      /* share of the places seen that are on huge pages; 0 where nobody looked */
    double spared;    /* of what new pages cost the TLBs, what these spare */
    double pointer;   /* the address came out of a load shortly before */
    double steady;    /* share of strides equal to the one before */
    double same_line; /* share of strides shorter than a line */
    double split, page_split, blocked, aliased, forwarded;
    double footprint_bytes; /* distinct lines over all bursts, estimated; 0 = unknown */
    double cold_bytes; /* the same for those accesses that go to lines seldom used; 0 = all are used alike */
    bool cold_least;   /* that is a lower bound */
    double cold;       /* share of accesses to new lines that do */
    double footprint_pages;                                /* entries of the TLBs; 0 = unknown */
    bool footprint_least;                                  /* these are lower bounds */
    struct cs_culprit_sharing false_sharing, true_sharing; /* the other's bytes are others; overlap */
    double
        sets; /* of the first level's 64, that the lines mostly fall into, more than these hold; 0 = no conflict */
};

/* New pages an execution, as so many small ones. */
static inline double cs_culprit_new_small(const struct cs_culprit_memory *f)
{
    return f->new_pages * (1 - f->spared);
}

struct cs_culprit_branch {
    bool seen;
    double executions, taken, missed; /* missed: by the best of three simulated predictors, an execution */
    double missed_raw;                /* with the guesses of a cold start */
    double missed_most;               /* at most: an indirect branch's contexts are not counted */
    double here;     /* wrong guesses a visit of this way, if all went the rarer way and this is it; else 0 */
    double too_deep; /* of a return, besides `missed`: wrong since it lies deeper than the return stack */
};

/* The line of code that an instruction's successor begins, if it begins one. */
struct cs_culprit_fetch {
    bool seen;
    double new_lines; /* visits that were the burst's first, or came after 512 other lines */
    double new_pages;
};

/* One stalled instruction on its dynamic path. */
struct cs_culprit_stall {
    const struct cs_isa_op *op; /* the instruction that the samples were attributed to */
    const struct cs_isa_op
        *next;           /* its most frequent successor: where the samples were seen; NULL = unknown */
    double cycles;       /* an execution */
    double m;            /* of them static; cycles - m is the stall */
    double static_chain; /* of m: dependency and divider */
    bool no_denormals;   /* bursts looked for such numbers, and most of those that saw this met none */
    bool bursts;         /* were there any for this image? Facts not `seen` then mean "didn't run" */
    struct cs_culprit_memory memory, next_memory;
    struct cs_culprit_branch branch;
    /* the branch shortly before this instruction on the path that is mispredicted most, how many instructions
     * before, and the cycles an execution of it that were attributed to it and the two instructions after it:
     * where the time of a misprediction shows */
    const struct cs_isa_op *branch_before;
    struct cs_culprit_branch before;
    unsigned branch_distance;
    double branch_shadow, branch_shadow_m; /* stall alone; M there */
    /* the last lock or serialising instruction before it, as near */
    const struct cs_isa_op *lock_before;
    /* the store of the path that misses most, where one does */
    const struct cs_isa_op *missing_store;
    struct cs_culprit_memory missing_store_memory;
    /* of the loads shortly before whose results this instruction's operands (and address) come from, the one
     * that misses most */
    const struct cs_isa_op *load_before;
    struct cs_culprit_memory load_before_memory;
    /* share of executions in which a load that gives its operands takes its bytes from a young store */
    double forwarded_before;
    double
        carried; /* cycles a turn beyond M that a chain through memory takes in its loop; 0: none ends here */
    double in_flight; /* misses that the core has room for at a time hereabouts; 0 = unknown */
    double turn_m; /* M of a turn of the loop without calls that it is in, from it to itself; 0: none such */
    struct cs_culprit_fetch fetch; /* of `next`, when it begins a line that `op` doesn't end in */
    bool begins_line, begins_page;
    bool begun_line,
        begun_page; /* the instruction itself begins a line, a page, of which `fetch` says how often it is new */
    /* events of that kind an execution at most, where a profile counted them (a PMU, software page faults); else
     * negative */
    double event_rate[CS_N_COUNTED];
    double event_likely[CS_N_COUNTED];  /* the same, estimated: samples moved as those of time are */
    bool entry;                         /* the function's first instruction: samples of what led here, too */
    struct cs_culprit_branch called_by; /* of that transfer, where it is in this image and indirect */
    /* Right behind a call, or the call itself: the return that mostly leads there, what all of these miss, and how many
     * instructions before this one it ran: 0 is the call. */
    struct cs_culprit_branch returned;
    uint64_t returned_from;
    unsigned return_distance;
    uint64_t caller;   /* offset of the transfer that mostly led there; 0 = unknown */
    double code_bytes; /* distinct lines of code that bursts saw, 0 = unknown */
    double code_pages;
};

/* A stall of which nothing is known. */
void cs_culprit_stall_init(struct cs_culprit_stall *stall, const struct cs_isa_op *op);

struct cs_culprit_suspect {
    enum cs_culprit_cause cause;
    double low, high;     /* cycles an execution */
    double expected;      /* what the rule makes of the evidence, before it is compared with the stall */
    double share;         /* of the stall that is attributed to it, cycles an execution */
    uint64_t responsible; /* offset of the instruction that causes it; 0 = this one */
    uint64_t other;       /* of sharing: the other thread's instruction, in the same image; 0 = none */
    bool observed;        /* bursts or events speak for it; else only nothing clears it */
    bool counted;         /* an estimate by counted events, not by a rule */
    bool overlaps;  /* misses that wait for nothing but their turn: a prefetch only helps them to overlap more
                    */
    bool streams;   /* evenly spaced accesses, several a page: hardware prefetches them */
    bool conflicts; /* its lines fall into few sets of the cache */
    bool carried;   /* a chain through memory, from turn to turn of a loop */
    bool contended; /* a chain through memory in a line that another thread takes: its wait looks the same */
    double
        in_doubt; /* of sharing: cycles beyond the least that a line taken so soon was measured to cost here */
    bool shown_near; /* a misprediction, at most two instructions behind its branch: there its time shows */
    bool terse;      /* what it costs is asked, no reason is written */
    char reason[112];
};

#define CS_CULPRIT_SUSPECTS_MAX 12

struct cs_culprit_classification {
    unsigned n;
    struct cs_culprit_suspect suspects[CS_CULPRIT_SUSPECTS_MAX];
    double stall;       /* cycles - m, not below 0 */
    double gain;        /* m - cycles where it ran faster than the model says */
    double unexplained; /* of the stall */
    double memory_low,
        memory_high; /* of it, D-cache and DTLB misses together: what neither surely has, both may */
    /* Counted events allow a cause much less than bursts expect of it: the most of these. */
    struct {
        bool found;
        enum cs_culprit_cause cause;
        double expected, counted; /* cycles an execution, by bursts, and by counters at most */
    } contradiction;
};

void cs_culprit_classify(const struct cs_culprit_stall *stall, const struct cs_machine *machine,
                         struct cs_culprit_classification *classification);

/* What the rules expect this instruction to cost beyond M, and at most; for fitting the scale where nothing
 * counts. */
void cs_culprit_expect(const struct cs_culprit_stall *stall, const struct cs_machine *machine,
                       double *expected, double *most);
