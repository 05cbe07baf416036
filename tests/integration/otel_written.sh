#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# What cyclescope's writer of OpenTelemetry's contexts publishes, read by a reader that was written from the specification alone
# (tests/otel/reader.py): linked statically, as one word with the observer's, as a shared library, and in a forked child.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(uname -m)" = x86_64 ] || { echo "the test's reader knows x86-64's registers only"; exit 77; }
work=$(mktemp -d) started=()
trap 'for p in "${started[@]}"; do kill -9 "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
bad=0
fail() { echo "failed: $*"; bad=1; }
cc() { gcc -std=gnu11 -O2 -g -I. "$@" tests/otel/work.c -ldl -lpthread || exit 1; }
exported=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1
cc -o "$work/static" tests/otel/ours.c "$BUILD/libcyclescope.a" $exported
cc -o "$work/one-store" -DCS_EXECUTABLE tests/otel/ours.c "$BUILD/libcyclescope.a" $exported
cc -o "$work/shared" tests/otel/ours.c -L"$BUILD" -lcyclescope -Wl,-rpath,"$(realpath "$BUILD")"
cc -o "$work/loaded" -rdynamic
gcc -shared -fPIC -O2 -g -I. -o "$work/writer.so" tests/otel/ours.c -L"$BUILD" -lcyclescope -Wl,-rpath,"$(realpath "$BUILD")" || exit 1
# The reader itself is held against the other writer: what both say alike is not one's habit.
cc -o "$work/plain" tests/otel/plain.c -rdynamic
gcc -shared -fPIC -O2 -g -DPAD=65536 -mtls-dialect=gnu2 -I. -o "$work/plain.so" tests/otel/plain.c || exit 1

seven_threads() { [ "$(grep -c ^thread "$work/out")" = 7 ]; }
check() { # check NAME PROGRAM OURS
    "$2" hold >"$work/out" 2>"$work/err" &
    local pid=$!
    started+=($pid)
    until_true -t 8 seven_threads
    # One page: there are readers that look at no larger mapping.
    [ "$3" = 0 ] || python3 -c 'import re, resource, sys; a, b = re.search(r"(?m)^(\w+)-(\w+) .*OTEL_CTX", open(f"/proc/{sys.argv[1]}/maps").read()).groups(); sys.exit(int(b, 16) - int(a, 16) != resource.getpagesize())' $pid ||
        fail "$1: the mapping isn't a page: $(grep OTEL_CTX "/proc/$pid/maps")"
    python3 tests/otel/reader.py $pid $(awk '{ print $2 }' "$work/out") >"$work/json" 2>"$work/err" || fail "$1: $(tail -2 "$work/err")"
    python3 - "$work/out" "$work/json" "$3" <<'PY' || fail "$1"
import json, sys
whats = {w[2]: w[1] for w in map(str.split, open(sys.argv[1]))}
got, ours = json.load(open(sys.argv[2])), sys.argv[3] == "1"
def span(n):
    trace = "".join(f"{0xA0 + i:02x}" for i in range(12)) + f"{n:08x}"
    return trace, trace[16:]
want = {"never": None, "left": None, "two": (7, {"http.route": "/cart", "tenant": "é-1"}), "again": (8, {"http.route": "/new", "tenant": "t"}),
        "late": (10, {"late.key": "new"}), "bare": (11, {})}
if ours:
    want["longest"] = (9, {"http.route": "x" * 255})
    assert got["resource"] == {"service.name": "shop", "service.version": "1.2"}, got["resource"]
assert got["keys"] == ["unused", "http.route", "tenant", "late.key"] and got["schema"] == "tlsdesc_v1_dev", got
for what, expected in want.items():
    found = got["threads"][whats[what]]
    if expected is None:
        assert found is None, (what, found)
    else:
        assert (found["trace"], found["span"]) == span(expected[0]) and found["flags"] == 1 and found["attributes"] == expected[1], (what, found)
        assert found["bytes"] <= 640
PY
    kill -9 $pid
    wait $pid 2>/dev/null
}
check "static library" "$work/static" 1
check "one store for both readers" "$work/one-store" 1
check "shared library" "$work/shared" 1
WRITER=$work/writer.so check "loaded at run time" "$work/loaded" 1
check "the other writer" "$work/plain" 0
WRITER=$work/plain.so check "the other writer, loaded" "$work/loaded" 0

# ---- one store: the pointer is the word of the line ----
objdump -d --no-show-raw-insn "$work/one-store" | awk '/<detach>:/ { on = 1 } /^$/ { on = 0 } on' | grep -c '%fs:' | grep -qx 1 ||
    fail "a detach in an executable isn't one store: $(objdump -d --no-show-raw-insn "$work/one-store" | awk '/<detach>:/ { on = 1 } /^$/ { on = 0 } on')"
if [ "$(nproc)" -ge 2 ]; then
    "$work/one-store" hold >"$work/out" &
    started+=($!)
    disown
    until_true -t 8 seven_threads
    "$CYCLESCOPE" signals -p $! --json >"$work/signals" 2>"$work/err" || fail "signals: $(cat "$work/err")"
    grep -q context "$work/signals" || fail "the observer doesn't see the context: $(head -c 500 "$work/signals")"
fi

# ---- a forked child publishes its own; the parent's isn't there ----
cat >"$work/fork.c" <<'C'
#include "signals/cyclescope_otel.h"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    static struct cs_otel_record record;
    const int key = cs_otel_key("k");
    cs_otel_clear(&record);
    cs_otel_add(&record, key, "kept", 4);
    cs_otel_attach(&record);
    if (fork() == 0) {
        cs_otel_key("child");
        printf("thread %d child\n", getpid());
        fflush(stdout);
    }
    for (;;) pause();
}
C
gcc -O2 -I. -o "$work/fork" "$work/fork.c" "$BUILD/libcyclescope.a" -lpthread $exported || exit 1
"$work/fork" >"$work/out" &
started+=($!)
disown
parent=$!
until_true -t 8 has_line child "$work/out"
child=$(awk '{ print $2 }' "$work/out")
started+=("$child")
python3 tests/otel/reader.py "$child" "$child" | grep -q '"keys": \["k", "child"\].*"attributes": {"k": "kept"}' || fail "the child's context"
python3 tests/otel/reader.py $parent $parent | grep -q '"keys": \["k"\].*"attributes": {"k": "kept"}' || fail "the parent's context"

# ---- limits ----
cat >"$work/limits.c" <<'C'
#include "signals/cyclescope_otel.h"
#include <stdio.h>
int main(void)
{
    static struct cs_otel_record r;
    char name[300], big[5000] = "";
    int bad = 0;
    memset(big, 'b', sizeof big - 1);
    bad |= cs_otel_key("") != -EINVAL || cs_otel_key(big) != -EINVAL;
    bad |= (cs_otel_resource((const char *[]){"a", big}, 1) != -ENOSPC) << 1;
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "a.name.of.an.attribute.that.is.quite.long.really.%d", i);
        bad |= (cs_otel_key(name) != i || cs_otel_key(name) != i) << 2;
    }
    bad |= (cs_otel_key("one more") != -ENOSPC) << 3;
    cs_otel_clear(&r);
    bad |= (cs_otel_add(&r, 256, "", 0) != -EINVAL || cs_otel_add(&r, 1, big, 256) != -EINVAL) << 4;
    bad |= (cs_otel_add(&r, 1, big, 255) != 0 || cs_otel_add(&r, 1, big, 255) != 0 || cs_otel_add(&r, 1, big, 97) != -ENOSPC || cs_otel_add(&r, 1, big, 96) != 0 || cs_otel_add(&r, 1, "", 0) != -ENOSPC) << 5;
    return bad;
}
C
gcc -O2 -I. -o "$work/limits" "$work/limits.c" "$BUILD/libcyclescope.a" -lpthread || exit 1
"$work/limits" || fail "limits: $?"
exit $bad
