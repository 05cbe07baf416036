#!/bin/bash
# Functions that became dearer, in a store and on a server that got it (tests/fleet_watch_test.py).
exec python3 "$(dirname "$0")/../fleet_watch_test.py"
