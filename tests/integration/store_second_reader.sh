#!/bin/bash
# The reader written from FORMAT.md and the shipped one say the same about every file of random stores, also after
# a merge of stores in either order, which gives the same bytes; and about what bursts and the observer leave.
# Beside others.
set -eu
place=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$place"' EXIT
cd "$(dirname "$0")/../.."
fill=$BUILD/tests/programs/store_filler

"$fill" "$place/a" random 1 40
"$fill" "$place/b" random 2 40
# alike container|meaning STORE...: random stores keep only the rules of the container
alike() {
    python3 - "$@" <<'P'
import json, os, subprocess, sys
sys.path.insert(0, "tests")
import store_reader
meaning, n = sys.argv[1] == "meaning", 0
for store in sys.argv[2:]:
    (store_reader.check_store if meaning else store_reader.check_names)(store)
    for folder, folders, files in os.walk(store):
        folders[:] = [f for f in folders if not f.startswith(".")]  # no part of the store
        for name in files:
            if name == "lock" or name.startswith("."):
                continue
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                mine = json.loads(json.dumps(store_reader.read(f.read(), meaning), default=store_reader.plain))
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
assert n > (3 if meaning else 40), n
print(n, "files read alike by both")
P
}
alike container "$place/a" "$place/b"

# Each rule of the page broken in a store of its own; the shipped reader finds the whole one complete too.
python3 tests/store_rules.py "$place/rules"
alike meaning "$place/rules/good"
"$CYCLESCOPE" store verify "$place/rules/good"

# What bursts leave, and what the observer does, where this machine can.
# shellcheck disable=SC2016 # the other shell counts
if timeout 60 "$CYCLESCOPE" record --burst-rate 100 -o "$place/bursts" -- \
    sh -c 'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done' >"$place/words" 2>&1; then
    alike meaning "$place/bursts"
    ls "$place"/bursts/*/*/burst-edges+edges.prof >/dev/null 2>&1 || echo "skipped: no bursts here"
else
    echo "skipped: bursts can't be recorded here: $(tail -n 1 "$place/words")"
fi
# Samples in the kernel's BPF programs, which the recorder of waits runs: few without a busy machine, many here.
if timeout 60 "$CYCLESCOPE" record --waits --no-bursts -F 5000 -o "$place/waits" -- "$BUILD/tests/programs/waiting" convoy 1 \
    >"$place/words" 2>&1 && ! grep -q "can't be recorded" "$place/words"; then
    alike meaning "$place/waits"
    grep -qlr bpf_ "$place/waits" --include=image.meta || echo "skipped: no sample fell on a BPF program"
else
    echo "skipped: waits can't be recorded here: $(tail -n 1 "$place/words")"
fi
if timeout 60 "$CYCLESCOPE" observe -s phase,work -t 1 -o "$place/observed" -- "$BUILD/signals/examples/phases" \
    >"$place/words" 2>&1; then
    alike meaning "$place/observed"
    "$CYCLESCOPE" store merge "$place/merged" "$place/observed" --into all
    alike meaning "$place/merged"
else
    echo "skipped: nothing can be observed here: $(tail -n 1 "$place/words")"
fi

"$CYCLESCOPE" store merge "$place/ab" "$place/a" "$place/b" --into all
"$CYCLESCOPE" store merge "$place/ba" "$place/b" "$place/a" --into all
diff -r -x .catalog "$place/ab" "$place/ba" && echo "merged in either order: the same bytes"
"$CYCLESCOPE" store verify "$place/ab"
total() { "$CYCLESCOPE" store ls "$1" --json | python3 -c 'import json,sys; print(sum(p["sum"] for p in json.load(sys.stdin)["profiles"] if p["kind"]!="foreign"))'; }
[ $(($(total "$place/a") + $(total "$place/b"))) -eq "$(total "$place/ab")" ] && echo "no count was lost"

"$CYCLESCOPE" store merge "$place/c" "$place/a"
if "$CYCLESCOPE" store merge "$place/c" "$place/a" 2>"$place/words"; then
    echo "an epoch was merged twice without a word"; exit 1
fi
grep -q "already" "$place/words"
diff -r -x .catalog -x lock "$place/a" "$place/c"
