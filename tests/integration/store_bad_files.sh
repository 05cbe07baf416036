#!/bin/bash
# Both readers refuse every file of tests/store-bad in a sentence that names it, and read those of tests/store-good.
# Beside others.
set -u
cd "$(dirname "$0")/.."
rc=0
for f in store-bad/*.prof; do
    words=$(timeout 10 "$CYCLESCOPE" store dump "$f" 2>&1 >/dev/null)
    [ $? -eq 1 ] && [[ $words == *"$f"* ]] || { echo "the shipped reader on $f: $words"; rc=1; }
    words=$(python3 store_reader.py dump "$f" 2>&1 >/dev/null)
    [ $? -eq 1 ] && [[ $words == *"breaks a rule"* ]] || { echo "the second reader on $f: $words"; rc=1; }
done
newer=$("$CYCLESCOPE" store dump store-bad/version-newer.prof 2>&1)
[[ $newer == *"written by a newer cyclescope (format 99"* ]] || { echo "a newer version: $newer"; rc=1; }
for f in store-good/*.prof; do
    "$CYCLESCOPE" store dump "$f" >/dev/null && python3 store_reader.py dump "$f" >/dev/null || rc=1
done
echo "$(ls store-bad | wc -l) bad files"
exit $rc
