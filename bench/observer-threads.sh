#!/bin/bash
# Two threads that share the target's CPU: how many accepted intervals carry the tag of the thread that ran.
make -s BUILD="$BUILD" CS_DEPS_DONE=1 "$BUILD/bench/observer-truth" >&2 && exec "$BUILD/bench/observer-truth" --threads "$@"
