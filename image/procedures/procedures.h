/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of an image's procedures, from any source: symbols, exported names, mini symbol table, PLT
 * stubs, frame descriptions, bare sections, the store. Internal to image/: others use
 * image/code.h.
 *
 * Files of this module:
 *   entries             where code begins that nothing names
 *   go_table            Go's own table of functions
 *   kallsyms            a list of kernel symbols
 *   plt                 dynamic relocations: stubs, slots, pointers
 *   procedure           one procedure, as others see it
 *   procedure_cache     the list of procedures, kept between commands
 *   procedure_lookup    looking things up in that list
 *   procedures          the list, gathered from whatever tells */
#pragma once

#include "image/file/elf.h"
#include "image/file/ranges.h"
#include "image/procedures/plt.h"
#include "image/procedures/procedure.h"

struct made_names {
    struct made_names *next;
    size_t used, capacity;
    char text[];
};

struct procedure_cache;

struct procedures {
    struct cs_image_procedure
        *list; /* ascending by start; from a cache, only those with a name are there yet */
    size_t n;
    struct procedure_cache *cache; /* NULL = all is here */
    bool filled;                   /* procedures_fill was called */
    struct cs_image_part *parts;
    struct cs_image_ranges ranges; /* of parts; id = index in list */
    uint32_t *by_name;             /* indexes of list in strcmp order; NULL until asked for */
    struct made_names *made;       /* the strings and parts that are ours */
};

/* From an entry of the cache, which stays open as long as the list; takes it over. 0 or -ENOMEM. */
int procedures_init_cached(struct procedures *p, struct procedure_cache *cache);
/* A string of ours that lives as long as the list: two joined, or "sub_<address>". NULL for want of memory.
 */
const char *procedures_join_name(struct procedures *p, const char *text, const char *end);
const char *procedures_address_name(struct procedures *p, uint64_t address);

/* `image` gives code and sections, `debug` and `mini` (each may be NULL) further symbols. Names point into
 * these files. 0 or -ENOMEM. */
int procedures_init(struct procedures *p, const struct elf_file *image, const struct elf_file *debug,
                    const struct elf_file *mini, const struct imports *imports);
/* From names alone (kernel, JIT, tags); copied. */
struct named_range {
    uint64_t start, size;
    char *name;
};
int procedures_init_names(struct procedures *p, const struct named_range *names, size_t n);
void procedures_fini(struct procedures *p);

const struct cs_image_procedure *procedures_at(struct procedures *p, uint64_t offset);
/* All of `list` is there from now on. */
void procedures_fill(struct procedures *p);
/* First in by_name order with that very name and how many follow; NULL when none. */
const struct cs_image_procedure *procedures_named(struct procedures *p, const char *name, unsigned i,
                                                  unsigned *n_found);
