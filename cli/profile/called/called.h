/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time that the program's own lines cause in code that its author can't change: libraries and the kernel.
 *
 * Files of this module:
 *   called        the sums, and their search
 *   called_place  what one address of a chain says: own code, what it calls, other code
 *   called_below  what a library of a runtime does for its caller
 *   called_claim  that of one function as a sentence
 *   chain_line    the line that call chains blame
 *
 *     struct called c;
 *     if (called_find(&c, profile, NULL)) ... c.calls[0], c.lines[c.calls[0].line] ...
 *     called_close(&c);     in any case
 *
 * A sample belongs to the innermost frame of its chain whose source is at hand, or that is a runtime's own function
 * (chain_line.h). It is a call's if that
 * frame isn't its own place. Time of interrupts is left out: they come whatever runs. */
#pragma once

#include "analysis/contexts/calls.h"
#include "cli/profile/profile.h"

struct called_line {
    char *file;
    unsigned line;
    bool begins;        /* where the function begins, in code of a runtime; its lines have no numbers */
    char function[256]; /* innermost inlined one */
};

enum called_kind { CALLED_LIBRARY, CALLED_SYSTEM_CALL, CALLED_PAGE_FAULT, CALLED_INTERRUPT };

struct called_call { /* from one line, of one thing */
    uint32_t line;   /* a number of `lines` */
    uint32_t caller; /* the line outside of it, UINT32_MAX: none */
    uint32_t callee; /* a number of `names` */
    enum called_kind kind;
    uint64_t samples, in_system_calls, in_faults;
};

struct called_below { /* a runtime's function, anywhere below a line */
    uint32_t line, name;
    uint64_t samples;
    double depth; /* sum over the samples: how many of them are outside of it, and itself */
};
#define CALLED_BELOW_MAX 4096u

struct called {
    struct called_below *below;
    struct called_line *lines;
    struct called_call *calls; /* most samples first */
    char (*names)[128];
    uint32_t n_lines, n_calls, n_names, n_below;
    double total, own; /* samples with a chain; of them in the own function that has most itself */
    bool kernel_only;  /* time in the kernel of one function's calls: its inlined functions count as itself */
    char path[4096];   /* of the image of the first call's line */
};

/* `through`: only of chains with that function's frames; NULL: all. False: no call is found. */
bool called_find(struct called *c, const struct profile *profile, const struct profile_row *through);
/* Only time in the kernel that this function caused: itself, or by a call of a library. It needs no source. Of fewer samples
 * than `least` nothing is found. */
bool called_kernel(struct called *c, const struct profile *profile, const char *image_id,
                   const struct cs_image_procedure *function, double least);
void called_close(struct called *c);

/* Of a sample at `node` that belongs to `line`, at `own`. `runtimes`: by node the name of a runtime's function, or UINT32_MAX. */
void called_take_below(struct called *c, const struct cs_contexts *tree, const uint32_t *runtimes,
                       uint32_t own, uint32_t node, uint32_t line);
/* The innermost of a runtime's functions below the function of `line` that have at least `least` samples, and its samples;
 * NULL: there is none, or it is the one that is called. */
const char *called_deepest(const struct called *c, uint32_t line, double least, double *samples);

/* Samples of the calls from the function of `line`, from it or from its line alone. */
double called_from_function(const struct called *c, uint32_t line);
double called_from_line(const struct called *c, uint32_t line);
bool called_same_function(const struct called *c, uint32_t a, uint32_t b);
