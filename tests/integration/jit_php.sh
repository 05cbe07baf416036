#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# PHP's compiled functions by the jitdump file that it writes: named, and with the shares of time that the program's own clock
# tells (of CPU time: others run, too); list and calc read their code, and bursts saw the loop's branch. Exit 77 without PHP 8's JIT.
set -eu
command -v php >/dev/null || { echo "no php"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/sums.php" <<'P'
<?php
function mix(int $n): int { $s = 1; for ($i = 1; $i < $n; $i++) { $s = ($s * 31 + $i) & 0xffffffff; if ($s & 4) $s ^= $i; else $s += 3; } return $s; }
function add(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) $s = ($s + ($i ^ ($s >> 3))) & 0xffffffff; return $s; }
if (!(opcache_get_status(false)["jit"]["on"] ?? false)) { echo "no JIT here\n"; exit(77); }
function cpu(): int { $r = getrusage(); return ($r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec']) * 1000000 + $r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec']; }
$mix = $add = $s = 0; $t = cpu(); $end = hrtime(true) + 3e9;
while (hrtime(true) < $end) { $s += mix(200000); $u = cpu(); $s += add(600000); $v = cpu(); $mix += $u - $t; $add += $v - $u; $t = $v; }
echo "$mix $add $s\n";
P
php="php -d opcache.enable=1 -d opcache.enable_cli=1 -d opcache.jit=1205 -d opcache.jit_buffer_size=64M -d opcache.jit_debug=32 -d opcache.file_update_protection=0"
cd "$dir"
rc=0
"$CYCLESCOPE" record -v -F 1000 --burst-rate 40 -o store -- $php sums.php >truth 2>said || rc=$?
if grep -q 'no JIT here\|opcache_get_status' truth said; then echo "this php has no JIT"; exit 77; fi
[ $rc = 0 ] || { cat said truth; exit 1; }
"$CYCLESCOPE" prof --json --top 0 --store store >prof
python3 - "$dir" <<'P'
import json, re, sys
samples, whole = {"mix": 0, "add": 0}, 0
for row in json.load(open(sys.argv[1] + "/prof"))["rows"]:
    whole += sum(row["samples"].values())
    for name in samples:
        if row["procedure"] == f"JIT${name}":
            samples[name] += sum(row["samples"].values())
mix, add, _ = map(int, re.search(r"(?m)^(\d+) (\d+) (-?\d+)$", open(sys.argv[1] + "/truth").read()).groups())
n, truth = sum(samples.values()), mix / (mix + add)
if whole < 200:
    print(f"only {whole} samples of three seconds: the machine is busy")
    sys.exit(77)
assert n > 0.7 * whole, f"{n} of {whole} samples are named"
share = samples["mix"] / n
assert abs(share - truth) < 0.04 + 4 * (truth * (1 - truth) / n) ** 0.5, (samples, truth)
print(f"ok: {n} samples, mix {100 * share:.1f} %, by its own clock {100 * truth:.1f} %")
P
"$CYCLESCOPE" list add --json --instructions --all --store store >list
"$CYCLESCOPE" edges add --json --store store >edges
"$CYCLESCOPE" calc add --store store >calc || { cat calc; exit 1; }
python3 - "$dir" <<'P'
import json, re, sys
rows = json.load(open(sys.argv[1] + "/list"))["instructions"]
sampled = sum(sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"] for r in rows)
texts = [r["instruction"] for r in rows]
assert len(rows) > 8 and any(t.startswith("add") for t in texts) and any(t.startswith("xor") for t in texts), texts
assert sampled > 100, sampled
seen = max((e["seen"] for e in json.load(open(sys.argv[1] + "/edges"))["edges"]), default=0)
bursts = int(re.search(r"(?m)^([\d,]+) bursts?", open(sys.argv[1] + "/said").read())[1].replace(",", ""))
assert seen > 0 or bursts < 5, f"{bursts} bursts, none in add"
print(f"ok: {sampled} samples on {len(rows)} instructions, an edge seen {seen} times in {bursts} bursts")
P
