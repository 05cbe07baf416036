#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Each command that `record` and `prof` offer as the next one works on the recording that they are about.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$CYCLESCOPE" "$work/bin/cyclescope"
export PATH=$work/bin:$PATH CYCLESCOPE_CACHE=$work/cache
cat >"$work/sums.js" <<'END'
function addUp(words) { // long enough that it isn't inlined
  const of = new Map();
  for (let i = 0; i < 300; i++) for (const w of words) of.set(w, (of.get(w) || 0) + 1);
  return of.size;
}
const words = Array.from({ length: 3000 }, (_, i) => "w" + (i * 7919) % 997);
for (const end = Date.now() + 1200; Date.now() < end;) addUp(words);
END
cat >"$work/nameless.js" <<'END'
let n = 0;
for (const end = Date.now() + 1200; Date.now() < end;) for (let i = 0; i < 1e6; i++) n = (n * 31 + i) | 0;
console.log(n);
END
cat >"$work/dump.py" <<'END'
import json, time
def report():
    return json.dumps(list(range(2000)), indent=1)
end = time.process_time() + 1
while time.process_time() < end:
    report()
END
bad=0 ran=0
try() { # NAME, how it is recorded
    local name=$1
    shift
    (cd "$work" && cyclescope record -o "$name" "$@") >"$work/said" 2>&1 || { cat "$work/said"; bad=1; return; }
    offered "$name"
}
offered() { # what the recording and its reports offer
    local name=$1 command
    (cd "$work" && cyclescope prof --store "$name" && { cyclescope prof --by image --store "$name"; cyclescope prof --by line --store "$name"; }) \
        >>"$work/said" 2>&1 || { echo "$name: prof failed"; bad=1; }
    for command in sum "callers ${2:-main}" "callees ${2:-main}"; do # where there are chains, code, that procedure
        # shellcheck disable=SC2086
        (cd "$work" && cyclescope $command --store "$name") >>"$work/said" 2>/dev/null
    done
    sed -nE 's/^(next: |      )(cyclescope .*)/\2/p' "$work/said" | sed 's/   *(.*//' | sort -u >"$work/commands"
    ! grep -q ' in , ' "$work/said" || { grep ' in , ' "$work/said"; bad=1; }
    [ -s "$work/commands" ] || { cat "$work/said"; echo "$name: no command was offered"; bad=1; }
    while IFS= read -r command; do
        ran=$((ran + 1))
        (cd "$work" && sh -c "$command" </dev/null >"$work/out" 2>&1) && [ -s "$work/out" ] ||
            { echo "$name: $command"; tail -n 2 "$work/out"; bad=1; }
    done <"$work/commands"
}
cat >"$work/inlined.c" <<'END'
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long hot(unsigned long x) { for (int i = 0; i < 64; i++) x = x * 6364136223846793005ul + (x >> 9); return x; }
__attribute__((noinline)) void outer(int n) { for (int i = 0; i < n; i++) sink += hot((unsigned long)i); }
int main(void) { while (clock() < CLOCKS_PER_SEC) outer(2000); return 0; }
END
gcc -O2 -g -o "$work/inlined" "$work/inlined.c"
try inline -F 1000 -g -- "$work/inlined"
offered inline hot
for report in calc list edges cfg; do # an inlined function has no code of its own: they say whose it is
    (cd "$work" && cyclescope $report hot --store inline) >"$work/out" 2>&1
    [ $? -eq 1 ] && grep -q 'inlined, the largest part into outer' "$work/out" || { echo "$report of an inlined function: $(tail -n 1 "$work/out")"; bad=1; }
done
(cd "$work" && cyclescope observe -t 0.5 -o observed -- "$BUILD/signals/examples/phases") >"$work/said" 2>&1 && offered observed
(cd "$work" && cyclescope observe -t 0.5 --log log -- "$BUILD/signals/examples/phases") >"$work/said" 2>&1 && (cd "$work" && cyclescope tags --log log) >>"$work/said" && offered observed
"$BUILD/tests/programs/perfdata_filler" 20000 5 "$work/perf.data" >/dev/null 2>&1
(cd "$work" && cyclescope import -o imported perf.data) >"$work/said" 2>&1 && offered imported
try known -F 1000 -- "$BUILD/tests/programs/procedures" 300 100 100 100 100 100 100
try known -F 1000 -- "$BUILD/tests/programs/procedures" 900 100 100 100 100 100 100
for report in "diff --store known" "sum --beside -2 --store known"; do
    # shellcheck disable=SC2086
    (cd "$work" && cyclescope $report) >"$work/said" 2>&1
    grep -q '^next: ' "$work/said" || { cat "$work/said"; echo "$report offers nothing"; bad=1; }
    offered known
done
try without-bursts --no-bursts --no-chains -- "$BUILD/tests/programs/procedures" 300 100 100 100 100 100 100
try waits --waits -- "$BUILD/tests/programs/procedures" 200 100 100 100 100 100 100
! command -v python3 >/dev/null || try python --no-bursts -- python3 "$work/dump.py"
! command -v node >/dev/null || try script --no-bursts -- node --perf-basic-prof "$work/sums.js"
! command -v node >/dev/null || try nameless --no-bursts -- node --perf-basic-prof "$work/nameless.js"
[ $bad -eq 0 ] && echo "$ran commands work"
exit $bad
