#!/bin/bash
# The reader written from FORMAT.md and the shipped one say the same about every file of random stores, also after
# a merge of stores in either order, which gives the same bytes.
set -eu
place=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$place"' EXIT
cd "$(dirname "$0")/../.."
fill=$BUILD/tests/programs/store_filler

"$fill" "$place/a" random 1 40
"$fill" "$place/b" random 2 40
python3 - "$place/a" "$place/b" <<'P'
import json, os, subprocess, sys
sys.path.insert(0, "tests")
import store_reader
n = 0
for store in sys.argv[1:]:
    store_reader.check_names(store)
    for folder, _, files in os.walk(store):
        for name in files:
            if name == "lock":
                continue
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                mine = json.loads(json.dumps(store_reader.read(f.read()), default=store_reader.plain))
            theirs = json.loads(subprocess.check_output([os.environ["CYCLESCOPE"], "store", "dump", path, "--json"]))
            for rows in mine["rows"], theirs["rows"]:  # keys are hex in the dump, values modulo 2^64
                for row in rows:
                    for key, value in row.items():
                        if isinstance(value, str) and value.startswith("0x"):
                            row[key] = int(value, 16)
                        elif isinstance(value, int):
                            row[key] = value % 2**64
            for key in mine:
                assert mine[key] == theirs[key], (path, key)
            n += 1
assert n > 40, n
print(n, "files read alike by both")
P

"$CYCLESCOPE" store merge "$place/ab" "$place/a" "$place/b" --into all
"$CYCLESCOPE" store merge "$place/ba" "$place/b" "$place/a" --into all
diff -r "$place/ab" "$place/ba" && echo "merged in either order: the same bytes"
"$CYCLESCOPE" store verify "$place/ab"
total() { "$CYCLESCOPE" store ls "$1" --json | python3 -c 'import json,sys; print(sum(p["sum"] for p in json.load(sys.stdin)["profiles"] if p["kind"]!="foreign"))'; }
[ $(($(total "$place/a") + $(total "$place/b"))) -eq "$(total "$place/ab")" ] && echo "no count was lost"

"$CYCLESCOPE" store merge "$place/c" "$place/a"
if "$CYCLESCOPE" store merge "$place/c" "$place/a" 2>"$place/words"; then
    echo "an epoch was merged twice without a word"; exit 1
fi
grep -q "already" "$place/words"
diff -r -x lock "$place/a" "$place/c"
