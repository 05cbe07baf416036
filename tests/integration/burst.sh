#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bursts of real programs: branches equal single-stepping; nobody notices; profilers and targets die at any moment.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
driver=$BUILD/tests/programs/burst_driver
notice=$BUILD/tests/programs/burst_notice
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }

"$driver" -n 1 -i 100 -s 3 -- lua5.4 -e 'while true do end' >"$work/first" 2>&1
if grep -qE 'no-event|denied|permitted' "$work/first"; then
    echo "skipped: bursts are not permitted here: $(tail -n 1 "$work/first")"
    exit 77
fi

# 1. The sequence of blocks is what the processor does, step by step.
seconds=$([ -n "${CS_QUICK-}" ] && echo 3 || echo 6)
head -c 400000 /dev/urandom | od -x >"$work/text"
echo 'local t = {} local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end
while true do for i = 1, 200 do t[i] = f(10) .. "x" t[i] = t[i]:upper():rep(3) end table.sort(t) end' >"$work/a.lua"
echo 'import json
while True:
    json.loads(json.dumps({str(i): [i, i / 3] for i in range(99)}))' >"$work/a.py"
exact() {
    local name=$1
    shift
    timeout 60 "$driver" -v -n 12 -i 1200 -s "$seconds" -- "$@" >"$work/out" 2>"$work/err" || not_ok "$name: the driver failed: $(cat "$work/err")"
    local line
    line=$(grep -a '^{"bursts"' "$work/out")
    echo "$line" >"$work/line"
    if [ "$(field bursts "$work/line")" -lt 3 ]; then
        not_ok "$name: too few bursts: $line"
    elif [ "$(field differed "$work/line")" != 0 ]; then
        not_ok "$name: differs from single-stepping: $(cat "$work/err")"
    fi
}
exact lua lua5.4 "$work/a.lua"
exact python /usr/bin/python3 "$work/a.py"
exact xz sh -c "exec xz -9 -T1 -c $work/text $work/text $work/text $work/text >/dev/null"
exact sqlite sqlite3 :memory: "with recursive c(x) as (select 1 union all select x+1 from c where x<100000000) select count(*), sum(length(printf('%d-%s',x,hex(x)))) from c where x like '%77%' group by x%10;"

# 2. A program that looks for us does not find us, in any try. How many bursts there are is luck: on a machine so busy that the
# runner itself waits long for a CPU, moments are given up for the program's sake. Only for want of bursts it is tried again.
bursts_of() { sed -n 's/,//g; s/^\([0-9]*\) bursts.*/\1/p' "$1"; }
for try in 1 2 3; do
    rm -rf "$work/store"
    timeout -s INT 60 "$CYCLESCOPE" record -v --burst-rate 150 -o "$work/store" -- "$notice" $((seconds - 1)) >"$work/out" 2>"$work/err"
    grep -q '^unnoticed' "$work/out" || not_ok "noticed: $(cat "$work/out" "$work/err")"
    bursts=$(bursts_of "$work/err")
    [ "${bursts:-0}" -ge 10 ] && break
    [ $try -lt 3 ] || not_ok "only ${bursts:-no} bursts: $(cat "$work/err")"
done
"$CYCLESCOPE" store verify "$work/store" >/dev/null || not_ok "the store is damaged"
"$CYCLESCOPE" store ls "$work/store" | grep -q burst-edges || not_ok "no edges in the store"

# No system call of anybody's ends early (but for a signal that comes in the microseconds in which a thread that slept for 20 ms is let
# go: not seen in 60 s of this): not of threads that work and wait, not while signals come that they ignore, not
# where there is no signal that they would ignore (then nobody is followed).
for how in "" ignores to-all deaf handles; do
    rm -rf "$work/calls"
    timeout -s INT 60 "$CYCLESCOPE" record -v --burst-rate 1000 -o "$work/calls" -- "$BUILD/tests/programs/uninterrupted" $((seconds / 3 + 1)) $how \
        >"$work/out" 2>"$work/err"
    grep -q '^uninterrupted' "$work/out" || not_ok "calls, $how: $(cat "$work/out" "$work/err")"
    bursts=$(bursts_of "$work/err")
    case $how in
    ignores | to-all) ;; # most are seen in a system call and let go
    deaf | handles) [ "${bursts:-0}" = 0 ] || not_ok "calls, $how: $bursts bursts" ;;
    *) [ "${bursts:-0}" -ge 5 ] || not_ok "calls, $how: only ${bursts:-no} bursts: $(cat "$work/err")" ;;
    esac
done

# Nor one that may make no system call any more, nor return from a signal: whatever was done in its name would kill it.
for how in strict filter; do
    for try in 1 2 3; do
        timeout -s INT 60 "$CYCLESCOPE" record -v --burst-rate 300 -o "$work/shut" -- "$notice" $how 1 >"$work/out" 2>"$work/err"
        status=$?
        if grep -q 'exit code 77' "$work/err"; then
            echo "no seccomp mode \"$how\" on this machine"
            break
        elif [ $status = 124 ]; then
            echo "seccomp $how: the program came to no end on this busy machine"
            break
        fi
        grep -q '^unnoticed' "$work/out" || not_ok "seccomp $how, status $status: $(cat "$work/out" "$work/err")"
        bursts=$(bursts_of "$work/err")
        [ "${bursts:-0}" -ge 3 ] && break
        [ $try -lt 3 ] || not_ok "seccomp $how: only ${bursts:-no} bursts: $(cat "$work/err")"
    done
done

# 3. Profilers that are killed at any moment leave it unharmed.
"$notice" $((seconds + 1)) >"$work/out" 2>&1 &
target=$!
for _ in 1 2 3 4 5 6; do
    "$CYCLESCOPE" record --burst-rate 500 -o "$work/store" -p $target >/dev/null 2>&1 &
    profiler=$!
    sleep 0.$((RANDOM % 5 + 4)) # sleeps: killed at any moment
    kill -9 $profiler
    wait $profiler 2>/dev/null
done
wait $target || not_ok "the target noticed that profilers were killed: $(cat "$work/out")"
grep -q '^unnoticed' "$work/out" || not_ok "noticed: $(cat "$work/out")"

# 4. Targets that end, exec or are killed at any moment leave no runner and no error.
for i in 1 2 3; do
    timeout -s INT 20 "$CYCLESCOPE" record -v --burst-rate 500 -o "$work/store" -- sh -c "lua5.4 -e 'local t = os.clock() while os.clock() < t + 0.4 do end'; echo \$\$ >$work/pid; exec lua5.4 -e 'while true do end'" >/dev/null 2>"$work/err" &
    profiler=$!
    rm -f "$work/pid"
    until_true test -s "$work/pid"
    sleep 0.$((i * 2)) # sleeps: killed at any moment
    kill -9 "$(cat "$work/pid")" || not_ok "the target was not there: $(cat "$work/err")"
    wait $profiler # with the target's own end: 137
    [ $? -eq 137 ] || not_ok "record failed after its target was killed: $(cat "$work/err")"
done
none_left() { ! pgrep -P 1 -x cyclescope-burs >"$work/left"; }
until_true -t 2 none_left || not_ok "a runner was left: $(cat "$work/left")"
[ $bad = 0 ] && echo ok
exit $bad
