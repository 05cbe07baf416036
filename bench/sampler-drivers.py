# SPDX-License-Identifier: GPL-2.0-or-later
"""Both drivers on the same work at the same time: two recordings of the whole machine, one through BPF, one through
rings, while compilers, an interpreter and a compressor run. Value: the largest difference of an image's share between
them, over what chance allows it (two standard deviations; of that many images one in twenty passes it by chance, so
the target is 2). Totals: delivered = stored, and what was lost is told."""
import json, math, os, shutil, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libsampler as lib

SECONDS = 5 if lib.QUICK else 30
WORK = """end=$(($(date +%s) + $1)); while [ $(date +%s) -lt $end ]; do
echo 'int f(int x) { return x * 3; }' | gcc -O2 -x c -c - -o /dev/null
python3 -c 'import json; json.dumps([list(range(99))] * 3000)'
xz -T1 -k -c /proc/self/exe >/dev/null
done"""


def shares(store):
    rows = json.loads(subprocess.run([lib.CYCLESCOPE, "prof", "--store", store, "--by", "image", "--top", "0", "--json"],
                                     check=True, capture_output=True, text=True).stdout)["rows"]
    return {r["image"]: sum(r["samples"].values()) for r in rows}


work = tempfile.mkdtemp()
try:
    runs = {d: subprocess.Popen([lib.CYCLESCOPE, "record", "-a", "-F", "1000", "--driver", d, "--json", "-o", f"{work}/{d}"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for d in ("bpf", "ring")}
    time.sleep(3)
    subprocess.run(["sh", "-c", WORK, "work", str(SECONDS)], check=True, stdout=subprocess.DEVNULL)
    for p in runs.values():
        p.send_signal(2)
    said = {d: json.loads(p.communicate()[0]) for d, p in runs.items()}
    counts = {d: shares(f"{work}/{d}") for d in runs}
    for d in runs:
        subprocess.run([lib.CYCLESCOPE, "store", "verify", f"{work}/{d}"], check=True, stdout=subprocess.DEVNULL)
finally:
    shutil.rmtree(work)
total = {d: sum(c.values()) for d, c in counts.items()}
detail = {d: {"delivered": s["delivered"], "stored": s["stored"], "in profiles": total[d], "lost": s["lost"],
              "unknown": s["unknown"]} for d, s in said.items()}
worst, images = (0, ""), {}
for image in sorted(set(counts["bpf"]) | set(counts["ring"])):
    n = [counts[d].get(image, 0) for d in ("bpf", "ring")]
    if sum(n) < 100:
        continue
    share = [n[0] / total["bpf"], n[1] / total["ring"]]
    both = sum(n) / sum(total.values())
    chance = 2 * math.sqrt(both * (1 - both) * (1 / total["bpf"] + 1 / total["ring"]))
    worst = max(worst, (abs(share[0] - share[1]) / chance, image))
    images[image] = [round(100 * s, 2) for s in share]
detail["shares, %"] = dict(sorted(images.items(), key=lambda i: -i[1][0])[:10])
detail["images compared"] = len(images)
detail["worst image"] = worst[1]
whole = all(d["delivered"] == d["stored"] == d["in profiles"] for d in (detail["bpf"], detail["ring"]))
if not whole:
    sys.exit("sampler-drivers: delivered is not what is stored: " + json.dumps(detail))
lib.row("sampler-drivers", round(worst[0], 2), "difference over what chance allows", "at most 2", 0.5, detail)
