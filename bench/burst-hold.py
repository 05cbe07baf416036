# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a burst holds a thread: from the stop that the tracer sees to its going on, median over programs."""
import collections, statistics, tempfile
import lib_bursts as lib

lib.build()
n = 60 if lib.QUICK else 1000 # a minute's, about: the first 16 of a program may hold it for 1 ms only
detail, medians, tails, early, total = {}, [], [], collections.Counter(), 0
with tempfile.TemporaryDirectory() as folder:
    for name, command in lib.programs(folder).items():
        for length in (1000, 4000, 16000):
            a = lib.drive(command, n, length, 60, "-g", "8")
            detail[f"{name}, {length}"] = {k: a[k] for k in ("stopped_us", "stopped_p99_us", "pages", "faults", "translated")}
            print(f"{name:20} {length:6}: stopped {a['stopped_us']:7.1f} us, p99 {a['stopped_p99_us']:8.1f}; "
                  f"{a['pages']:.0f} pages, {a['faults']:.1f} faults, {a['translated']:.1f} translations")
            total += a["bursts"]
            early += {key[4:]: a[key] for key in a if key.startswith("end.") and key not in ("end.full", "end.system-call")}
            if length == 4000:
                medians.append(a["stopped_us"])
                tails.append(a["stopped_p99_us"])
detail["p99_us"] = statistics.median(tails)
detail["ended early, system calls aside, %"] = {"all": round(100 * early.total() / total, 2),
                                                **{c: round(100 * k / total, 2) for c, k in early.most_common()}}
lib.report("burst-hold", statistics.median(medians), "us", 250, max(medians) - min(medians), detail)
