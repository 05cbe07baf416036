# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of edge executions estimated within 10 %: DCPI's figure 9."""
import sys

from libaccuracy import method, report

report('accuracy-edges', '% within 10 %', 85, lambda r: method(r, 'bursts')['edges_10'], sys.argv)
