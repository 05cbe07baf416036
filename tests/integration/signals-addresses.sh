#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What compiled-in tags mean: signals, observe, tags (from a store and from a log) name method, loop and file:line in a
# position-independent executable, a library that it is linked with and one that it loads later; and one row of prof
# has interrupt samples and observed cycles. Stripped and compressed tables too.
set -u
. "$(dirname "$0")/../until.sh"
plugin=$(realpath "$BUILD")/plugin/cyclescope.so
lib=$(realpath "$BUILD")
[ -e "$plugin" ] || { echo "the plugin is not built (gcc-12-plugin-dev)"; exit 77; }
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
work=$(mktemp -d)
target=
trap '[ -n "$target" ] && kill "$target" 2>/dev/null; rm -rf "$work"' EXIT
failures=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; failures=$((failures + 1)); fi
}
first=
nice -n -15 true 2>/dev/null && [ "$(nice -n -15 nice)" = -15 ] && first="nice -n -15"

for name in exe linked loaded; do # line 3: the method; line 6: its loop; line 8: the one inside
    cat >"$work/$name.c" <<END
extern volatile unsigned long sink;

__attribute__((noinline)) void work_$name(unsigned long n)
{
    unsigned long s = n;
    for (unsigned long i = 0; i < n; i++) {
        s ^= i;
        for (unsigned long j = 0; j < 200; j++)
            s = s * 2862933555777941757ul + (j ^ sink);
    }
    sink = s;
}
END
done
cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
void work_exe(unsigned long), work_linked(unsigned long);
int main(int argc, char **argv)
{
    void *later = dlopen(argv[1], RTLD_NOW);
    void (*work_loaded)(unsigned long) = later ? (void (*)(unsigned long))dlsym(later, "work_loaded") : 0;
    if (!work_loaded || argc < 3)
        return 1;
    const time_t end = time(0) + atoi(argv[2]);
    while (time(0) < end) {
        work_exe(300);
        work_linked(200);
        work_loaded(100);
    }
    return 0;
}
END
on="-O2 -g -fplugin=$plugin"
shared="$on -fPIC -shared"
# shellcheck disable=SC2086
{
    gcc $shared -Wl,--build-id -o "$work/liblinked.so" "$work/linked.c" -L"$lib" -lcyclescope &&
        gcc $shared -gz -Wl,--compress-debug-sections=zlib -o "$work/libloaded.so" "$work/loaded.c" -L"$lib" -lcyclescope &&
        gcc $on -fplugin-arg-cyclescope-shared-runtime -Wl,-E -o "$work/program" "$work/main.c" "$work/exe.c" \
            -L"$work" -llinked -L"$lib" -lcyclescope -Wl,-rpath,"$work:$lib"
} || { echo "not ok compile"; exit 1; }

cat >"$work/judge.py" <<'END'
import json, sys
# Shares by region in the order of work; exe : linked : loaded = 3 : 2 : 1, all in the inner loops.
rows = json.load(open(sys.argv[1]))[sys.argv[2]]
name = sys.argv[3]
total = sum(r["cycles"] for r in rows if not r["name"].startswith("("))
if total < 2e7:
    sys.exit(77)
def share(f):
    inner = [r for r in rows if r["name"].startswith(f"work_{f} loop") and r["name"].endswith(f"({f}.c:8)")]
    assert len(inner) == 1, (name, f, [r["name"] for r in rows])
    return inner[0]["cycles"] / total
exe, linked, loaded = map(share, ("exe", "linked", "loaded"))
assert abs(exe - .5) < .06 and abs(linked - .333) < .06 and abs(loaded - .167) < .06, (name, exe, linked, loaded)
known = sum(r["cycles"] for r in rows if ".c:" in r["name"])
assert known > .99 * total, (name, known / total)
END
judge() { # NAME FILE SHEET
    python3 "$work/judge.py" "$2" "$3" "$1"
    local rc=$?
    [ $rc -eq 77 ] && echo "the program hardly ran: nothing to be said about its shares" && return 0
    return $rc
}

# shellcheck disable=SC2086
"$CYCLESCOPE" observe -s code --top 0 -o "$work/store" --json -- $first "$work/program" "$work/libloaded.so" 2 >"$work/run.json"
check "observe ends with the program" test $? -eq 0
check "observe names methods and loops in all three images" judge observe "$work/run.json" tags
# A second run, at other addresses, adds to the same rows.
# shellcheck disable=SC2086
"$CYCLESCOPE" observe -s code -o "$work/store" --json -- $first "$work/program" "$work/libloaded.so" 1 >/dev/null
"$CYCLESCOPE" tags --top 0 --store "$work/store" --json >"$work/tags.json"
check "tags of two runs from the store" judge tags "$work/tags.json" tags
# shellcheck disable=SC2086
"$CYCLESCOPE" observe -s code --period 2000 --log "$work/log" --json -- $first "$work/program" "$work/libloaded.so" 1 >/dev/null
"$CYCLESCOPE" tags --top 0 --log "$work/log" --json >"$work/logged.json"
check "tags from a log" judge log "$work/logged.json" tags

# Interrupt samples of the same program beside them; of more runs where the machine gave it little.
cat >"$work/both.py" <<'END'
import json, sys
prof = json.load(open(sys.argv[1]))
events = [e["name"] for e in prof["events"]]
other = [e for e in events if e != "observed-cycles"][0]
assert "observed-cycles" in events, events
rows = next(v for v in prof.values() if isinstance(v, list) and v and "procedure" in v[0])
for f in ("exe", "linked", "loaded"):
    mine = [r for r in rows if r["procedure"] == f"work_{f}"]
    assert len(mine) == 1, (f, rows)
    n = mine[0]["samples"]
    assert n["observed-cycles"] > 1000 and n[other] > 0, n
END
sampled=yes
for try in 1 2 3 4 5; do
    "$CYCLESCOPE" record -F 1000 -o "$work/store" -- "$work/program" "$work/libloaded.so" 1 >/dev/null 2>"$work/err" || { sampled=; break; }
    "$CYCLESCOPE" prof --store "$work/store" --json --top 0 >"$work/prof.json"
    ! python3 "$work/both.py" "$work/prof.json" 2>/dev/null || break
    # shellcheck disable=SC2086
    "$CYCLESCOPE" observe -s code -o "$work/store" --json -- $first "$work/program" "$work/libloaded.so" 1 >/dev/null
done
if [ "$sampled" ]; then
    check "one row of prof has samples and observed cycles (run $try)" python3 "$work/both.py" "$work/prof.json"
else
    echo "no sampling here: $(cat "$work/err")"
fi

# A live process; then the same program without its tables.
named() {
    "$CYCLESCOPE" signals -p $target --json 2>/dev/null | python3 -c '
import json, sys
seen = json.load(sys.stdin)
text = seen["threads"][0]["text"]
sys.exit(0 if "work_" in text and ".c:" in text else 1)' 2>/dev/null
}
names_of() { # PROGRAM
    "$1" "$work/libloaded.so" 20 &
    target=$!
    until_true -t 20 named
    local rc=$?
    kill $target
    wait $target 2>/dev/null
    target=
    return $rc
}
check "signals names what a live process does" names_of "$work/program"
objcopy --only-keep-debug "$work/program" "$work/program.debug" && strip "$work/program" &&
    objcopy --add-gnu-debuglink="$work/program.debug" "$work/program"
# shellcheck disable=SC2086
"$CYCLESCOPE" observe -s code --top 0 --json -- $first "$work/program" "$work/libloaded.so" 1 >"$work/run.json"
check "the table is found in a separate debug file" judge stripped "$work/run.json" tags
exit $((failures > 0))
