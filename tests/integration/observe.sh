#!/bin/bash
# observe, hist and tags on a program with known phases: shares, names, store and log agree; nonsense is refused in
# words; an attached program gets its CPUs back. Exit 77 where one CPU alone may be used.
set -u
. "$(dirname "$0")/../until.sh"
. "$(dirname "$0")/../ahead.sh"
dir=$(mktemp -d)
trap 'kill $target 2>/dev/null; rm -rf "$dir"' EXIT
target=
phases=$BUILD/signals/examples/phases
failures=0 busy=
first=
nice -n -15 true 2>/dev/null && [ "$(nice -n -15 nice)" = -15 ] && first="nice -n -15"
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; failures=$((failures + 1)); fi
}
refuses() { # EXIT-CODE WORDS COMMAND...: fails with that code and a sentence holding the words
    local code=$1 words=$2 out
    shift 2
    out=$("$@" 2>&1 >/dev/null)
    [ $? -eq "$code" ] && grep -q -- "$words" <<<"$out" && [ "$(wc -l <<<"$out")" -eq 1 ] || { echo "$out"; false; }
}
if [ "$(nproc)" -lt 2 ]; then
    echo "one CPU: an observer needs one of its own"
    exit 77
fi

# ---- a run into the store ----
"$CYCLESCOPE" observe -s phase,work --period 2000 -o "$dir/store" --json -- $first "$phases" --seconds 2 >"$dir/run.json"
check "a run ends with its program" test $? -eq 0
python3 - "$dir/run.json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
tags = {r["name"]: r for r in run["tags"]}
if sum(r["cycles"] for n, r in tags.items() if n[0] != "(") < 2e8:
    sys.exit(77)  # the program hardly ran: nothing to be said about its shares
assert set(tags) >= {"hash", "divide", "chase", "stream"}, tags.keys()
four = [tags[n] for n in ("hash", "divide", "chase", "stream")]
assert run["samples"] > 10000 and all(r["samples"] > 100 for r in four), run["samples"]
if min(r["visits"] for r in four) >= 500:  # enough to speak of shares, however busy the machine is
    assert all(abs(r["percent"] - 25) < 6 for r in four), [r["percent"] for r in four]
kept = {r["verdict"]: r["intervals"] for r in run["filtering"]}
assert sum(kept.values()) <= run["samples"] and kept["kept"] > 1000, kept
assert run["histogram0"]["counter"] == "work" and run["histogram0"]["intervals"] > 1000
assert all(50 < r["per_1000_cycles"]["work"] * 1000 < 100000 for r in four), four
END
rc=$?
[ $rc -eq 77 ] && busy=1 || check "shares, verdicts and rates make sense" test $rc -eq 0
"$CYCLESCOPE" tags --store "$dir/store" --json >"$dir/tags.json"
check "the store has what the run printed" python3 - "$dir/run.json" "$dir/tags.json" <<'END'
import json, sys
a, b = (json.load(open(f))["tags"] for f in sys.argv[1:])
key = lambda r: (r["name"], r["samples"], r["cycles"], r["visits"], r["kept"])
assert sorted(map(key, a)) == sorted(map(key, b)), (a, b)
END
[ -n "$busy" ] || check "hist by a tag's name" "$CYCLESCOPE" hist --store "$dir/store" --under hash >/dev/null
check "the store is whole" "$CYCLESCOPE" store verify "$dir/store" >/dev/null
prof_knows() { "$CYCLESCOPE" prof --by tag --store "$dir/store" --json | grep -q '"hash"'; }
[ -n "$busy" ] || check "prof knows the tags" prof_knows

# ---- a log ----
"$CYCLESCOPE" observe -s phase,work,changes --log "$dir/log" -- $first "$phases" --seconds 1 >/dev/null
check "a log is written" test -s "$dir/log"
"$CYCLESCOPE" hist --log "$dir/log" --subsample 1 --subsample 10 --json >"$dir/periods.json"
python3 - "$dir/periods.json" <<'END'
import json, sys
one, ten = json.load(open(sys.argv[1]))["periods"]
if one["intervals"] < 100000:
    sys.exit(77)
assert one["intervals"] > 5 * ten["intervals"] > 0, (one, ten)
assert ten["period_cycles"] > 5 * one["period_cycles"], (one, ten)
assert abs(one["mean"] - ten["mean"]) < 0.25 * one["mean"], (one, ten)
END
rc=$?
[ $rc -eq 77 ] && busy=1 || check "a coarser period has fewer intervals and the same mean" test $rc -eq 0
check "one rate against another" "$CYCLESCOPE" hist --log "$dir/log" --against changes >/dev/null
"$CYCLESCOPE" hist --log "$dir/log" --against changes --under hash --json >"$dir/pairs.json"
"$CYCLESCOPE" tags --log "$dir/log" --json >"$dir/tags.json"
[ -n "$busy" ] || check "one rate against another under one value: its mean is that value's" python3 - "$dir/pairs.json" "$dir/tags.json" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["joint"]
mean = sum(r["percent"] * (r["from"] + r["to"]) / 2 for r in rows) / sum(r["percent"] for r in rows)
tags = json.load(open(sys.argv[2]))
of = next(r for r in tags["tags"] if r["name"] == "hash")
true = of["per_1000_cycles"]["work"]
assert abs(mean - true) < 0.1 * true, (mean, of)
END
check "a time line" "$CYCLESCOPE" timeline --log "$dir/log" --buckets 7 --json >"$dir/timeline"
check "its stretches add up to the log" python3 - "$dir/timeline" <<'END'
import json, sys
text = open(sys.argv[1]).read()
line = json.loads(text[:text.rindex("}") + 1])
rows = line["timeline"]
assert len(rows) == 7 and abs(7 * line["bucket_ms"] - 1000 * line["log_seconds"]) < 0.01, line
assert all(0 <= r["seen_percent"] <= 100.001 and abs(sum(r["share_percent"].values()) - 100) < 0.01 for r in rows if r["seen_percent"]), rows
END
check "a stretch that isn't in the log" refuses 1 "nothing was logged" "$CYCLESCOPE" timeline --log "$dir/log" --time 900..901
head -c "$(($(stat -c %s "$dir/log") - 30))" "$dir/log" >"$dir/cut"
check "a log that was cut short is readable" "$CYCLESCOPE" tags --log "$dir/cut" >/dev/null
cp "$dir/log" "$dir/bad" && printf '\377\376\375' | dd of="$dir/bad" bs=1 seek=$(($(stat -c %s "$dir/log") - 60)) conv=notrunc 2>/dev/null
check "a damaged log is refused" refuses 1 "damaged" "$CYCLESCOPE" tags --log "$dir/bad"
check "what is no log is refused" refuses 1 "not a sample log" "$CYCLESCOPE" tags --log "$phases"

# ---- events of the kernel, counted for the program: these exist without a PMU ----
"$CYCLESCOPE" observe -e task-clock,page-faults --observer-effect --period 100k --log "$dir/events" -- $first "$phases" --seconds 1 >/dev/null
check "events beside signals" test $? -eq 0
"$CYCLESCOPE" hist --log "$dir/events" --observer-effect --json >"$dir/effect.json"
python3 - "$dir/effect.json" <<'END'
import json, sys
rows = {r["event"]: r for r in json.load(open(sys.argv[1]))["observer_effect"]}
clock = rows["task-clock"]  # ns per 1000 cycles of a time-stamp counter between 1 and 6 GHz
if clock["program"] == 0:
    sys.exit(77)
assert 1000 / 6 < clock["program"] < 1000, clock
assert abs(clock["program"] / clock["observer"] - 1) < 0.1, clock  # both run all the time
assert rows["page-faults"]["observer"] < 1, rows
END
rc=$?
[ $rc -eq 77 ] && busy=1 || check "CPU time advances as the clock does, for both" test $rc -eq 0
if [ ! -e /sys/bus/event_source/devices/cpu ]; then
    check "a counter that isn't there is a sentence" refuses 1 "cannot be counted" "$CYCLESCOPE" observe -e instructions -- true
fi
check "an event that nobody knows" refuses 1 "not known" "$CYCLESCOPE" observe -e nosuchevent -- true
check "the observer's share of nothing" refuses 2 "give -e EVENT" "$CYCLESCOPE" observe --observer-effect -- true

# ---- attach, and leave as it was ----
"$phases" --seconds 20 &
target=$!
until_true has_run $target
before=$(taskset -p $target)
check "attaching works" "$CYCLESCOPE" observe -p $target -t 0.5 -s phase >"$dir/attached" 2>&1
check "the program has its CPUs back" test "$before" = "$(taskset -p $target)"
check "and runs on" kill -0 $target
kill $target

# ---- refusals ----
check "the same CPU for both" refuses 1 "cannot share CPU 0" "$CYCLESCOPE" observe --target-cpu 0 --observer-cpu 0 -- true
check "a CPU that isn't there" refuses 1 "no CPU 9999" "$CYCLESCOPE" observe --target-cpu 9999 -- true
check "a process that is gone" refuses 1 "no process" "$CYCLESCOPE" observe -p 2147483
check "a program that isn't there" refuses 1 "cannot start" "$CYCLESCOPE" observe -- "$dir/nothing"
check "a signal that it doesn't define" refuses 1 "defines no signal nosuch" "$CYCLESCOPE" observe --wait 0.2 -s nosuch -- "$phases" --seconds 1
check "a program that is over before its signals could be found" refuses 1 "published no signals before it ended" "$CYCLESCOPE" observe -- true
check "nothing to observe" refuses 2 "nothing to observe" "$CYCLESCOPE" observe
check "a store without observations" refuses 1 "" "$CYCLESCOPE" tags --store "$dir"
[ $failures -eq 0 ] || exit 1
if [ -n "$busy" ]; then
    echo "the machine is so busy that the observed program hardly ran"
    exit 77
fi
