/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often source locations ran, as compilers want to read it: per function, by line offset from the
 * function's declaration and discriminator. Functions that were inlined into it are trees of their own
 * (AutoFDO: Chen, Li, Moseley, CGO 2016). Counts come from the frequency of blocks. So every instruction of
 * a block says the same, and a line takes the maximum over its instructions. Blocks that never ran give
 * zeros, which tell a compiler more than silence does. */
#pragma once

#include "exchange/export/export.h"
#include "exchange/export/source_loss.h"

struct cs_export_source_call {
    char *callee;
    double count;
};

struct cs_export_source_site {
    uint32_t line, discriminator; /* line: offset from the declaration, 16 bits */
    uint32_t number;              /* of all sites, in the order of their making */
    double count;
    struct cs_export_source_call *calls;
    unsigned n_calls;
};

struct cs_export_source_function {
    char *name;                   /* linkage name without the compiler's suffixes (.cold, .part.0, ...) */
    uint32_t line, discriminator; /* where it was inlined into its parent */
    double head;                  /* times it was entered */
    struct cs_export_source_site *sites; /* ascending by line, discriminator */
    unsigned n_sites;
    struct cs_export_source_function *inlined;
    unsigned n_inlined;
};

struct cs_export_source_profile {
    struct cs_export_source_function *functions;
    unsigned n_functions;
    struct cs_export_source_loss loss; /* what this form couldn't hold */
};

/* GCC numbers what stands on one line. clang packs three numbers into a discriminator: the base, which is all
 * that its reader looks at; how many copies unrolling or vectorising made, each of which ran that much less
 * often than the source did, so that counts are multiplied by it; and which copy. */
enum cs_export_discriminators { CS_EXPORT_DISCRIMINATORS_PLAIN, CS_EXPORT_DISCRIMINATORS_LLVM };

/* Of all images of `from` that have line information; counts are scaled so that the largest is about 10^7.
 * Fails with a sentence where nothing came out. */
int cs_export_source_profile_open(struct cs_export *from, enum cs_export_discriminators discriminators,
                                  struct cs_export_source_profile *out, struct cs_error *err);
void cs_export_source_profile_close(struct cs_export_source_profile *profile);
/* Sum over a function's sites and all that is inlined into it. */
double cs_export_source_total(const struct cs_export_source_function *function);
