/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named methods of one process: which of them holds an address. Of two for one address the later one holds.
 * Bounded by process and in all; what doesn't fit is left out, and counted once a process. One owner. */
#ifndef CS_SAMPLER_DYNAMIC_JIT_METHODS_H
#define CS_SAMPLER_DYNAMIC_JIT_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_JIT_METHOD_BITS 24
#define CS_JIT_METHOD_MAX (1ULL << CS_JIT_METHOD_BITS) /* bytes of one method */

struct cs_jit_method {
    uint64_t start;
    uint32_t size;
    uint32_t lines_back; /* the record of its lines lies so far before `code`; 0: none */
    uint32_t name;       /* offset in text */
    uint32_t line;       /* later ones win */
    uint64_t
        code; /* bit 63: its offset (jit.h), known once it is sampled; else where its bytes lie in the jitdump file; 0: nowhere */
};

struct cs_jit_methods {
    struct cs_jit_method *at; /* by start, then by line; behind those what was added since */
    size_t n, capacity;       /* room: in bytes */
    char *text;
    size_t text_used, text_room;
    bool cut; /* there was more than is kept */
};

/* Of all processes' text and methods, and what is needed to read them. */
#define CS_JIT_BYTES_MAX ((size_t)32 << 20)

/* Of all processes. */
struct cs_jit_kept {
    size_t bytes;        /* text and methods */
    uint64_t cut;        /* processes of which only a part is kept */
    unsigned n_segments; /* of signals, that are held open */
};

/* Where the text lies; -1 = no room. */
long cs_jit_methods_text(struct cs_jit_methods *m, struct cs_jit_kept *kept, const char *text);
/* `name` is what cs_jit_methods_text gave. One of an impossible size is passed over. False = no room. */
bool cs_jit_methods_add(struct cs_jit_methods *m, struct cs_jit_kept *kept, uint64_t start, uint64_t size,
                        size_t name);
/* After some were added, for lookups. */
void cs_jit_methods_sort(struct cs_jit_methods *m);
/* NULL = none. */
struct cs_jit_method *cs_jit_methods_at(const struct cs_jit_methods *m, uint64_t addr);
void cs_jit_methods_fini(struct cs_jit_methods *m, struct cs_jit_kept *kept);

#endif
