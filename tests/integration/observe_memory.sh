#!/bin/bash
# Observing goes on without growth in memory: the most resident in the second half of 20 s is no more than in the first half.
# CS_SOAK_SECONDS=3600 for the hour. Looks count while the target runs: the report at the end takes what it likes. Exit 77 where
# one CPU alone may be used, or where so little CPU was to be had that there are hardly any looks.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
seconds=${CS_SOAK_SECONDS:-$([ -n "${CS_QUICK:-}" ] && echo 6 || echo 20)}
dir=$(mktemp -d)
trap 'kill $observer 2>/dev/null; rm -rf "$dir"' EXIT
# No process is started while it runs: on the observer's CPU, beside a thread of the highest priority, each takes its time.
mkfifo "$dir/never"
pause() { read -rt 1 <>"$dir/never"; }
field() { # process, name: of its status; empty when it is gone
    local key value rest
    while read -r key value rest; do [ "$key" = "$2:" ] && { echo "$value"; return; }; done 2>/dev/null <"/proc/$1/status"
}
"$CYCLESCOPE" observe -s phase,work,changes -o "$dir/store" -- "$BUILD/signals/examples/phases" --seconds "$((seconds + 5))" >"$dir/out" 2>"$dir/err" &
observer=$!
has_target() { target=$(pgrep -P $observer) && has_run "$target" 100; } # its loader is behind it
until_true -t 13 has_target || { echo "not ok the observer has no target: $(cat "$dir/err")"; exit 1; }
looks=() began=$SECONDS
while [ $((SECONDS - began)) -lt "$seconds" ]; do
    now=$(field $observer VmRSS) state=$(field "$target" State)
    [ -n "$now" ] && [ -n "$state" ] && [ "$state" != Z ] || break
    looks+=("$now")
    pause
done
wait $observer || { echo "not ok observing failed: $(cat "$dir/err")"; exit 1; }
observer=
n=${#looks[@]}
[ "$n" -ge 4 ] || { echo "only $n looks at it in $seconds s: the machine was too busy"; exit 77; }
most() { printf '%s\n' "$@" | sort -n | tail -n 1; }
first=$(most "${looks[@]:0:n / 2}") second=$(most "${looks[@]:n / 2}")
echo "resident: ${looks[0]} KiB after 3 s; at most $first KiB in the first half of $n looks, $second in the second; ${looks[n - 1]} at the last"
[ $((second - first)) -le 512 ] || { echo "not ok it grew"; exit 1; }
echo "ok no growth in memory"
