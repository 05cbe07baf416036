# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of bursts whose sequence of branches equals native single-stepping of the held thread."""
import tempfile
import lib_bursts as lib

lib.build()
n, length = (12, 1000) if lib.QUICK else (200, 4000)
bursts = same = blocks = 0
detail = {}
with tempfile.TemporaryDirectory() as folder:
    for name, command in lib.programs(folder).items():
        a = lib.drive(command, n, length, 20 if lib.QUICK else 400, "-v", "-g", "1")
        bursts += a["bursts"]
        same += a["bursts"] - a["differed"]
        blocks += a["verified_blocks"]
        detail[name] = f"{a['bursts'] - a['differed']} of {a['bursts']}, {a['verified_blocks']:.0f} blocks"
        print(f"{name:20} {detail[name]} {a['differences']}")
detail["bursts"], detail["blocks"], detail["instructions"] = bursts, blocks, length
lib.report("burst-exact", round(100 * same / max(bursts, 1), 3), "%", 100, 0, detail)
