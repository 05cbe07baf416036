#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What perf names in its own recording is named after an import, too: kernel, libraries, recordings without build-ids.
# Beside others.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v perf >/dev/null || { echo "no perf to record with"; exit 77; }
perf record -q -o /dev/null -- true >/dev/null 2>&1 || { echo "perf can't record here"; exit 77; }
line=$(python3 bench/import-names.py --quick 2>/tmp/import_names.$$) || {
    cat /tmp/import_names.$$
    grep -q 'perf itself fails' /tmp/import_names.$$ && rc=77 || rc=1
    rm -f /tmp/import_names.$$
    exit $rc
}
value=$(echo "$line" | python3 -c 'import json,sys; print(json.load(sys.stdin)["value"])')
[ "$value" = 100.0 ] || { echo "not ok: $line"; cat /tmp/import_names.$$; rm -f /tmp/import_names.$$; exit 1; }
rm -f /tmp/import_names.$$
echo "ok: $line"
