#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Root's bursts tell nobody what a program has that gets rights which its user hasn't: a process that shares its memory with a partner
# becomes such a program (tests/hostile/burst_partner.c), and nothing of it, pages, registers or vectors, reaches who repeats
# the old memory's code. Before this was mended each of these leaked.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root: programs of other users, and with rights"; exit 77; }
for tool in setpriv python3; do
    command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
[ -z "$(findmnt -nT "$work" -o OPTIONS | grep nosuid)" ] || { echo "files give no rights in $work (nosuid)"; exit 77; }
for name in attacker group capability dropping; do cp "$BUILD/tests/hostile/burst_partner" "$work/$name"; done
chmod 2755 "$work/group"
chmod 4755 "$work/dropping"
python3 - "$work/capability" <<'PY' 2>/dev/null || rm "$work/capability"
import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
PY
somebody=(setpriv --reuid=65533 --regid=65533 --clear-groups)
delay=1 seconds=1.5 bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
for kind in group capability dropping; do
    [ -e "$work/$kind" ] || continue
    for how in fixed anywhere; do
        for by in main thread; do
            name=$kind-$how-$by
            "${somebody[@]}" "$work/attacker" $how $by $delay $seconds "$work/$kind" $kind >"$work/out" 2>&1 &
            target=$!
            until_true has_run $target 1
            timeout 20 "$CYCLESCOPE" record -v --no-chains --burst-rate 300 --seconds 2.4 -o "$work/store" -p $target >/dev/null 2>"$work/err"
            wait $target 2>/dev/null
            until_true -t 4 has_line '^(kept|leaked)' "$work/out"
            grep -q '^victim' "$work/out" || not_ok "$name: there was no victim: $(cat "$work/out")"
            # Those before the exec; 300 a second, as far as the machine lets them.
            [ "$(sed -n 's/,//g; s/^\([0-9]*\) bursts.*/\1/p' "$work/err")" -ge 3 ] || not_ok "$name: too few bursts: $(cat "$work/err")"
            grep -q '^kept' "$work/out" || not_ok "$name: $(tail -n 1 "$work/out")"
            echo "$name: $(tail -n 1 "$work/out"); $(grep -oE '^[0-9,]+ bursts' "$work/err")"
        done
    done
done
[ $bad = 0 ] && echo "ok: nothing of a program with rights reaches its partner"
exit $bad
