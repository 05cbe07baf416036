/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every constant of the culprit analysis that manuals or measurement chose: what it is, its unit, where it comes
 * from, what shows it. `bench/run culprit-kernels` judges them on kernels whose culprit is known. `bench/run
 * sensitivity` changes each by a quarter. To try another value: make EXTRA_CFLAGS=-DCS_MODEL_NAME=VALUE.
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

/* Draws vary so much more from set to set than those of lines that use all sets alike; unit: factor of the variance;
 * source: the chi-squared distribution of 63 degrees of freedom ends at 2; shows: culprits */
#ifndef CS_MODEL_SETS_UNEVEN
#define CS_MODEL_SETS_UNEVEN 4
#endif
/* Sets from which on lines aren't crowded; unit: sets of 64; source: fewer bursts than some hundred tell no more apart; shows:
 * culprits */
#ifndef CS_MODEL_SETS_FEW
#define CS_MODEL_SETS_FEW 8
#endif
/* The same two where equal strides go from page to page. A column of a matrix is of one set, and a burst comes to several columns.
 * A stride that isn't a multiple of a page would use all sets alike; unit: factor of the variance, sets; source: the
 * chi-squared distribution; shows: culprit-fresh */
#ifndef CS_MODEL_SETS_UNEVEN_STEPS
#define CS_MODEL_SETS_UNEVEN_STEPS 2
#endif
#ifndef CS_MODEL_SETS_FEW_STEPS
#define CS_MODEL_SETS_FEW_STEPS 24
#endif
/* Strides equal to the one before, and new pages an execution, from which on accesses go so; unit: share; source: the turns of a
 * loop over 16 and more rows; shows: culprit-fresh */
#ifndef CS_MODEL_STEPS
#define CS_MODEL_STEPS 0.9
#endif
/* Distinct lines of a burst by executions up to which lines come back, which those of one set must to take each other's place;
 * unit: share; source: trial (0.06 to 0.80 in four conflicts, 1.00 in pages that are touched once); shows: culprits */
#ifndef CS_MODEL_SETS_COME_BACK
#define CS_MODEL_SETS_COME_BACK 0.9
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
/* A line of code runs over and over when at least one in so many bursts of the most-seen line saw it;
 * unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_CODE_SELDOM
#define CS_MODEL_CODE_SELDOM 20
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
/* Wrong guesses of each burst's empty predictor tables that say nothing; unit: guesses a burst; source:
 * the histories' bits (branch_predictors.c); shows: culprits */
#ifndef CS_MODEL_PREDICTOR_COLD
#define CS_MODEL_PREDICTOR_COLD 14
#endif
/* The same, at least; unit: guesses a burst; source: two-bit counters; shows: culprits */
#ifndef CS_MODEL_PREDICTOR_COLD_MIN
#define CS_MODEL_PREDICTOR_COLD_MIN 2
#endif
/* Times more wrong guesses that an earlier branch needs to be blamed for what shows right behind another one; unit: factor; source:
 * shares of bursts differ by less; shows: profile-error */
#ifndef CS_MODEL_BRANCH_NEARER
#define CS_MODEL_BRANCH_NEARER 2
#endif
/* A way that a branch takes less often gets its wrong guesses whole; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_WAY_RARE
#define CS_MODEL_WAY_RARE 0.2
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
/* Share of its executions in which the load of a chain through memory must have its bytes from a young store; unit: share;
 * source: all but the first turns of a loop; shows: culprits */
#ifndef CS_MODEL_CHAIN_FORWARDED
#define CS_MODEL_CHAIN_FORWARDED 0.5
#endif
/* A floating-point operation or multiplication of such a chain; unit: cycles; source: SDM, SOG: 3 to 5; shows: culprits */
#ifndef CS_MODEL_CHAIN_SLOW
#define CS_MODEL_CHAIN_SLOW 4
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
/* How late the interrupt of a counter may come; unit: instructions on the path; source: a PMI takes some tens of cycles
 * (SDM, "Precise Event-Based Sampling" gives its reason); shows: culprit-counted */
#ifndef CS_MODEL_COUNTED_SKID
#define CS_MODEL_COUNTED_SKID 64
#endif

/* ---- the surroundings of a stall on its path ---- */
/* How far back the path is looked at; unit: instructions; source: trial; shows: culprits */
#ifndef CS_MODEL_PATH_INSNS
#define CS_MODEL_PATH_INSNS 64
#endif
/* How far back a lock, or a load that an operand comes from, may lie; unit: instructions; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_NEAR_INSNS
#define CS_MODEL_NEAR_INSNS 12
#endif
/* How far back a mispredicted branch may lie; unit: instructions; source: trial; shows: culprits */
#ifndef CS_MODEL_SHADOW_INSNS
#define CS_MODEL_SHADOW_INSNS 32
#endif
/* What a core holds between dispatch and retirement, at least; unit: instructions; source: SDM, SOG: 224
 * to 512; shows: culprits */
#ifndef CS_MODEL_REORDER_INSNS
#define CS_MODEL_REORDER_INSNS 256
#endif
/* Lines that a core fetches at a time; unit: lines; source: SDM, SOG: 10 to 24, rarely filled by the outer
 * levels; shows: culprits */
#ifndef CS_MODEL_LINES_IN_FLIGHT
#define CS_MODEL_LINES_IN_FLIGHT 12
#endif
/* Stalls and gains of neighbours below this are netted: retirement is in groups; unit: cycles; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_NET_CYCLES
#define CS_MODEL_NET_CYCLES 1.5
#endif
/* Neighbours of one group of retirements that take up to this times what the model says are stretched alike; unit: factor;
 * source: trial; shows: profile-error */
#ifndef CS_MODEL_STRETCH_MOST
#define CS_MODEL_STRETCH_MOST 2
#endif
/* A stall of which rules expect less than this is netted whatever its size, where a clock counted the executions; unit: share;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_NET_EXPECTED
#define CS_MODEL_NET_EXPECTED 0.25
#endif
/* Samples from which on an instruction has a stall of its own; unit: samples; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_OWN_SAMPLES
#define CS_MODEL_OWN_SAMPLES 20
#endif
/* Samples that neighbours with fewer share; unit: samples; source: trial; shows: culprits */
#ifndef CS_MODEL_GROUP_SAMPLES
#define CS_MODEL_GROUP_SAMPLES 60
#endif
/* The first cause leads the second by so many standard deviations, or none is named: one verdict in twenty is by
 * chance; unit: standard deviations; source: normal distribution; shows: calc-default */
#ifndef CS_MODEL_VERDICT_SD
#define CS_MODEL_VERDICT_SD 1.645
#endif
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
/* A cause with less of the time isn't one of several; unit: share; source: seven of them would have all; shows: culprit-fresh */
#ifndef CS_MODEL_SEVERAL_LEAST
#define CS_MODEL_SEVERAL_LEAST 0.15
#endif
/* A cause with less of the time isn't one; unit: share; source: nobody repairs 5 %; shows: culprit-kernels */
#ifndef CS_MODEL_VERDICT_LEAST
#define CS_MODEL_VERDICT_LEAST 0.05
#endif
/* How much of a procedure's time the generic core may charge to a wrong static cause; unit: share; source: the 28
 * kernels with --cpu generic: wrong ones had 0.3 to 23 %, right ones 48 % and more; shows: culprit-kernels */
#ifndef CS_MODEL_GENERIC_OFF
#define CS_MODEL_GENERIC_OFF 0.3
#endif
/* Bursts that the clearest cause needs; unit: bursts; source: five draws of one cause that has less than half of the time are
 * alike in one of 32 cases; shows: culprit-fresh */
#ifndef CS_MODEL_VERDICT_BURSTS_MIN
#define CS_MODEL_VERDICT_BURSTS_MIN 5
#endif
/* Causes that more bursts don't tell apart are alike: the bounds beside them say so; unit: bursts; source: some
 * minutes of recording; shows: calc-default */
#ifndef CS_MODEL_VERDICT_BURSTS_MAX
#define CS_MODEL_VERDICT_BURSTS_MAX 100
#endif
/* Paths that fewer samples hang on have their static cycles from the generic core: asking llvm-mca for all
 * paths of a large program takes three times as long, and three samples are one give or take 0.6; unit: samples;
 * source: trial; shows: reports-large */
#ifndef CS_MODEL_PATH_SAMPLES
#define CS_MODEL_PATH_SAMPLES 3
#endif
/* The same for a summary of a whole program, of its samples: 5 of 26,000 moved no row of sum by more than 0.7
 * points, and took a quarter of the paths away; unit: share; source: trial; shows: reports-large */
#ifndef CS_MODEL_PATH_SHARE
#define CS_MODEL_PATH_SHARE 0.0002
#endif
/* Loops are run by themselves that have so much of the function's samples; unit: share; source: trial; shows: cost-truth */
#ifndef CS_MODEL_EXPERIMENT_SHARE
#define CS_MODEL_EXPERIMENT_SHARE 0.02
#endif
/* And for a summary of a whole program, so many times what a path needs to be scheduled by the model; unit: factor; source:
 * trial (half a per cent of the samples); shows: reports-large */
#ifndef CS_MODEL_EXPERIMENT_PATHS
#define CS_MODEL_EXPERIMENT_PATHS 25
#endif
/* A path closes when one in so many visits of its last block leads back to its first; unit: factor;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_LOOP_SHARE
#define CS_MODEL_LOOP_SHARE 12
#endif
/* Divisions queue when they follow one another within so many times what one takes; unit: factor; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_DIVIDER_QUEUE
#define CS_MODEL_DIVIDER_QUEUE 1.05
#endif

/* Scales fit equally well whose misfit is by so much above the least; unit: share of the samples; source: 0.01 to 0.1 of ten
 * programs differ little (docs/lab/culprits.md); shows: unexplained-stall */
#ifndef CS_MODEL_MISFIT_ABOVE
#define CS_MODEL_MISFIT_ABOVE 0.01
#endif
/* Timed bursts from which on their rate bounds a fitted scale: one alone was off by eight times on a busy machine; unit:
 * bursts; source: trial; shows: culprit-kernels */
#ifndef CS_MODEL_TIMED_BURSTS
#define CS_MODEL_TIMED_BURSTS 5
#endif
/* How far rates of timed bursts of one piece of code lie apart; unit: standard deviation of the log; source: trial;
 * shows: culprit-kernels */
#ifndef CS_MODEL_TIMED_SPREAD
#define CS_MODEL_TIMED_SPREAD 0.5
#endif
/* Evenly spaced accesses that come to a new page less often are a stream, which hardware prefetches within pages; unit: new
 * pages an execution; source: prefetchers stop at 4 KB (SDM, SOG); shows: culprit-fixes */
#ifndef CS_MODEL_STREAM_PAGES
#define CS_MODEL_STREAM_PAGES 0.25
#endif

/* ---- lines that threads share ---- */
/* Bursts that must have seen a line taken; unit: bursts; source: two can't be chance; shows: culprits */
#ifndef CS_MODEL_SHARED_BURSTS
#define CS_MODEL_SHARED_BURSTS 2
#endif
/* What a thread loses of the time between two accesses; unit: factor; source: trial (docs/lab/culprits.md); shows:
 * culprits */
#ifndef CS_MODEL_SHARED_TURN
#define CS_MODEL_SHARED_TURN 1.25
#endif
/* Of the instructions between; unit: cycles an instruction; source: trial; shows: culprits */
#ifndef CS_MODEL_SHARED_CPI
#define CS_MODEL_SHARED_CPI 1.0
#endif

/* ---- footprints ---- */
/* Distinct lines among draws above which there are too few repeats to tell how many there are; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_REPEATS_MIN
#define CS_MODEL_REPEATS_MIN 0.875
#endif
/* Meetings of two bursts from which on they tell how many lines there are; unit: meetings; source:
 * standard error below a half; shows: culprits */
#ifndef CS_MODEL_MEETINGS_MIN
#define CS_MODEL_MEETINGS_MIN 5
#endif
/* Draws from which on a footprint is estimated; unit: draws; source: trial; shows: culprits */
#ifndef CS_MODEL_DRAWS_MIN
#define CS_MODEL_DRAWS_MIN 8
#endif
/* Draws from which on a working set has a size; unit: draws; source: two bursts of 16; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_DRAWS
#define CS_MODEL_WORKING_SET_DRAWS 32
#endif
/* Of draws, lines that were met once, up to which Chao's count of all of them is taken; unit: share; source: coverage of Good
 * 1953; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_NEW
#define CS_MODEL_WORKING_SET_NEW 0.2
#endif
/* Times more lines by Chao's count than by meetings from which on some are used more than others; below so many draws it can't be
 * told; unit: factor; source: draws from trees, hot lines and even ones, simulated; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_UNEVEN
#define CS_MODEL_WORKING_SET_UNEVEN 1.8
#endif
#ifndef CS_MODEL_WORKING_SET_SURE
#define CS_MODEL_WORKING_SET_SURE 128
#endif
/* Draws of one burst that may share a page; unit: draws; source: trial; shows: culprits */
#ifndef CS_MODEL_DRAWS_TOGETHER
#define CS_MODEL_DRAWS_TOGETHER 7.5
#endif

/* A flat program (flat.h). Targets of indirect jumps and calls that a predictor keeps, as cores since 2018 have 1,000 to 4,000;
 * unit: targets. */
#ifndef CS_MODEL_TARGETS_KEPT
#define CS_MODEL_TARGETS_KEPT 2000
#endif
/* Of the latency of a line of code that a cache lacks, what isn't hidden by fetching ahead; unit: share. */
#ifndef CS_MODEL_FLAT_FETCH
#define CS_MODEL_FLAT_FETCH 0.4
#endif
/* Fewer bursts say too little about which lines come back. */
#ifndef CS_MODEL_FLAT_BURSTS
#define CS_MODEL_FLAT_BURSTS 10
#endif
/* A first cause of a whole program has as much of its time at least; unit: share. */
#ifndef CS_MODEL_FLAT_LEAST
#define CS_MODEL_FLAT_LEAST 0.35
#endif
