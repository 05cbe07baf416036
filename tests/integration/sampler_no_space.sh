#!/bin/bash
# The disk fills up while a program is sampled: the merge fails with a sentence, what was in the store stays.
set -u
[ "$(id -u)" = 0 ] || { echo "needs root to mount a small file system"; exit 77; }
work=$(mktemp -d) said=$(mktemp)
mount -t tmpfs -o size=512k none "$work" 2>/dev/null || { rmdir "$work"; echo "no mount permitted here"; exit 77; }
trap 'umount "$work"; rmdir "$work"; rm -f "$said"' EXIT
target=$BUILD/tests/programs/sampler_target
bad=0
record() { "$CYCLESCOPE" record --no-bursts -F 2000 -o "$work/s" -- "$target" spin "$1"; }
samples() { "$CYCLESCOPE" prof --epoch all --store "$work/s" --json --top 0 | python3 -c '
import json, sys
print(sum(sum(r["samples"].values()) for r in json.load(sys.stdin)["rows"]))'; }

record 0.3 2>/dev/null || { echo "the first run failed"; exit 1; }
before=$(samples)
record 2 2>"$said" & pid=$!
sleep 1.2 # sleeps: in the middle of a recording of two seconds
head -c 600000 /dev/zero >"$work/fill" 2>/dev/null
wait $pid; rc=$?
[ $rc = 1 ] || { echo "exit $rc on a full disk, expected 1"; bad=1; }
rm "$work/fill"
grep -qi "no space left" "$said" || { echo "said: $(cat "$said")"; bad=1; }
"$CYCLESCOPE" store verify "$work/s" >/dev/null || { echo "the store is damaged"; bad=1; }
[ "$(samples)" -ge "$before" ] || { echo "samples were lost: $(samples) of $before"; bad=1; }
exit $bad
