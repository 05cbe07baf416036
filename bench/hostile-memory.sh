#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostile-memory: the daemon's peak memory in MB over all programs of tests/hostile, one after the other under one daemon (each
# line of the table: the peak so far; kernel memory, of BPF maps and rings, is not in it). --quick: the small forms. Target: at most 64.
set -eu
build=$(cd "${BUILD:-build}" && pwd)
peaks=$(mktemp)
trap 'rm -f "$peaks"' EXIT
[ "${1:-}" != --quick ] || export CS_QUICK=1
CS_DAEMON_ALONE=1 CS_PEAKS=$peaks BUILD=$build CYCLESCOPE=$build/cyclescope tests/integration/hostile_storms.sh >&2
awk '{ printf "%-16s %6.1f MB\n", $1, $2 / 1e6 }' "$peaks" >&2
awk '$2 > most { most = $2 } END { printf "{\"name\": \"hostile-memory\", \"value\": %.1f, \"unit\": \"MB\", \"target\": 64, \"noise\": 3, \"detail\": {\"programs\": %d}}\n", most / 1e6, NR }' "$peaks"
