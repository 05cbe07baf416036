#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A daemon with keep-code: a program that is removed while it is profiled has its names afterwards, a large one takes no more of the
# daemon's memory, and what is kept stays within its bound. Without the setting nothing is kept.
set -u
[ "$(id -u)" = 0 ] || { echo "needs root to sample the whole machine"; exit 77; }
work=$(mktemp -d)
daemon() { "$CYCLESCOPE" daemon "$1" --socket "$work/run/control" "${@:2}"; }
trap 'kill "${spins:-}" 2>/dev/null; daemon stop >/dev/null 2>&1; rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }
unset DEBUGINFOD_URLS
cat >"$work/program.c" <<'C'
static volatile unsigned sink;
__attribute__((used)) static const char round_of[] = ROUND; /* so that each has a build-id of its own */
__attribute__((noinline)) static void removed_long_ago(void) { for (;;) sink++; }
int main(void) { removed_long_ago(); }
C
round() { # NAME SETTING...
    gcc -O1 -g -Wl,--build-id=sha1 -DROUND="\"$1\"" "$work/program.c" -o "$work/program" || exit 1
    head -c 120M /dev/urandom >>"$work/program"
    echo "driver = auto" >"$work/conf"
    printf '%s\n' "${@:2}" >>"$work/conf"
    daemon start --config "$work/conf" -o "$work/$1" -F 200 --merge-interval 1h >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    pid=$(daemon status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["pid"])')
    "$work/program" &
    spins=$!
    sleep 2 # sleeps: the daemon looks at it once and again
    rm "$work/program"
    sleep 1 # sleeps: and samples what is gone
    daemon flush >/dev/null || fail "flush"
    kill $spins
    peak=$(awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$pid/status")
    daemon stop >/dev/null
    "$CYCLESCOPE" prof --store "$work/$1" >"$work/table" 2>&1
}
round kept "keep-code = 200M"
grep -q removed_long_ago "$work/table" || { cat "$work/table" "$work/log"; ls -la "$work/kept/.images"; fail "no names"; }
[ "$(du -sm "$work/kept/.images" | cut -f1)" -le 210 ] || fail "more is kept than may be"
[ -n "${CS_SANITIZED:-}" ] || [ "$peak" -le 64 ] || fail "the daemon's peak is $peak MB"
[ "$(stat -c %a "$work/kept/.images"/* | sort -u)" = 600 ] || fail "others can read what is kept"
round bounded "keep-code = 20M"
[ "$(du -sm "$work/bounded/.images" | cut -f1)" -le 21 ] || fail "bound: $(du -sm "$work/bounded/.images")"
ls "$work"/bounded/.images/*.tmp* >/dev/null 2>&1 && fail "half a copy stays"
round none
[ ! -d "$work/none/.images" ] || fail "something is kept without the setting"
grep -q removed_long_ago "$work/table" && fail "names though nothing was kept"
echo "the daemon's peak: $peak MB"
