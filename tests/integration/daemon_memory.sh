#!/bin/bash
# The daemon's bound of memory counts what is its own: not the libraries that it shares with others, nor cached tables, which a new
# session would map again (and again). What is its own stays below the bound, whatever a program names.
set -eu
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root to sample the whole machine"; exit 77; }
[ -z "${CS_SANITIZED:-}" ] || { echo "a sanitizer's memory is the daemon's own"; exit 77; }
work=$(mktemp -d)
bomb=
finish() {
    [ -z "$bomb" ] || kill "$bomb" 2>/dev/null || true
    "$CYCLESCOPE" daemon stop --socket "$work/run/control" >/dev/null 2>&1 || true
    rm -rf "$work" "/tmp/perf-$bomb.map"
}
trap finish EXIT
fail() { echo "not ok: $*"; exit 1; }
d() { "$CYCLESCOPE" daemon "$@" --socket "$work/run/control"; }
status() { d status --json | sed -n 's/^.*"'"$1"'": *\([0-9.]*\).*$/\1/p'; }

d start -o "$work/store" -F 500 --memory 25M --remarks "$work/log"
six_seconds_old() { [ "$(status uptime_s | cut -d. -f1)" -ge 6 ]; } # looked at once a second
until_true -t 20 six_seconds_old
[ "$(status memory_bytes)" -gt 25000000 ] || { echo "with all libraries it has less than 25 MB here"; exit 77; }
[ "$(status sessions)" = 1 ] || fail "its session started anew though little is its own: $(cat "$work/log")"

d stop >/dev/null
# The default bound. A busy machine's images and samples take 5 to 12 MB, and 5.5 MB more for the moment in which a session begins (the
# kernel's BTF, which libbpf reads). Names are a quarter of the bound, 8 MB; held without a bound, those of the program would be above it.
d start -o "$work/store" -F 500 --memory 32M --remarks "$work/log"
"$BUILD/tests/hostile/bombs" 60 map 64 >/dev/null &
bomb=$!
daemon=$(status pid)
peak=0
for _ in $(seq 40); do
    own=$(awk '/^Rss(Anon|Shmem):/ {n += $2} END {print n * 1024}' "/proc/$daemon/status")
    [ "$own" -le "$peak" ] || peak=$own
    [ "$own" -le 32000000 ] || fail "of 64 MB of names so many are held that $own bytes are its own, under a bound of 32 MB"
    sleep 0.3 # sleeps: between two looks
done
"$CYCLESCOPE" daemon status --socket "$work/run/control" >/dev/null || fail "it doesn't answer beside 64 MB of names"
echo "ok: at most $peak bytes; what is the daemon's own is bounded, and that alone"
