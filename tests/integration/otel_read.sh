#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# record --label attribute=NAME against programs that know what each of their functions works on: by cyclescope's writer, and by one
# that was written from the specification alone; the pointer in the program, in a library, in one that was loaded later (by
# descriptors and by the older way, beside the program's own storage and in a block of its own). And programs that lie.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(uname -m)" = x86_64 ] || { echo "attributes are read on x86-64"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
trap '"$CYCLESCOPE" daemon stop --socket "$work/run/control" >/dev/null 2>&1; rm -rf "$work"' EXIT
bad=0 skipped=0
fail() { echo "failed: $*"; bad=1; }
"$CYCLESCOPE" record --label attribute=x --no-bursts -o "$work/try" -- true >/dev/null 2>"$work/err" ||
    { grep -q "BPF driver alone\|BPF programs can't" "$work/err" && { echo "no BPF driver here: $(tail -1 "$work/err")"; exit 77; }; fail "record: $(cat "$work/err")"; }
grep -q 'no program told an attribute "x"' "$work/err" || fail "nothing says that there was no attribute: $(cat "$work/err")"
"$CYCLESCOPE" record --label attribute=x --driver ring -o "$work/ring" -- true 2>"$work/err" && fail "the ring driver took an attribute"
grep -q "only the BPF driver reads attributes" "$work/err" || fail "the ring driver's sentence: $(cat "$work/err")"
"$CYCLESCOPE" record --label attribute= -o "$work/ring" -- true 2>"$work/err" && fail "an attribute without a name"
grep -q "attribute=NAME" "$work/err" || fail "the sentence about names: $(cat "$work/err")"

cc() { gcc -std=gnu11 -O2 -g -I. "$@" -ldl -lpthread || exit 1; }
exported=-Wl,--export-dynamic-symbol=otel_thread_ctx_v1
cc -o "$work/static" tests/otel/work.c tests/otel/ours.c "$BUILD/libcyclescope.a" $exported
cc -o "$work/one-store" -DCS_EXECUTABLE tests/otel/work.c tests/otel/ours.c "$BUILD/libcyclescope.a" $exported
cc -o "$work/shared" tests/otel/work.c tests/otel/ours.c -L"$BUILD" -lcyclescope -Wl,-rpath,"$(realpath "$BUILD")"
cc -o "$work/plain" tests/otel/work.c tests/otel/plain.c -rdynamic
cc -o "$work/plain-nopie" -no-pie tests/otel/work.c tests/otel/plain.c -rdynamic
cc -o "$work/loaded" tests/otel/work.c -rdynamic
cc -shared -fPIC -mtls-dialect=gnu2 -o "$work/beside.so" tests/otel/plain.c
cc -shared -fPIC -mtls-dialect=gnu2 -DPAD=65536 -o "$work/descriptor.so" tests/otel/plain.c
cc -shared -fPIC -mtls-dialect=gnu -DPAD=65536 -o "$work/general.so" tests/otel/plain.c
cc -shared -fPIC -mtls-dialect=gnu2 -DPAD=65536 -Wl,-z,now -o "$work/now.so" tests/otel/plain.c

check() { # check NAME OPTIONS PROGRAM
    # shellcheck disable=SC2086
    "$CYCLESCOPE" record --label attribute=http.route --no-bursts $2 -F 997 -o "$work/$1.store" -- "$3" 0.5 2 >"$work/truth" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    python3 - "$CYCLESCOPE" "$work/$1.store" "$work/truth" <<'PY'
import json, subprocess, sys
tool, store, truth = sys.argv[1:]
def prof(*words):
    return json.loads(subprocess.run([tool, "prof", "--json", "--top", "0", "--store", store, *words], check=True, capture_output=True, text=True).stdout)["rows"]
count = lambda r: sum(r["samples"].values())
labels = {r["process"]: count(r) for r in prof("--by", "attribute") if r["process"] != "[unlabelled]"}
log = {w[1]: int(w[2]) for w in map(str.split, open(truth)) if w[0] == "route"}
works = {"/cart": "work_cart", "/pay": "work_pay", "/search": "work_search"}
whole = {r["procedure"]: count(r) for r in prof()}
total = sum(whole.get(p, 0) for p in [*works.values(), "work_none"])
if total < 300:
    print(f"only {total} samples of a second's work: the machine lost the others")
    sys.exit(77)
assert set(labels) <= set(works), labels
right = without = 0
for route, procedure in works.items():
    rows = {r["procedure"]: count(r) for r in prof("--process", route)} if route in labels else {}
    for other in [*works.values(), "work_none"]:
        assert other == procedure or other not in rows, f"{rows[other]} samples of {other} are labelled {route}"
    right += rows.get(procedure, 0)
    without += whole[procedure] - rows.get(procedure, 0)
    share, logged = whole[procedure] / total, log[route] / sum(log.values())
    assert abs(share - logged) < 0.02 + 4 * (logged / total) ** 0.5, (route, share, logged)
print(f"{right} labelled rightly, 0 wrongly, {without} without a label, of {right + without} with something attached")
assert without <= 2 + 0.002 * (right + without), "too many without a label"
PY
    case $? in 0) ;; 77) skipped=1 ;; *) fail "$1" ;; esac
}
check static "" "$work/static"
check one-store --no-chains "$work/one-store"
check shared "" "$work/shared"
check plain --no-chains "$work/plain"
check plain-nopie "" "$work/plain-nopie"
for library in beside descriptor general now; do
    WRITER=$work/$library.so check $library "" "$work/loaded"
done

# ---- who runs already; other attributes; traces ----
"$work/static" 60 2 >/dev/null &
pid=$!
until_true has_run $pid
"$CYCLESCOPE" record --label attribute=tenant --no-bursts -F 997 -t 1 -p $pid -o "$work/tenant" >/dev/null 2>"$work/err" || fail "tenant: $(cat "$work/err")"
"$CYCLESCOPE" record --label attribute=trace_id --no-bursts -F 997 -t 1 -p $pid -o "$work/trace" >/dev/null 2>"$work/err" || fail "trace: $(cat "$work/err")"
kill $pid
wait $pid 2>/dev/null
python3 - "$CYCLESCOPE" "$work" <<'PY' || fail "other attributes"
import json, re, subprocess, sys
def labels(store):
    rows = json.loads(subprocess.run([sys.argv[1], "prof", "--json", "--top", "0", "--by", "attribute", "--store", f"{sys.argv[2]}/{store}"], check=True, capture_output=True, text=True).stdout)["rows"]
    return {r["process"]: sum(r["samples"].values()) for r in rows if r["process"] != "[unlabelled]"}
tenants, traces = labels("tenant"), labels("trace")
assert {"tenant-0", "tenant-1", "tenant-2"} == set(tenants), tenants
assert len(traces) > 10 and all(re.fullmatch("a0a1a2a3a4a5a6a7a8a9aaab[0-9a-f]{8}", t) for t in traces), traces
PY
"$CYCLESCOPE" tree --by attribute --store "$work/shared.store" >"$work/out" 2>&1 || fail "tree --by attribute: $(cat "$work/out")"
grep -q /search "$work/out" || fail "tree has no /search: $(head -5 "$work/out")"

# ---- the whole machine, by the daemon: the program starts while it runs ----
mkdir "$work/run"
"$CYCLESCOPE" daemon start --socket "$work/run/control" -o "$work/machine" --label attribute=http.route -F 997 >/dev/null 2>"$work/err" || fail "daemon: $(cat "$work/err")"
WRITER=$work/descriptor.so "$work/loaded" 4 2 >/dev/null # the daemon gives way to others: where they are many it finds a program late
"$CYCLESCOPE" daemon stop --socket "$work/run/control" >/dev/null 2>"$work/err" || fail "daemon: $(cat "$work/err")"
for route in /cart:work_cart /pay:work_pay /search:work_search; do
    "$CYCLESCOPE" prof --process "${route%:*}" --json --store "$work/machine" 2>&1 |
        python3 -c 'import json, sys; p = [r["procedure"] for r in json.load(sys.stdin)["rows"] if (r["procedure"] or "").startswith("work_")]; sys.exit(p != sys.argv[1:])' "${route#*:}" || fail "the daemon's samples of $route"
done

# ---- programs that lie ----
cat >"$work/liar.c" <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
__thread unsigned char *otel_thread_ctx_v1;
static unsigned char good[] = "\x12\x2e\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0etlsdesc_v1_dev\x12\x2a\x0a\x1dthreadlocal.attribute_key_map\x12\x09\x2a\x07\x0a\x05\x0a\x03key";
static unsigned char *page; /* the last before what isn't mapped */
static void shows(const char *value, int length, int size)
{
    unsigned char *r = page + 4096 - 28 - (size < 400 ? size : 400);
    uint16_t n = (uint16_t)size;
    memset(r, 0, 28);
    r[24] = 1;
    memcpy(r + 26, &n, 2);
    r[28] = 0;
    r[29] = (unsigned char)length;
    memcpy(r + 30, value, strlen(value));
    otel_thread_ctx_v1 = r;
}
int main(int argc, char **argv)
{
    int how = atoi(argv[1]), fd = memfd_create("OTEL_CTX", 0);
    unsigned char *m;
    uint64_t word;
    (void)argc;
    if (ftruncate(fd, 8192) != 0) return 1;
    m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memcpy(m, "OTEL_CTX\2\0\0\0", 12);
    uint32_t n = how == 1 ? 0xffffffff : sizeof good - 1;
    memcpy(m + 12, &n, 4);
    word = how == 2 ? 0 : 1;
    memcpy(m + 16, &word, 8);
    word = how == 3 ? 0xffffffffffff0000 : (uintptr_t)good;
    memcpy(m + 24, &word, 8);
    if (how == 4) for (unsigned i = 60; i < sizeof good; i++) good[i] = 0xff;
    switch (how) {
    case 5: otel_thread_ctx_v1 = (unsigned char *)0xdeadbeef000; break;
    case 6: otel_thread_ctx_v1 = (unsigned char *)-8; break;
    case 7: shows("cut", 200, 5); break;                       /* an entry longer than the record */
    case 8: shows("", 255, 65535); break;                      /* a record that ends where nothing is mapped */
    case 9: shows("\x1b[2J\n\xff\xfeok", 9, 11); break;        /* what a terminal must not get */
    case 10: shows("whole", 5, 7); break;
    }
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;);
    return 0;
}
C
cc -o "$work/liar" "$work/liar.c" -rdynamic
for how in 1 2 3 4 5 6 7 8 9 10; do
    "$CYCLESCOPE" record --label attribute=key --no-bursts -F 997 -o "$work/liar$how" -- "$work/liar" $how >/dev/null 2>"$work/err" || fail "liar $how: $(cat "$work/err")"
    got=$("$CYCLESCOPE" prof --json --by attribute --store "$work/liar$how" 2>/dev/null | python3 -c 'import json, sys; print(sorted(r["process"] for r in json.load(sys.stdin)["rows"] if not r["process"].startswith("[unlabelled")))')
    want="[]"
    [ $how != 9 ] || want="['?[2J???ok']"
    [ $how != 10 ] || want="['whole']"
    [ "$got" = "$want" ] || fail "liar $how: labels $got, not $want"
done
if [ $bad = 0 ] && [ $skipped = 1 ]; then echo "too few samples: the machine was too busy"; exit 77; fi
exit $bad
