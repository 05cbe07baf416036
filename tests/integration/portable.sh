#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What scripts/tarball and scripts/container make runs where nothing of ours is: in a root that holds the image alone, with the
# rights that daemonset.yaml asks for, it sees a program of the host; without any right it records a command of its own.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "a root of one's own needs root"; exit 77; }
[ -z "$(readelf -d "$CYCLESCOPE" | grep -E 'libasan|libtsan|libubsan')" ] || { echo "sanitizers want their own libraries"; exit 77; }
command -v xz dpkg-query >/dev/null || { echo "scripts/tarball needs xz and dpkg"; exit 77; }
unshare -m true 2>/dev/null || { echo "no mounts of one's own here"; exit 77; }
work=$(mktemp -d)
trap 'kill "${spins:-}" 2>/dev/null; rm -rf "$work"' EXIT
said() { [ -z "$1" ] || sed 's/^/    /' "$1" | head -n 12; exit 1; }
scripts/tarball "$work" >"$work/log" 2>&1 || { echo "not ok: scripts/tarball"; said "$work/log"; }
scripts/container "$work"/cyclescope-*.tar.xz "$work/image" >"$work/log" 2>&1 || { echo "not ok: scripts/container"; said "$work/log"; }
scripts/container "$work"/cyclescope-*.tar.xz "$work/again" >"$work/log" 2>&1
cmp "$work/image" "$work/again" || { echo "not ok: two images of one tarball differ"; exit 1; }
# The system's C library, however old (2.28 and later are promised), is asked for nothing: the launcher is static, the rest has what it
# needs beside it, and what is preloaded into others' programs asks for no version of any symbol.
root=$(echo "$work"/cyclescope-*-linux-*/)
readelf -lW "$root/bin/cyclescope" | grep -q INTERP && { echo "not ok: the launcher isn't static"; exit 1; }
for file in "$root"/lib/*; do
    for needed in $(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [ -e "$root/lib/$needed" ] || { echo "not ok: ${file##*/} needs $needed, which isn't there"; exit 1; }
    done
done
versions() { objdump -p "$root"/lib/* | sed -n "/^Version $1:/,/^\$/p" | grep -o 'GLIBC_[0-9.A-Z_]*' | sort -u; }
versions References >"$work/wanted"
versions definitions >"$work/offered"
[ -s "$work/wanted" ] && [ -z "$(comm -23 "$work/wanted" "$work/offered")" ] || { echo "not ok: nobody there offers"; comm -23 "$work/wanted" "$work/offered"; exit 1; }
timers=$BUILD/signals/timers/timers.so
objdump -T "$timers" | grep -q 'UND.*sigaction' || { echo "not ok: $timers can't be read"; exit 1; }
objdump -p "$timers" | grep -E 'GLIBC_|NEEDED' && { echo "not ok: the preloaded timers need that of a program's C library"; exit 1; }
mkdir "$work/out"
cp "$(command -v gzip)" "$work/out/spinner" # a program that nobody wrote for this, under a name that nothing else has

inside() { # NAME OPTION ARG...: a container's runtime, where none can be started
    local name=$1 option=$2
    shift 2
    scripts/portable/bundle "$work/image" "$work/$name" "$work/out" "$@" && scripts/portable/enter "$work/$name" $option
}

"$work/out/spinner" -9 </dev/zero >/dev/null &
spins=$!
inside all "" record -a --seconds 3 -o /out/all >"$work/log" 2>&1 || { echo "not ok: record -a in the container"; said "$work/log"; }
kill "$spins"
"$CYCLESCOPE" prof --by image --top 0 --store "$work/out/all" >"$work/table" 2>&1 || { echo "not ok: prof"; said "$work/table"; }
share=$(awk '/spinner/ {print int($2); exit}' "$work/table")
[ "${share:-0}" -ge 1 ] || { echo "not ok: the host's spinner isn't in the container's recording"; cat "$work/log"; said "$work/table"; }
"$CYCLESCOPE" store verify "$work/out/all" >/dev/null || { echo "not ok: the store"; exit 1; }

# Nothing but the image, and no right at all: a static program of one's own.
cat >"$work/turn.c" <<'C'
static volatile unsigned sink;
__attribute__((noinline)) static void turn_round(void)
{
    for (unsigned i = 0; i < 3000000000u; i++)
        sink += i;
}
int main(void)
{
    turn_round();
    return 7;
}
C
gcc -O1 -static "$work/turn.c" -o "$work/out/turn" || exit 1
inside own --no-capabilities record -o /out/own -- /out/turn >"$work/log" 2>&1
[ $? -eq 7 ] || { echo "not ok: the program's exit code isn't record's"; said "$work/log"; }
"$CYCLESCOPE" prof --store "$work/out/own" >"$work/table" 2>&1
awk '/turn_round/ && $2 + 0 > 80 {found = 1} END {exit !found}' "$work/table" || { echo "not ok: without rights"; cat "$work/log"; said "$work/table"; }
exit 0
