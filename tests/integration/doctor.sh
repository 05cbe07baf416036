#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor on recorded machines (tests/machines/*): each row's state and value stand in the machine's file "expected".
# UPDATE=1 writes them anew (then read the difference).
set -eu
cd "$(dirname "$0")/../machines"
bad=0
for m in */; do
    m=${m%/}
    got=$(HWLOC_SYNTHETIC=$(cat "$m/synthetic") "$CYCLESCOPE" doctor --root "$m" --json |
        python3 -c 'import json,sys
for r in json.load(sys.stdin)["rows"]:
    assert all(r["means"][u] for u in ("runtime_developer", "architect", "production")), r
    print(r["key"], r["state"], r["value"], sep="\t")')
    [ -z "${UPDATE:-}" ] || printf '%s\n' "$got" >"$m/expected"
    diff <(printf '%s\n' "$got") "$m/expected" || { echo "$m differs"; bad=1; }
done

# This machine: whatever it is, the answers agree with what the kernel says when asked in another way.
live=$("$CYCLESCOPE" doctor --json)
state() { printf '%s' "$live" | python3 -c 'import json,sys
print([r["state"] for r in json.load(sys.stdin)["rows"] if r["key"] == sys.argv[1]][0])' "$1"; }
if [ -e /sys/kernel/btf/vmlinux ]; then [ "$(state btf)" = yes ]; else [ "$(state btf)" = limited ]; fi
if command -v perf >/dev/null && perf stat -x, -e cycles:u true 2>&1 | grep -q '^[0-9]'; then
    [ "$(state pmu)" = yes ] || [ "$(state pmu)" = limited ]
elif command -v perf >/dev/null; then
    [ "$(state pmu)" != yes ]
fi

# A record of this machine reads back as this machine.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$CYCLESCOPE" doctor --record "$tmp/m"
diff <("$CYCLESCOPE" doctor --csv | grep -v '^tsc,') <("$CYCLESCOPE" doctor --root "$tmp/m" --csv | grep -v '^tsc,')

# Nonsense: one sentence, usage error or failure.
! "$CYCLESCOPE" doctor --root /nowhere 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ]
rc=0; "$CYCLESCOPE" doctor surplus 2>"$tmp/err" || rc=$?
[ $rc = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ]
exit $bad
