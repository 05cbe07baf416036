#!/bin/bash
# Observing goes on without growth in memory: resident size after a start, and at the end of 20 s. CS_SOAK_SECONDS=3600
# for the hour. Exit 77 where one CPU alone may be used.
set -u
[ "$(nproc)" -ge 2 ] || { echo "one CPU: an observer needs one of its own"; exit 77; }
seconds=${CS_SOAK_SECONDS:-$([ -n "${CS_QUICK:-}" ] && echo 6 || echo 20)}
dir=$(mktemp -d)
trap 'kill $observer 2>/dev/null; rm -rf "$dir"' EXIT
resident() { awk '/^VmRSS/{print $2}' "/proc/$1/status" 2>/dev/null; }
"$CYCLESCOPE" observe -s phase,work,changes -o "$dir/store" -- "$BUILD/signals/examples/phases" --seconds "$((seconds + 5))" >"$dir/out" 2>"$dir/err" &
observer=$!
sleep 3
first=$(resident $observer)
[ -n "$first" ] || { echo "not ok the observer did not start: $(cat "$dir/err")"; exit 1; }
most=$first last=$first began=$SECONDS
for ((i = 0; i < seconds; i++)); do
    sleep 1
    now=$(resident $observer)
    pgrep -P $observer >/dev/null || break # the target has ended: the report, which may take what it likes
    last=$now
    [ "$now" -gt "$most" ] && most=$now
done
wait $observer || { echo "not ok observing failed: $(cat "$dir/err")"; exit 1; }
observer=
echo "resident: $first KiB after 3 s, $last KiB at the last of $i looks, at most $most KiB in the $((SECONDS - began)) s that followed"
[ $((SECONDS - began)) -ge $((seconds / 2)) ] && [ "$i" -ge 3 ] && [ $((most - first)) -le 512 ] || { echo "not ok it grew, or ended early"; exit 1; }
echo "ok no growth in memory"
