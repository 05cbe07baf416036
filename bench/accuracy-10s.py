# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy-10s: what a recording of ten seconds at default options tells of how often code ran: instructions (each procedure
scaled by one constant) and edges, against callgrind's counts, ten programs. The value is the share of samples within 10 % of the
truth, median of the runs; the goals are 80/90/95 % within 5/10/15 %, 85 % of edges within 10 %, and 75 % in the worst program
(`detail`). CS_ACCURACY_SETS says how many runs (three); an even share of the time may be another program's."""
import os, sys

os.environ.setdefault('CS_ACCURACY_SECONDS', '10')
os.environ.setdefault('CS_ACCURACY_SETS', '1' if '--quick' in sys.argv else '3')
os.environ['CS_ACCURACY_DEFAULT'] = '1'

from libaccuracy import report_goals

report_goals('accuracy-10s', '% within 10 %', 90, sys.argv)
