# SPDX-License-Identifier: GPL-2.0-or-later
"""The same within 10 %, with one constant for the whole program: the scale that one counter of instructions gives."""
import sys

from libaccuracy import method, report

report('accuracy-absolute', '% within 10 %, scale from the total of instructions', 87, lambda r: method(r, 'bursts')['program_10'], sys.argv)
