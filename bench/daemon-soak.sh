#!/bin/bash
# daemon-soak: the daemon at 10 kHz through a storm of short processes, for SOAK_SECONDS (90, --quick 30; the soak proper is 1200). The value is
# its peak memory in MB; detail says whether memory grew in the second half, and whether every sample is accounted for:
# delivered = stored, the rest is in "lost".
set -eu
seconds=${SOAK_SECONDS:-90}
[ "${1:-}" != --quick ] || seconds=${SOAK_SECONDS:-30}
[ "$(id -u)" -eq 0 ] || { echo "needs root to sample the whole machine" >&2; exit 77; }
place=$(mktemp -d)
storm=
trap 'kill $storm 2>/dev/null || true; "$CYCLESCOPE" daemon stop --socket "$place/run/control" >/dev/null 2>&1 || true; rm -rf "$place"' EXIT
d() { local verb=$1; shift; "$CYCLESCOPE" daemon "$verb" --socket "$place/run/control" "$@"; }

cat >"$place/x.c" <<'C'
#include <stdio.h>
int main(int c, char **v) { unsigned x = 0; for (unsigned i = 0; i < 20000u; i++) x = x * 31 + i; printf("%u %s\n", x, v[c - 1]); return 0; }
C
storm() {
    while :; do
        gcc -O1 -o "$place/x.$1" "$place/x.c" && for k in 1 2 3 4 5 6 7 8 9; do "$place/x.$1" $k >/dev/null; /bin/true; done
    done
}
d start -o "$place/store" -F 10000 --merge-interval 10s --remarks "$place/log" >&2
storm 1 & storm="$!"
storm 2 & storm="$storm $!"
ticks=15
for ((i = 0; i < ticks; i++)); do
    sleep $((seconds / ticks))
    for try in 1 2 3 4 5; do # on a machine that was frozen meanwhile the answer comes too late for the first
        d status --json >"$place/tick" && break
    done
    cat "$place/tick" >>"$place/ticks"
done
kill $storm; wait 2>/dev/null || true
d flush >/dev/null
d status --json >"$place/last"
d stop >/dev/null
"$CYCLESCOPE" store verify "$place/store" >&2
"$CYCLESCOPE" store ls "$place/store" --json >"$place/ls"
PYTHONPATH=tests python3 - "$place" "$seconds" <<'P'
import json, os, sys
import store_reader
place, seconds = sys.argv[1], int(sys.argv[2])
decoder, text, ticks = json.JSONDecoder(), open(place + "/ticks").read(), []
while text.strip():
    one, end = decoder.raw_decode(text.lstrip())
    ticks.append(one)
    text = text.lstrip()[end:]
last = json.load(open(place + "/last"))
counters = {}
for epoch in os.listdir(place + "/store"):
    path = os.path.join(place, "store", epoch, "epoch.counters")
    if os.path.exists(path):
        for row in store_reader.read(open(path, "rb").read())["rows"]:
            counters[row["name"].decode()] = counters.get(row["name"].decode(), 0) + row["sum"]
stored = sum(p["sum"] for p in json.load(open(place + "/ls"))["profiles"] if p["kind"] == "points")
half = len(ticks) // 2
growth = (max(t["memory_bytes"] for t in ticks[half:]) / max(t["memory_bytes"] for t in ticks[:half]) - 1) * 100
print(json.dumps({"name": "daemon-soak", "value": round(last["memory_peak_bytes"] / 1e6, 2), "unit": "MB", "target": 32, "noise": 0.5,
                  "detail": {"seconds": seconds, "samples": counters.get("samples", 0), "stored": stored,
                             "unaccounted": counters.get("samples", 0) - stored, "lost": counters.get("lost", 0),
                             "unknown_percent": last["unknown_percent"], "memory_growth_percent": round(growth, 1),
                             "daemon_cpu_percent": last["cpu_percent"], "table_hit_percent": last["table_hit_percent"],
                             "processes_known": last["processes"], "sessions": last["sessions"], "driver": last["driver"],
                             "log_lines": sum(1 for _ in open(place + "/log"))}}))
P
