/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains as frames of functions: what of a store's contexts a report or an exporter shows.
 *
 * Files of this module:
 *   chains     the stored contexts, and the places that they name
 *   calls      the tree of functions of a store
 *   functions  from (image, offset) to functions, inlined ones too
 *   views      total time, callers, callees, the inverted tree
 *   call_counts  how often functions called one another
 *
 *     struct cs_calls calls;
 *     if (cs_calls_open(&calls, store, &(struct cs_calls_wanted){.event = "cpu-clock", .inlines = true}, &err) < 0) ...
 *     if (!calls.total) ...                     the store has no chains of that event
 *     for (uint32_t n = 0; (n = cs_contexts_next(calls.tree, 0, n, &depth));) {
 *         const struct cs_call_function *f = cs_calls_function(&calls, n);
 *         ... f->name, cs_contexts_at(calls.tree, n)->total ...
 *     }
 *     cs_calls_close(&calls);
 *
 * The tree is a tree of store/contexts.h whose nodes are functions. `offset` is the function's number, `image` is
 * CS_CALL_INLINED where the compiler put it into its caller. Gprof (Graham, Kessler, McKusick, 1982) guessed what a
 * caller's calls cost. Here each sample says it. A function that recurses counts once in its total. Not thread-safe.
 */
#pragma once

#include "analysis/contexts/chains.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_CALL_OTHER 0u   /* the number of the function that stands for contexts too rare to be kept */
#define CS_CALL_INLINED 1u /* `image` of a node */

struct cs_call_function {
    const char *name;    /* for people; "[libc.so.6]" where an image has no name for an address */
    const char *brief;   /* the same without template arguments and parameters */
    const char *linkage; /* as the linker knows it, "" where there is no name */
    const struct cs_store_image *image; /* NULL: of none (other, a process) */
    uint64_t start;                     /* of its procedure; 0 where it has none */
    uint64_t declared;                  /* a number of the file and line of its declaration; 0 unknown */
    bool known;                         /* has a name of its own */
    uint64_t self, total;               /* samples in it, and in what it called too: each sample once */
};

struct cs_call_key { /* a stored context, and its node */
    uint64_t key;
    uint32_t node;
};

struct cs_calls {
    struct cs_chains chains; /* what the tree was made of */
    struct cs_contexts *tree;
    struct cs_call_function *functions;
    uint32_t n_functions, capacity;
    uint32_t *by_start;               /* functions by start: for cs_calls_of_procedure */
    uint64_t total;                   /* samples that have a chain */
    const struct cs_catalog *catalog; /* the store's, which must stay open: functions' images are there */
    struct cs_call_key *by_key;       /* ascending, with wanted.keys */
    size_t n_keys, keys_capacity;
    void *by_node;                 /* what analysis/waits keeps of each node; goes with the rest */
    struct cs_table *keys, *names; /* for their texts: a key's number is its function's */
    char trouble[512]; /* why an image has no names of its own file, or lacks inlined ones; "" = none */
};

int cs_calls_open(struct cs_calls *calls, struct cs_store *store, const struct cs_calls_wanted *wanted,
                  struct cs_error *err);
void cs_calls_close(struct cs_calls *calls);

/* Whose frame a node of the tree is (not the root). */
const struct cs_call_function *cs_calls_function(const struct cs_calls *calls, uint32_t node);
/* The node of a stored context by its key; 0: there is none. */
uint32_t cs_calls_node(const struct cs_calls *calls, uint64_t key);
/* By name (whole, brief, or the linker's; a brief one without its namespaces or
 * the place that a runtime gave it, if it must be): its number. 0 = none. `*n_found` (may be NULL): how many bear it. */
uint32_t cs_calls_find(const struct cs_calls *calls, const char *name, unsigned *n_found);
/* The function of an image's procedure, NULL where it is on no chain. */
const struct cs_call_function *cs_calls_of_procedure(const struct cs_calls *calls, const char *image_id,
                                                     uint64_t start);

/* By function: of the total of `function`, what came when it was called from there (callers; [0] holds what began
 * with it) or what was spent in a call of that (callees; its own is at its own number). Of a chain with several
 * frames of it the outermost counts for callers, the innermost for callees: so both add up to the total. The caller
 * frees the array of n_functions. NULL: out of memory. */
uint64_t *cs_calls_callers(const struct cs_calls *calls, uint32_t function);
uint64_t *cs_calls_callees(const struct cs_calls *calls, uint32_t function);

/* The tree from the other end: innermost frames at the root, their callers below. `from` 0: all; else only chains
 * with that function, from its innermost frame outwards. NULL: out of memory. The caller closes it. */
struct cs_contexts *cs_calls_inverted(const struct cs_calls *calls, uint32_t from);
/* All chains from the outermost frame of `function` inwards, as one tree. */
struct cs_contexts *cs_calls_below(const struct cs_calls *calls, uint32_t function);
