/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants of the culprit analysis that manuals or measurement chose: what each is, its unit, where it comes from, what
 * shows it. What only one module uses is in that module's own (account_model.h, evidence_model.h, verdict_model.h).
 * `bench/run culprit-kernels` judges them on kernels whose culprit is known. `bench/run sensitivity` changes each by a
 * quarter. To try another value: make EXTRA_CFLAGS=-DCS_MODEL_NAME=VALUE.
 *
 * "SDM" is Intel's optimisation manual, "SOG" AMD's software optimisation guide for family 19h. "trial" is a search
 * over recordings of `bench/run culprit-kernels` (docs/lab). Shares are of a stall or of an event's full cost. */
#pragma once

/* ---- levels of the memory hierarchy ---- */
/* New lines or pages below this are the noise of bursts' starts: a thousandth of a miss to memory is a third
 * of a cycle; unit: events an execution; source: trial; shows: culprits */
#ifndef CS_MODEL_RATE_NEGLIGIBLE
#define CS_MODEL_RATE_NEGLIGIBLE 0.001
#endif

/* Of a footprint that is only known to be larger: how many times larger it may be and still count as near;
 * unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_FOOTPRINT_BEYOND
#define CS_MODEL_FOOTPRINT_BEYOND 8
#endif

/* ---- exposed misses: what the core can't hide of one ---- */
/* Share of addresses that come out of loads from which on a load chases pointers; unit: share; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_POINTER_SHARE
#define CS_MODEL_POINTER_SHARE 0.5
#endif

/* Of a miss whose company isn't known: the share that shows; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_MISS_ALONE
#define CS_MODEL_MISS_ALONE 0.4
#endif

/* Of a miss of equal strides, which a prefetcher follows: the share that shows, at most; unit: share;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_STEADY_EXPOSED
#define CS_MODEL_STEADY_EXPOSED 0.15
#endif

/* Misses in flight for each one that a store waits for; unit: lines; source: trial; shows: culprits */
#ifndef CS_MODEL_STORES_TOGETHER
#define CS_MODEL_STORES_TOGETHER 2
#endif

/* A miss costs at most so many times what it costs by its level; unit: factor; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_MISS_HIGH
#define CS_MODEL_MISS_HIGH 1.5
#endif

/* Misses that cost less are none; unit: cycles an execution; source: trial; shows: culprits */
#ifndef CS_MODEL_COST_MIN
#define CS_MODEL_COST_MIN 0.05
#endif

/* Of the stall at a software prefetch: the share expected to be its own; unit: share; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_PREFETCH_SHARE
#define CS_MODEL_PREFETCH_SHARE 0.3
#endif

/* Of a load's miss: the share that is left over for the user of its result; unit: share; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_OPERAND_WEIGHT
#define CS_MODEL_OPERAND_WEIGHT 0.1
#endif

/* Of the stall at a load where there are no bursts: the share expected to be D-cache misses; unit: share;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_LOAD_UNSEEN
#define CS_MODEL_LOAD_UNSEEN 0.5
#endif

/* The same where bursts of this image never ran the load; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_LOAD_NOT_RUN
#define CS_MODEL_LOAD_NOT_RUN 0.02
#endif

/* ---- pages ---- */
/* Page walks at a time; unit: walks; source: SDM: 2 to 4; SOG: 6, fewer where they are nested; shows:
 * culprits */
#ifndef CS_MODEL_PAGE_WALKERS
#define CS_MODEL_PAGE_WALKERS 4
#endif

/* A first-level TLB miss that the last level answers; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_STLB_HIT
#define CS_MODEL_STLB_HIT 7
#endif

/* Of the stall at a memory access where there are no bursts: the share expected to be DTLB misses; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_PAGE_UNSEEN
#define CS_MODEL_PAGE_UNSEEN 0.1
#endif

/* The same where bursts of this image never ran the access; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_PAGE_NOT_RUN
#define CS_MODEL_PAGE_NOT_RUN 0.005
#endif

/* Of a page walk for a load: the share that shows; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_WALK_LOAD
#define CS_MODEL_WALK_LOAD 0.5
#endif

/* Of a page walk for a store: the share that shows; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_WALK_STORE
#define CS_MODEL_WALK_STORE 0.05
#endif

/* ---- stores ---- */
/* Of the stall at a store where there are no bursts: the share expected to be the store buffer's; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_STORE_UNSEEN
#define CS_MODEL_STORE_UNSEEN 0.2
#endif

/* Of a store's miss: the share that shows at a store or before one; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_STORE_NEAR
#define CS_MODEL_STORE_NEAR 0.1
#endif

/* The same at any other instruction of the path; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_STORE_FAR
#define CS_MODEL_STORE_FAR 0.01
#endif

/* Of that: the share that equal strides hide; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_STORE_STEADY
#define CS_MODEL_STORE_STEADY 0.7
#endif

/* Loads covered in part by a young store, from which on they count; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_BLOCKED_MIN
#define CS_MODEL_BLOCKED_MIN 0.005
#endif

/* Such a load; unit: cycles; source: SDM, SOG: 12 to 20; shows: culprits */
#ifndef CS_MODEL_FORWARD_FAIL
#define CS_MODEL_FORWARD_FAIL 14
#endif

/* Such a load with what hangs on it, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_FORWARD_FAIL_MAX
#define CS_MODEL_FORWARD_FAIL_MAX 30
#endif

/* Loads that meet a store a multiple of 4 KB away, from which on they count; unit: share; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_ALIAS_MIN
#define CS_MODEL_ALIAS_MIN 0.05
#endif

/* Such a load; unit: cycles; source: SDM: 5; shows: culprits */
#ifndef CS_MODEL_ALIAS
#define CS_MODEL_ALIAS 4
#endif

/* Such a load, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_ALIAS_MAX
#define CS_MODEL_ALIAS_MAX 12
#endif

/* Accesses across a line, from which on they count; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_SPLIT_MIN
#define CS_MODEL_SPLIT_MIN 0.005
#endif

/* An access across a line; unit: cycles; source: SDM, SOG: one more access; shows: culprits */
#ifndef CS_MODEL_SPLIT
#define CS_MODEL_SPLIT 2
#endif

/* An access across a page; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_PAGE_SPLIT
#define CS_MODEL_PAGE_SPLIT 20
#endif

/* A store across a line, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_SPLIT_STORE_MAX
#define CS_MODEL_SPLIT_STORE_MAX 6
#endif

/* A load across a line, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_SPLIT_LOAD_MAX
#define CS_MODEL_SPLIT_LOAD_MAX 12
#endif

/* An access across a page, at most; unit: cycles; source: SDM: some 100 on old cores; shows: culprits */
#ifndef CS_MODEL_PAGE_SPLIT_MAX
#define CS_MODEL_PAGE_SPLIT_MAX 100
#endif

/* A locked access across a line, which stops the memory of all cores meanwhile; unit: cycles; source: SDM: more than 1,000;
 * shows: culprits */
#ifndef CS_MODEL_SPLIT_LOCK
#define CS_MODEL_SPLIT_LOCK 1000
#endif

/* The same, at most; unit: cycles; source: trial: 3,300; shows: culprits */
#ifndef CS_MODEL_SPLIT_LOCK_MAX
#define CS_MODEL_SPLIT_LOCK_MAX 10000
#endif

/* ---- the front end ---- */
/* New lines of code a visit, from which on they count where no line begins; unit: share; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_FETCH_MIN
#define CS_MODEL_FETCH_MIN 0.1
#endif

/* Of the stall where a line begins and there are no bursts: the share expected to be I-cache misses; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_FETCH_UNSEEN
#define CS_MODEL_FETCH_UNSEEN 0.1
#endif

/* Of a miss where a line begins: the share that shows; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_FETCH_LINE
#define CS_MODEL_FETCH_LINE 0.3
#endif

/* The same where none begins; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_FETCH_INSIDE
#define CS_MODEL_FETCH_INSIDE 0.05
#endif

/* A miss where a line begins, at most; unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_FETCH_LINE_MAX
#define CS_MODEL_FETCH_LINE_MAX 1.5
#endif

/* The same where none begins; unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_FETCH_INSIDE_MAX
#define CS_MODEL_FETCH_INSIDE_MAX 0.3
#endif

/* Of a new page's cost where there are no bursts: the share expected; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_CODE_PAGE_UNSEEN
#define CS_MODEL_CODE_PAGE_UNSEEN 0.02
#endif

/* Of a new page of code: the share that shows; unit: share; source: SDM, SOG: fetching ahead hides most;
 * shows: culprits */
#ifndef CS_MODEL_CODE_PAGE
#define CS_MODEL_CODE_PAGE 0.3
#endif

/* ---- branches ---- */
/* Simulated misses from which on a real predictor misses as often; unit: misses an execution; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_LEARNABLE
#define CS_MODEL_LEARNABLE 0.15
#endif

/* Of the rarest simulated misses: the share that a real predictor has; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_LEARNABLE_MIN
#define CS_MODEL_LEARNABLE_MIN 0.2
#endif

/* Misses an execution, from which on they count; unit: misses an execution; source: trial; shows: culprits */
#ifndef CS_MODEL_MISSED_MIN
#define CS_MODEL_MISSED_MIN 0.002
#endif

/* Of the stall at a branch where there are no bursts: the share expected to be mispredictions; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_BRANCH_UNSEEN
#define CS_MODEL_BRANCH_UNSEEN 0.3
#endif

/* A misprediction with the latencies that it exposes, at most; unit: factor; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_MISPREDICT_MAX
#define CS_MODEL_MISPREDICT_MAX 1.7
#endif

/* A misprediction, shown at the branch; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_MISPREDICT_AT
#define CS_MODEL_MISPREDICT_AT 10
#endif

/* A misprediction, shown at each of the two instructions after; unit: cycles; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_MISPREDICT_AFTER
#define CS_MODEL_MISPREDICT_AFTER 5
#endif

/* A misprediction, shown further on; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_MISPREDICT_FAR
#define CS_MODEL_MISPREDICT_FAR 1
#endif

/* ---- the core ---- */
/* A locked instruction, where none was measured; unit: cycles; source: SDM, SOG: 5 to 40; shows: culprits */
#ifndef CS_MODEL_LOCK
#define CS_MODEL_LOCK 18
#endif

/* Of it: the share that shows at the instruction before it; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_LOCK_NEXT
#define CS_MODEL_LOCK_NEXT 0.3
#endif

/* Of it: the share that shows after it; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_LOCK_AFTER
#define CS_MODEL_LOCK_AFTER 0.1
#endif

/* A locked instruction, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_LOCK_MAX
#define CS_MODEL_LOCK_MAX 60
#endif

/* What shows of it after it, at most; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_LOCK_AFTER_MAX
#define CS_MODEL_LOCK_AFTER_MAX 20
#endif

/* A serialising instruction, at most; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_SERIALISE_MAX
#define CS_MODEL_SERIALISE_MAX 200
#endif

/* A division beyond M where the machine's divisions were measured; unit: cycles; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_DIVIDE_MEASURED
#define CS_MODEL_DIVIDE_MEASURED 0.5
#endif

/* An integer division beyond M where they weren't; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_DIVIDE
#define CS_MODEL_DIVIDE 10
#endif

/* A floating-point division beyond M where they weren't; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_FDIVIDE
#define CS_MODEL_FDIVIDE 4
#endif

/* An integer division beyond M, at most; unit: cycles; source: SDM: 64-bit division before Ice Lake;
 * shows: culprits */
#ifndef CS_MODEL_DIVIDE_MAX
#define CS_MODEL_DIVIDE_MAX 90
#endif

/* A floating-point division beyond M, at most; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_FDIVIDE_MAX
#define CS_MODEL_FDIVIDE_MAX 20
#endif

/* From a store to a load of the same bytes, where it wasn't measured; unit: cycles; source: SDM, SOG;
 * shows: culprits */
#ifndef CS_MODEL_FORWARD
#define CS_MODEL_FORWARD 7
#endif

/* Loads that take their bytes from a young store, from which on they count; unit: share; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_FORWARDED_MIN
#define CS_MODEL_FORWARDED_MIN 0.05
#endif

/* Of such a way through memory: the share expected to show; unit: share; source: trial; shows: culprits */
#ifndef CS_MODEL_FORWARD_SHARE
#define CS_MODEL_FORWARD_SHARE 0.1
#endif

/* Such a way at the load, at most; unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_FORWARD_OWN_MAX
#define CS_MODEL_FORWARD_OWN_MAX 1.5
#endif

/* Such a way at the user of its result, at most; unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_FORWARD_OPERAND_MAX
#define CS_MODEL_FORWARD_OPERAND_MAX 0.75
#endif

/* Share of M that dependencies are from which on an instruction belongs to a chain; unit: share; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_CHAIN_SHARE
#define CS_MODEL_CHAIN_SHARE 0.3
#endif

/* How far M may be off, at most; unit: share of M; source: measured chains: culprit-kernels at the first
 * level; shows: culprits */
#ifndef CS_MODEL_SCHEDULE_OFF_MAX
#define CS_MODEL_SCHEDULE_OFF_MAX 0.3
#endif

/* How far M is expected to be off; unit: share of M; source: the same; shows: culprits */
#ifndef CS_MODEL_SCHEDULE_OFF
#define CS_MODEL_SCHEDULE_OFF 0.1
#endif

/* Floating-point arithmetic that stalls less isn't slow; unit: cycles; source: trial; shows: culprits */
#ifndef CS_MODEL_DENORMAL_MIN
#define CS_MODEL_DENORMAL_MIN 8
#endif

/* How much denormal numbers count beside causes that were seen: they get what those can't explain; source: any small number;
 * shows: culprit-fresh */
#ifndef CS_MODEL_DENORMAL_WEIGHT
#define CS_MODEL_DENORMAL_WEIGHT 1e-3
#endif

/* A denormal operand or result, at most; unit: cycles; source: SDM; shows: culprits */
#ifndef CS_MODEL_DENORMAL_MAX
#define CS_MODEL_DENORMAL_MAX 160
#endif

/* A page fault; unit: cycles; source: the way to the kernel and back; shows: culprits */
#ifndef CS_MODEL_PAGE_FAULT
#define CS_MODEL_PAGE_FAULT 1000
#endif

/* A page fault, at most; unit: cycles; source: one that zeroes a page and more; shows: culprits */
#ifndef CS_MODEL_PAGE_FAULT_MAX
#define CS_MODEL_PAGE_FAULT_MAX 20000
#endif

/* Strides as even as that a prefetcher follows: lines are on their way when a load comes, which is no counted miss; unit:
 * share; source: SDM, "Data Prefetching" (a few equal strides); shows: culprit-counted */
#ifndef CS_MODEL_COUNTED_STEADY
#define CS_MODEL_COUNTED_STEADY 0.3
#endif

/* ---- the surroundings of a stall on its path ---- */
/* New pages an execution from which a load is taken for one that interrupts find unfinished; unit: pages; source: trial;
 * shows: culprit-fresh */
#ifndef CS_MODEL_NEXT_PAGES
#define CS_MODEL_NEXT_PAGES 0.05
#endif

/* How much the cost of the load behind a stall counts beside causes of the stall's own; source: any small number; shows:
 * culprit-fresh */
#ifndef CS_MODEL_NEXT_WEIGHT
#define CS_MODEL_NEXT_WEIGHT 1e-3
#endif

/* What an operation on the x87 stack takes at most, what a write of a part of a register does, and from where a stall is such a
 * wait rather than a turn at a port; unit: cycles; source: Intel's and AMD's optimisation manuals (4 to 6, 1 to 2); shows:
 * culprit-fresh */
#ifndef CS_MODEL_X87_LATENCY
#define CS_MODEL_X87_LATENCY 6.0
#endif
#ifndef CS_MODEL_MERGE_LATENCY
#define CS_MODEL_MERGE_LATENCY 2.0
#endif
#ifndef CS_MODEL_MERGE_LEAST
#define CS_MODEL_MERGE_LEAST 0.75
#endif

/* Of a load's new lines: the share that its set had no room for from which on these are called so; unit: share; source: most
 * of them; shows: culprit-fresh */
#ifndef CS_MODEL_CROWDED_SHARE
#define CS_MODEL_CROWDED_SHARE 0.5
#endif

/* Evenly spaced accesses that come to a new page less often are a stream, which hardware prefetches within pages; unit: new
 * pages an execution; source: prefetchers stop at 4 KB (SDM, SOG); shows: culprit-fixes */
#ifndef CS_MODEL_STREAM_PAGES
#define CS_MODEL_STREAM_PAGES 0.25
#endif

/* ---- lines that threads share ---- */
/* What a thread loses of the time between two accesses; unit: factor; source: trial (docs/lab/culprits.md); shows:
 * culprits */
#ifndef CS_MODEL_SHARED_TURN
#define CS_MODEL_SHARED_TURN 1.25
#endif

/* Of the instructions between; unit: cycles an instruction; source: trial; shows: culprits */
#ifndef CS_MODEL_SHARED_CPI
#define CS_MODEL_SHARED_CPI 1.0
#endif
