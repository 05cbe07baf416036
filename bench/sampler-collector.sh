#!/bin/bash
# CPU time that collecting takes, ns a sample: the other half of sampler-handler.
set -eu
make -s BUILD="$BUILD" CS_DEPS_DONE=1 "$BUILD/bench/sampler-handler" >&2
"$BUILD/bench/sampler-handler" --collector "$@"
