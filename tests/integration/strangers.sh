#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What other users put in root's way: a program with the build-id of root's, run first; perf maps and jitdumps of processes that
# aren't theirs; links to files that they may not read; an endless answer of a server. Root's profile has root's names, and
# nobody else's text.
# Beside others.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" = 0 ] || { echo "needs root: it runs programs of two users"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"; rm -f /tmp/perf-$map_pid.map' EXIT
chmod 755 "$work"
bad=0 map_pid=none
fails() { bad=1; printf 'not ok: %.1500s\n' "$*"; }
them=(setpriv --reuid=65534 --regid=65534 --clear-groups)
# Seconds of CPU time in a function of that name; -g, so that a source file is named, too.
program() { # FILE FUNCTION
    cat >"$work/$2.c" <<EOF
#include <time.h>
static volatile unsigned long x;
__attribute__((noinline)) void $2(void) { for (unsigned i = 0; i < 1000000; i++) x += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC * 6 / 10) $2(); return 0; }
EOF
    ${CC:-gcc} -g -O1 -static -Wl,--build-id=0x1234567890abcdef1234567890abcdef12345678 -o "$1" "$work/$2.c" || exit 77
}
record() { "$CYCLESCOPE" record --no-bursts -F 500 "$@"; }
prof() { "$CYCLESCOPE" prof --store "$1" -n 0 --csv 2>"$work/err"; }

# ---- a build-id is no proof ----
mkdir "$work/theirs" "$work/ours"
program "$work/ours/job" work_of_root
program "$work/theirs/job" word_of_stranger
chown -R 65534 "$work/theirs"
for first in theirs ours; do
    second=ours
    [ $first = theirs ] || second=theirs
    run() { if [ "$1" = theirs ]; then "${them[@]}" "$work/theirs/job"; else "$work/ours/job"; fi; }
    export -f run
    record -o "$work/$first.store" -- bash -c "work=$work; them=(${them[*]}); run $first; run $second" >"$work/said" 2>&1 ||
        fails "record: $(cat "$work/said")"
    prof "$work/$first.store" >"$work/prof" || fails "prof: $(cat "$work/err")"
    grep -q "word_of_stranger.*theirs/job" "$work/prof" || fails "$first first: their samples have no name: $(cat "$work/prof")"
    grep -q "work_of_root.*ours/job" "$work/prof" || fails "$first first: root's samples have no name: $(cat "$work/prof")"
    grep -q 'have the build-id of another' "$work/said" || fails "$first first: the conflict isn't reported: $(cat "$work/said")"
done
# Kept code: both files are gone.
mv "$work/ours" "$work/theirs" "$work/away" 2>/dev/null || { mkdir "$work/away"; mv "$work/ours" "$work/theirs" "$work/away"; }
prof "$work/theirs.store" >"$work/prof"
grep -q "work_of_root.*ours/job" "$work/prof" || fails "kept code: root's samples have no name: $(cat "$work/prof")"
grep -q "word_of_stranger.*ours/job" "$work/prof" && fails "kept code: root's samples have a stranger's names"

# ---- perf maps: a stranger's for a process of root, a link to what the stranger may not read ----
cat >"$work/jit.c" <<'EOF'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    unsigned char code[] = {0xb9, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3}; /* counts a million down */
    unsigned char *at = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    printf("%d %lx\n", (int)getpid(), (unsigned long)at);
    fflush(stdout);
    getchar();
    while (clock() < CLOCKS_PER_SEC / 2)
        ((void (*)(void))at)();
    return 0;
}
EOF
if [ "$(uname -m)" = x86_64 ]; then
    ${CC:-gcc} -o "$work/jit" "$work/jit.c" || exit 77
    # Runs the program as USER, records it, and lets PLANT make /tmp/perf-PID.map meanwhile. The names are left in $work/names.
    with_map() { # USER PLANT
        local start pid
        rm -rf "$work/jit.store" "$work/in" "$work/out"
        mkfifo "$work/in"
        setpriv --reuid="$1" --regid="$1" --clear-groups "$work/jit" <"$work/in" >"$work/out" &
        pid=$!
        exec 9>"$work/in"
        told() { read -r map_pid start <"$work/out"; }
        until_true told
        "$2" "/tmp/perf-$map_pid.map" "$start"
        (sleep 0.5; echo >&9) & # sleeps: the recording has begun
        record -o "$work/jit.store" -t 2 -p "$pid" >"$work/said" 2>&1 9>&- || fails "record: $(cat "$work/said")"
        exec 9>&-
        wait
        rm -f "/tmp/perf-$map_pid.map"
        prof "$work/jit.store" >"$work/names"
    }
    strangers() { "${them[@]}" bash -c "echo '$2 100 word_of_stranger' >'$1'"; }
    own() { echo "$2 100 word_of_owner" >"$1"; }
    secret() { echo "$2 100 secret_of_root" >"$work/secret"; chmod 600 "$work/secret"; "${them[@]}" ln -s "$work/secret" "$1"; }
    with_map 0 strangers
    grep -q word_of_stranger "$work/names" && fails "a stranger's perf map names root's code: $(cat "$work/names")"
    with_map 65534 secret
    grep -q secret_of_root "$work/names" && fails "a link in /tmp shows a file of mode 0600: $(cat "$work/names")"
    for user in 0 65534; do
        with_map $user $([ $user = 0 ] && echo own || echo strangers)
        grep -q 'word_of_' "$work/names" || fails "user $user's own perf map names nothing: $(cat "$work/names")"
    done
fi

# ---- a store behind a stranger's link, in a stranger's folder, where everybody writes ----
mkdir -m 700 "$work/private"
mkdir -m 755 "$work/theirs.d"
mkdir -m 777 "$work/open"
chown 65534 "$work/theirs.d"
"${them[@]}" ln -s "$work/private" "$work/open/store"
for store in "$work/open/store" "$work/open/store/below" "$work/theirs.d" "$work/open"; do
    "$CYCLESCOPE" record --no-bursts -o "$store" -- true >"$work/said" 2>&1 && fails "record writes into $store"
    grep -qE 'is a link of user 65534|belongs to another user|may be written by everybody' "$work/said" || fails "no reason: $(cat "$work/said")"
done
[ -z "$(find "$work/private" "$work/theirs.d" -mindepth 1)" ] || fails "folders were made by a stranger's link"
# The daemon writes for long: nor below a folder whose owner, or anybody, could replace its store meanwhile.
for place in "$work/theirs.d" "$work/open"; do
    timeout 20 "$CYCLESCOPE" daemon start --foreground --no-bursts -o "$place/below" >"$work/said" 2>&1 && fails "the daemon writes below $place"
    grep -q 'who could replace the store' "$work/said" || fails "no reason: $(cat "$work/said")"
done

# ---- a server whose answer has no end ----
if ldconfig -p | grep -q 'libcurl.*\.so\.4'; then
    python3 - "$CYCLESCOPE" >"$work/said" 2>&1 <<'EOF' || fails "a server's answer: $(cat "$work/said")"
import http.server, os, subprocess, sys, threading

class Endless(http.server.BaseHTTPRequestHandler):
    sent = 0
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        try:
            while Endless.sent < 400e6:
                Endless.sent += self.wfile.write(b"1\n" * 500000)
        except OSError:
            pass
    do_GET = do_POST
    def log_message(self, *ignored):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Endless)
threading.Thread(target=server.serve_forever, daemon=True).start()
asking = subprocess.Popen([sys.argv[1], "fleet", "prof", "--server", f"http://127.0.0.1:{server.server_port}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = asking.stderr.read().decode()
_, status, usage = os.wait4(asking.pid, 0)
print(f"{said.strip()}; exit {os.waitstatus_to_exitcode(status)}, {usage.ru_maxrss / 1e3:.0f} MB, {Endless.sent / 1e6:.0f} MB were sent")
if "its answer has more than 134 MB" not in said or status == 0 or usage.ru_maxrss > 200000 or not 130e6 < Endless.sent < 200e6:
    sys.exit(1)
EOF
fi

[ $bad -eq 0 ] && echo "ok: strangers name nothing of root's"
exit $bad
