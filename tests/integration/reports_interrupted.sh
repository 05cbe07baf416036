#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ctrl-C while llvm-mca is at work: a report ends at once, by that signal, and leaves neither a process nor a file. The model is
# one of our own that never answers.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "not ok: $*"; exit 1; }
mkdir "$dir/bin" "$dir/tmp"
cat >"$dir/bin/llvm-mca-30" <<C
#!/bin/sh
case "\$*" in *-mcpu=help*) echo " znver1 znver2 znver3 znver4 skylake skylake-avx512 icelake-server sapphirerapids haswell broadwell cascadelake"; exit 0 ;; esac
echo \$\$ >>"$dir/asked"
exec sleep 60 # sleeps: no answer in time
C
chmod +x "$dir/bin/llvm-mca-30"
export PATH=$dir/bin:$PATH CYCLESCOPE_CACHE=$dir/cache TMPDIR=$dir/tmp
"$CYCLESCOPE" record -F 1000 -o "$dir/store" -- "$BUILD/tests/programs/procedures" 200 100 100 300 50 50 200 >"$dir/said" 2>&1 || fail "record: $(tail -3 "$dir/said")"
for report in "sum" "calc delta" "report --html $dir/page.html"; do
    rm -f "$dir/asked"
    find "$dir/store" -type f | sort >"$dir/before"
    # a group of its own, as a terminal gives one to a command; a shell's background would ignore the signal
    python3 - "$dir" "$CYCLESCOPE" $report --store "$dir/store" <<'P' || fail "$report"
import os, signal, subprocess, sys, time
folder, command = sys.argv[1], sys.argv[2:]
p = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
end = time.monotonic() + 20
while not os.path.exists(folder + "/asked"):
    if p.poll() is not None or time.monotonic() > end:
        print("77" if p.poll() == 0 else f"ended with {p.poll()} before the model was asked"); sys.exit(1)
    time.sleep(0.01)  # sleeps: between two looks
time.sleep(0.2)  # sleeps: the others ask as well
start = time.monotonic()
os.killpg(p.pid, signal.SIGINT)
status = p.wait(10)
took = time.monotonic() - start
assert took < 2, f"{took:.1f} s until it ended"
assert status in (-signal.SIGINT, 130), f"ended with {status}"
left = []
for _ in range(100): # their new parent takes a moment to bury them
    left = [r for r in subprocess.run(["ps", "-e", "-o", "pgid=,stat=,args="], capture_output=True, text=True).stdout.split("\n")
            if r.split() and int(r.split()[0]) == p.pid and not r.split()[1].startswith("Z")]
    if not left:
        break
    time.sleep(0.02)  # sleeps: between two looks
assert not left, f"left: {left}"
P
    find "$dir/store" -type f | grep -v '/\.flows$' | sort >"$dir/after"
    grep -v '/\.flows$' "$dir/before" | cmp -s - "$dir/after" || fail "$report left in the store: $(diff "$dir/before" "$dir/after")"
    [ -z "$(ls -A "$dir/tmp")" ] || fail "$report left in TMPDIR: $(ls -A "$dir/tmp")"
    [ ! -e "$dir/page.html" ] || fail "half a page was left"
done
echo ok
