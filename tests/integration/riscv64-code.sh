#!/bin/bash
# RISC-V code read on any machine; the text of each instruction too, which is ours.
# Beside others.
tables="--param case-values-threshold=4"
exec "$(dirname "$0")/../cross/code.sh" riscv64-linux-gnu "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross" \
    "-O2 $tables" "-O2 -fPIC $tables" "-O2 -march=rv64g $tables" "-O2 -mcmodel=medlow -no-pie $tables" "-Os $tables" "-O0 $tables"
