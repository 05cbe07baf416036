#!/bin/bash
# A writer killed at random moments, with readers beside it and several writers in one store (as several hosts
# have): the store always verifies, and nothing that was reported merged is missing.
# Beside others.
set -eu
. "$(dirname "$0")/../until.sh"
place=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$place"' EXIT
fill=$BUILD/tests/programs/store_filler
sum() { "$CYCLESCOPE" store ls "$1" --json | python3 -c 'import json,sys; print(sum(p["sum"] for p in json.load(sys.stdin)["profiles"]))'; }

kills=200 reported=0
[ -z "${CS_QUICK:-}" ] || kills=40
"$fill" "$place/s" count 1 >"$place/out"
reported=$(wc -l <"$place/out")
for ((i = 0; i < kills; i++)); do
    "$fill" "$place/s" count 0 >"$place/out" &
    pid=$!
    sleep "0.0$((RANDOM % 6))$((RANDOM % 10))" # sleeps: killed at any moment
    kill -9 $pid
    wait $pid 2>/dev/null || true
    reported=$((reported + $(wc -l <"$place/out")))
    # Small stores: verify each time; the sum at the end.
    [ $((i % 20)) -ne 0 ] || "$CYCLESCOPE" store verify "$place/s" >/dev/null
done
"$CYCLESCOPE" store verify "$place/s"
found=$(sum "$place/s")
echo "$kills kills: $reported merges reported, $found found"
[ "$found" -ge "$reported" ] && [ "$found" -le $((reported + kills)) ]

# Readers beside writers; three writers share the directory, each with an epoch of its own.
pids=
for i in 1 2 3; do
    "$fill" "$place/t" count 0 >"$place/out$i" &
    pids="$pids $!"
done
three_epochs() { [ "$(ls "$place/t" 2>/dev/null | wc -l)" -eq 3 ]; }
until_true three_epochs
for ((i = 0; i < 15; i++)); do
    "$CYCLESCOPE" store verify "$place/t" >/dev/null
    "$CYCLESCOPE" store ls "$place/t" >/dev/null
done
kill -9 $pids
wait 2>/dev/null || true
reported=$(cat "$place"/out[123] | wc -l)
found=$(sum "$place/t")
echo "three writers: $reported merges reported, $found found; epochs: $(ls "$place/t" | wc -l)"
[ "$found" -ge "$reported" ] && [ "$found" -le $((reported + 3)) ] && [ "$(ls "$place/t" | wc -l)" -eq 3 ]

# Epochs removed while they are read and written: readers never fail.
"$fill" "$place/u" count 40 >/dev/null
"$fill" "$place/u" count 40 >/dev/null
(for ((i = 0; i < 20; i++)); do "$CYCLESCOPE" store ls "$place/u" >/dev/null || echo failed; done) >"$place/readers" &
reader=$!
for ((i = 0; i < 10; i++)); do
    "$fill" "$place/u" count 20 >/dev/null
    "$CYCLESCOPE" store gc "$place/u" --keep-size 1 >/dev/null
done
wait $reader
[ ! -s "$place/readers" ] && [ "$(ls "$place/u" | wc -l)" -eq 1 ]
"$CYCLESCOPE" store verify "$place/u"
