#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# OpenJDK's compiled methods by the map that jcmd has it write, without an agent: named, and with the shares of time that the program's
# own clock tells. Exit 77 without OpenJDK 17 or later.
set -eu
. "$(dirname "$0")/../until.sh"
for tool in java javac jcmd; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$dir" ${pid:+"/tmp/perf-$pid.map"}' EXIT
cat >"$dir/Sum.java" <<'J'
public class Sum {
    static long mix(long n) { long s = 0; for (long i = 1; i < n; i++) s = s * 31 + i / (s & 7 | 1); return s; }
    static long add(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ (s >> 3); return s; }
    public static void main(String[] arguments) throws Exception {
        long mix = 0, add = 0, s = 0, t = System.nanoTime();
        var stop = new java.io.File(arguments[0]);
        while (!stop.exists())
            for (int i = 0; i < 50; i++) {
                s += mix(20000); long u = System.nanoTime();
                s += add(60000); long v = System.nanoTime();
                mix += u - t; add += v - u; t = v;
            }
        System.out.println(mix + " " + add + " " + s);
    }
}
J
javac -d "$dir" "$dir/Sum.java"
java -cp "$dir" Sum "$dir/stop" >"$dir/truth" &
pid=$!
both_are_compiled() {
    jcmd $pid Compiler.perfmap >"$dir/jcmd" 2>&1 || { grep -qi "unknown\|not found" "$dir/jcmd" && { echo "this jcmd has no Compiler.perfmap"; exit 77; }; return 1; }
    grep -q 'Sum.mix' "/tmp/perf-$pid.map" && grep -q 'Sum.add' "/tmp/perf-$pid.map"
}
until_true both_are_compiled || true
"$CYCLESCOPE" record --no-bursts -F 1000 -t 4 -p $pid -o "$dir/store" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
touch "$dir/stop"
wait $pid
"$CYCLESCOPE" prof --json --top 0 --store "$dir/store" >"$dir/prof"
python3 - "$dir" <<'P'
import json, sys
samples, whole = {"mix": 0, "add": 0}, 0
for row in json.load(open(sys.argv[1] + "/prof"))["rows"]:
    whole += sum(row["samples"].values())
    for name in samples:
        if f"Sum.{name}(" in (row["procedure"] or ""):
            samples[name] += sum(row["samples"].values())
mix, add, _ = map(int, open(sys.argv[1] + "/truth").read().split())
n, truth = sum(samples.values()), mix / (mix + add)
if whole < 200:
    print(f"only {whole} samples of four seconds: the machine is busy")
    sys.exit(77)
assert n > 0.7 * whole, f"{n} of {whole} samples are named"
share = samples["mix"] / n
assert abs(share - truth) < 0.04 + 4 * (truth * (1 - truth) / n) ** 0.5, (samples, truth)
print(f"ok: {n} samples, mix {100 * share:.1f} %, by its own clock {100 * truth:.1f} %")
P
