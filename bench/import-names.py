# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings by perf of real programs, imported: share of the samples that perf names that we name, too, worst recording.
With build-ids, without, by a pipe, with data mappings and call chains. Per image, so that a name here doesn't make up for
one that is missing there. Without build-ids nobody can tell which vDSO it was: perf takes its own, we say so instead."""
import collections, json, os, shutil, subprocess, sys, tempfile, time
from libsampler import CYCLESCOPE, QUICK, row

WORK = "python3 -c 'print(sum(i*i for i in range(1500000)))'; gzip -c /usr/bin/gcc | wc -c; find /usr/share/doc | wc -l; " \
       "sort -R /etc/services | tail -1"
WAYS = {"default": [], "no-buildid": ["-N", "-B"], "pipe": ["-o", "-"], "data": ["-d"], "chains": ["-g"]}


def count(rows):
    counts = collections.Counter()
    for image, n in rows:
        counts[image] += n
    return counts


def by_perf(file):
    script = subprocess.run(["perf", "script", "-i", file, "-F", "ip,sym,dso", "-G"], capture_output=True, text=True).stdout
    rows = []
    for line in script.splitlines():
        ip, _, rest = line.strip().partition(" ")
        symbol, _, dso = rest.rpartition(" (")
        if symbol and symbol != "[unknown]":
            dso = dso.rstrip(")")
            rows.append(("[kernel]" if dso.startswith("[kernel") else os.path.basename(dso), 1))
    return count(rows)


def by_us(file, store):
    shutil.rmtree(store, ignore_errors=True)
    subprocess.run([CYCLESCOPE, "import", "-o", store, file], check=True, stdout=subprocess.DEVNULL)
    prof = json.loads(subprocess.run([CYCLESCOPE, "prof", "--store", store, "--top", "0", "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    return count((r["image_name"], sum(r["samples"].values())) for r in prof["rows"] if r["procedure"] not in (None, "[no symbol]"))


def record(file, way, options):
    where = [] if way == "pipe" else ["-o", file]
    for _ in range(3):  # perf 6.1 aborts at times where programs have long build-ids
        out = open(file, "wb") if way == "pipe" else subprocess.DEVNULL
        if subprocess.run(["perf", "record", "-q", "-F", "997", *options, *where, "--", "sh", "-c", f"({WORK}) >/dev/null"],
                          stdout=out, stderr=subprocess.DEVNULL).returncode == 0:
            return
        time.sleep(2)
    sys.exit("perf itself fails to record here")


shares = {}
with tempfile.TemporaryDirectory() as work:
    for way, options in list(WAYS.items())[:3 if QUICK else None]:
        file = f"{work}/{way}.data"
        record(file, way, options)
        if not by_perf(file):
            print(way, "perf itself names nothing of its recording", file=sys.stderr)
            continue
        perf, ours = by_perf(file), by_us(file, f"{work}/{way}.store")
        if way in ("no-buildid", "pipe"):
            perf.pop("[vdso]", None)
        missing = {d: n - ours[d] for d, n in perf.items() if ours[d] < n}
        shares[way] = 100 * (1 - sum(missing.values()) / sum(perf.values()))
        print(way, sum(perf.values()), "named by perf,", sum(ours.values()), "by us; missing:", missing, file=sys.stderr)
if not shares:
    sys.exit("perf itself fails to record here")
worst = min(shares, key=shares.get)
row("import-names", round(shares[worst], 2), "%", 100, 0, {w: round(s, 2) for w, s in shares.items()})
