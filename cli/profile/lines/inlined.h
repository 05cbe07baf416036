/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the compiler inlined have no code of their own: what to ask for instead. */
#pragma once

#include "cli/profile/profile.h"

struct inlined_into {
    char sentence[400]; /* that it was inlined, and into whom mostly; "": it wasn't */
};

/* The procedure that has most samples of a function of this name inlined, by the recording's call chains. */
struct inlined_into inlined_into(const struct profile *profile, const char *name);
