/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of rules, one a cause: what the classifier asks. A rule fills `out` and returns true when its cause
 * is not cleared. `residual` rules have no evidence of their own: they are asked only for what the others
 * can't explain. Internal to this module. */
#pragma once

#include "analysis/culprit/classify/culprit.h"

typedef bool rule_function(const struct cs_culprit_stall *s, const struct cs_machine *m,
                           struct cs_culprit_suspect *out);

struct culprit_rule {
    enum cs_culprit_cause cause;
    rule_function *suspect;
    bool residual;
};
extern const struct culprit_rule culprit_rules[];
extern const size_t n_culprit_rules;
