#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# No report says what can't be true (tests/report_rules.py): of stores of short and long recordings, with and without bursts,
# imported, observed, and of random rows. The rules themselves must see what is wrong. bench/run report-sane does the same with
# more than 200 stores.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CYCLESCOPE_CACHE=$tmp/cache CS_PROCEDURES=2
cd "$(dirname "$0")/../.."
python3 - <<'PY'
import sys
sys.path.insert(0, 'tests')
from report_rules import Wrong, check_edges, check_numbers, check_prof, check_sum, check_summary, check_text
def seen(check, *what):
    wrong = Wrong('doctored')
    check(wrong, *what)
    return bool(wrong)
row = {'share': 10.0, 'low': 5.0, 'high': 20.0}
good = {'dynamic': {'d-cache': row}, 'static': {'d-cache': 0.0}, 'unexplained': 30.0, 'execution': 60.0, 'gain': 0.0, 'best_cpi': 0.3, 'actual_cpi': 0.5, 'no_frequency': 0.0, 'samples': 9, 'first': 'd-cache', 'first_share': 10.0}
assert not seen(check_summary, good)
assert seen(check_summary, dict(good, unexplained=97.1)) and seen(check_summary, dict(good, best_cpi=0.35))
thin = {'procedure': 'f', 'first': 'too few bursts', 'sentence': 'Not enough evidence to name a cause: no burst saw this code run'}
assert not seen(check_sum, {'summary': good, 'procedures': [thin]}) and seen(check_sum, {'summary': good, 'procedures': [dict(thin, first='none named')]})
assert seen(check_summary, dict(good, dynamic={'d-cache': dict(row, high=8.0)}))
assert seen(check_numbers, {'percent': 180.2}) and seen(check_numbers, {'x': -0.0}) and not seen(check_numbers, {'percent': 100.0})
assert seen(check_text, 'Unexplained gain   -0.0 %') and seen(check_text, '1 bursts, 3 edges') and seen(check_text, 'edges 163.2 %')
assert not seen(check_text, '1 burst, 1 of 3 procedures, 12.0 %')
assert seen(check_edges, {'edges': [{'from': '0x1', 'seen': 3, 'frequency': 3, 'percent_of_source': 90.1}, {'from': '0x1', 'seen': 2, 'frequency': 2, 'percent_of_source': 90.0}]})
assert seen(check_prof, {'event': 'e', 'total': 5, 'rows': [{'samples': {'e': 4}, 'running_percent': 80}]})
PY
P=$BUILD/tests/programs/procedures
"$CYCLESCOPE" record -o "$tmp/nothing" -- true >/dev/null 2>&1
"$CYCLESCOPE" record -F 1000 --no-bursts -o "$tmp/short" -- "$P" 5 5 5 5 5 5 5 >/dev/null 2>&1
"$CYCLESCOPE" record --burst-rate 100 --intervals 50ms -o "$tmp/long" -- "$P" 200 100 100 300 50 50 200 >/dev/null 2>&1
gzip -9 -c "$CYCLESCOPE" >"$tmp/in.gz"
"$CYCLESCOPE" record --burst-rate 200 -o "$tmp/gunzip" -- gzip -dc "$tmp/in.gz" >/dev/null 2>&1
"$CYCLESCOPE" observe --seconds 0.3 -o "$tmp/observed" -- "$BUILD/signals/examples/phases" >/dev/null 2>&1
"$BUILD/tests/programs/perfdata_filler" 20000 5 "$tmp/perf.data" >/dev/null 2>&1
"$CYCLESCOPE" import -o "$tmp/imported" "$tmp/perf.data" >/dev/null 2>&1
for seed in 1 2; do "$BUILD/tests/programs/store_filler" "$tmp/random$seed" random $seed 40; done
python3 tests/report_rules.py "$CYCLESCOPE" "$tmp"/{nothing,short,long,gunzip,observed,imported,random1,random2}
