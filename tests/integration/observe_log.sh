#!/bin/bash
# The reader written from LOG.md and the shipped one say the same about a log. Exit 77 where one CPU
# alone may be used.
set -eu
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$0")/../.."
"$CYCLESCOPE" observe -s phase,work --period 20k --log "$dir/log" -- "$BUILD/signals/examples/phases" --seconds 1 >/dev/null
"$CYCLESCOPE" tags --log "$dir/log" --top 0 --json >"$dir/tags.json"
python3 tests/log_reader.py "$dir/log" >"$dir/second.json"
python3 - "$dir/second.json" "$dir/tags.json" <<'P'
import json, sys
second, shipped = (json.load(open(f)) for f in sys.argv[1:])
assert second["ended"] and second["samples"] > 1000, second["samples"]
assert second["head"]["tags"] == ["phase"] and second["head"]["counters"] == ["work"], second["head"]
assert second["head"]["period"] == 20000 and second["head"]["program"] == "phases"
assert set(second["names"].values()) >= {"hash", "divide", "chase", "stream"}, second["names"]
rows = {str(r["value"] % 2**64): {"samples": r["samples"], "visits": r["visits"]} for r in shipped["tags"]}
assert rows == second["values"], (rows, second["values"])
assert all(second["names"].get("0 " + str(r["value"] % 2**64), r["name"]) == r["name"] for r in shipped["tags"])
print("ok both readers see", second["samples"], "samples in", second["chunks"], "chunks")
P
head -c "$(($(stat -c %s "$dir/log") / 2))" "$dir/log" >"$dir/half"
if python3 tests/log_reader.py "$dir/half" >/dev/null 2>&1; then
    echo "not ok the second reader took half a log for a whole one"
    exit 1
fi
