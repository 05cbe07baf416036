#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs with fewer rights than the profiler are followed by bursts, and who repeats their code has the program's user, or
# nobody; a program that changes its user is followed on by one that has the new one.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root: a process of another user"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
spin='while true do end'
other=(setpriv --reuid=65533 --regid=65533 --clear-groups)
bursts() { grep -qE '^[1-9][0-9,]* bursts?' "$1"; }
# Users of the processes that repeat code, of the recorder with this PID.
users() {
    local holders
    holders=$(pgrep -P "$1" -x cyclescope-burs | paste -sd,)
    [ -z "$holders" ] || pgrep -P "$holders" | sed 's,.*,/proc/&/status,' | xargs cat 2>/dev/null | awk '$1 == "Uid:" { users = $2 " " $3 " " $4 " " $5 } $1 == "Seccomp:" && $2 == 2 { print users } # not those that begin'
}
watch() { # pid file: writes down whom it sees while the recorder lives
    while kill -0 "$1" 2>/dev/null; do
        users "$1" >>"$2"
        sleep 0.05 # sleeps: between two looks
    done
}

spins_or_ended() { has_run $target || has_ended $target; }

# 1. By PID.
for fewer in "${other[*]}" "setpriv --bounding-set=-sys_admin --inh-caps=-all" "unshare --user --map-root-user"; do
    $fewer lua5.4 -e "$spin" 2>"$work/why" &
    target=$!
    until_true spins_or_ended
    has_run $target || { echo "not possible here: $fewer: $(cat "$work/why")"; continue; }
    : >"$work/seen"
    timeout 60 "$CYCLESCOPE" record -v --burst-rate 300 --seconds 2 -o "$work/store" -p $target >/dev/null 2>"$work/err" &
    recorder=$!
    until_true -t 5 pgrep -P $recorder -x cyclescope >"$work/recorder"
    watch "$(cat "$work/recorder")" "$work/seen"
    wait $recorder || not_ok "$fewer: exit $?: $(cat "$work/err")"
    kill $target
    wait $target 2>/dev/null
    bursts "$work/err" || not_ok "$fewer: no bursts: $(cat "$work/err")"
    user=$(sort -u "$work/seen")
    if [[ $fewer == *65533* ]]; then
        [ "$user" = "65533 65533 65533 65533" ]
    else # one that has nothing else; by one process or by one after the other
        [ -n "$user" ] && ! grep -qvE '^(21474[1-8][0-9]{4}) \1 \1 \1$' "$work/seen"
    fi || not_ok "$fewer: repeated by $user"
done

# 2. One that changes its user while it runs.
: >"$work/seen"
"$CYCLESCOPE" record -v --burst-rate 300 -o "$work/late" -- perl -e '
    sub spin { my $until = times() + shift; while (times() < $until) { my $n = 0; $n += $_ for 1 .. 200000 } }
    spin(1.5); $( = $) = 65533; $< = $> = 65533; $> == 65533 or die; spin(3)' >/dev/null 2>"$work/err" &
recorder=$!
watch $recorder "$work/seen"
wait $recorder || not_ok "record: $(cat "$work/err")"
grep -q '^65533 65533 65533 65533$' "$work/seen" || not_ok "after the change: repeated by $(sort -u "$work/seen")"
grep -q '^0 ' "$work/seen" && not_ok "by root: $(sort "$work/seen" | uniq -c)"

# 3. A profiler that has fewer rights itself: root that can't change its user, and somebody.
lua='local t = os.clock() while os.clock() < t + 2 do end'
setpriv --bounding-set=-setuid,-setgid,-kill,-sys_nice --inh-caps=-all "$CYCLESCOPE" record -v --burst-rate 300 -o "$work/cut" \
    -- lua5.4 -e "$lua" >/dev/null 2>"$work/err"
bursts "$work/err" || not_ok "without CAP_SETUID: no bursts: $(cat "$work/err")"
mkdir -m 777 "$work/somebody"
"${other[@]}" "$CYCLESCOPE" record -v --burst-rate 300 -o "$work/somebody/store" -- lua5.4 -e "$lua" >/dev/null 2>"$work/err"
bursts "$work/err" || grep -q 'no bursts:\|perf_event_paranoid\|Permission' "$work/err" || not_ok "somebody: no bursts: $(cat "$work/err")"


# 4. Capabilities that trace everybody, but not root: the thread couldn't be stopped, so it isn't tried.
capabilities=+perfmon,+bpf,+sys_ptrace,+dac_read_search,+syslog
"${other[@]}" lua5.4 -e "$spin" &
target=$!
setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=$capabilities --ambient-caps=$capabilities "$CYCLESCOPE" \
    record -v --burst-rate 300 --seconds 1 -o "$work/somebody/service" -p $target >/dev/null 2>"$work/err"
kill $target
wait $target 2>/dev/null
grep -q "skipped: the program belongs to another user" "$work/err" || grep -q 'no bursts:\|perf_event_paranoid\|Permission\|setpriv' "$work/err" ||
    not_ok "a service: $(cat "$work/err")"

# 5. A set-uid program keeps its rights: each of these works for long enough to have bursts, then becomes one.
if command -v perl >/dev/null && [ -z "$(findmnt -nT "$work" -o OPTIONS | grep nosuid)" ]; then
    printf '#include <unistd.h>\nint main(void) { return geteuid() != 0; }\n' >"$work/rights.c"
    gcc -O1 -o "$work/rights" "$work/rights.c" && chmod 4755 "$work/rights"
    "$CYCLESCOPE" record -v --burst-rate 1000 -o "$work/set-uid" -- "${other[@]}" perl -e 'my $lost = 0;
        for (1 .. 3) { my @pids = map { my $pid = fork(); if (!$pid) {
                my $n = 0; while ((times)[0] < 0.6) { $n += $_ for 1 .. 1000 } exec $ARGV[0]; exit 9; } $pid } 1 .. 4;
            for (@pids) { waitpid($_, 0); $lost += $? != 0 } }
        print "lost: $lost\n"' "$work/rights" >"$work/out" 2>"$work/err"
    bursts "$work/err" || not_ok "set-uid: no bursts: $(cat "$work/err")"
    grep -q '^lost: 0$' "$work/out" || not_ok "set-uid programs lost their rights: $(cat "$work/out")"
fi

[ $bad -eq 0 ] && echo "ok: bursts of programs with other rights are repeated with none"
exit $bad
