#!/bin/bash
# AArch64 code read on any machine.
# Beside others.
tables="--param case-values-threshold=4"
exec "$(dirname "$0")/../cross/code.sh" aarch64-linux-gnu gcc-aarch64-linux-gnu \
    "-O2 $tables" "-O2 -fPIC -mbranch-protection=standard $tables" -Os "-O0 $tables"
