/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants of static cycles: how a time line becomes steps, and the generic core for machines without llvm-mca. Its
 * latencies are those that cores of the last ten years share. Format and use as in analysis/culprit/classify/model.h. */
#pragma once

/* A loop whose chains allow less than this of its cycles waits for ports; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_CHAIN_OF_LOOP
#define CS_MODEL_CHAIN_OF_LOOP 0.8
#endif

/* Of a load-op's latency, what its load has: its other operands are read so much later; unit: cycles; source: SDM, SOG,
 * llvm's ReadAfterLd (4 on znver3, 5 on Skylake); shows: culprits */
#ifndef CS_MODEL_LOAD_OF_OP
#define CS_MODEL_LOAD_OF_OP 4
#endif

/* AMD's cores take from their cache of operations, in a cycle, no more than stands in so many aligned bytes; unit: bytes;
 * source: SOG, trial (docs/lab/culprits.md); shows: culprits */
#ifndef CS_MODEL_FETCH_BYTES
#define CS_MODEL_FETCH_BYTES 64
#endif
/* And no more than so many up to a taken branch, a fused pair being one; unit: operations; source: SOG, trial; shows:
 * culprits */
#ifndef CS_MODEL_FETCH_OPERATIONS
#define CS_MODEL_FETCH_OPERATIONS 8
#endif

/* ---- the generic core ---- */
/* Instructions dispatched and retired a cycle; unit: instructions; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_WIDTH
#define CS_MODEL_GENERIC_WIDTH 4
#endif
/* Instructions between dispatch and retirement; unit: instructions; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_WINDOW
#define CS_MODEL_GENERIC_WINDOW 200
#endif
/* A load that hits the first level; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_LOAD
#define CS_MODEL_GENERIC_LOAD 5
#endif
/* A multiplication; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_MULTIPLY
#define CS_MODEL_GENERIC_MULTIPLY 3
#endif
/* A floating-point operation; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_FLOAT
#define CS_MODEL_GENERIC_FLOAT 4
#endif
/* A division, during which the divider takes no other; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_DIVIDE
#define CS_MODEL_GENERIC_DIVIDE 18
#endif
/* A locked instruction; unit: cycles; source: SDM, SOG; shows: culprits */
#ifndef CS_MODEL_GENERIC_LOCK
#define CS_MODEL_GENERIC_LOCK 18
#endif
