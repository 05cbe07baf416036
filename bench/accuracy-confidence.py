# SPDX-License-Identifier: GPL-2.0-or-later
"""Of the samples that are off by more than 15 %, the share marked low confidence."""
import sys

from libaccuracy import report

report('accuracy-confidence', '% of those off by more than 15 %', 90,
       lambda r: next(c['of_bad'] for c in r['confidence'] if c['confidence'] == 'low'), sys.argv)
