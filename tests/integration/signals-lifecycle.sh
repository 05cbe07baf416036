#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The life of a segment: threads, fork, exec, dlopen, second copies, closed descriptors, no memory, full /dev/shm, set-uid,
# other users, containers.
set -u
. "$(dirname "$0")/../until.sh"
life=$BUILD/tests/programs/signals_life
phases=$BUILD/signals/examples/phases
work=$(mktemp -d)
chmod 755 "$work"
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
bad=0
fail() {
    echo "failed: $*"
    bad=1
}

for case in basics scope pools thousands thrd fork raw-fork fork-parent-ahead fork-no-file exec two-copies closed-descriptors killed-registering; do
    for how in life life_direct; do
        BUILD=$BUILD timeout 60 "$BUILD/tests/programs/signals_$how" $case >"$work/out" 2>&1
        rc=$?
        [ $rc = 0 ] || [ $rc = 77 ] || fail "$how $case ($rc): $(cat "$work/out")"
    done
done

# ---- nothing can be published, the program runs on ----
CYCLESCOPE_SIGNALS=off "$life" private || fail "switched off by the environment"
(ulimit -f 100 && "$life" private) | cat
[ "${PIPESTATUS[0]}" = 0 ] || fail "a limit on file sizes"
# a sanitizer's shadow needs terabytes of it
[ -n "${CS_SANITIZED:-}" ] || (ulimit -v 12000 && "$life" no-memory) || fail "no address space"

# ---- loaded late ----
"$BUILD/tests/programs/signals_dlopen" "$(realpath "$BUILD")/libcyclescope.so" >"$work/ready" &
pid=$!
started+=($pid)
until_true has_line ready "$work/ready"
"$CYCLESCOPE" signals -p $pid --json >"$work/json" || fail "dlopen: could not read"
[ "$(grep -c '"value": 11\|"value": 22' "$work/json")" = 2 ] || fail "dlopen: $(cat "$work/json")"
kill -9 $pid

# ---- C++: exceptions restore scopes ----
cat >"$work/scope.cc" <<'END'
#include "signals/cyclescope.h"
static void thrower(cs_signal s) { CS_SCOPE(s, 9); if (cs_get(s) == 9) throw 1; }
int main()
{
    const cs_signal s = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_set(s, 2);
    try { CS_SCOPE(s, 3); thrower(s); } catch (int) { return cs_get(s) == 2 ? 0 : 1; }
    return 1;
}
END
g++ -I. -O2 -Wall -Wextra -Werror -o "$work/scope" "$work/scope.cc" "$BUILD/libcyclescope.a" && "$work/scope" || fail "C++ scope"

# ---- a fully static program ----
cat >"$work/static.c" <<'END'
#include "signals/cyclescope.h"
#include <pthread.h>
static void *run(void *line) { *(volatile uint64_t **)line = cs_line; return 0; }
int main(void)
{
    pthread_t t;
    volatile uint64_t *line = 0;
    if (cs_open() != 0 || pthread_create(&t, 0, run, (void *)&line) != 0 || pthread_join(t, 0) != 0)
        return 1;
    return line - cs_line == 512 ? 0 : 1; /* the next line */
}
END
gcc -I. -O2 -static -Wl,--wrap=pthread_create -o "$work/static" "$work/static.c" "$BUILD/libcyclescope-static.a" 2>"$work/err" &&
    "$work/static" || fail "static program: $(cat "$work/err")"

[ "$(id -u)" = 0 ] || { echo "the rest needs root"; exit $bad; }

# ---- full /dev/shm, none at all ----
unshare -m bash -c "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full; '$life' basics" ||
    fail "full /dev/shm"

# ---- other users; set-uid ----
cp "$phases" "$work/phases"
"$work/phases" --seconds 20 &
pid=$!
started+=($pid)
cp "$CYCLESCOPE" "$work/cyclescope"
until_true has_run $pid
setpriv --reuid=65534 --regid=65534 --clear-groups "$work/cyclescope" signals -p $pid >"$work/out" 2>&1 &&
    fail "another user could read"
grep -q "belongs to somebody else" "$work/out" || fail "another user: $(cat "$work/out")"
kill -9 $pid
setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "'$work/phases' --seconds 1 & until_true has_run \$! && '$work/cyclescope' signals -p \$!" >"$work/out" 2>&1 ||
    fail "its own user could not read: $(cat "$work/out")"
cp "$life" "$work/life" && chmod u+s "$work/life"
if [ -z "$(findmnt -no OPTIONS -T "$work" | grep nosuid)" ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups "$work/life" basics >/dev/null && fail "a set-uid program published"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$work/life" private || fail "set-uid program"
fi

# ---- a container: own PID and mount namespace, another root without /proc and /dev; read from outside ----
mkdir -p "$work/root"
gcc -I. -D_GNU_SOURCE -O2 -static -Wl,--wrap=pthread_create -o "$work/root/phases" signals/examples/phases.c "$BUILD/libcyclescope-static.a"
unshare --pid --mount --fork chroot "$work/root" /phases --seconds 20 --threads 2 &
outer=$!
started+=($outer)
runs_within() { pid=$(pgrep -P $outer phases) && has_run "$pid"; }
until_true runs_within
started+=("$pid")
"$CYCLESCOPE" signals -p "$pid" --json >"$work/json" 2>&1 || fail "container: $(cat "$work/json")"
for tid in $(ls "/proc/$pid/task"); do
    grep -q "\"tid\": $tid," "$work/json" || fail "container: thread $tid is not listed by its number outside"
done
kill -9 "$pid"
wait 2>/dev/null
exit $bad
