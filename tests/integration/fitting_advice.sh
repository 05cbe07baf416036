#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Sentences fit what they are about: advice after recordings without bursts and how it does when it is followed, one of something,
# builds of one program, an event beside the main one, a wrong file; record's JSON apart from the program's own output.
set -u
tmp=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
export CYCLESCOPE_CACHE=$tmp/cache
P=$BUILD/tests/programs/procedures bad=0
not_ok() { echo "not ok: $*"; bad=1; }
says() { # STORE WORDS REPORT...: in one of its lines, however they are wrapped
    local store=$1 words=$2
    shift 2
    "$CYCLESCOPE" "$@" --store "$store" >out 2>&1 || { cat out; not_ok "$*"; }
    tr '\n' ' ' <out | tr -s ' ' | grep -q -e "$words" || not_ok "$* of $store doesn't say '$words': $(head -n 7 out)"
}
says_not() { ! tr '\n' ' ' <out | tr -s ' ' | grep -q -e "$1" || not_ok "it says '$1': $(grep -e "$1" out)"; }

# 1. No burst was made: because nobody wanted one, because there was no time for one, because they must be asked for.
"$CYCLESCOPE" record --no-bursts --no-paths -o unwanted -- "$P" 50 >/dev/null 2>&1
says unwanted 'record without --no-bursts' calc alpha
says unwanted 'no burst saw this code run. Record two seconds' calc alpha
says unwanted 'record without --no-bursts' list alpha
"$CYCLESCOPE" record --no-paths -o soon -- "$P" 20 >/dev/null 2>said
if grep -q '^0 bursts' said; then
    says soon 'no burst was made: the program must run for two seconds' calc alpha
    says_not 'without --no-bursts'
    says soon 'no burst was made' list alpha
    says_not 'without --no-bursts'
fi
# ... nor is a rate advised that is no higher than the one that was asked for.
for asked in 200 300; do
    "$CYCLESCOPE" record --no-paths --burst-rate $asked -t 0.08 -o asked$asked -- "$P" 3000 >/dev/null 2>said
    if grep -q '^0 bursts' said && "$CYCLESCOPE" calc alpha --store asked$asked >/dev/null 2>&1; then
        says asked$asked 'no burst saw this code run. Record two seconds' calc alpha
        ! grep -oE 'burst-rate [0-9]+' out | awk -v asked=$asked '$2 > asked { next } { exit 1 }' && not_ok "after --burst-rate $asked: $(grep -e burst-rate out)"
    fi
done
"$P" 3000 >/dev/null & spin=$!
"$CYCLESCOPE" record --no-paths -t 0.3 -o attached -p $spin >/dev/null 2>&1
kill $spin
says attached 'record with --bursts' calc alpha
# ... and who does as it says gets some.
"$CYCLESCOPE" record -o followed -- "$P" 2000 >/dev/null 2>said
if grep -q 'no bursts' said; then
    echo "not followed: $(grep 'no bursts' said)"
else
    says followed 'actual' calc alpha
    says_not 'no burst'
fi

# 2. One sample, of one procedure, of one image.
"$CYCLESCOPE" record -v -c 60000000 --no-bursts --no-paths -o one -- "$P" 80 >/dev/null 2>said
if grep -q '^1 sample of' said; then
    for report in prof sum stats tree 'calc alpha' 'list alpha' 'prof --by image' 'report --html page.html'; do
        # shellcheck disable=SC2086
        "$CYCLESCOPE" $report --store one >>said 2>&1
    done
    [ ! -e page.html ] || grep -oE '"advice":\[[^]]*' page.html >>said
    ! grep -E '(^|[^0-9.,/])1 (samples|functions|images|lines|bursts|paths|threads|intervals|epochs|edges)\b' said || not_ok "one of many"
else
    grep -E '^[0-9]+ samples? of' said
fi

# 3. What --json says goes where it can be read alone; the program's output stays what it was.
"$CYCLESCOPE" record --json-to told.json --no-bursts -o json -- sh -c 'echo "{ no JSON"; exit 3' >out 2>said
[ $? -eq 3 ] && [ "$(cat out)" = '{ no JSON' ] || not_ok "--json-to: $(cat out)"
python3 -c 'import json; d = json.load(open("told.json")); assert d["exit_code"] == 3 and d["store"] == "json" and d["loss"] is None, d' || not_ok "--json-to: $(cat told.json)"
"$CYCLESCOPE" record --json-to /dev/fd/5 --no-bursts -o json -- echo hello 5>told.json >out 2>&1
python3 -c 'import json; assert json.load(open("told.json"))["exit_code"] == 0' && grep -q '^hello$' out || not_ok "--json-to a descriptor"
rc=0; "$CYCLESCOPE" record --json-to nowhere/file --no-bursts -o json2 -- touch ran 2>said || rc=$?
[ $rc -eq 1 ] && [ ! -e ran ] && grep -q 'nowhere/file' said || not_ok "--json-to nowhere: $rc, $(cat said)"

# 4. Two builds of one program are two rows that can be told from one another, and asked for; one build is one row.
printf 'int main(void) { volatile long n = 0; for (; n < 30000000;) n = n + STEP; return 0; }\n' >loop.c
for step in 1 2; do
    gcc -O1 -g -DSTEP=$step -Wl,--build-id -o loop loop.c
    for again in 1 2; do "$CYCLESCOPE" record -F 2000 --no-bursts -o builds -- ./loop >/dev/null 2>&1; done
done
"$CYCLESCOPE" prof --by image --epoch all --store builds >out 2>&1
[ "$(grep -cE ' loop [0-9a-f]{6}$' out)" -eq 2 ] && [ "$(grep -c ' loop' out)" -eq 2 ] && [ -z "$(grep -oE 'loop [0-9a-f]{6}$' out | uniq -d)" ] || not_ok "two builds: $(cat out)"
id=$(grep -oE 'loop [0-9a-f]{6}$' out | head -n 1 | cut -d' ' -f2)
"$CYCLESCOPE" prof --by image --epoch all --image "$id" --store builds | grep -qE ' 100\.0 .* loop$' || not_ok "--image $id"
"$CYCLESCOPE" prof --by image --epoch all --store builds --json | python3 -c 'import json, sys
d = json.load(sys.stdin); assert [r["image_name"] for r in d["rows"]].count("loop") == 2, d' || not_ok "JSON has other names"

# 5. A second event has a total and shares of its own (dcpi-1997 figure 1).
"$CYCLESCOPE" record -e cpu-clock -e page-faults --no-bursts -o two -- python3 -c 'for k in range(4): x = [bytearray(5000) for i in range(60000)]' >/dev/null 2>&1
"$CYCLESCOPE" prof -n 0 --store two --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
total = sum(r["samples"]["page-faults"] for r in d["rows"])
assert total > 2, total # the kernel chooses its period, badly at first
assert all(abs(r["percents"]["page-faults"] - 100 * r["samples"]["page-faults"] / total) < 1e-6 for r in d["rows"])
print(f"{total:,}")' >total || not_ok "shares of the second event"
"$CYCLESCOPE" prof --store two >out
grep -q "^page-faults: $(cat total) samples" out && grep -qE '^cpu-clock +% .* page-faults +% ' out || not_ok "$(head -n 5 out)"

# 6. What is no file of a store.
for file in loop.c two; do
    "$CYCLESCOPE" store dump $file >out 2>said
    rc=$?
    [ $rc -eq 1 ] && [ ! -s out ] && [ "$(wc -l <said)" -eq 1 ] && grep -qE "$file is (no profile|a directory)" said || not_ok "dump $file: $(cat said)"
done

# 7. Nobody measures what a fixed rate costs: the daemon doesn't say 0.
mkdir daemon
"$CYCLESCOPE" daemon start -F 100 --no-chains --socket daemon/socket -o daemon/store >said 2>&1
if "$CYCLESCOPE" daemon status --socket daemon/socket >out 2>&1; then
    says_not 'loss of the profiled work'
    grep -qE '^up for +[0-9]+ s$' out || not_ok "up for: $(grep 'up for' out)"
    "$CYCLESCOPE" daemon stop --socket daemon/socket >/dev/null
else
    echo "no daemon here: $(tail -n 1 said)"
fi
exit $bad
