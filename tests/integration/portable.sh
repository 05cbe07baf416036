#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What scripts/tarball and scripts/container make runs where nothing of ours is: in a root that holds the image alone, with the
# rights that daemonset.yaml asks for, it sees a program of the host; without any right it records a command of its own.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "a root of one's own needs root"; exit 77; }
[ -z "$(readelf -d "$CYCLESCOPE" | grep -E 'libasan|libtsan|libubsan')" ] || { echo "sanitizers want their own libraries"; exit 77; }
work=$(mktemp -d)
trap 'kill "${spins:-}" 2>/dev/null; rm -rf "$work"' EXIT
said() { [ -z "$1" ] || sed 's/^/    /' "$1" | head -n 12; exit 1; }
scripts/tarball "$work" >"$work/log" 2>&1 || { echo "not ok: scripts/tarball"; said "$work/log"; }
scripts/container "$work"/cyclescope-*.tar.xz "$work/image" >"$work/log" 2>&1 || { echo "not ok: scripts/container"; said "$work/log"; }
scripts/container "$work"/cyclescope-*.tar.xz "$work/again" >"$work/log" 2>&1
cmp "$work/image" "$work/again" || { echo "not ok: two images of one tarball differ"; exit 1; }
mkdir "$work/out"
cp "$(command -v gzip)" "$work/out/spinner" # a program that nobody wrote for this, under a name that nothing else has

# Runs what a bundle's config.json says, as a container's runtime does: its root, its capabilities, no new privileges.
inside() { # NAME WITHOUT ARG...
    local name=$1 without=$2
    shift 2
    scripts/portable/bundle "$work/image" "$work/$name" "$work/out" "$@" || return 1
    python3 - "$work/$name" "$without" <<'PY'
import ctypes, json, os, subprocess, sys
folder, without = sys.argv[1:]
config = json.load(open(folder + "/config.json"))
names = ["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE",
         "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN",
         "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE",
         "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"]
process, root = config["process"], os.path.realpath(folder + "/rootfs")
kept = set() if without == "all" else {c.removeprefix("CAP_") for c in process["capabilities"]["bounding"]}
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000):  # mounts
    sys.exit("no mounts of our own")
mount = lambda *what: subprocess.run(["mount", *what], check=True)
mount("--make-rprivate", "/")
for m in config["mounts"]:
    os.makedirs(root + m["destination"], exist_ok=True)
    mount(*(["--rbind", m["source"]] if m["type"] == "bind" else ["-t", m["type"], m["source"]]), root + m["destination"])
os.chroot(root)
os.chdir(process["cwd"])
for number, name in enumerate(names):
    if name not in kept:
        libc.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP: what the program gets when root starts it
libc.prctl(38, 1, 0, 0, 0)  # no new privileges
os.execve(process["args"][0], process["args"], dict(e.split("=", 1) for e in process["env"]))
PY
}

"$work/out/spinner" -9 </dev/zero >/dev/null &
spins=$!
inside all none record -a --seconds 3 -o /out/all >"$work/log" 2>&1 || { echo "not ok: record -a in the container"; said "$work/log"; }
kill "$spins"
"$CYCLESCOPE" prof --by image --top 0 --store "$work/out/all" >"$work/table" 2>&1 || { echo "not ok: prof"; said "$work/table"; }
share=$(awk '/spinner/ {for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+$/) {print int($i); exit}}' "$work/table")
[ "${share:-0}" -ge 1 ] || { echo "not ok: the host's spinner isn't in the container's recording"; cat "$work/log"; said "$work/table"; }
"$CYCLESCOPE" store verify "$work/out/all" >/dev/null || { echo "not ok: the store"; exit 1; }

# Nothing but the image, and no right at all: a static program of one's own.
cat >"$work/turn.c" <<'C'
static volatile unsigned sink;
__attribute__((noinline)) static void turn_round(void)
{
    for (unsigned i = 0; i < 3000000000u; i++)
        sink += i;
}
int main(void)
{
    turn_round();
    return 7;
}
C
gcc -O1 -static "$work/turn.c" -o "$work/out/turn" || exit 1
inside own all record -o /out/own -- /out/turn >"$work/log" 2>&1
[ $? -eq 7 ] || { echo "not ok: the program's exit code isn't record's"; said "$work/log"; }
"$CYCLESCOPE" prof --store "$work/out/own" >"$work/table" 2>&1
awk '/turn_round/ && $1 + 0 > 80 {found = 1} END {exit !found}' "$work/table" || { echo "not ok: without rights"; cat "$work/log"; said "$work/table"; }
exit 0
