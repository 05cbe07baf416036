#!/bin/bash
# store-size: bytes of the store over those of perf.data for the same samples of a mixed workload (compilations,
# an interpreter, compression, a database, thousands of short processes): perf records, import brings its samples into
# a store. Target: 1/50, and each profile at most a tenth of its executable. SECONDS_OF_WORK (90, --quick 30) at
# HZ (500) samples a second of CPU time: with 600, ten minutes of the daemon (a store grows more slowly than perf.data).
set -eu
seconds=${SECONDS_OF_WORK:-90}
hz=${HZ:-500}
[ "${1:-}" != --quick ] || { seconds=30 hz=${HZ:-2000}; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
perf=$(command -v perf) || { echo "perf is not installed" >&2; exit 1; }

cat >"$place/work" <<'W'
end=$((SECONDS + $1)) i=0
while [ $SECONDS -lt $end ]; do
    i=$((i + 1))
    set -- store/*.c store/*/*.c cli/*/*.c analysis/*/*.c
    shift $((i % $#))
    gcc -std=gnu11 -D_GNU_SOURCE -I. -Ibuild -O2 -c -o "$0.o" "$1" 2>/dev/null || true
    python3 -c 'd = {}
for i in range(150000): d[str(i)] = hash(i) ^ len(d)
print(sum(sorted(d.values())))' >/dev/null
    cat cli/*/*.c store/*.c store/*/*.c analysis/*/*.c | xz -2 | xz -d >/dev/null
    sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<30000) insert into t select x, hex(x*7919) from c; create index i on t(b); select count(*), sum(length(b)) from t where b > "5"; select b, count(*) from t group by substr(b,1,2) order by 2;' >/dev/null
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; ls / >/dev/null; done
done
W
ids=
[ "$seconds" -le 300 ] || ids=--buildid-mmap # perf 6.1 aborts when it looks for the build-ids of ten minutes at its end
nice "$perf" record -q $ids -e cpu-clock -F "$hz" -o "$place/perf.data" -- bash "$place/work" "$seconds" >&2
"$CYCLESCOPE" import "$place/perf.data" -o "$place/store" >&2
"$CYCLESCOPE" store verify "$place/store" >&2
"$CYCLESCOPE" store ls "$place/store" --json >"$place/ls"
python3 - "$place" <<'P'
import json, os, sys
place = sys.argv[1]
profiles = json.load(open(place + "/ls"))["profiles"]
files = [os.path.join(d, f) for d, _, fs in os.walk(place + "/store") for f in fs]
store = sum(os.path.getsize(f) for f in files)
on_disk = sum(os.stat(f).st_blocks * 512 for f in files)
perf = os.path.getsize(place + "/perf.data")
samples = sum(p["sum"] for p in profiles if p["kind"] == "points")
large = []
for p in profiles:
    if os.path.exists(p["path"]):
        large.append((p["bytes"] / os.path.getsize(p["path"]), p["path"]))
worst = max(large) if large else (0, "")
print(json.dumps({"name": "store-size", "value": round(store / perf, 5), "unit": "ratio", "target": 0.02, "noise": 0.001,
                  "detail": {"store_bytes": store, "store_bytes_in_blocks": on_disk, "perf_data_bytes": perf, "samples": samples,
                             "profiles": len(profiles), "store_bytes_per_sample": round(store / max(samples, 1), 3),
                             "worst_profile_over_executable": round(worst[0], 4), "worst_profile": os.path.basename(worst[1])}}))
P
