/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named methods of one process: which of them holds an address at a time. Code has a life: a method holds its addresses
 * from a time on, until another one takes them. Of two for one address and time the later one holds.
 * Bounded by process and in all; what doesn't fit is left out, and counted once a process. One owner. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_JIT_METHOD_BITS 24
#define CS_JIT_METHOD_MAX (1ULL << CS_JIT_METHOD_BITS) /* bytes of one method */

struct cs_jit_method {
    uint64_t start;
    uint64_t since_ns; /* it holds from then on; 0: always did */
    uint32_t size;
    uint32_t lines_back; /* the record of its lines lies so far before `code`; 0: none */
    uint32_t name;       /* offset in text */
    uint32_t line;       /* later ones win */
    uint64_t
        code; /* bit 63: its offset (jit.h), known once it is sampled; else where its bytes lie in the jitdump file; 0: nowhere */
};

struct cs_jit_methods {
    struct cs_jit_method *at; /* by start, time and line; behind those what was added since */
    size_t n, capacity;       /* room: in bytes */
    size_t n_sorted;
    uint64_t replaced_ns; /* when code last took the place of other code; 0: never */
    char *text;
    size_t text_used, text_room;
    bool cut; /* there was more than is kept */
};

/* Of all processes' text and methods, and what is needed to read them. */
#define CS_JIT_BYTES_MAX ((size_t)32 << 20) /* at most; half of it may be one process's text */

/* Of all processes. */
struct cs_jit_kept {
    size_t bytes;        /* text and methods */
    size_t bytes_max;    /* 0: CS_JIT_BYTES_MAX */
    uint64_t cut;        /* processes of which only a part is kept */
    unsigned n_segments; /* of signals, that are held open */
};

static inline size_t cs_jit_kept_max(const struct cs_jit_kept *kept)
{
    return kept->bytes_max ? kept->bytes_max : CS_JIT_BYTES_MAX;
}

/* Where the text lies; -1 = no room. */
long cs_jit_methods_text(struct cs_jit_methods *m, struct cs_jit_kept *kept, const char *text);
/* `name` is what cs_jit_methods_text gave. One of an impossible size is passed over. False = no room. */
bool cs_jit_methods_add(struct cs_jit_methods *m, struct cs_jit_kept *kept, uint64_t start, uint64_t size,
                        uint64_t since_ns, size_t name);
/* After some were added, for lookups. */
void cs_jit_methods_sort(struct cs_jit_methods *m);
/* NULL = none. Names may come a little later than code runs: before the first of an address, that one. */
struct cs_jit_method *cs_jit_methods_at(const struct cs_jit_methods *m, uint64_t addr, uint64_t time_ns);
/* The first time in (from_ns, to_ns) at which another method takes `addr` over; 0: none does. */
uint64_t cs_jit_methods_change(const struct cs_jit_methods *m, uint64_t addr, uint64_t from_ns,
                               uint64_t to_ns);
void cs_jit_methods_fini(struct cs_jit_methods *m, struct cs_jit_kept *kept);
