#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CPUs that come online later are sampled, and those that went and came back between two looks: by both drivers, by the
# daemon, and by a recording of one command. It takes a CPU offline, so it runs where CS_HOTPLUG=1 says that it may.
set -u
. "$(dirname "$0")/../until.sh"
[ -n "${CS_HOTPLUG:-}" ] || { echo "takes a CPU offline: set CS_HOTPLUG=1 where that harms nobody"; exit 77; }
switch=$(ls -v /sys/devices/system/cpu/cpu*/online 2>/dev/null | tail -n 1)
[ -w "${switch:-/nowhere}" ] && [ "$(cat "$switch")" = 1 ] || { echo "no CPU here can be taken offline"; exit 77; }
cpu=${switch%/online} cpu=${cpu##*cpu}
[ "$cpu" != 0 ] || { echo "one CPU"; exit 77; }
work=$(mktemp -d)
recorders=() bad=0
trap 'echo 1 >"$switch" 2>/dev/null; kill "${recorders[@]}" $(jobs -pr) 2>/dev/null; d stop >/dev/null 2>&1; rm -rf "$work"' EXIT
not_ok() {
    echo "not ok: $*"
    bad=1
}
d() { local verb=$1; shift; "$CYCLESCOPE" daemon "$verb" --socket "$work/run/control" "$@"; }
for name in came bounced below; do # each an image of its own
    echo 'const char name[] = "'$name'"; // or they have one build-id
#include <time.h>
int main(void) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
do { for (volatile int i = 0; i < 1000000; i++) {} clock_gettime(CLOCK_MONOTONIC, &b); } while (b.tv_sec - a.tv_sec < 3 || b.tv_nsec < a.tv_nsec); }' |
        ${CC:-cc} -x c -O1 -o "$work/$name" - || exit 1
done
hz=500 least=$((3 * 500 * 55 / 100)) # three seconds; it may take one until the CPU is seen

echo 0 >"$switch" || { echo "CPU $cpu can't be taken offline"; exit 77; }
for driver in bpf ring; do
    "$CYCLESCOPE" record -a --no-bursts --driver $driver -F $hz -o "$work/$driver" >"$work/$driver.out" 2>&1 &
    recorders+=($!)
done
"$CYCLESCOPE" record --burst-rate 200 -F $hz -o "$work/command" -- bash -c "until_true test -e '$work/go'; taskset -c $cpu '$work/below'" >"$work/command.out" 2>&1 &
recorders+=($!)
d start -o "$work/daemon" -F $hz --bursts on >"$work/daemon.out" 2>&1 || { cat "$work/daemon.out"; not_ok "no daemon"; }
sleep 1.5 # sleeps: nothing tells when recorders sample all that they may
echo 1 >"$switch"
touch "$work/go"
taskset -c "$cpu" "$work/came"
echo 0 >"$switch"
echo 1 >"$switch"
taskset -c "$cpu" "$work/bounced"
wait "${recorders[2]}"
kill -INT "${recorders[@]:0:2}"
wait
d stop >/dev/null
of() { # STORE IMAGE
    "$CYCLESCOPE" prof -o "$work/$1" --by image -n 0 --json 2>/dev/null |
        python3 -c 'import json, sys; print(sum(sum(r["samples"].values()) for r in json.load(sys.stdin)["rows"] if r["image_name"] == sys.argv[1]))' "$2"
}
seen() { # STORE IMAGE LEAST
    local n
    n=$(of "$1" "$2")
    echo "# $1: $n samples of $2"
    [ "${n:-0}" -ge "$3" ] || not_ok "$1: $n samples of $2, expected $3: $(cat "$work/$1.out")"
}
for store in bpf ring daemon; do
    seen $store came $((least / 2)) # it shares its CPU with the command
    seen $store bounced $least
done
seen command below $((least / 2))
[ "$(cat "$switch")" = 1 ] || not_ok "CPU $cpu stayed offline"
[ $bad = 0 ] && echo "ok: a CPU that came online, and one that went and came back, are sampled"
exit $bad
