#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Timed bursts: of two loops that know how many instructions they run in a unit of time the measured rates have about the
# same ratio, by words of their memory where they write and by their registers where they don't; a program that looks for us
# doesn't find us while it is timed, and the rates reach the store.
set -u
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
driver=$BUILD/tests/programs/burst_driver
pace=$BUILD/tests/programs/burst_pace
notice=$BUILD/tests/programs/burst_notice
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }

"$driver" -n 1 -i 100 -s 3 -- lua5.4 -e 'while true do end' >"$work/first" 2>&1
if grep -qE 'no-event|denied|permitted' "$work/first"; then
    echo "skipped: bursts are not permitted here: $(tail -n 1 "$work/first")"
    exit 77
fi

# 1. Its own clock against ours. Never an absolute time: on a busy machine a try may give no rate at all, and one of the two loops
# may have had the CPU taken away alone. After a try that is wrong by a factor of two the next two must be right;
# two wrong ones are a failure.
one() { # MODE: the loop's own figure and ours, in instructions a microsecond
    "$pace" "$1" 3 >"$work/own" &
    "$driver" -n 60 -i 4000 -g 5 -s 3 -P 1000000 -p $! >"$work/out" 2>"$work/err"
    wait $!
    echo "$(cut -d ' ' -f 1 "$work/own") $(field instructions_us "$work/out") $(field with_interval "$work/out")"
}
ratio() { # FAST SLOW: two kinds of loops
    local verdict right=0 wrong=0
    for _ in 1 2 3; do
        read -r fast_own fast fast_n <<<"$(one "$1")"
        read -r slow_own slow slow_n <<<"$(one "$2")"
        echo "$1: own $fast_own, timed $fast ($fast_n bursts); $2: own $slow_own, timed $slow ($slow_n bursts)"
        verdict=$(awk -v a="${fast_own:-0}" -v b="${slow_own:-0}" -v x="${fast:-0}" -v y="${slow:-0}" -v n="${fast_n:-0}" -v m="${slow_n:-0}" 'BEGIN {
            if (n < 3 || m < 3 || a * b * x * y == 0) { print "few"; exit }
            q = (x / y) / (a / b)
            print ((q > 0.5 && q < 2) ? "ok" : "wrong") }')
        case $verdict in
        ok) right=$((right + 1)) ;;
        wrong) wrong=$((wrong + 1)) ;;
        esac
        [ $right -le $wrong ] || return 0
        [ $wrong -lt 2 ] || break
    done
    if [ $wrong -lt 2 ]; then
        echo "this machine is too busy for timed bursts: $(cat "$work/out" "$work/err")"
        exit 77
    fi
    echo "not ok: the ratio of the rates is not that of the loops"
    exit 1
}
ratio fast slow
ratio fast-stores slow-stores
ratio nested slow

# 2. Unnoticed.
timeout -s INT 60 "$CYCLESCOPE" record -v --burst-rate 200 -o "$work/noticed" -- "$notice" 5 >"$work/out" 2>"$work/err"
if ! grep -q '^unnoticed' "$work/out"; then
    echo "not ok: noticed: $(cat "$work/out" "$work/err")"
    exit 1
fi
echo "unnoticed; $("$CYCLESCOPE" store ls "$work/noticed" | grep -c burst-paces) images with rates"

# 3. In the store, of the loop that could be timed above: in the first run that has a hundred bursts.
for try in 1 2 3; do
    rm -rf "$work/store"
    timeout -s INT 60 "$CYCLESCOPE" record -v --burst-rate 200 -o "$work/store" -- "$pace" fast 4 >"$work/out" 2>"$work/err"
    "$CYCLESCOPE" store verify "$work/store" >/dev/null || {
        echo "not ok: the store is damaged"
        exit 1
    }
    "$CYCLESCOPE" store ls "$work/store" | grep -q burst-paces && break
    bursts=$(sed -n 's/,//g; s/^\([0-9]*\) bursts.*/\1/p' "$work/err")
    [ $try -lt 3 ] && [ "${bursts:-0}" -lt 100 ] || {
        echo "no rates in the store: $(cat "$work/err")"
        [ "${bursts:-0}" -ge 100 ] && exit 1
        echo "skipped: this machine is too busy for bursts"
        exit 77
    }
done
# Its timed bursts are longer than others can be.
longest=0
for lengths in "$work"/store/*/*/burst-beginnings*; do
    n=$("$CYCLESCOPE" store dump "$lengths" | tr -d , | awk '$NF + 0 > n { n = $NF + 0 } END { print n + 0 }')
    [ "$n" -le "$longest" ] || longest=$n
done
[ "$longest" -gt 65536 ] || {
    echo "not ok: no burst of the store is longer than $longest instructions"
    exit 1
}
echo ok
