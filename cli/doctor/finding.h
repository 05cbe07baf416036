/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of doctor: a fact judged. */
#pragma once

#include "cli/doctor/machine.h"

enum finding_state { FINDING_GOOD, FINDING_LIMITED, FINDING_ABSENT };

struct finding {
    enum finding_state state;
    char value[256];
    /* What it means for each user, and what to do about it ("" = nothing to do, as each rule finds `enable`). Constant strings. */
    const char *runtime, *architect, *production, *enable;
};

struct finding_rule {
    const char *key, *what;
    void (*judge)(const struct machine *machine, struct finding *finding);
};

extern const struct finding_rule finding_rules[]; /* ends with a NULL key */
