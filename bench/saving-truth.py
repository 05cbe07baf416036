#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The gain that `explain` promises of the cause that `calc` names, against the time that a kernel of bench/fresh loses
without this cause (its variant). Kernels of one cause whose verdict is right, in percent of the function's time. The
value is the median difference in points; target at most 6, the sign always right, the stated range right in 90 %. A wide range is
easily right, so its median width is in the detail, too, and all of it by author: the rule was chosen on kernels up to the fifth's.
Where no likely gain is stated (shared lines, the kernel's time) the range alone is judged, with a point to spare. --third to --tenth:
that author's kernels. --only and --kept as in culprit-fresh; --quick: every third kernel."""
import json
import statistics
import sys

sys.path.insert(0, "bench")
from lib_fresh import FILES, FORMS, rows

changes = []
for row in rows([f for f in FILES if "--" + f in sys.argv] or FILES, FORMS, 3 if "--quick" in sys.argv else 1):
    if not any(form in row for form in FORMS):
        continue
    saved = 100 * (1 - 1 / row["ratios"][0])
    for form in FORMS:
        found = row.get(form, {})
        gain = found.get("gain")
        if row["expected"] in (["mixed"], ["-"]) or found.get("verdict") != "right" or not gain or gain["high"] is None:
            continue
        off = None if gain["likely"] is None else round(abs(gain["likely"] - saved), 1)
        changes.append({"kernel": row["kernel"], "author": row["author"], "form": form, "cause": found["first"], "saved": round(saved, 1), **gain, "off": off,
                        "within": gain["low"] - 1 <= saved <= gain["high"] + 1})
        print(json.dumps(changes[-1]), file=sys.stderr)


def summary(these):
    off = [c["off"] for c in these if c["off"] is not None]
    return {"changes": len(these), "median": round(statistics.median(off), 1) if off else None, "worst": max(off, default=None),
            "no likely gain": len(these) - len(off), "range right, %": round(100 * sum(c["within"] for c in these) / max(1, len(these)), 1),
            "range, points": round(statistics.median(c["high"] - c["low"] for c in these), 1) if these else None,
            "saved more than its most": sum(c["saved"] > c["high"] + 1 for c in these),
            "sign right": sum((c["likely"] or c["high"]) > 0 for c in these)}


of = {form: [c for c in changes if c["form"] == form] for form in FORMS}
print(json.dumps({"name": "saving-truth", "value": summary(of["default"])["median"], "unit": "points", "target": 6, "noise": 2,
                  "detail": {**{f: summary(of[f]) for f in FORMS},
                             "by author": {a: summary([c for c in of["default"] if c["author"] == a]) for a in FILES},
                             "rows": changes}}))
