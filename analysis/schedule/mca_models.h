/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which llvm-mca is installed, and which models it has. Internal to mca.c. */
#pragma once

#include "image/isa/decode.h"

#include <stddef.h>

struct mca_model {
    char triple[32]; /* as its option: "-mtriple=x86_64" */
    char program[256];
    char cpu[40];
};

/* The newest program on PATH, if it knows one of `cpus` (NULL-terminated, best first): that one. `cache` names the
 * file of schedules, beside which the list of models is kept. */
bool mca_choose(enum cs_isa isa, const char *const *cpus, const char *cache, struct mca_model *model);
