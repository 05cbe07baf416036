#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Idle CPUs do no work: their samples are in no row and no share of prof, are told in one line, and with the rest make
# up all that was recorded (prof --by image counts them still).
CYCLESCOPE=${CYCLESCOPE:-${BUILD:-build}/cyclescope}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "not ok $*"; exit 1; }
"$CYCLESCOPE" record -a -t 3 -o "$dir/s" >"$dir/out" 2>&1 || { cat "$dir/out"; echo "the whole machine can't be sampled here"; exit 77; }
"$CYCLESCOPE" prof --store "$dir/s" --json --top 0 >"$dir/json" || fail "prof"
"$CYCLESCOPE" prof --store "$dir/s" --json --top 0 --by image >"$dir/images" || fail "prof --by image"
"$CYCLESCOPE" prof --store "$dir/s" >"$dir/text" || fail "prof's text"
python3 - "$dir/json" "$dir/images" "$dir/text" <<'P'
import json, sys
d, images = (json.load(open(f)) for f in sys.argv[1:3])
text = open(sys.argv[3]).read()
names = {r.get("procedure") for r in d["rows"]}
checks = {
    "no row is the idle loop": not names & {"pv_native_safe_halt", "native_safe_halt", "acpi_safe_halt", "mwait_idle", "default_idle"},
    "idle and the rest are all (%d + %d of %d)" % (d["idle"], d["total"], images["total"]): d["idle"] + d["total"] == images["total"],
    "rows make up the total": sum(sum(r["samples"].values()) for r in d["rows"]) == d["total"],
    "told where there is any": ("idle CPUs" in text) == (d["idle"] > 0),
}
for what, ok in checks.items():
    print("ok" if ok else "not ok", what)
if not all(checks.values()):
    sys.exit(1)
if not d["idle"]:
    print("no CPU was idle for a sample while this was recorded")
    sys.exit(77)
P
