#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cs_set is one store and at most one load, in the machine code of a linked program, whatever the compiler and the level
# above -O0; in a loop the load of the line's address is outside. The counts are objdump's.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

body() { objdump -d --no-show-raw-insn "$1" | awk -v f="<$2>:" '$2 == f {on = 1; next} /^$/ {on = 0} on' | cut -f2-; }
# Memory operands written and read (a load through %fs or a register; immediates and address arithmetic aside).
stores() { grep -cE '^(mov|movq|movl|add|addq) .*,(%fs:)?(-?0x[0-9a-f]+)?\(%r[a-z0-9]+\)' || true; }
loads() { grep -cE '^mov[a-z]* +%fs:|^mov[a-z]* +(-?0x[0-9a-f]+)?\(%r[a-z0-9]+\),' || true; }

expect() { # LABEL FUNCTION STORES LOADS
    local s l
    s=$(body "$work/set" "$2" | stores)
    l=$(body "$work/set" "$2" | loads)
    if [ "$s" != "$3" ] || [ "$l" -gt "$4" ]; then
        echo "$1: $2 has $s stores and $l loads, expected $3 and at most $4:"
        body "$work/set" "$2"
        bad=1
    fi
}

for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    for flags in -O1 -O2 -O3 "-O2 -fno-pie -no-pie" "-O2 -fPIC"; do
        # shellcheck disable=SC2086
        $cc -I. $flags -o "$work/set" tests/programs/signals_set.c "$BUILD/libcyclescope.a" || exit 1
        CYCLESCOPE_SIGNALS=off "$work/set" || { echo "$cc $flags: wrong value"; bad=1; }
        for f in set_constant set_value add_one; do
            expect "$cc $flags" $f 1 1
            if body "$work/set" $f | grep -qE '^(j|call|lock|mfence)'; then
                echo "$cc $flags: $f has a branch, a call or a barrier"
                bad=1
            fi
        done
        # One load for the whole loop: no %fs access between the loop's head and its backward jump.
        if body "$work/set" set_loop | sed -n '/^mov.*%fs:/,$p' | sed 1d | grep -q '%fs:'; then
            echo "$cc $flags: the line's address is loaded in the loop"
            body "$work/set" set_loop
            bad=1
        fi
    done
done
echo "cs_set(5, 7), gcc -O2:"
gcc -I. -O2 -o "$work/set" tests/programs/signals_set.c "$BUILD/libcyclescope.a" && body "$work/set" set_constant
exit $bad
