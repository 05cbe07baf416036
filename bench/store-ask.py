#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The first report on a store of 30 epochs with 500 images each (--quick: 6): wall time of `prof` and `calc` over all of
them, the median of five, and the system calls of each (strace -c, where it is installed). The user's cache is warm; what the
store derives (.flows) is removed before each run, and `calc` solves again."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from libsampler import CYCLESCOPE, QUICK, program, row

EPOCHS, IMAGES = 6 if QUICK else 30, 500


def timed(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.monotonic() - start


def system_calls(command, work):
    if not shutil.which("strace"):
        return None
    subprocess.run(["strace", "-f", "-c", "-o", work + "/strace"] + command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    total = re.search(r"^100\.00 +\S+ +\S+ +(\d+)", open(work + "/strace").read(), re.M)
    return int(total[1]) if total else None


work = tempfile.mkdtemp(prefix="store-ask.")
try:
    os.environ["CYCLESCOPE_CACHE"] = work + "/cache"
    store = work + "/store"
    subprocess.run([program("perfdata_filler"), "20000", str(IMAGES), work + "/perf.data"], check=True, stdout=sys.stderr)
    for _ in range(EPOCHS):
        subprocess.run([CYCLESCOPE, "import", "-o", store, work + "/perf.data"], check=True, stdout=subprocess.DEVNULL)
    detail, noise = {}, 0
    for report, target in (("prof", 0.3), ("calc", 0.5)):
        command = [CYCLESCOPE, report, "--store", store, "--epoch", "all"]
        timed(command)
        seconds = []
        for _ in range(5):
            if os.path.exists(store + "/.flows"):
                os.unlink(store + "/.flows")
            seconds.append(timed(command))
        detail[report + "_s"] = round(statistics.median(seconds), 3)
        detail[report + "_target_s"] = target
        detail[report + "_system_calls"] = system_calls(command, work)
        noise = noise or (max(seconds) - min(seconds)) / statistics.median(seconds)
    detail.update(epochs=EPOCHS, images=IMAGES)
    row("store-ask", detail["prof_s"], "s", 0.3, round(noise, 2), detail)
finally:
    shutil.rmtree(work, ignore_errors=True)
