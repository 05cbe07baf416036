#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Branch records of other machines against what an independent script counted in them (the corpus's LBR_FACTS.txt): how many
# branches, how many of them mispredicted; all of them in the store but those whose target lies in no image (at most one in 20,000).
# Beside others.
set -u
facts=../shared/corpus/LBR_FACTS.txt
[ -f "$facts" ] || { echo "skipped: no $facts"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$facts" "$work" "$CYCLESCOPE" <<'END'
import ast, glob, json, os, subprocess, sys
facts, work, cyclescope = sys.argv[1:]
def total(pattern, column):
    n = 0
    for f in glob.glob(pattern):
        profile = subprocess.run([sys.executable, "tests/store_reader.py", "file", f], capture_output=True, text=True, check=True).stdout
        n += sum(r[column] for r in json.loads(profile)["rows"])
    return n
checked = bad = 0
for line in open(facts):
    if "{" not in line or "edges" not in line:
        continue
    recording = line.split()[0].replace("corpus/open/", os.path.dirname(facts) + "/")
    said = ast.literal_eval(line[line.index("{"):])
    store = f"{work}/{checked}"
    told = json.loads(subprocess.run([cyclescope, "import", recording, "-o", store, "--json"], capture_output=True, text=True, check=True).stdout)
    ours = {"branches": told["branches"], "stored": total(store + "/*/*/lbr-edges*", "count"),
            "mispredicted": total(store + "/*/*/lbr-mispredicts*", "samples")}
    ok = (ours["branches"] == said["edges"] and ours["mispredicted"] == said.get("mispred", 0)
          and 0 <= said["edges"] - ours["stored"] <= said["edges"] / 20000)
    print("ok" if ok else "not ok", recording, ours, "facts:", said["edges"], said.get("mispred", 0))
    checked += 1
    bad += not ok
sys.exit(bad > 0 or checked < 3)
END
