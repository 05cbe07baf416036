#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An image's path that leads to a FIFO, a terminal, a device, a loop: nobody who reads the profile opens it (inotify sees each
# open but O_PATH), hangs, or fails other than by missing names.
# Beside others.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'static volatile unsigned long x;\nint main(void) { for (unsigned long i = 0; i < 200000000; i++) x += i; }\n' >"$work/p.c"
${CC:-gcc} -O1 -Wl,--build-id=none -o "$work/p" "$work/p.c" || { echo "no compiler"; exit 77; }
"$CYCLESCOPE" record --no-bursts -F 1000 -o "$work/s" -- "$work/p" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
python3 - "$CYCLESCOPE" "$work" <<'P'
import ctypes, os, pty, subprocess, sys
cyclescope, work = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
IN_OPEN = 0x20
bad = 0
for what in "fifo", "tty", "zero", "loop", "folder":
    path, watched, ends = work + "/p", None, ()
    os.unlink(path)
    if what == "fifo":
        os.mkfifo(path)
        watched = path
    elif what == "tty":
        ends = pty.openpty()
        watched = os.ttyname(ends[1])
        os.symlink(watched, path)
    elif what == "zero":
        os.symlink("/dev/zero", path)
    elif what == "loop":
        os.symlink(path, path)
    else:
        os.symlink(work, path)
    for command in ["prof"], ["calc", "main"], ["list", "main"], ["sum"], ["export", "--pprof", work + "/out"]:
        seen = libc.inotify_init1(0o4000)
        if watched and libc.inotify_add_watch(seen, watched.encode(), IN_OPEN) < 0:
            sys.exit(77)
        try:
            done = subprocess.run([cyclescope, *command, "--store", work + "/s"], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=20, start_new_session=True)
            problem = f"signal {-done.returncode}" if done.returncode < 0 else None
        except subprocess.TimeoutExpired:
            problem = "it hangs"
        try:
            os.read(seen, 4096)
            problem = "it was opened"
        except BlockingIOError:
            pass
        os.close(seen)
        if problem:
            bad = 1
            print(f"not ok: {command[0]} of an image that is a {what}: {problem}")
    for end in ends:
        os.close(end)
if not bad:
    print("ok: only regular files are opened")
sys.exit(bad)
P
