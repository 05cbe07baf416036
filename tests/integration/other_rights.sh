#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# A user's events end where a set-uid program begins, which the kernel tells nobody: record does. Nothing is said of others.
set -u
[ "$(id -u)" = 0 ] || { echo "a set-uid program of root's is made by root"; exit 77; }
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || { echo "users may not open events here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
not_ok() { echo "not ok: $*"; bad=1; }
cp "$BUILD/tests/programs/sampler_target" "$work/plain"
cp "$BUILD/tests/programs/sampler_target" "$work/set-uid"
cp "$CYCLESCOPE" "$work/cyclescope"
mkdir "$work/stores"
chown 65534 "$work/stores"
chmod 755 "$work"
chmod 4755 "$work/set-uid"
as_user() { (cd "$work/stores" && HOME=$work/stores setpriv --reuid=65534 --regid=65534 --clear-groups "$work/cyclescope" "$@" 2>"$work/err"); }
as_user record --no-bursts -o plain -- sh -c "'$work/plain' spin 2; :" || { echo "a user can't record here: $(tail -n 1 "$work/err")"; exit 77; }
grep -q 'other rights' "$work/err" && not_ok "it is said of a plain program: $(cat "$work/err")"
as_user record --no-bursts -o changed -- sh -c "'$work/set-uid' spin 2; :" || not_ok "$(cat "$work/err")"
findmnt -nT "$work" -o OPTIONS 2>/dev/null | grep -qw nosuid && { echo "no set-uid programs in $work"; exit 77; }
grep -q 'other rights' "$work/err" || not_ok "nothing is said: $(cat "$work/err")"
[ $bad = 0 ] && echo ok
exit $bad
