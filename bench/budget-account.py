# SPDX-License-Identifier: GPL-2.0-or-later
"""budget-account: what `record --budget 5% --bursts` takes of the programs of budget-trees, by the kernel's account of CPU time and
stops (`budget-trees --account`)."""
import os, sys

os.execv(sys.executable, [sys.executable, os.path.dirname(os.path.realpath(__file__)) + "/budget-trees.py", "--account", *sys.argv[1:]])
