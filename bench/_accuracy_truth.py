#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes callgrind's counts of all programs that accuracy-*.py follow: some minutes, once."""
import os, sys

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, 'bench')
from libaccuracy import PROGRAMS, make_truths

for size in ('full', 'small'):
    make_truths(PROGRAMS, size, 3600)
