#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Memory and files that are never served: a page of a FUSE mount, and one that a userfaultfd waits for, under the name of a Python
# function; code of such a mount under bursts; a mapped file, and a perf map, that nobody but its program may look up or open.
# The daemon must answer, hear its end, and leave its targets running. Last line but one: "waits" and the longest waits in seconds,
# of a target, of a status, of a stop (bench/run hostile-wait).
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d)
target=${CS_UNANSWERED_SECONDS:-4}
mounts=(name code path)
# Who waits is let go, and nobody of ours is left, however this ends: all of them name our folder.
finish() {
    local m number
    mountpoint -q /sys/fs/fuse/connections || mount -t fusectl none /sys/fs/fuse/connections 2>/dev/null
    for m in "${mounts[@]}"; do
        number=$(awk -v at="$work/$m" '$5 == at { sub(".*:", "", $3); print $3 }' /proc/self/mountinfo)
        [ -z "$number" ] || echo 1 2>/dev/null >"/sys/fs/fuse/connections/$number/abort"
    done
    pkill -9 -f "$work/"
    for m in "${mounts[@]}"; do
        umount -f "$work/$m" 2>/dev/null || umount -l "$work/$m" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' INT TERM HUP
[ "$(id -u)" = 0 ] || { echo "needs root: to mount, and for a daemon"; exit 77; }
[ -c /dev/fuse ] || { echo "no /dev/fuse here"; exit 77; }
python=/usr/bin/python3
cat >"$work/names.py" <<'P'
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def silent_page():
    if os.environ.get("CS_SILENT"):
        return libc.mmap(None, 65536, 1, 2, os.open(os.environ["CS_SILENT"], os.O_RDONLY), 0) + 3 * 4096
    at = libc.mmap(None, 65536, 3, 0x22, -1, 0)
    fd = libc.syscall(323, 0)  # userfaultfd
    api, register = (ctypes.c_uint64 * 3)(0xAA, 0, 0), (ctypes.c_uint64 * 4)(at, 65536, 1, 0)
    if fd < 0 or libc.ioctl(fd, 0xC018AA3F, api) or libc.ioctl(fd, 0xC020AA00, register):
        sys.exit("no userfaultfd")
    return at + 4096
schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
def unscheduled():  # ready, and without a CPU: then it stands for what else runs here
    return int(os.pread(schedstat, 64, 0).split()[1]) / 1e9
def victim(until):
    most, now = 0, time.monotonic()
    looked, waited = now, unscheduled()
    while now < until:
        for i in range(1000):
            pass
        then, now = now, time.monotonic()
        if now - looked > 0.005:
            before, waited, looked = waited, unscheduled(), now
            most = max(most, now - then - (waited - before))
    return most
page, code, kept = silent_page(), victim.__code__, []
texts = {id(code.co_name), id(code.co_filename), id(getattr(code, "co_qualname", ""))}
for offset in range(16, 256, 8):
    word = ctypes.c_void_p.from_address(id(code) + offset)
    if word.value in texts:
        kept.append((word, word.value))
        word.value = page
most = victim(time.monotonic() + float(sys.argv[1]))
for word, value in kept:
    word.value = value
print(f"{most:.3f}\nunharmed", flush=True)
os._exit(0)
P
"$CYCLESCOPE" daemon start --foreground --socket "$work/control" -o "$work/store" -F 500 --merge-interval 1s --bursts --remarks "$work/log" \
    >/dev/null 2>"$work/err" &
daemon=$!
until_true "$CYCLESCOPE" daemon status --socket "$work/control" >/dev/null
for m in "${mounts[@]}"; do mkdir "$work/$m"; done
"$BUILD/tests/hostile/silent" "$target" "$work/name" exec $python "$work/names.py" "$target" >"$work/said.name" 2>&1 &
"$BUILD/tests/hostile/silent" "$target" "$work/code" code >"$work/said.code" 2>&1 &
"$BUILD/tests/hostile/silent" "$target" "$work/path" path >"$work/said.path" 2>&1 &
CS_SILENT= $python "$work/names.py" "$target" >"$work/said.uffd" 2>&1 &
python3 - "$work" "$daemon" "$target" >"$work/judged" <<'P'
import os, pathlib, re, signal, socket, sys, time
work, daemon, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
status, failed, unanswered = 0.0, [], 0
until = time.monotonic() + seconds + 2
while time.monotonic() < until:
    began = time.monotonic()
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(30)
            asking.connect(str(work / "control"))
            asking.sendall(b"status\n")
            while part := asking.recv(65536):
                answer += part
    except OSError as e:
        failed.append(f"status: {e}")
    status = max(status, time.monotonic() - began)
    said = re.search(rb"^unanswered (\d+)", answer, re.M)
    unanswered = int(said[1]) if said else unanswered
    time.sleep(0.1)  # sleeps: between two looks
began, stop = time.monotonic(), 60.0
os.kill(daemon, signal.SIGTERM)
while time.monotonic() - began < 60:
    try:  # it is our parent's child: a zombie has ended, too
        if re.search(r"\) [ZX] ", pathlib.Path(f"/proc/{daemon}/stat").read_text()):
            raise FileNotFoundError
    except (FileNotFoundError, ProcessLookupError):
        stop = time.monotonic() - began
        break
    time.sleep(0.01)  # sleeps: between two looks
stood = {}
for file in sorted(work.glob("said.*")):
    words = file.read_text().split()
    if words and words[-1] == "unharmed":
        stood[file.name[5:]] = float(words[0])
    elif file.name == "said.uffd" and "no" in words:
        print("no userfaultfd here: not tried")
    else:
        failed.append(f"{file.name}: {' '.join(words)[-200:] or 'it stands'}")
if not unanswered:
    failed.append("the daemon met nothing that wasn't served")
print("waits", round(max(stood.values(), default=60), 3), round(status, 3), round(stop, 3), stood)
# Where something is waited for it is for minutes; a busy machine makes all of these longer. What is promised: bench/run hostile-wait.
if status > 1 or stop > 4 or max(stood.values(), default=60) > 0.5:
    failed.append("somebody waited for too long")
print("\n".join("not ok: " + text for text in failed))
sys.exit(bool(failed))
P
code=$?
grep -q "can't mount" "$work"/said.* && { grep -h "can't mount" "$work"/said.* | head -n 1; exit 77; }
[ $code -eq 0 ] || tail -n 3 "$work/log"
grep -v '^$' "$work/judged"
[ $code -eq 0 ] && echo "nobody waits for memory and files that are never served"
exit $code
