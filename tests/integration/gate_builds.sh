#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate --image: two builds of one program in one store. The second does 10 % more, in one function: recordings of a command and
# epochs of a daemon both show it. A build of equal code isn't slower. Which build, which epochs, which commits: by what the
# test itself built, deployed and noted.
set -u
. "$(dirname "$0")/../until.sh"
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
daemon() { "$CYCLESCOPE" daemon "$1" --socket "$work/run/control" "${@:2}"; }
finish() {
    daemon stop >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
gate() { "$CYCLESCOPE" gate "$@" >said 2>err; code=$?; }
checks() { # of what was said as JSON
    python3 -c '
import json
said = json.load(open("said"))
for row in said["checks"] + said["guilty"]:
    print(row)'
}

cat >app.c <<'C'
#include <stdlib.h>
volatile unsigned long sum;
/* A turn is a chain in a register: a store that is read again takes 0 to 5 cycles, as the processor likes. */
#define F(name, n) __attribute__((noinline)) void name(void) { unsigned long x = sum; for (unsigned long i = 0; i < (n); i++) x = (x ^ x >> 3) * 5 + i; sum = x; }
F(one, 2000000) F(two, 2000000) F(three, 2000000) F(four, 2000000) F(five, 2000000)
F(parse, TURNS)
int main(int n, char **words)
{
    for (int i = 0; i < (n > 1 ? atoi(words[1]) : 1); i++) {
        one(); parse(); two(); three(); four(); five();
    }
}
C
cat >note.s <<'S'
.section .note.package, "a", @note
.long 4, 2f - 1f, 0xcafe1a7e
.asciz "FDO"
1: .ascii "{\"type\":\"deb\",\"name\":\"app\",\"version\":\"1.3\"}"
2: .balign 4
.section .note.GNU-stack, "", @progbits
S
a=$(printf 'a%.0s' {1..40}) b=$(printf 'b%.0s' {1..40}) c=$(printf 'c%.0s' {1..40})
build() { gcc -g -O1 "-DTURNS=$2" "-Wl,--build-id=0x$1" -o "$1" app.c note.s || fail "gcc"; }
build "$a" 2000000
build "$b" 3200000
build "$c" 3200000
deploy() { cp "$1" app.next && mv app.next app; } # at one path, as programs are deployed

# Commits, by notes: the base's build is that of two commits, and two more made the head's.
if command -v git >/dev/null; then
    g() { git -C repository -c user.name=t -c user.email=t@t -c gc.auto=0 -c maintenance.auto=false "$@"; }
    git init -q repository
    day=1
    for subject in first unrelated third "parse more"; do
        GIT_COMMITTER_DATE="2026-03-0$((day++)) 12:00 +0000" g commit -q --allow-empty -m "$subject"
    done
    g notes --ref=builds add -m "build-id $a" HEAD~3
    g notes --ref=builds add -m "build-id $a" HEAD~2
    g notes add -m "build-id: $b" HEAD
fi

# --- recordings of a command ---
record() { "$CYCLESCOPE" record --waits --calibrate --no-bursts -o "$1" -- "${@:2}" >/dev/null 2>&1 || fail "record $*"; }
mkdir old new equal
cp "$a" old/app; cp "$b" new/app; cp "$c" equal/app
record one.store old/app 10
gate --store one.store --image app
[ $code = 3 ] && grep -q "no build of app before aaaaaa" err || fail "one build: exit $code: $(cat said err)"
runs=0
for tries in 1 2 3 4; do # more of them while it can't tell
    for i in 1 2 3 4; do for side in old new new old; do record s $side/app 40; done; done
    runs=$((runs + 8))
    if [ $tries = 1 ]; then
        record s new/app 1 # another command
        "$CYCLESCOPE" record --no-bursts -o s -- sh -c "old/app 5; new/app 5" >/dev/null 2>&1 || fail "record both"
    fi
    gate --store s --image app --json $([ -d repository ] && echo --repository repository)
    [ $code = 2 ] || break
done
[ $code = 1 ] || fail "10 % more: exit $code: $(cat said err)"
python3 - "$a" "$b" $runs <<'P' || fail "10 % more: $(cat said)"
import json, os, sys
said = json.load(open("said"))
pace, = [c for c in said["checks"] if c["check"] == "pace"]
assert pace["verdict"] == "slower" and pace["runs_base"] == pace["runs_head"] == int(sys.argv[3]), pace
assert said["guilty"][0]["function"] == "parse", said["guilty"]
builds = {b["side"]: b for b in said["builds"]}
assert builds["base"]["build_id"] == sys.argv[1] and builds["head"]["build_id"] == sys.argv[2], builds
assert builds["head"]["label"] == "app 1.3" and builds["head"]["epochs"] == int(sys.argv[3]), builds
assert any("1 epochs of the head's build that have both" in n for n in said["notes"]), said["notes"]
assert any("1 epochs of the head's build that are of another command" in n for n in said["notes"]), said["notes"]
if os.path.isdir("repository"):
    assert said["commits"] == 2 and not said["commits_backwards"], said["commits"]
    assert [l.split(" ", 1)[1] for l in said["newest_commits"]] == ["parse more", "third"], said["newest_commits"]
P
if [ -d repository ]; then
    gate --store s --image app --base-build bb --head-build aa --require pace --repository repository
    # A loss needs one function that grew, a gain the whole, which eight runs on a busy machine may not tell.
    [ $code = 0 ] || [ $code = 2 ] && grep -q "^\(faster\|same\|can't tell\): " said && grep -q "the head's is the older one" said || fail "exchanged: exit $code: $(cat said err)"
    gate --store s --image app --repository /
    [ $code = 3 ] && grep -q "no repository" err || fail "no repository: exit $code: $(cat said err)"
fi
# Equal code of another build-id, the newest build: not slower, and its neighbour is the base.
for i in 1 2; do for side in new equal equal new; do record s $side/app 40; done; done
gate --store s --image app --json
[ $code = 0 ] || [ $code = 2 ] || fail "equal code: exit $code: $(cat err) $(checks)"
python3 -c 'import json; b = json.load(open("said"))["builds"]; assert [x["build_id"][0] for x in b] == ["b", "c"], b' || fail "equal code: $(cat said)"
refused() { # SENTENCE ARGUMENT...
    gate "${@:2}"
    [ $code = 3 ] && [ ! -s said ] && grep -q "$1" err || fail "${*:2}: exit $code: $(cat said err)"
}
refused "no samples of an image apq.*did you mean app" --store s --image apq
refused "begins with ff" --store s --image app --head-build ff
refused "need --image" --base-build aa --base s --head s
refused "nothing to compare" --store s --image app --head-build aa --base-build aa
refused "give one of" --store s --image app --base s

# --- recordings with bursts: what grew has a cause, by the store alone ---
cat >walk.c <<'C'
#include <stdlib.h>
enum { WORDS = 1 << 22 };
volatile unsigned long sum;
__attribute__((noinline)) void walk(unsigned long *word)
{
    unsigned long stride = STRIDE;
    __asm__("" : "+r"(stride));
    for (unsigned long i = 0; i < 10000000; i++)
        sum += word[i * stride % WORDS];
}
int main(void)
{
    unsigned long *word = malloc(WORDS * sizeof *word);
    for (unsigned long i = 0; i < WORDS; i++)
        word[i] = i;
    walk(word);
}
C
mkdir near far
gcc -g -O1 -DSTRIDE=1 -Wl,--build-id -o near/walk walk.c && gcc -g -O1 -DSTRIDE=1048583 -Wl,--build-id -o far/walk walk.c || fail "gcc"
for i in 1 2 3; do
    for side in near far far near; do
        "$CYCLESCOPE" record --calibrate --burst-rate=1000 -F 4000 -o w -- $side/walk >/dev/null 2>&1 || fail "record $side/walk"
    done
done
gate --store w --image walk --json
[ $code = 1 ] || fail "a walk that misses: exit $code: $(cat said err)"
python3 - <<'P' || fail "a walk that misses: $(cat said)"
import json
first = json.load(open("said"))["guilty"][0]
assert first["function"] == "walk" and first["cause"] in ("d-cache", "dtlb", "memory"), first
P

# --- epochs of a daemon ---
if [ "$(id -u)" != 0 ]; then
    echo "ok, but for the daemon, which needs root"
    exit 0
fi
echo "keep-code = 500M" >conf
daemon start --config conf -o "$work/d" -F 2000 --merge-interval 1h --no-chains --pid $$ >/dev/null || fail "daemon"
epochs() { for i in 1 2 3 4; do ./app 40; daemon epoch >/dev/null || fail "epoch"; done; }
rounds=0
for tries in 1 2 3 4; do # more of them while it can't tell
    deploy "$a"; epochs
    deploy "$b"; epochs
    rounds=$((rounds + 4))
    gate --store d --image "$work/app" --json --require pace
    [ $code = 2 ] || break
done
[ $code = 1 ] || fail "a daemon's epochs: exit $code: $(cat err) $(checks)"
python3 - $rounds <<'P' || fail "a daemon's epochs: $(cat said)"
import json, sys
said = json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
assert check["pace"]["verdict"] == "slower", check
assert check["work"]["verdict"] == check["waits"]["verdict"] == "can't tell", check
guilty, = said["guilty"]
assert guilty["function"] == "parse" and 6 < guilty["growth_percent"] < 14, guilty # 1.2 of 12
assert [b["epochs"] for b in said["builds"]] == 2 * [int(sys.argv[1])], said["builds"]
P
deploy "$c"; epochs
daemon stop >/dev/null
gate --store d --image app --fail-on slower
[ $code = 0 ] && grep -q "^can't tell: pace can't tell" said && grep -q "all share" said || fail "equal code, deployed: exit $code: $(cat said err)"
# Without the copies the older builds' functions have no names: no verdict by them.
rm -rf d/.images
gate --store d --image app --head-build b
[ $code = 2 ] && grep -q "is gone" said || fail "files gone: exit $code: $(cat said err)"
"$CYCLESCOPE" store verify --store d >/dev/null || fail "the store: $("$CYCLESCOPE" store verify --store d)"
echo ok
