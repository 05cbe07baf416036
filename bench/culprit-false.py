#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Impossible causes that `calc` gives half a percent or more of a kernel of known cause (and, beside it, names at all)."""
import json
import sys

sys.path.insert(0, "bench")
import lib_culprits

rows = lib_culprits.run_all("--quick" in sys.argv)
judged = [r for r in rows if r["verdict"] in ("right", "wrong")]
detail = [{"kernel": r["kernel"], "false": r["false"], "mentioned": r["mentioned"]} for r in judged
          if r["false"] or r["mentioned"]]
print(json.dumps({"name": "culprit-false", "value": sum(len(r["false"]) for r in judged), "unit": "causes", "target": 0,
                  "noise": 1, "detail": {"kernels": len(judged), "found": detail}}))
