#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of requirements has the table of kernels that `make check-kernels` judges by.
# Beside others.
set -u
sed -n '/<!-- kernels -->/,/<!-- end -->/p' docs/requirements.md | sed '1d;$d' | diff - <(tests/kernels/judge.py) ||
    { echo "not ok: docs/requirements.md differs from tests/kernels/expected.tsv; write it: tests/kernels/judge.py --write"; exit 1; }
echo "ok: requirements.md has the table of kernels"
