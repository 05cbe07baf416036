#!/bin/bash
# Cache lines that threads take from each other: programs with the cause planted, and the same without it.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir
fail() { echo "not ok: $*"; exit 1; }
program=$(dirname "$CYCLESCOPE")/tests/programs/shared_lines

[ "$(uname -m)" = x86_64 ] || { echo "bursts exist on x86-64 only"; exit 77; }
for cpu in 0 1; do
    taskset -c $cpu true 2>/dev/null || { echo "the programs need CPUs 0 and 1"; exit 77; }
done
core() { cat /sys/devices/system/cpu/cpu$1/topology/thread_siblings_list 2>/dev/null || echo "$1"; }
[ "$(core 0)" != "$(core 1)" ] || { echo "CPUs 0 and 1 are one core"; exit 77; }

# what seconds: bursts of a program
record() {
    rm -rf "$dir/s"
    "$CYCLESCOPE" record -v -o "$dir/s" -F 1000 --burst-rate 30 -- "$program" "$1" "$2" >"$dir/out" 2>&1 ||
        { cat "$dir/out"; fail "record $1"; }
    bursts=$(sed -n 's/,//g; s/^\([0-9]*\) bursts*,* .*/\1/p' "$dir/out" | head -1)
}

# what function cause own-bytes other-bytes: found, with the bytes of both sides, and not the other kind
found() {
    for try in 1 2 3 4; do
        record "$1" 3
        "$CYCLESCOPE" calc --store "$dir/s" --json "$2" >"$dir/json" 2>"$dir/err" || continue
        python3 - "$dir/json" "$3" "$4" "$5" <<'P' >"$dir/verdict" && { echo "ok: $1: $(cat "$dir/verdict")"; return; }
import json, sys
d = json.load(open(sys.argv[1]))
cause, own, other = sys.argv[2:]
dynamic = d["summary"]["dynamic"]
wrong = "true-sharing" if cause == "false-sharing" else "false-sharing"
texts = json.dumps(d["instructions"])
share = dynamic[cause]["share"]
print("%s %.1f %%, %s %.1f %%" % (cause, share, wrong, dynamic[wrong]["share"]))
sys.exit(not (share > 1 and dynamic[wrong]["share"] == 0
              and ("bytes %s of a line of which another thread writes bytes %s" % (own, other) in texts
                   or "bytes %s of a line of which another thread writes bytes %s" % (other, own) in texts)))
P
    done
    [ "${bursts:-0}" -ge 20 ] || { echo "$1: only ${bursts:-0} bursts on this machine"; skipped=1; return; }
    cat "$dir/verdict" "$dir/err"
    fail "$1: no $3"
}

# what function: nothing said of sharing, and (unless it may be recorded) nothing recorded of it
none() {
    record "$1" 1.5
    [ "${3:-}" = recorded ] || [ -z "$(find "$dir/s" -name 'burst-sharing*')" ] || fail "$1: a shared line was recorded"
    "$CYCLESCOPE" calc --store "$dir/s" --json "$2" >"$dir/json" 2>"$dir/err" || { echo "$1: $(cat "$dir/err")"; return; }
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))["summary"]["dynamic"]
sys.exit(any(d[c]["high"] > 0 for c in ("false-sharing", "true-sharing")))' "$dir/json" || fail "$1: sharing was named"
    echo "ok: $1: no sharing in ${bursts:-0} bursts"
}

# what function: plain counters of both threads in one line lose nothing on some processors and half of their time on others. What
# `record` measured says so. But it is no true sharing, whatever it costs.
false_alone() {
    record "$1" 1.5
    "$CYCLESCOPE" calc --store "$dir/s" --json "$2" >"$dir/json" 2>"$dir/err" || { echo "$1: $(cat "$dir/err")"; return; }
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))["summary"]["dynamic"]
print("%s: false sharing %.1f %%" % (sys.argv[2], d["false-sharing"]["share"]))
sys.exit(d["true-sharing"]["high"] > 0)' "$dir/json" "$1" || fail "$1: true sharing was named"
}

skipped=0
found false count_atomically false-sharing "8 to 15" "40 to 47"
found true count_atomically true-sharing "16 to 23" "16 to 23"
found limit follow_limit false-sharing "0 to 7" "32 to 39"
python3 tests/store_reader.py check "$dir/s" >/dev/null || fail "another reader refuses the store"
none padded count_atomically
none limit-apart follow_limit
false_alone buffered count_events
none read-only read_table
none one-cpu count_atomically
none in-turns count_atomically
none one-thread count_atomically
[ $skipped = 0 ] || { echo "too few bursts on this machine"; exit 77; }
echo "ok"
