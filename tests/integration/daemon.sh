#!/bin/bash
# The daemon from start to stop, and what it does when the disk is full, read-only, or the store is removed, when it
# is killed, told to read its configuration again, and when the wall clock steps back.
set -eu
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root to sample the whole machine"; exit 77; }
if [ -z "${IN_NAMESPACE:-}" ]; then # mounts stay our own
    unshare -m true 2>/dev/null && IN_NAMESPACE=1 exec unshare -m "$0" "$@"
fi
place=$(mktemp -d -p /dev/shm)
burners=
finish() {
    kill $burners 2>/dev/null || true
    "$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null 2>&1 || true
    umount "$place/small" 2>/dev/null || true
    rm -rf "$place"
}
trap finish EXIT
fail() { echo "FAILED: $*"; exit 1; }
bound=${CS_SANITIZED:+1000} # MB
bound=${bound:-64} # with call chains; bench daemon-soak has the figure without
d() {
    local verb=$1; shift
    [ "$verb" != start ] || set -- "$@" --memory "${bound}M"
    "$CYCLESCOPE" daemon "$verb" --socket "$place/run/control" "$@"
}
status() { d status --json | python3 -c 'import json,sys; s=json.load(sys.stdin); print(eval(sys.argv[1], dict(s)))' "$1"; }
stored() { "$CYCLESCOPE" store ls "$1" --json | python3 -c 'import json,sys; print(sum(p["sum"] for p in json.load(sys.stdin)["profiles"] if p["kind"] in ("points", "stacks")))'; }
is() { [ "$(status "$1")" = True ]; }
until_is() { until_true -t 20 is "$1" || fail "never became true: $1; $(d status)"; } # EXPRESSION of status
counter() { python3 - "$1" "$2" <<'P'
import os, sys
sys.path.insert(0, os.path.join(os.environ["TESTS"]))
import store_reader
total = 0
for epoch in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], epoch, "epoch.counters")
    if os.path.exists(path):
        total += sum(r["sum"] for r in store_reader.read(open(path, "rb").read())["rows"] if r["name"].decode() == sys.argv[2])
print(total)
P
}
TESTS=$(cd "$(dirname "$0")/.." && pwd)
export TESTS
(while :; do :; done) & burners=$!

# --- the ordinary life ---
s=$place/ordinary
d start -o "$s" -F 500 --merge-interval 1h
d start -o "$s" 2>"$place/words" && fail "two daemons on one socket"
grep -q "runs already" "$place/words" || fail "the second start said: $(cat "$place/words")"
[ "$(stat -c %a "$place/run/control")" = 600 ] && [ "$(stat -c %a "$place/run")" = 700 ] || fail "the socket is open to others"
until_is 'samples > 200'
[ "$(status interval_ms)" -eq 60000 ] || fail "by default intervals of $(status interval_ms) ms"
[ "$(status 'merged == 0 and merges == 0')" = True ] || fail "merged before it was due"
d flush >/dev/null
[ "$(status 'merged > 0 and merges == 1')" = True ] || fail "flush did not merge"
d epoch >/dev/null
samples=$(status samples)
until_is "samples > $samples + 100"
[ "$(status "memory_bytes < ${bound}e6 and memory_peak_bytes < ${bound}e6")" = True ] || fail "over $bound MB: $(d status)"
d stop >/dev/null
"$CYCLESCOPE" store verify "$s"
[ "$(find "$s" -name epoch.meta | wc -l)" -eq 2 ] || fail "expected two epochs"
samples=$(counter "$s" samples)
[ "$samples" -eq "$(stored "$s")" ] || fail "counted $samples, stored $(stored "$s")"
d status 2>"$place/words" && fail "status of a daemon that is gone"
grep -q "no daemon runs" "$place/words"
echo "ordinary life: $samples samples delivered, all of them stored"

# --- killed, at random moments; a merge every 100 ms ---
s=$place/killed
for ((k = 0; k < ${CS_KILLS:-5}; k++)); do
    d start -o "$s" -F 1000 --merge-interval 100ms >/dev/null
    sleep "0.$((RANDOM % 9))$((RANDOM % 10))" # sleeps: killed at any moment
    pid=$(status pid)
    kill -9 "$pid"
    until_true has_ended "$pid"
    "$CYCLESCOPE" store verify "$s" >/dev/null || fail "damage after a kill"
done
echo "killed ${CS_KILLS:-5} times: the store is whole, $(stored "$s") samples in it"

# --- kept from the CPU while tens of thousands of notices come: what runs on is placed afterwards ---
s=$place/stopped
d start -o "$s" -F 500 >/dev/null
until_is 'samples > 100'
daemon=$(status pid)
kill -STOP "$daemon"
"$BUILD/tests/programs/sampler_target" forks 25000
"$BUILD/tests/programs/sampler_target" spin 60 & burners="$burners $!"
spinner=$!
until_true has_run $spinner 25
kill -CONT "$daemon"
samples=$(status samples)
until_is "samples > $samples + 1000"
kill $spinner
d stop >/dev/null
n=$("$CYCLESCOPE" prof --store "$s" --top 0 --json | python3 -c '
import json, sys
print(sum(sum(r["samples"].values()) for r in json.load(sys.stdin)["rows"] if r["procedure"].startswith("spin_here")))')
[ "$n" -gt 30 ] || fail "after lost notices $n samples of a program that spins"
[ "$(counter "$s" samples)" -eq "$(stored "$s")" ] || fail "counted $(counter "$s" samples), stored $(stored "$s")"
echo "stopped for a while: $n samples of what ran on, $(counter "$s" unknown) unknown"

# --- the store removed under it; the configuration read again ---
s=$place/removed
printf 'store = %s\nfrequency = 500\nmerge-interval = 1h\nlog = %s\n' "$s" "$place/log" >"$place/conf"
d start --config "$place/conf" >/dev/null
until_is 'samples > 200'
rm -rf "$s"
d flush >/dev/null || fail "flush after the store was removed"
[ "$(stored "$s")" -gt 100 ] || fail "samples were lost with the store"
grep -q "a new epoch was begun" "$place/log" || fail "not a word in the log"
sed -i "s/1h/300ms/" "$place/conf"
mv "$place/log" "$place/log.1"
kill -HUP "$(status pid)"
# When a signal is taken is the daemon's affair: the log tells it.
said() { until_true -t 30 has_line "$1" "$place/log"; }
said "read again" || fail "the log was not opened anew"
merges=$(status merges)
until_is "merges > $merges + 2"
echo "nonsense" >>"$place/conf"
kill -HUP "$(status pid)"
said "was not changed.*line 5" || fail "a wrong configuration was not reported"
d stop >/dev/null
"$CYCLESCOPE" store verify "$s"

# --- the disk full, then read-only ---
mkdir "$place/small"
if mount -t tmpfs -o size=8m none "$place/small" 2>/dev/null; then
    s=$place/small/store
    d start -o "$s" -F 500 --merge-interval 200ms --remarks "$place/full.log" >/dev/null
    until_is 'merged > 0'
    cat /dev/zero >"$place/small/filler" 2>/dev/null || true
    until_is 'merge_failures > 1 and pending > 0'
    "$CYCLESCOPE" store verify "$s" || fail "damage on a full disk"
    grep -q "No space left" "$place/full.log" || fail "not a word about the full disk: $(cat "$place/full.log")"
    rm "$place/small/filler"
    until_is 'pending < 500 and merges > 3 and last_merge_age_s < 1.5'
    until_true -t 5 mount -o remount,ro "$place/small" 2>/dev/null || true # busy while a merge writes
    failures=$(status merge_failures)
    until_is "merge_failures > $failures and pending > 0"
    grep -q "Read-only" "$place/full.log" || fail "not a word about the read-only directory"
    mount -o remount,rw "$place/small"
    until_is 'last_merge_age_s < 1'
    lost=$(status lost)
    d stop >/dev/null
    "$CYCLESCOPE" store verify "$s"
    [ "$(counter "$s" samples)" -eq "$(stored "$s")" ] || fail "counted $(counter "$s" samples), stored $(stored "$s")"
    [ "$(grep -c "No space left" "$place/full.log")" -lt 20 ] || fail "the log was flooded"
    echo "full and read-only: nothing lost ($lost), $(stored "$s") samples stored"
    umount "$place/small"
else
    echo "no mounts here: full and read-only disks not tried"
fi

# --- profiles go to disk, counters don't, and just then the session starts again: its counters aren't forgotten ---
cat >"$place/counters.c" <<'C'
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
static int fails(const char *path) { return strstr(path, "epoch.counters.tmp") && access(SWITCH, F_OK) == 0; }
#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list args; \
        va_start(args, flags); \
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0; \
        va_end(args); \
        if (fails(path)) { errno = ENOSPC; return -1; } \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
C
gcc -D_GNU_SOURCE -shared -fPIC -O1 "-DSWITCH=\"$place/no-counters\"" -o "$place/counters.so" "$place/counters.c" -ldl
s=$place/owed
printf 'store = %s\nfrequency = 500\nmerge-interval = 200ms\nlog = %s\n' "$s" "$place/owed.log" >"$place/owed.conf"
first=${CS_SANITIZED:+$(gcc -print-file-name=libasan.so) } # it wants to come before any other
LD_PRELOAD=$first$place/counters.so d start --config "$place/owed.conf" >/dev/null
until_is 'merges > 0'
touch "$place/no-counters"
failures=$(status merge_failures)
until_is "merge_failures > $failures"
sed -i "s/frequency = 500/frequency = 400/" "$place/owed.conf"
kill -HUP "$(status pid)"
until_is 'sessions == 2'
[ "$(counter "$s" samples)" -lt "$(stored "$s")" ] || fail "the counters could be written: this test tests nothing"
rm "$place/no-counters"
merges=$(status merges)
until_is "merges > $merges + 1"
d stop >/dev/null
"$CYCLESCOPE" store verify "$s"
[ "$(counter "$s" samples)" -eq "$(stored "$s")" ] || fail "counted $(counter "$s" samples), stored $(stored "$s")"
echo "counters of a session that ended while they could not be written: written by the next"

# --- the wall clock steps back by a day ---
cat >"$place/clock.c" <<'C'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long shift(void) { return access(SWITCH, F_OK) == 0 ? -86400 : 0; }
time_t time(time_t *t) { struct timespec s; syscall(SYS_clock_gettime, CLOCK_REALTIME, &s); s.tv_sec += shift(); if (t) *t = s.tv_sec; return s.tv_sec; }
int clock_gettime(clockid_t c, struct timespec *s) { int rc = (int)syscall(SYS_clock_gettime, c, s); if (c == CLOCK_REALTIME) s->tv_sec += shift(); return rc; }
C
gcc -shared -fPIC -O1 "-DSWITCH=\"$place/back\"" -o "$place/clock.so" "$place/clock.c"
s=$place/clock
LD_PRELOAD=$first$place/clock.so d start -o "$s" -F 500 --merge-interval 200ms --intervals 1s --keep-age 1h >/dev/null
until_is 'merges > 1'
touch "$place/back"
merges=$(status merges)
until_is "merges > $merges + 3"
d epoch >/dev/null
d stop >/dev/null
"$CYCLESCOPE" store verify "$s"
[ "$(counter "$s" samples)" -eq "$(stored "$s")" ] || fail "counted $(counter "$s" samples), stored $(stored "$s")"
[ "$(find "$s" -name epoch.meta | wc -l)" -eq 2 ] || fail "an epoch went when the clock stepped back"
echo "the clock stepped back: merges went on, nothing was removed"
