#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bursts of a process with fewer rights than the profiler are refused with a sentence: it could gain them.
set -u
[ "$(id -u)" -eq 0 ] || { echo "needs root: a process of another user"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
spin='while true do end'
nobody=(setpriv --reuid=65534 --clear-groups)

# 1. By PID: a sentence, exit 1.
for fewer in "${nobody[*]}" "setpriv --bounding-set=-sys_admin --inh-caps=-all" "unshare --user --map-root-user"; do
    $fewer lua5.4 -e "$spin" &
    target=$!
    sleep 0.3
    timeout 20 "$CYCLESCOPE" record --bursts --seconds 1 -o "$work/store" -p $target >/dev/null 2>"$work/err"
    status=$?
    kill $target
    wait $target 2>/dev/null
    [ $status -eq 1 ] || not_ok "$fewer: exit $status: $(cat "$work/err")"
    grep -qE 'bursts (follow only|of it)' "$work/err" || not_ok "$fewer: no sentence: $(cat "$work/err")"
done

# 2. A command that gives its rights up before it becomes the program, and one that does while it runs.
none() { # file: no burst but of the time before, and the cause said
    grep -q 'triggers without a burst: the process has other rights than the profiler' "$1" || not_ok "no cause: $(cat "$1")"
}
"$CYCLESCOPE" record --burst-rate 300 -o "$work/setpriv" -- "${nobody[@]}" \
    lua5.4 -e 'local t = os.clock() while os.clock() < t + 2 do end' >/dev/null 2>"$work/err" || not_ok "record: $(cat "$work/err")"
grep -q '^0 bursts' "$work/err" || not_ok "bursts of another user's process: $(cat "$work/err")"
none "$work/err"
"$CYCLESCOPE" record --burst-rate 300 -o "$work/late" -- perl -e '
    sub spin { my $until = times() + shift; while (times() < $until) { my $n = 0; $n += $_ for 1 .. 200000 } }
    spin(1); $( = $) = 65534; $< = $> = 65534; $> == 65534 or die; spin(2)' >/dev/null 2>"$work/err" || not_ok "record: $(cat "$work/err")"
none "$work/err"

# 3. The same user's are followed as ever.
"$CYCLESCOPE" record --burst-rate 300 -o "$work/own" -- lua5.4 -e 'local t = os.clock() while os.clock() < t + 2 do end' >/dev/null 2>"$work/err"
grep -qE '^[1-9][0-9]* bursts' "$work/err" || { grep -q 'no bursts:' "$work/err" || not_ok "no bursts of one's own: $(cat "$work/err")"; }

[ $bad -eq 0 ] && echo "ok: bursts are of processes with the profiler's own rights alone"
exit $bad
