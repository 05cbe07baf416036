#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program profiles a part of itself through the library (cs_profile_start): with the kernel's events, and as an unprivileged user
# under docker's default system-call filter. The store holds that part alone, in the shares that the program measured.
set -eu
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
mkdir -m 1777 "$work/free"
export HOME=$work/free TMPDIR=$work/free CYCLESCOPE_CACHE=$work/free/cache
cp "$CYCLESCOPE" "$BUILD/tests/programs/without_rights" "$BUILD/signals/examples/self_profile" "$work/"
chmod -R a+rX "$work"
cs=$work/cyclescope
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs)
check() {
    "$cs" prof --store "$1"
    python3 - "$cs" "$1" "$(cat "$work/share")" <<'PY'
import json, subprocess, sys
rows = json.loads(subprocess.run([sys.argv[1], "prof", "--json", "--store", sys.argv[2]], capture_output=True, text=True, check=True).stdout)["rows"]
n = {r["procedure"]: r["samples"]["cpu-clock"] for r in rows}
total = n["wanted"] + n["also_wanted"]
share, told = n["wanted"] / total, float(sys.argv[3])
print(total, "samples, wanted", round(share, 3), "told", told)
assert total > 40 and abs(share - told) < 4 * (told * (1 - told) / total) ** 0.5 + 0.01
assert n.get("not_wanted", 0) <= 0.03 * total, n # as it begins and ends
PY
}
CYCLESCOPE=$cs "$work/self_profile" "$work/with" "-e cpu-clock -F 200" > "$work/share"
check "$work/with"
CYCLESCOPE=$cs "${user[@]}" "$work/without_rights" docker "$work/self_profile" "$work/free/without" "-F 200" > "$work/share"
check "$work/free/without"

# No recorder: one sentence, and the program goes on.
if CYCLESCOPE=$work/nothing "$work/self_profile" "$work/x" 2>"$work/err"; then exit 1; fi
grep -q "not profiled: the program .cyclescope. can't be run" "$work/err"
if CYCLESCOPE=$cs "$work/self_profile" "$work/x" "--no-such" 2>"$work/err"; then exit 1; fi
cat "$work/err"
grep -q 'not profiled: .*no-such' "$work/err"

# The program is killed: what was sampled is kept.
CYCLESCOPE=$cs "$work/self_profile" "$work/killed" "-e cpu-clock -F 200" 60 >/dev/null 2>&1 &
pid=$!
there() { compgen -G "$work/killed/$1" >/dev/null; }
until_true has_run $pid 400 # hundredths, of which it was sampled for most
kill -KILL $pid
until_true there "*/*/*.prof"
"$cs" prof --store "$work/killed" > "$work/table"
grep -q wanted "$work/table"
written() { ! pgrep -f -- "$work/killed" >/dev/null; } # else its folder can't be removed
until_true written
