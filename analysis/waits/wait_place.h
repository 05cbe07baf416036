/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the call chain of a wait to the function on whose account it is, and to the wait's name. */
#pragma once

#include "analysis/contexts/calls.h"

/* Finds what the chains of all nodes say, once: before any question here about a node. 0 or -ENOMEM. */
int cs_wait_spots_make(struct cs_calls *calls);
/* The function of a node is neither the kernel's nor the C library's, nor, where Python functions have names, the interpreter's
 * or of the standard library's modules that wait. */
bool cs_wait_is_own(const struct cs_calls *calls, uint32_t node);
/* The function on whose account a node of call chains is: the innermost of its own. Where a Python function is on the chain,
 * the interpreter works for that. NULL: there is none. `via` (may be NULL): the outermost of the C library's below it. */
const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via);

/* The outermost function of its own, of Python functions the outermost outside of the module threading: where a thread began.
 * NULL: there is none. Whether the chain is that of a process's first thread. */
const struct cs_call_function *cs_wait_root(const struct cs_calls *calls, uint32_t node, bool *first_thread);
/* The same, whether a Python function is on the chain or not: an interpreter isn't known from a program's start on. */
const struct cs_call_function *cs_wait_base(const struct cs_calls *calls, uint32_t node);
/* Whether a program's own code is on the chain: not a CPU that idles, nor a thread of the kernel. */
bool cs_wait_is_program(const struct cs_calls *calls, uint32_t node);
/* A chain of a run-time library's thread that has no work. */
bool cs_wait_is_pool(const struct cs_calls *calls, uint32_t node);
/* What a row of waits is called: a reason; of a lock what the C library calls it. It is one of the arguments' or lives for ever. */
const char *cs_wait_kind(const struct cs_calls *waits, const char *reason, uint64_t context,
                         const char *object);
