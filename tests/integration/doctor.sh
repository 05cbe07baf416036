#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor on recorded machines (tests/machines/*): each row's state and value stand in the machine's file "expected".
# UPDATE=1 writes them anew (then read the difference).
# Beside others.
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

# Each block is told: really taken away where that can be done in a namespace, else by a made-up machine.
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
told() { # KEY STATE WORDS-OF-THE-REMEDY < JSON
    python3 -c 'import json,sys
key, state, words = sys.argv[1:]
r = [r for r in json.load(sys.stdin)["rows"] if r["key"] == key][0]
assert r["state"] == state and words in (r["enable"] or ""), (r["key"], r["state"], r["value"], r["enable"])
print(r["key"], r["state"], r["value"], r["enable"], sep=" | ")' "$@"
}
"$BUILD/tests/programs/without_rights" docker "$CYCLESCOPE" doctor --json | told seccomp limited "--security-opt seccomp=unconfined"
"$BUILD/tests/programs/without_rights" docker "$CYCLESCOPE" doctor --json | told permission no "perf_event_open"
"$BUILD/tests/programs/without_rights" bpf "$CYCLESCOPE" doctor --json | told seccomp limited "bpf"
"$CYCLESCOPE" doctor --json | told seccomp yes ""
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc; exec "$0" doctor --json' "$CYCLESCOPE" | told processes limited "remount,hidepid=0 /proc"
    unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf 2>/dev/null || mount -t tmpfs none /sys/kernel; exec "$0" doctor --json' "$CYCLESCOPE" | told btf limited CONFIG_DEBUG_INFO_BTF
    unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup; exec "$0" doctor --json' "$CYCLESCOPE" | told cgroups limited systemd.unified_cgroup_hierarchy=1
fi
made_up() { # FILE TEXT KEY STATE REMEDY
    mkdir -p "$blocks/m/$(dirname "$1")"
    printf '%s\n' "$2" >"$blocks/m/$1"
    HWLOC_SYNTHETIC="core:2 pu:1" "$CYCLESCOPE" doctor --root "$blocks/m" --json | told "$3" "$4" "$5"
}
made_up proc/sys/kernel/yama/ptrace_scope 1 ptrace limited "sysctl kernel.yama.ptrace_scope=0"
made_up proc/sys/kernel/yama/ptrace_scope 3 ptrace no "reboot"
made_up proc/sys/kernel/yama/ptrace_scope 0 ptrace yes ""
made_up sys/kernel/security/lockdown "none integrity [confidentiality]" lockdown limited "lockdown=integrity"
made_up sys/kernel/security/lockdown "none [integrity] confidentiality" lockdown yes ""
made_up proc/self/mounts "proc /proc proc rw,hidepid=invisible 0 0" processes limited "remount,hidepid=0"
made_up proc/sys/kernel/perf_event_paranoid 4 permission no "perf_event_paranoid"

# A record of this machine reads back as this machine.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" "$blocks"' EXIT
"$CYCLESCOPE" doctor --record "$tmp/m"
diff <("$CYCLESCOPE" doctor --csv | grep -v '^tsc,') <("$CYCLESCOPE" doctor --root "$tmp/m" --csv | grep -v '^tsc,')

# Events that can be counted anywhere, with their meaning; a pattern chooses; none is a sentence.
"$CYCLESCOPE" doctor --events --json | python3 -c '
import json, sys
events = {e["event"]: e["meaning"] for e in json.load(sys.stdin)["events"]}
assert "CPU" in events["task-clock"] and "page-faults" in events and all(events.values()), events'
"$CYCLESCOPE" doctor --events FAULT --csv | awk -F, 'NR > 1 && !/fault/ {exit 1} END {exit NR < 3}'
! "$CYCLESCOPE" doctor --events no-such-event 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ]

# Nonsense: one sentence, usage error or failure.
! "$CYCLESCOPE" doctor --root /nowhere 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ]
rc=0; "$CYCLESCOPE" doctor surplus 2>"$tmp/err" || rc=$?
[ $rc = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ]
exit $bad
