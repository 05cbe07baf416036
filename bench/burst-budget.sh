#!/bin/bash
# The work lost at budgets of 1 and 3 % when the daemon makes bursts, measured from outside: see sampler-budget.c.
set -eu
make -s BUILD="$BUILD" CS_DEPS_DONE=1 "$BUILD/bench/sampler-budget" >&2
"$BUILD/bench/sampler-budget" --bursts "$@"
