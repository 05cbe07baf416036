#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
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
    local name=$1 command
    shift
    (cd "$work" && cyclescope record -o "$name" "$@") >"$work/said" 2>&1 || { cat "$work/said"; bad=1; return; }
    (cd "$work" && cyclescope prof --store "$name") >>"$work/said" 2>&1 || { echo "$name: prof failed"; bad=1; }
    sed -nE 's/^(next: |      )(cyclescope .*)/\2/p' "$work/said" | sed 's/   *(.*//' | sort -u >"$work/commands"
    ! grep -q ' in , ' "$work/said" || { grep ' in , ' "$work/said"; bad=1; }
    [ -s "$work/commands" ] || { cat "$work/said"; echo "$name: no command was offered"; bad=1; }
    while IFS= read -r command; do
        ran=$((ran + 1))
        (cd "$work" && sh -c "$command" </dev/null >"$work/out" 2>&1) && [ -s "$work/out" ] ||
            { echo "$name: $command"; tail -n 2 "$work/out"; bad=1; }
    done <"$work/commands"
}
try known -F 1000 -- "$BUILD/tests/programs/procedures" 300 100 100 100 100 100 100
try without-bursts --no-bursts --no-chains -- "$BUILD/tests/programs/procedures" 300 100 100 100 100 100 100
try waits --waits -- "$BUILD/tests/programs/procedures" 200 100 100 100 100 100 100
! command -v python3 >/dev/null || try python --no-bursts -- python3 "$work/dump.py"
! command -v node >/dev/null || try script --no-bursts -- node --perf-basic-prof "$work/sums.js"
! command -v node >/dev/null || try nameless --no-bursts -- node --perf-basic-prof "$work/nameless.js"
[ $bad -eq 0 ] && echo "$ran commands work"
exit $bad
