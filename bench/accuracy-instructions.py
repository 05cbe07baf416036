# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of samples whose instruction's frequency is within 5 % (each procedure scaled by one constant): DCPI's figure 8."""
import sys

from libaccuracy import method, report

report('accuracy-instructions', '% within 5 %', 80, lambda r: method(r, 'bursts')['within_5'], sys.argv)
