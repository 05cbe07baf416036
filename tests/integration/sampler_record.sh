#!/bin/bash
# record on programs whose truth is known, through both drivers: every sample accounted for, the right image
# and procedure for threads, deleted files, JIT code, the vDSO, 32-bit programs, containers; refusals in words.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d); trap 'rm -rf "$work"; rm -f /tmp/perf-*.map /tmp/jit-*.dump' EXIT
target=$(realpath "$BUILD/tests/programs/sampler_target")
bad=0
fail() { echo "$*"; bad=1; }

# field JSON-FILE KEY
field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
# share STORE PATTERN: percent of samples whose procedure or image matches
share() {
    "$CYCLESCOPE" prof --store "$1" --top 0 --json | python3 -c '
import json, re, sys
d = json.load(sys.stdin); n = all = 0
for r in d["rows"]:
    c = sum(r["samples"].values()) if isinstance(r["samples"], dict) else r["samples"]
    all += c
    if re.search(sys.argv[1], r["procedure"] + " " + r["image"]): n += c
print(round(100 * n / all) if all else 0)' "$2"
}
# whole RUN: delivered = stored, nothing lost, and the store holds what the counters say
whole() {
    [ "$(field "$1.json" delivered)" = "$(field "$1.json" stored)" ] || fail "$1: delivered is not what is stored"
    [ "$(field "$1.json" lost)" = 0 ] || fail "$1: samples were lost"
    local held
    held=$("$CYCLESCOPE" store ls "$1" --json 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
rows = d["rows"] if isinstance(d, dict) else d
print(sum(r["sum"] for r in rows if r["kind"] == "points" and not r["event"].endswith("-stacks")))' 2>/dev/null)
    [ -z "$held" ] || [ "$held" = "$(field "$1.json" delivered)" ] || fail "$1: the store holds $held"
    "$CYCLESCOPE" store verify "$1" >/dev/null || fail "$1: the store is damaged"
}
# run NAME OPTIONS...: records into $work/NAME
run() {
    local name=$1; shift
    "$CYCLESCOPE" record --json -o "$work/$name" "$@" >"$work/$name.json" 2>"$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
}

drivers="ring"
[ "$(id -u)" = 0 ] && "$CYCLESCOPE" record --driver bpf -o "$work/try" -- true >/dev/null 2>&1 && drivers="ring bpf"
for d in $drivers; do
    while read -r mode pattern; do
        run "$d-$mode" --driver "$d" -F 2000 -- "$target" "$mode" 0.4
        whole "$work/$d-$mode"
        s=$(share "$work/$d-$mode" "$pattern")
        [ "$s" -ge 85 ] || fail "$d, $mode: $s % in $pattern, expected 85 or more"
    done <<'MODES'
spin spin_here
threads spin_here
vdso vdso
jit made_at_run_time
jitdump made_at_run_time
replaced spin_here
MODES
    # Under a budget the rate moves, and with it that of programs which the command had started before: a child of a shell, and one
    # whose parent has ended, have as many samples a second of CPU time as the shell. Within 4.5 sigma and 4 points.
    for start in '("$0" spin 5; times >"$1") &' '( ("$0" spin 5; times >"$1") & );'; do
        rm -f "$work/theirs_took"
        run "$d-child" --driver "$d" --budget 0.2% -- bash -c "$start"'
            e=$((SECONDS + 5)); while [ $SECONDS -lt $e ]; do :; done
            times >"$1.shell"; until_true test -s "$1"' "$target" "$work/theirs_took"
        whole "$work/$d-child"
        "$CYCLESCOPE" prof --store "$work/$d-child" --top 0 --json | python3 -c '
import json, re, sys
def took(path, line): return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", open(path).read().splitlines()[line]))
theirs, shell = took(sys.argv[1], 1), took(sys.argv[1] + ".shell", 0)
d = json.load(sys.stdin)
n = [r["samples"]["cpu-clock"] if isinstance(r["samples"], dict) else r["samples"] for r in d["rows"]]
of = sum(k for k, r in zip(n, d["rows"]) if "sampler_target" in r["procedure"] + " " + r["image"])
want = theirs / (theirs + shell)
if abs(of / sum(n) - want) > 0.04 + 4.5 * (want * (1 - want) / sum(n)) ** 0.5:
    sys.exit(f"it has {of} of {sum(n)} samples, and {theirs} of {theirs + shell:.2f} s")' "$work/theirs_took" || fail "$d, a budget, $start"
        rm -rf "$work/$d-child"
    done
    # Many short programs that exec: all of them placed.
    run "$d-storm" --driver "$d" -F 5000 -- sh -c 'i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done'
    whole "$work/$d-storm"
    [ "$(field "$work/$d-storm.json" unknown)" -le 1 ] || fail "$d: unknown samples in a storm of execs"

    # A process that runs already.
    "$target" spin 60 & pid=$!
    until_true has_run $pid
    run "$d-attach" --driver "$d" -p $pid --seconds 0.5
    kill $pid; wait $pid 2>/dev/null
    [ "$(share "$work/$d-attach" spin_here)" -ge 85 ] || fail "$d: a running process is not resolved"
done

# Another mount and PID namespace: the program's path means nothing here.
if unshare -pmf true 2>/dev/null; then
    mkdir "$work/inside" && cp "$target" "$work/inside/program"
    run container -F 2000 -- unshare -pmf --mount-proc sh -c "
        mount -t tmpfs none /mnt && cp $work/inside/program /mnt/hidden && /mnt/hidden spin 0.6"
    [ "$(share "$work/container" 'hidden')" -ge 60 ] || fail "container: $(share "$work/container" hidden) % in the hidden program"
fi
# 32 bit, where a compiler for it is installed.
if echo 'int main(void){for(volatile long i=0;i<200000000;i++);return 0;}' |
    gcc -m32 -O1 -nostartfiles -nostdlib -static -Wl,--build-id -Wl,-emain -x c - -o "$work/small" 2>/dev/null; then
    run narrow -F 2000 -- sh -c "timeout 0.6 $work/small; true" # it returns to nowhere
    [ "$(share "$work/narrow" small)" -ge 70 ] || fail "32 bit: $(share "$work/narrow" small) %"
fi

# Call chains end in the samples' own places, and labels keep commands apart.
run chains -g --label command -F 2000 -- "$target" spin 0.4
"$CYCLESCOPE" export --store "$work/chains" --format folded >"$work/folded" 2>/dev/null
grep -q 'main.*;spin_here' "$work/folded" || fail "no chain from main to spin_here"
"$CYCLESCOPE" store ls "$work/chains" | grep -q sampler_target || fail "no label"

# Interval by interval: as many samples as in the profiles, and `phases` shows them.
run resolved --intervals 100ms -F 2000 -- "$target" spin 0.4
"$CYCLESCOPE" store ls "$work/resolved" --json | python3 -c '
import json, sys
profiles = json.load(sys.stdin)["profiles"]
by = {kind: sum(p["sum"] for p in profiles if p["kind"] == kind and p["event"] == "cpu-clock") for kind in ("points", "intervals")}
assert by["points"] == by["intervals"] > 0, by' || fail "intervals and profiles differ"
"$CYCLESCOPE" phases --store "$work/resolved" | grep -q spin_here || fail "phases does not show spin_here"

# A budget moves the rate, bursts above all; the samples still add up to the time that the program took.
"$CYCLESCOPE" record --bursts --budget 3% -o "$work/budget" -- bash -c "'$target' spin 2; times" >"$work/times" 2>"$work/said" ||
    fail "a budget with bursts: $(cat "$work/said")"
"$CYCLESCOPE" prof --store "$work/budget" --json | python3 -c '
import json, re, sys
took = sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", open(sys.argv[1]).read()))
event = next(e for e in json.load(sys.stdin)["events"] if e["name"] == "cpu-clock")
seconds = event["period_sum"] * 1e-9
n = event["samples"]
unsure = 4.5 / n ** 0.5
sys.exit(not 0.75 - unsure < seconds / took < 1.33 + unsure and f"{seconds:.2f} s in {n} samples, {took:.2f} s of the program")' "$work/times" ||
    fail "time under a budget"

# Refusals.
refuse() { # EXIT PATTERN ARGUMENTS...
    local rc=$1 pattern=$2; shift 2
    "$CYCLESCOPE" record -o "$work/refused" "$@" >/dev/null 2>"$work/said"
    [ $? = "$rc" ] || fail "record $*: exit $?, expected $rc"
    grep -q "$pattern" "$work/said" || fail "record $*: said $(cat "$work/said")"
}
refuse 1 'event nosuch' -e nosuch -- true
refuse 1 'no process' -p 4194000
refuse 1 "can't be run" -- /nonexistent/program
refuse 2 'one of' -a -p 1
refuse 2 'budget' --budget lots -- true
refuse 2 'expected a time' --intervals often -- true
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    as() { su nobody -s /bin/bash -c "$(printf '%q ' "$@")"; }
    chmod 755 "$work"; mkdir -m 777 "$work/theirs"
    cp "$CYCLESCOPE" "$target" "$work/theirs/"
    as "$work/theirs/cyclescope" record -o "$work/theirs/s" -- "$work/theirs/sampler_target" spin 0.5 2>"$work/said" ||
        grep -q perf_event_paranoid "$work/said" || fail "unprivileged: $(cat "$work/said")"
    [ ! -d "$work/theirs/s" ] || [ "$(share "$work/theirs/s" spin_here)" -ge 85 ] || fail "unprivileged: not resolved"
    as "$work/theirs/cyclescope" record -o "$work/theirs/s2" -p 1 2>"$work/said" && fail "sampled a foreign process"
    grep -q "belongs to somebody else" "$work/said" || fail "foreign process: $(cat "$work/said")"
fi
# A command that outlives its recording is named with its process; one that ended isn't.
"$CYCLESCOPE" record --no-bursts -t 0.3 -o "$work/on" -- sleep 30 2>"$work/said" || fail "a command that runs on: $(cat "$work/said")"
on=$(sed -n 's/.*sleep still runs, as process \([0-9]*\):.*/\1/p' "$work/said")
[ -n "$on" ] && [ "$(cat "/proc/$on/comm")" = sleep ] && kill "$on" || fail "a command that runs on isn't told: $(cat "$work/said")"
"$CYCLESCOPE" record --no-bursts -t 20 -o "$work/on" -- sleep 0.1 2>"$work/said"
! grep -q "still runs" "$work/said" || fail "a command that ended: $(cat "$work/said")"
exit $bad
