/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one address of an image says about a chain that has it. In own code: its line, and what it calls. In other code: its name,
 * and how that entered the kernel. Lines and names are numbers of `called`, each kept once. */
#pragma once

#include "cli/profile/called/called.h"

#define CALLED_LINES_MAX 2048u
#define CALLED_NAMES_MAX 1024u
#define CALLED_NONE UINT32_MAX

struct called_place { /* what one address of an image is */
    uint32_t line,
        outer; /* of own code: the inlined function's line, and the line outside of that; else CALLED_NONE */
    uint32_t callee; /* of own code: what it calls there; of other code: its name; CALLED_NONE: not known */
    uint32_t image;
    uint64_t start, samples; /* of the procedure; that fell there, in own code */
    bool runtime;            /* the name is a function of a runtime, which has its file in it */
    bool glue;               /* the callee is how an interpreter calls: what comes below it says more */
    bool stated;             /* `kind` says what entered the kernel */
    enum called_kind kind;
};

/* Reads the code. Where there are too many lines or names, further ones are CALLED_NONE. `image` and `samples` are left to the
 * caller. */
struct called_place called_place_at(struct called *c, struct cs_image_code *code, uint64_t offset);
/* The number of a line that stands for a function without source. */
uint32_t called_function_line(struct called *c, const char *name);
