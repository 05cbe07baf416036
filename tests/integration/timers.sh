#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sampling without perf_event_open: an unprivileged process under docker's default system-call filter sees the shares that
# the program was told to have, and that a privileged session sees; its chains, threads and short processes, too.
set -eu
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
mkdir -m 1777 "$work/free"
export HOME=$work/free TMPDIR=$work/free CYCLESCOPE_CACHE=$work/free/cache
cp "$CYCLESCOPE" "$BUILD/tests/programs/procedures" "$BUILD/tests/programs/sampler_target" "$work/"
cp "$BUILD/tests/programs/without_rights" "$BUILD/tests/programs/filtered" "$work/"
chmod -R a+rX "$work"
denied() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$work/without_rights" docker "$@"
    else "$work/without_rights" docker "$@"; fi
}
cs=$work/cyclescope

# 1. Shares: told to the program, seen with rights, seen without.
set -- 300 300 300 600 600 600 300
denied "$cs" record -o "$work/free/s" -- "$work/procedures" "$@" 2>"$work/said"
cat "$work/said"
grep -q 'timers of the command.s own threads.*perf_event_open' "$work/said"
"$cs" record --no-bursts -o "$work/with" -- "$work/procedures" "$@" 2>/dev/null
python3 - "$cs" "$work/free/s" "$work/with" "$@" <<'PY'
import json, subprocess, sys
cs, without, with_rights, told = sys.argv[1], sys.argv[2], sys.argv[3], [float(x) for x in sys.argv[4:]]
names = ["alpha", "beta", "gamma_ray", "delta", "epsilon", "wobbly", "zeta"]
def shares(store):
    rows = json.loads(subprocess.run([cs, "prof", "--json", "--store", store], capture_output=True, text=True, check=True).stdout)
    n = {r["procedure"]: r["samples"]["cpu-clock"] for r in rows["rows"] if r["procedure"] in names}
    return {k: v / sum(n.values()) for k, v in n.items()}, sum(n.values())
(a, n), (b, m) = shares(without), shares(with_rights)
print(n, "samples without rights,", m, "with")
assert n > 300, n
for name, t in zip(names, told):
    t /= sum(told)
    print(f"{name:10} told {t:.3f} without {a.get(name, 0):.3f} with {b.get(name, 0):.3f}")
    bound = 4 * (t * (1 - t) * (1 / n + 1 / m)) ** 0.5 + 0.01 # seven rows: by chance once in 2,000 runs
    assert abs(a.get(name, 0) - b.get(name, 0)) < bound, (name, bound)
    assert abs(a.get(name, 0) - t) < bound + 0.02, (name, bound)
PY

# 2. Call chains lead from the program's start to the procedure (a leaf without a frame hides its caller, main, as it does
# from the kernel).
denied "$cs" record -g -o "$work/free/g" -- "$work/procedures" "$@" 2>/dev/null
"$cs" export -f folded --store "$work/free/g" > "$work/folded"
awk '{ n += $NF; if (/__libc_start_call_main;(main;)?(alpha|beta|gamma_ray|delta|epsilon|wobbly|zeta) /) m += $NF } END { print m / n " of the samples are in chains from the start to the procedure"; exit !(m > 0.9 * n) }' "$work/folded"

# 3. Short processes have names: each of these is gone before a drain.
denied "$cs" record -v -o "$work/free/short" -- sh -c 'i=0; while [ $i -lt 60 ]; do '"$work/procedures"' 2 2 2 2 2 2 2 >/dev/null; i=$((i + 1)); done' 2>"$work/said"
cat "$work/said"
"$cs" prof --store "$work/free/short" --by image | tee "$work/short"
grep -q procedures "$work/short"
python3 - "$work/said" <<'PY'
import re, sys
n, unknown = re.search(r"(\d+) samples of .*lost, (\d+) unknown", re.sub(r"(?<=\d),(?=\d)", "", open(sys.argv[1]).read())).groups()
assert int(n) > 20 and int(unknown) <= 0.03 * int(n), (n, unknown)
PY

# 4. What can't be done is one sentence.
for wrong in "-a --seconds 1" "--driver timers -p $$ --seconds 1"; do
    # shellcheck disable=SC2086
    if denied "$cs" record -o "$work/free/x" $wrong 2>"$work/err"; then echo "record $wrong should fail"; exit 1; fi
    cat "$work/err"
    grep -qE 'record -- COMMAND, which has its own timers|timers are of a command' "$work/err"
    [ "$(grep -c . "$work/err")" -le 2 ]
done
# 5. A program under a strict filter of system calls lives, however the filter came on.
for way in plain prctl strict all-threads thread-and-child exec unseen; do
    code=0
    "$work/filtered" $way >/dev/null || code=$?
    [ $code = 7 ] || { echo "filtered $way alone: $code"; exit 1; }
    "$cs" record --driver timers -o "$work/free/f" -- "$work/filtered" $way >"$work/said" 2>&1 || true
    grep -q 'ended with exit code 7' "$work/said" || { echo "filtered $way: $(cat "$work/said")"; exit 1; }
    rm -r "$work/free/f"
done
"$cs" record --driver timers -o "$work/free/f" -- "$work/filtered" prctl 2>&1 | grep -q 'threads put filters on their system calls'

# 6. What the command leaves running looks for the library with each exec: nobody may make its folder then.
"$cs" record --driver timers -o "$work/free/p" -- sh -c 'dirname "${LD_PRELOAD%%:*}"' >"$work/folder" 2>/dev/null
folder=$(cat "$work/folder")
case $folder in "$CYCLESCOPE_CACHE"/*) ;; *) echo "the library is in $folder, where others may write"; exit 1 ;; esac
CYCLESCOPE_CACHE="" "$cs" record --driver timers -o "$work/free/p" -- \
    sh -c 'dirname "${LD_PRELOAD%%:*}"' >"$work/folder" 2>/dev/null
folder=$(cat "$work/folder")
[ -d "$folder" ] || { echo "$folder is gone: somebody else may make it"; exit 1; }
rmdir "$folder"
[ -z "$(find "$work/free" -name 'cyclescope-*' -o -name 'timers-*')" ] || { echo "a folder of the timers was left"; exit 1; }
