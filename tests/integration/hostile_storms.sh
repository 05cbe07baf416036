#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every program of tests/hostile under all that could follow it at once: the daemon, record -p and record -a by root while it runs
# as somebody else, record as itself, some under observe. It must say that it is unharmed; we must come to an end with exit
# code 0, keep our memory, answer, gain no terminal, leave no process, a whole store and clean output.
# A failure's name is CHECK:PROGRAM; names (patterns) in KNOWN are printed and counted, and don't fail the test; there are none.
set -u
. "$(dirname "$0")/../until.sh"
KNOWN=""
if [ -z "${CS_REAPER:-}" ]; then # who loses its parent becomes our child (PR_SET_CHILD_SUBREAPER): nobody leaves unseen
    CS_REAPER=1 exec python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1); os.execv(sys.argv[1], sys.argv[1:])' "$0" "$@"
fi
[ -n "${CS_QUICK:-}" ] && seconds=0.5 megabytes=8 maps=4000 || seconds=1.5 megabytes=25 maps=20000
seconds=${CS_STORM_SECONDS:-$seconds}
most_bytes=$((64 << 20)) # of the daemon, what it shares with the kernel for call chains included
others=--no-bursts  # bursts of another user's process are refused
takeover_from=3f0000000000 takeover_to=3f0000400000 # where a runner lives: sampler/burst/wire.h
work=$(mktemp -d)
daemon=
finish() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
    kill $(jobs -pr) 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work"
mkdir "$work/bin"
cp "$CYCLESCOPE" "$BUILD"/tests/hostile/* "$work/bin"
cp "$(readlink -f /bin/bash)" "$work/bin/elf"
cyclescope=$work/bin/cyclescope

bad=0 known=0
fails() { # CHECK WHAT...
    local name=$1:$program pattern
    shift
    for pattern in $KNOWN; do
        # shellcheck disable=SC2053
        if [[ $name == $pattern ]]; then
            known=$((known + 1))
            printf 'known: %s: %.400s\n' "$name" "$*"
            return
        fi
    done
    bad=1
    printf 'not ok: %s: %.1500s\n' "$name" "$*"
}

# ---- the daemon ----
peak=0 peaks=
if [ "$(id -u)" = 0 ]; then
    them=(setpriv --reuid=65534 --regid=65534 --clear-groups)
else
    them=()
fi
control() { timeout 60 "$cyclescope" daemon "$@" --socket "$work/run/control"; }
status() { control status --json | sed -n 's/^.*"'"$1"'": *\([0-9]*\).*$/\1/p'; }
answers() { daemon=$(status pid 2>/dev/null) && [ -n "$daemon" ]; }
start_daemon() {
    [ "$(id -u)" = 0 ] || return
    # as a service: it leads its session, where a terminal that it opened would be its own
    setsid "$cyclescope" daemon start --foreground --socket "$work/run/control" -o "$work/daemon" -F 500 --merge-interval 1s \
        --bursts on --remarks "$work/log" >/dev/null 2>"$work/err" &
    until_true -t 30 answers || fails daemon "it does not start: $(cat "$work/err" "$work/log")"
}
stop_daemon() {
    [ -n "$daemon" ] || return
    control stop >/dev/null 2>"$work/err" || fails daemon-stop "$(cat "$work/err")"
    until_true has_ended "$daemon" || fails daemon-stop "it came to no end"
    daemon=
}
watch_terminal() { # PID of a program, while it lives: one that it makes us open is gone with it
    local line fields gained=
    while [ -n "$daemon" ] && kill -0 "$1" 2>/dev/null; do
        read -r line <"/proc/$daemon/stat" || break
        read -ra fields <<<"${line##*) }"
        [ "${fields[4]}" = 0 ] || gained=${fields[4]}
        sleep 0.1 # sleeps: between two looks
    done 2>/dev/null
    [ -z "$gained" ] || fails terminal "the daemon has gained one ($gained)"
}
cpu_ticks() { sed 's/.*) //' "/proc/$daemon/stat" | awk '{ print $12 + $13 }'; }
check_daemon() { # ticks that it had used before
    local bytes ticks
    [ -n "$daemon" ] || return
    if ! kill -0 "$daemon" 2>/dev/null; then
        fails daemon "it died: $(tail -n 2 "$work/log")"
        daemon=
        start_daemon
        return
    fi
    bytes=$(status memory_peak_bytes)
    [ -n "$bytes" ] || fails status "no answer"
    bytes=${bytes:-0}
    # What one program makes it do is bounded by what the program itself can do in its time.
    ticks=$(($(cpu_ticks) - $1))
    awk -v t="$ticks" -v hz="$(getconf CLK_TCK)" -v s="$seconds" 'BEGIN { exit !(t / hz > 2 + 2 * s) }' &&
        fails daemon-cpu "$ticks ticks of CPU time for a program of $seconds s"
    [ "$bytes" -le $peak ] || peak=$bytes
    peaks+="$program $bytes"$'\n' # so far: each can only raise it
    if [ -z "${CS_SANITIZED:-}" ] && [ "$bytes" -gt $most_bytes ]; then
        fails memory "the daemon has had $bytes bytes"
        stop_daemon
        start_daemon
    fi
}

# ---- what we print of it ----
check_outputs() { # all that was printed may go to a terminal, a shell, a table or a page
    python3 - "$work" >"$work/judged" <<'P'
import csv, io, pathlib, re, sys
def wrong(path):
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as e:
        return f"no UTF-8: {e}"
    if path.suffix == ".csv":
        text = text.replace("\r\n", "\n")
    most = 127 if path.suffix in (".json", ".html") else 160
    controls = sorted({c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < most})
    if controls:
        return f"control characters {controls} in {[line for line in text.split(chr(10)) if controls[0] in line][0][:200]!r}"
    if path.suffix == ".csv":
        rows = list(csv.reader(io.StringIO(text), strict=True))
        widths = {len(r) for r in rows if r}
        if len(widths) > 1:
            return f"rows of {widths} cells"
        for cell in (c for r in rows for c in r):
            if re.match(r"[=+@]|-[^0-9.]", cell):
                return f"a cell is a formula: {cell[:60]}"
    if path.suffix == ".html" and re.search(r"</script><script>owned|<img src=x", text):
        return "a name is part of the page"
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/**/printed-*")):
    problem = wrong(path)
    if problem:
        print(f"output-{path.name.split('-')[1]} {path.relative_to(sys.argv[1]).parts[0].split('.')[0]} {path.name}: {problem}")
P
    while read -r check program problem; do fails "$check" "$problem"; done <"$work/judged"
}
report() { # STORE NAME.SUFFIX SUBCOMMAND...: what it prints, and what it says to type next is typed
    local store=$1 file=$1.reports/printed-$2
    mkdir -p "$store.reports"
    shift 2
    timeout 60 "$cyclescope" "$@" --store "$store" >"$file" 2>"$file-said.txt"
    [ $? -lt 2 ] || fails "$1" "$(tail -n 1 "$file-said.txt")"
    (cd "$store.reports" && cyclescope() { :; } && eval "$(sed -n 's/^next: *//p' "$file" "$file-said.txt")") >/dev/null 2>&1
    [ ! -e "$store.reports/owned" ] || { fails "next-$1" "$(grep -hm1 '^next:' "$file" "$file-said.txt")"; rm "$store.reports/owned"; }
}
reports() { # STORE
    report "$1" prof.txt prof
    report "$1" prof.csv prof --csv
    report "$1" prof.json prof --json
    report "$1" list.txt list -d main
    report "$1" report.txt report --html "$1.reports/printed-page.html"
}

check_store() { # NAME
    timeout 60 "$cyclescope" store verify "$home/$1" >"$work/verified" 2>&1 || fails "store-$1" "$(tail -n 1 "$work/verified")"
    [ -n "${CS_QUICK:-}" ] && [ "$1" != by-pid ] || report "$home/$1" prof.txt prof
}

ended() { # CHECK PID FILE: a process of ours with exit code 0
    wait "$2"
    local code=$?
    [ $code -eq 0 ] || fails "$1" "exit $code: $(tail -n 1 "$3")"
}

storm() { # NAME PROGRAM ARGUMENT...   its folder is $work/NAME/a
    local before=0 target pid all own observer= code
    program=$1 home=$work/$1
    local args=("${@:3}")
    mkdir -m 777 "$home" "$home/a" "$home/b"
    [ -z "$daemon" ] || before=$(cpu_ticks)
    "${them[@]}" "$work/bin/$2" "$seconds" "${args[@]}" >"$home/target" 2>&1 < <(:) &
    target=$!
    if [ -n "${CS_DAEMON_ALONE:-}" ]; then # nobody but the daemon follows it
        wait $target || fails target "exit $?: $(tail -n 1 "$home/target")"
        sleep 1.2 # sleeps: a drain of the daemon
        check_daemon "$before"
        return
    fi
    timeout -k 5 90 "$cyclescope" record $others -F 500 -o "$home/by-pid" -p $target >"$home/said-pid" 2>&1 &
    pid=$!
    all=
    if [ "$(id -u)" = 0 ]; then
        timeout -k 5 90 "$cyclescope" record -a -F 200 --seconds "$seconds" -o "$home/all" >"$home/said-all" 2>&1 &
        all=$!
    fi
    case $1 in storm-thread | storm-fork | names) # its threads are pinned and put back
        timeout -k 5 90 "$cyclescope" observe -s os:thread -t 0.3 -p $target >"$home/printed-observe.txt" 2>&1 &
        observer=$! ;;
    esac
    own=
    if [ -n "$unprivileged" ]; then
        "${them[@]}" timeout -k 5 90 "$cyclescope" record --burst-rate 100 -F 500 -o "$home/b/store" -- \
            "$work/bin/$2" "$seconds" "${args[@]/#"$home/a"/$home/b}" >"$home/own" 2>"$home/said-own" < <(:) &
        own=$!
    fi
    watch_terminal $target
    wait $target
    code=$?
    [ $code -eq 0 ] && [ "$(tail -n 1 "$home/target")" = unharmed ] || fails target "exit $code: $(tail -n 1 "$home/target")"
    wait $pid
    code=$?
    grep -q 'there is no process' "$home/said-pid" || { # it was over before
        [ $code -eq 0 ] || fails record-pid "exit $code: $(tail -n 1 "$home/said-pid")"
        check_store by-pid
    }
    if [ -n "$all" ]; then
        ended record-all "$all" "$home/said-all"
        check_store all
    fi
    if [ -n "$observer" ]; then
        wait "$observer"
        code=$? # 1: it ended before, or one CPU alone; said in a sentence
        [ $code -le 1 ] || fails observe "exit $code: $(tail -n 1 "$home/printed-observe.txt")"
    fi
    if [ -n "$own" ]; then
        ended record-own "$own" "$home/said-own"
        grep -q '^unharmed$' "$home/own" || fails target-own "$(tail -n 1 "$home/own") $(tail -n 1 "$home/said-own")"
        mv "$home/b/store" "$home/own-store" 2>/dev/null
        check_store own-store
    fi
    check_daemon "$before"
    [ -z "$(find "$home" -name gained -uid 0)" ] || fails gained "root's rights"
}

long() {
    [ -n "${CS_QUICK:-}" ] || storm "$@"
}

# ---- all of them ----
program=all unprivileged=
start_daemon
mkdir -m 777 "$work/probe"
if "${them[@]}" "$cyclescope" record --no-bursts -o "$work/probe/store" -- true >/dev/null 2>"$work/err"; then
    unprivileged=yes
else
    echo "not as itself: $(cat "$work/err")"
    [ -n "$daemon" ] || exit 77
fi
storm storm-mmap storm mmap
storm storm-fork storm fork
storm storm-exec storm exec
long storm-thread storm thread
storm storm-dlopen storm dlopen
storm storm-maps storm maps $maps
storm storm-files storm files
for what in fifo tty; do
    seconds=2 storm special-$what special_files "$work/special-$what/a" $what # a drain comes every second
done
for what in zero loop; do
    long special-$what special_files "$work/special-$what/a" $what
done
storm bomb-map bombs map $((megabytes < 16 ? megabytes : 15))
storm bomb-dump bombs dump $megabytes
long bomb-sparse bombs sparse 15
storm image-large images large 80
storm image-packed images packed 130 # a file of 0.9 MB
seconds=3 storm names names "$work/names/a" # names are looked up while it lives
for store in "$work/names/by-pid" "$work/names/all"; do
    [ ! -d "$store" ] || reports "$store"
done
[ -n "${CS_DAEMON_ALONE:-}" ] || grep -q 'touch owned' "$work"/names/*.reports/printed-prof.csv || fails names "they reached no report"
storm truncates truncates "$work/truncates/a" "$work/bin/elf"
storm blocks blocks_signals 0.3
storm takeover-store takeover "$work/takeover-store/gained" "$takeover_from" "$takeover_to"
long takeover-jump takeover "$work/takeover-jump/gained" "$takeover_from" "$takeover_to" jump

program=all
had=$daemon
stop_daemon
if [ -n "$had" ]; then
    "$cyclescope" store verify "$work/daemon" >"$work/verified" 2>&1 || fails store-daemon "$(tail -n 1 "$work/verified")"
    [ -n "${CS_DAEMON_ALONE:-}" ] || reports "$work/daemon"
fi
check_outputs
program=all
none_left() { # whatever lost its parent is our child now
    left=$(ps -o pid=,stat=,comm= --ppid $$ | awk '$3 ~ /^cyclescope/ && $2 !~ /^Z/')
    [ -z "$left" ]
}
until_true -t 10 none_left || fails left "$left"
if [ -n "${CS_PEAKS:-}" ]; then printf '%s' "$peaks" >"$CS_PEAKS"; fi
echo "the daemon's peak: $((peak / 1000000)) MB; $known known failures"
[ $bad -eq 0 ] && echo "ok: nobody was harmed"
exit $bad
