# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task of the ITT API costs with our collector: ns of a begin and an end above the same loop whose pointers are empty,
as they are without a collector; the least of 31 rounds each, by turns, in one process (tests/programs/itt_client.c)."""
import os
import subprocess
from libsampler import program, row

client = program("itt_client")
collector = os.path.join(os.environ.get("BUILD", "build"), "libcyclescope-itt.so.1")
out = dict(line.split() for line in subprocess.run([client, "--cost"], env=dict(os.environ, INTEL_LIBITTNOTIFY64=os.path.realpath(collector)),
                                                   check=True, capture_output=True, text=True).stdout.splitlines())
bare, loaded = float(out["bare"]), float(out["loaded"])
print(f"begin and end: {bare:.2f} ns without a collector, {loaded:.2f} ns with it")
row("itt-cost", round(loaded - bare, 2), "ns", 10, None, {"bare": bare, "loaded": loaded})
