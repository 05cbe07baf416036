#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A few seconds of each real program of tests/real that is installed (`make check-real`: ten minutes each): with bursts at
# five times their budget it does what it does without us. On a slow machine fewer of them: those of 150 s.
export REAL_WITHIN=150
exec "$(dirname "$0")/../real/run" "$([ -n "${CS_QUICK:-}" ] && echo 2 || echo 4)"
