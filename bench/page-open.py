#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the page of 10 M samples takes to open in Chromium: from the navigation to the first frame after all of its scripts have
run, when it answers; the median of the openings, each in a browser's profile of its own. The recording has 500 images of this
system, more procedures than a page shows, and 131,072 call chains of up to 25 frames; the detail has the same page beside another
recording (--compare: the difference of two flame graphs). --quick: 1 M samples. STORE=DIR: a recording that exists."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

build = os.path.abspath(os.environ.get("BUILD", "build"))
cyclescope = os.environ.get("CYCLESCOPE", build + "/cyclescope")
quick = "--quick" in sys.argv
row = dict(name="page-open", value=None, unit="s", target=1, noise=None)
openings = 7 if quick else 15


def give_up(why):
    print(json.dumps(dict(row, detail=why)))
    sys.exit()


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True).stdout


def recording(folder, name, samples):
    """Made by the filler, whose numbers are the same each time."""
    file = f"{folder}/{name}.data"
    run(build + "/tests/programs/perfdata_filler", str(samples), "500", file, "", "24")
    run(cyclescope, "import", "-o", f"{folder}/{name}", file)
    os.remove(file)
    return f"{folder}/{name}"


def opened(page):
    found = json.loads(run("node", browser + "/open.js", page, str(openings)))
    median = {k: round(statistics.median(o[k] for o in found) / 1000, 3) for k in ("shown", "ready", "cpu", "longest", "filter", "zoom")}
    ready = sorted(o["ready"] / 1000 for o in found)
    spread = statistics.quantiles(ready, n=4)
    return dict(median, first_s=round(found[0]["ready"] / 1000, 3), best=round(ready[0], 3), samples=found[0]["samples"], rows=found[0]["rows"], boxes=found[0]["boxes"],
                mb=round(os.path.getsize(page) / 1e6, 1)), round((spread[2] - spread[0]) / 2, 3)


chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if not chromium or not shutil.which("npm"):
    give_up("chromium or npm isn't installed")
os.environ["CHROMIUM"] = chromium
subprocess.run(["make", "-s", "BUILD=" + build, "CS_DEPS_DONE=1", build + "/tests/programs/perfdata_filler"], check=True, stdout=sys.stderr)
browser = build + "/tests/browser"
os.makedirs(browser, exist_ok=True)
for name in ("package.json", "package-lock.json", "open.js"):
    shutil.copy("tests/browser/" + name, browser)
if not os.path.isdir(browser + "/node_modules/playwright-core"):
    if subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=browser, capture_output=True).returncode:
        give_up("npm could not fetch playwright-core")

with tempfile.TemporaryDirectory() as folder:
    os.environ["CYCLESCOPE_CACHE"] = folder + "/cache"
    store = os.environ.get("STORE") or recording(folder, "a", 1_000_000 if quick else 10_000_000)
    run(cyclescope, "report", "--html", folder + "/a.html", "--store", store)
    run(cyclescope, "report", "--html", folder + "/b.html", "--store", store, "--compare", recording(folder, "b", 300_000))
    page, noise = opened(folder + "/a.html")
    beside, _ = opened(folder + "/b.html")
row.update(value=page["ready"], noise=noise)
print(f"the page: {page}; beside another: {beside}", file=sys.stderr)
print(json.dumps(dict(row, detail=dict(openings=openings, page=page, beside=beside))))
