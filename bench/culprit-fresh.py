#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""First causes that `calc` names of kernels by an author who didn't know the rules, bench/fresh. Each runs for 5 s at
default options, and once more with `--burst-rate 30`. A verdict is right, wrong, weak (right, below a quarter of the
samples), or "not enough evidence". Kernels whose cause costs too little on this machine are left out. --quick: every
third kernel, default options only. --after: those in after.txt, by an author who knew the rules, written when these
were frozen. --third to --tenth: those by a third, a fourth, a fifth, a sixth, a seventh, an eighth, a ninth and a tenth
author, who didn't know the rules. --returns: recursions, by the author of the rule for returns. --only NAME,...: these
kernels. --kept: the recordings and times that are there are judged again."""
import json
import sys

sys.path.insert(0, "bench")
from lib_fresh import FILES, FORMS, rows

VERDICTS = ("right", "wrong", "weak", "not enough evidence", "not recorded")

quick = "--quick" in sys.argv
file = next((f for f in FILES if "--" + f in sys.argv), "fresh")
rows = list(rows([file], list(FORMS)[: 1 if quick else 2], 3 if quick else 1))
counts = {form: {v: sum(r[form]["verdict"] == v for r in rows if form in r) for v in VERDICTS} for form in FORMS}
judged = max(1, sum(counts["default"].values()))
print(json.dumps({"name": "culprit-fresh", "value": round(100 * counts["default"]["right"] / judged, 1), "unit": "%",
                  "target": 90, "noise": round(100 / judged, 1),
                  "detail": {"kernels": judged, **counts, "not on this machine": [r["kernel"] for r in rows if "default" not in r],
                             "rows": rows}}))
