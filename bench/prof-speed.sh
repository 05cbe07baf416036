#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prof against perf report on the same samples: 10 M over 500 images (--quick: 1 M over 200). Both by procedure, both with
# warm page cache; prof is the median of five with the cache of procedure tables that the first, told apart, has made; perf
# report runs once (it takes a minute or so).
set -eu
samples=10000000 images=500
[ "${1:-}" != --quick ] || { samples=1000000; images=200; }
command -v perf >/dev/null || { echo '{"name":"prof-speed","value":null,"unit":"ratio","target":20,"noise":null,"detail":"perf is not installed"}'; exit 0; }
make -s BUILD="$BUILD" CS_DEPS_DONE=1 "$BUILD/tests/programs/perfdata_filler" >&2
tmp=$(mktemp -d "${TMPDIR:-/tmp}/prof-speed.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache
"$BUILD/tests/programs/perfdata_filler" $samples $images "$tmp/perf.data" >&2
"$CYCLESCOPE" import -o "$tmp/store" "$tmp/perf.data" >&2
CYCLESCOPE=$CYCLESCOPE python3 - "$tmp" $samples $images <<'PY'
import json, os, statistics, subprocess, sys, time
tmp, samples, images = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def timed(command):
    start = time.monotonic()
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, stdin=subprocess.DEVNULL).stdout
    return time.monotonic() - start, out
prof = [os.environ["CYCLESCOPE"], "prof", "--store", tmp + "/store"]
first, *ours = [timed(prof)[0] for _ in range(6)]
document = json.loads(timed(prof + ["--json"])[1])
found = document["total"]
perf, _ = timed(["perf", "report", "--stdio", "--sort", "dso,symbol", "-i", tmp + "/perf.data"])
own = statistics.median(ours)
page, _ = timed([os.environ["CYCLESCOPE"], "report", "--html", tmp + "/page.html", "--store", tmp + "/store"])
noise = (max(ours) - min(ours)) / own
print(f"prof {own:.3f} s (of five: {min(ours):.3f} to {max(ours):.3f}; the first, without a cache, {first:.3f}), perf report --stdio {perf:.1f} s; {found} samples, "
      f"{len(document['rows'])} rows; report --html {page:.1f} s", file=sys.stderr)
print(json.dumps(dict(name="prof-speed", value=round(perf / own, 1), unit="ratio", target=20, noise=round(noise, 2),
                      detail=dict(prof_s=round(own, 3), prof_first_s=round(first, 3), perf_report_s=round(perf, 2), samples=found, images=images,
                                  rows=len(document["rows"]), prof_target_s=0.3, page_s=round(page, 2), page_target_s=10))))
PY
