#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What still works where a container, a filter of system calls or a mount takes something away, found by taking it away: rows of
# docs/rights.md must be what this machine shows (capabilities one by one: rights.sh). `tests/integration/blocks.sh --write`
# prints the whole table (minutes; CS_ROWS: a pattern of those wanted); else two of its rows are tried anew.
set -eu
: "${BUILD:=$(realpath build)}" "${CYCLESCOPE:=$BUILD/cyclescope}"
[ "$(id -u)" -eq 0 ] || { echo "needs root, to have rights to take away"; exit 77; }
level=$(cat /proc/sys/kernel/perf_event_paranoid)
work=$(mktemp -d)
spin=
clean() {
    [ -z "$spin" ] || kill "$spin" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp HOME=$work/tmp CYCLESCOPE_CACHE=$work/tmp/cache
cp "$CYCLESCOPE" "$BUILD/signals/examples/phases" "$BUILD/tests/programs/sampler_target" "$BUILD/tests/programs/without_rights" "$work/"
chmod -R a+rX "$work"

# ---- the features: each prints one short verdict ----
verdict() { # of a record: its JSON and its remarks
    python3 - "$1" "$2" <<'PY'
import json, sys
try:
    d = json.load(open(sys.argv[1]))
except Exception:
    print("no")
    sys.exit()
said = open(sys.argv[2]).read()
if not d["delivered"]:
    print("no samples")
else:
    print({"bpf": "yes", "ring": "rings"}.get(d["driver"], d["driver"]) + (", user code" if d["driver"] == "ring" and "user code only" in said else ""))
PY
}
feature() { # NAME RUNNER...
    local name=$1 store
    shift
    store=$(mktemp -u -p "$work/tmp")
    case $name in
    command) "$@" "$work/cyclescope" record --json --no-bursts --no-paths -o "$store" -- "$work/sampler_target" spin 0.5 ;;
    process)
        # one of the same user, so that only the profiler's rights are asked
        "$@" sh -c '"$0/sampler_target" spin 3 >/dev/null 2>&1 & p=$!; while grep -qsx sh "/proc/$p/comm"; do :; done; "$0/cyclescope" record --json --no-bursts --no-paths --seconds 1 -o "$1" -p $p; rc=$?; kill $p; exit $rc' "$work" "$store" ;;
    other)
        "$work/sampler_target" spin 4 >/dev/null 2>&1 &
        spin=$!
        "$@" "$work/cyclescope" record --json --no-bursts --no-paths --seconds 1 -o "$store" -p $spin ;;
    machine) "$@" "$work/cyclescope" record --json --no-bursts --no-paths --seconds 1 -o "$store" -a ;;
    bursts) "$@" "$work/cyclescope" record -v --burst-rate 100 -o "$store" -- "$work/sampler_target" spin 1 ;;
    observe) "$@" "$work/cyclescope" observe -t 1 -s phase -- "$work/phases" ;;
    esac >"$work/out" 2>"$work/err" </dev/null && rc=0 || rc=$?
    [ -z "$spin" ] || { kill "$spin" 2>/dev/null; wait "$spin" 2>/dev/null; spin=; } || true
    case $name in
    bursts) if [ $rc -eq 0 ] && grep -qE '^[1-9][0-9,]* bursts?' "$work/err"; then echo yes; else echo no; fi ;;
    observe) if [ $rc -eq 0 ] && grep -q chase "$work/out"; then echo yes; else echo no; fi ;;
    *) if [ $rc -eq 0 ]; then verdict "$work/out" "$work/err"; else echo no; fi ;;
    esac
}

# ---- who runs it ----
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
caps() { echo "$user --inh-caps=-all$(printf ',+%s' "$@") --ambient-caps=-all$(printf ',+%s' "$@")"; }
row() { # HEAD RUNNER...
    local head=$1 line cell
    shift
    [[ $head =~ ${CS_ROWS:-.} ]] || return 0
    line="| $head |"
    for f in command process other machine bursts observe; do
        # On a machine that is busy the target may not have run at all: three tries, for want of samples.
        for _ in 1 2 3; do
            cell=$(feature "$f" "$@")
            case $cell in no*) ;; *) break ;; esac
        done
        line="$line $cell |"
    done
    echo "$line"
}
five="perfmon bpf sys_ptrace dac_read_search syslog"
rows() {
    echo "| who | \`record -- COMMAND\` | \`-p\` of one's own | \`-p\` of another user's | \`record -a\` | bursts | \`observe\` of signals |"
    echo "|---|---|---|---|---|---|---|"
    # shellcheck disable=SC2046,SC2086
    {
        $all row "root" env
        $all row "root, bpf refused by seccomp" "$work/without_rights" bpf
        $all row "root, ptrace refused by seccomp" "$work/without_rights" ptrace
        $all row "root, no BTF" unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf 2>/dev/null || mount -t tmpfs none /sys/kernel; exec "$@"' sh
        $all row "root, no tracefs, no debugfs" unshare -m sh -c 'umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; exec "$@"' sh
        $all row "user with PERFMON, BPF, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG" $(caps $five)
        row "user without capabilities" $user
        $all row "... others' processes hidden (hidepid=2)" unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc; exec "$@"' sh $user
        $all row "... root of a user namespace of its own" $user unshare -U -r
        $all row "... ptrace refused by seccomp" $user "$work/without_rights" ptrace
        $all row "... perf_event_open refused by seccomp" $user "$work/without_rights" perf_event_open
        row "... docker's default seccomp profile" $user --no-new-privs "$work/without_rights" docker
        $all row "... that profile without ptrace" $user --no-new-privs "$work/without_rights" bpf,perf_event_open,ptrace,process_vm_readv
    }
}
all=:
[ "${1:-}" != --write ] || all= # the others are left out
rows | tee "$work/table"
[ "${1:-}" != --write ] || exit 0
[ "$(nproc)" -gt 1 ] || { echo "one CPU: observe can't be judged"; exit 77; }
[ "$level" = 2 ] || { echo "perf_event_paranoid is $level; the table of docs/rights.md is for 2"; exit 77; }
wrong=0
while IFS= read -r line; do
    grep -qxF "$line" docs/rights.md || { echo "not in docs/rights.md: $line"; wrong=1; }
done <"$work/table"
exit $wrong
