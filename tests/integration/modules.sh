#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The modules of tests/modules.md are those of the code; and a file or an include that breaks them is found.
# Beside others. Nor has the program much thread-local memory: it lies between a thread's stack and what tells where that ends, so each
# of the recorder's own samples would be copied with all of it (docs/lab/install.md).
set -eu
tls=$(readelf -lW "$CYCLESCOPE" | awk '$1 == "TLS" { print $6 }')
[ $((tls)) -le 4096 ] || { echo "not ok: $((tls)) bytes of thread-local memory, 4096 are allowed"; exit 1; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout: no list of files"; exit 77; }
python3 tests/modules.py
python3 tests/foreign_calls.py
python3 tests/sleeps.py
python3 tests/asserts.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -co --exclude-standard '*.c' '*.h' 'tests/integration/*.sh' tests/modules.md docs/security-tests.md tests/modules.py tests/foreign_calls.py \
    tests/sleeps.py | xargs cp --parents -t "$scratch"
cd "$scratch"
git init -q . && git add -A
n=0
breaks() { # what, file, line to add at its end
    echo "$3" >>"$2"
    echo "$2 $1" >>broken
    n=$((n + 1))
}
breaks 'an include of the other mechanism' observer/observe.c '#include "sampler/sampler.h"'
breaks 'an include upwards' analysis/cfg/cfg.c '#include "analysis/frequency/frequency.h"'
breaks 'a file in no module' analysis/stray.c 'int stray;'
breaks 'a file that no list has' store/stray.c 'int stray;'
breaks 'a library that prints' store/store.c 'void f(void) { printf("x"); }'
breaks 'a call that reads by PID' sampler/images/maps.c 'long f(int pid) { return process_vm_readv(pid, 0, 0, 0, 0, 0); }'
breaks 'a file by PID' exchange/export/pprof.c 'const char *f = "/proc/%d/mem";'
breaks 'a header of a stranger to libelf' sampler/images/labels.c 'void *f(int fd) { return elf_begin(fd, 0, 0); }'
breaks 'a unit test of no module' tests/unit/stray_test.c '#include "store/store.h"'
breaks 'a unit test of another module' tests/unit/store/stray_test.c '#include "dte/dte.h"'
breaks 'two unit tests of one name' tests/unit/dte/store_test.c '#include "dte/dte.h"'
breaks 'a fixed sleep of a script' tests/integration/chains.sh 'sleep 1'
breaks 'a fixed sleep of a unit test' tests/unit/store/store_times_test.c 'void f(void) { usleep(1000); }'
for check in modules foreign_calls sleeps; do
    if python3 tests/$check.py >>out; then echo "not ok: tests/$check.py finds nothing"; exit 1; fi
done
while read -r file what; do
    grep -q "^$file:\|that of $file\$\|lacks $(basename "$file" .c)\$" out || { echo "not ok: $what was not found: $(cat out)"; exit 1; }
done <broken
echo "ok: each of $n breaks is found"
