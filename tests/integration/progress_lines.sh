#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# What record and slow reports tell on a terminal while they work: a line that counts on and is gone at the end, nothing where
# standard error is no terminal or the recorded command has the terminal for itself. A terminal of our own shows what a user sees.
set -u
work=$(mktemp -d)
trap 'kill -9 $target_pid 2>/dev/null; rm -rf "$work"' EXIT
target=$(realpath "$BUILD/tests/programs/sampler_target")
"$target" spin 300 &
target_pid=$!
mkdir "$work/bin"
# A model that takes its time over each question makes reports slow on every machine.
cat >"$work/bin/llvm-mca-30" <<'C'
#!/bin/sh
case "$*" in *-mcpu=help*) echo " znver1 znver2 znver3 znver4 skylake skylake-avx512 icelake-server sapphirerapids haswell broadwell cascadelake"; exit 0 ;; esac
sleep 0.4 # sleeps: a slow answer
exit 1
C
chmod +x "$work/bin/llvm-mca-30"
export PATH=$work/bin:$PATH CYCLESCOPE_CACHE=$work/cache PAGER=cat
"$CYCLESCOPE" record -F 1000 -o "$work/store" -- "$BUILD/tests/programs/procedures" 200 100 100 300 50 50 200 >/dev/null 2>&1
python3 - "$CYCLESCOPE" "$work" "$target" "$target_pid" <<'P'
import fcntl, os, pty, re, shutil, struct, subprocess, sys, termios
program, work, target, pid = sys.argv[1:]
bad = 0

def fails(what, seen):
    global bad
    bad += 1
    print("not ok: " + what, *[f"    | {l}" for l in seen.split("\n")[:12] if l], sep="\n")

class Screen:
    """A terminal's lines: carriage return, erase to the end of the line, colours; nothing else may come."""
    def __init__(self):
        self.lines, self.at, self.passed = [""], 0, []
    def feed(self, text):
        for part in re.findall(r"\r|\n|\x1b\[K|\x1b\[[\d;]*m|\x1b|[^\r\n\x1b]+", text):
            if part == "\r":
                if self.lines[-1] and (not self.passed or self.passed[-1] != self.lines[-1]): self.passed.append(self.lines[-1])
                self.at = 0
            elif part == "\n": self.lines.append(""); self.at = 0
            elif part == "\x1b[K": self.lines[-1] = self.lines[-1][:self.at]
            elif part == "\x1b": raise SystemExit(f"not ok: another escape sequence: {text!r}")
            elif not part.startswith("\x1b"):
                self.lines[-1] = self.lines[-1][:self.at] + part + self.lines[-1][self.at + len(part):]
                self.at += len(part)

def run(what, command, out, on_terminal=True, environment={}):
    """Standard error on a terminal of 100 columns, or a file; `out`: standard output is the terminal, too. -> the screen."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    error = slave if on_terminal else open(work + "/stderr", "wb")
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave if out else subprocess.DEVNULL, stderr=error,
                         env=dict(os.environ, TERM="xterm", **environment))
    os.close(slave)
    screen, text = Screen(), b""
    while True:
        try:
            got = os.read(master, 65536)
        except OSError:
            break
        if not got:
            break
        text += got
    os.close(master)
    screen.feed(text.decode(errors="replace"))
    if p.wait() != 0:
        fails(f"{what}: exit {p.returncode}", "\n".join(screen.lines))
    return screen

def shown(what, screen, pattern, draws):
    """The line was there so often, each time with more, is gone, and never wider than the terminal."""
    lines = [m for m in (re.match(pattern, l) for l in screen.passed) if m]
    if len(lines) < draws:
        fails(f"{what}: the line was drawn {len(lines)} times, not {draws} or more", "\n".join(screen.passed + screen.lines))
    numbers = [int(m.group(1)) for m in lines]
    if numbers != sorted(numbers) or (draws > 1 and numbers and numbers[0] == numbers[-1]):
        fails(f"{what}: its numbers don't grow: {numbers}", "")
    if any(len(m.string) >= 100 for m in lines):
        fails(f"{what}: it is wider than the terminal", max((m.string for m in lines), key=len))
    none(what, screen, pattern, False)

def none(what, screen, pattern, at_all=True):
    left = [l for l in screen.lines + (screen.passed if at_all else []) if re.search(pattern.lstrip("^"), l)]
    if left:
        fails(f"{what}: a line is left or was drawn", "\n".join(left))

def store(n):
    shutil.rmtree(f"{work}/s{n}", ignore_errors=True)
    return f"{work}/s{n}"

RECORDING = r"recording: (\d+) samples.* in \d+ s"
own = ["record", "-F", "500"]
screen = run("record -p", [program, *own, "-o", store(1), "-p", pid, "--seconds", "4"], True)
shown("record -p", screen, RECORDING, 2)
if not any("CPU time" in l for l in screen.lines):
    fails("record -p: the summary isn't on the screen", "\n".join(screen.lines))
screen = run("record -- COMMAND, its output elsewhere", [program, *own, "-o", store(2), "--", target, "spin", "4"], False)
shown("record -- COMMAND, its output elsewhere", screen, RECORDING, 2)
screen = run("record -- COMMAND that has the terminal", [program, *own, "-o", store(3), "--", target, "spin", "2.5"], True)
none("record -- COMMAND that has the terminal", screen, RECORDING)
for what, command in {"record -p": [program, *own, "-o", store(4), "-p", pid, "--seconds", "2.5"], "sum": [program, "sum", "--store", work + "/store"]}.items():
    screen = run(what + " into a file", command, True, on_terminal=False, environment={"CYCLESCOPE_CACHE": work + "/cache-" + what[:3]})
    said = open(work + "/stderr", "rb").read()
    if b"\x1b" in said or b"\r" in said or b"recording: " in said or b"explaining" in said:
        fails(what + ": a status line went into a file", said.decode(errors="replace"))
for n, (what, command, pattern) in enumerate([("sum", ["sum"], r"explaining.* (\d+) %"), ("report --html", ["report", "--html", work + "/page.html"], r"functions.*? (\d+) (?:%|rows)")]):
    screen = run(what, [program, *command, "--store", work + "/store"], True, environment={"CYCLESCOPE_CACHE": f"{work}/cache{n}"})
    shown(what, screen, pattern, 1)
sys.exit(bad > 0)
P
rc=$?
kill -9 $target_pid
[ $rc = 0 ] && echo ok
exit $rc
