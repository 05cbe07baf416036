#!/bin/bash
# Twenty hosts send their stores to a server that is killed in the middle: its sums are the stores' (tests/fleet_test.py).
# Beside others.
exec python3 "$(dirname "$0")/../fleet_test.py"
