#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# What we write is ours alone, survives the signals that end a session, and shows no file that a program's debug information
# names without everybody's leave; passwords are in no process list.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
spin=(lua5.4 -e 'local t = os.clock() while os.clock() < t + 60 do end')

# 1. A recording is kept whatever signal ends it; a reader of our messages that leaves does not even end it.
begun() { # PID of a recorder: the program that it follows, once that has worked for half a second
    works() { has_run "$(pgrep -P "$1" -x lua5.4)" 50; }
    until_true -t 20 works "$1" && pgrep -P "$1" -x lua5.4
}
for signal in HUP QUIT TERM INT PIPE; do
    "$CYCLESCOPE" record --no-bursts --no-chains -F 500 -o "$work/$signal" -- "${spin[@]}" >/dev/null 2>"$work/err" &
    recorder=$!
    target=$(begun $recorder)
    kill -s $signal $recorder
    sleep 0.3 # sleeps: it would have ended by then
    if [ $signal = PIPE ]; then
        kill -0 $recorder 2>/dev/null || not_ok "SIGPIPE ended the recording"
        kill -s TERM $recorder
    fi
    wait $recorder
    samples=$("$CYCLESCOPE" prof --store "$work/$signal" --by image --json 2>/dev/null | python3 -c 'import json, sys; print(sum(r["samples"]["cpu-clock"] for r in json.load(sys.stdin)["rows"]))' 2>/dev/null)
    "$CYCLESCOPE" store verify "$work/$signal" >/dev/null 2>&1 && [ "${samples:-0}" -gt 0 ] ||
        not_ok "SIG$signal lost the recording (${samples:-no} samples): $(cat "$work/err")"
    [ -z "$target" ] || [ "$(cat "/proc/$target/comm" 2>/dev/null)" != lua5.4 ] || kill "$target" 2>/dev/null # it may go on
done

# 2. A store holds command lines and data addresses: nobody else may read it.
others=$(find "$work/TERM" -perm /077 | head -n 3)
[ -z "$others" ] || not_ok "others may read $others"

# 3. Debug information names files of ours: they are not shown.
echo "the secret of this machine" >"$work/secret.c"
chmod 600 "$work/secret.c"
for file in "$work/secret.c" /dev/zero; do
    printf '#line 1 "%s"\nint main(void) { volatile unsigned long n = 0; for (long i = 0; i < 900000000; i++) n += i; return (int)n & 1; }\n' "$file" >"$work/a.c"
    gcc -g -O1 -o "$work/a" "$work/a.c" || exit 1
    rm -rf "$work/s"
    "$CYCLESCOPE" record --no-bursts -o "$work/s" -- "$work/a" >/dev/null 2>&1
    (cd / && timeout 20 "$CYCLESCOPE" report --html "$work/page.html" --store "$work/s" >/dev/null 2>"$work/err") ||
        not_ok "report on $file: exit $?: $(cat "$work/err")"
    (cd / && timeout 20 "$CYCLESCOPE" list main --source "$work/nowhere" --store "$work/s" >"$work/list" 2>&1) || true
    grep -q "secret of this machine" "$work/page.html" "$work/list" && not_ok "a file that only we may read was shown"
done

# 4. Passwords.
"$CYCLESCOPE" export --to clickhouse http://reader:hunter2@127.0.0.1:9/db --store "$work/TERM" --retry 5 >/dev/null 2>"$work/err" &
sender=$!
hidden() { ! grep -qs hunter2 /proc/$sender/cmdline; }
until_true -t 2 hidden || not_ok "the password is in the process list"
wait $sender
grep -q hunter2 "$work/err" && not_ok "the password is in a message: $(cat "$work/err")"
"$CYCLESCOPE" export --to clickhouse reader:hunter2@127.0.0.1 --store "$work/TERM" 2>"$work/err" >/dev/null
grep -q hunter2 "$work/err" && not_ok "the password is in a message: $(cat "$work/err")"

[ $bad -eq 0 ] && echo "ok: recordings survive, are ours alone, and tell no secrets"
exit $bad
