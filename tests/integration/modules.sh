#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The modules of tests/modules.md are those of the code; and a file or an include that breaks them is found.
# Beside others.
set -eu
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout: no list of files"; exit 77; }
python3 tests/modules.py
python3 tests/foreign_calls.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -co --exclude-standard '*.c' '*.h' tests/modules.md docs/security-tests.md tests/modules.py tests/foreign_calls.py | xargs cp --parents -t "$scratch"
cd "$scratch"
git init -q . && git add -A
breaks() { # what, file, line to add at its end
    if [ -e "$2" ]; then cp "$2" "$2.was"; fi
    echo "$3" >>"$2"
    python3 tests/modules.py >out && found=0 || found=1
    python3 tests/foreign_calls.py >>out || found=1
    if [ $found = 0 ]; then
        echo "not ok: $1 was not found"
        exit 1
    fi
    grep -q "$(basename "$2" .c)" out || { echo "not ok: $1: the file is not named: $(cat out)"; exit 1; }
    rm "$2"
    if [ -e "$2.was" ]; then mv "$2.was" "$2"; fi
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
echo "ok: each of eleven breaks is found"
