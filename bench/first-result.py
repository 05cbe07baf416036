# SPDX-License-Identifier: GPL-2.0-or-later
"""first-result: seconds from a bare Debian chroot (debootstrap's smallest, `make`, package lists) to the first printed table, by
each way of docs/install.md: a clone and `make demo`; Debian's package; the tarball; the container's image, run by
scripts/portable/enter. The value is the worst of them over its target; the detail has seconds and targets. Making the
packages, the tarball and the image isn't part of it. Needs root and Debian's archive. --quick: without the clone."""
import glob, os, pathlib, shutil, subprocess, sys, tempfile, time

from libsampler import QUICK, row

BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
TARGETS = {"clone": 75, "deb": 20, "tarball": 5, "container": 10}
SUITE = "bookworm"
if os.geteuid() != 0 or not shutil.which("debootstrap"):
    print("a chroot needs root and debootstrap (scripts/deps package)", file=sys.stderr)
    sys.exit(77)
missing = subprocess.run(["scripts/deps", "--look", "package"], capture_output=True, text=True)
if missing.stdout.strip() or missing.returncode:  # the packages are built here
    print(f"building the packages needs more: run scripts/deps package ({missing.stdout.strip() or missing.stderr.strip()})", file=sys.stderr)
    sys.exit(77)
work = pathlib.Path(tempfile.mkdtemp(prefix="first-result."))


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    if done.returncode != 0:
        print(done.stdout[-3000:], file=sys.stderr)
        raise RuntimeError(f"{command}: exit {done.returncode}")
    return done.stdout


def remove(folder):
    """Never what is mounted below it."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)])


def base():
    """A bare system, made once."""
    root = pathlib.Path("/var/tmp/cyclescope-first-result") / SUITE
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", "--include=make,ca-certificates", SUITE, str(root))
        for path in glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/*.sources") + glob.glob("/etc/resolv.conf"):
            shutil.copy(path, str(root) + path)
        with open("/etc/passwd", "rb"), open(root / "root/work", "wb") as out:  # a second for gzip -9
            for path in sorted(glob.glob("/usr/bin/*"))[:400]:
                if os.path.isfile(path) and out.tell() < 12 << 20:
                    out.write(open(path, "rb").read())
        run("chroot", str(root), "apt-get", "-qq", "update")
        (root / "ready").touch()
    return root


class Chroot:
    def __init__(self, name):
        self.root = work / name
        run("cp", "-a", str(base()), str(self.root))
        for place in ("proc", "sys", "dev"):
            run("mount", "--rbind", "/" + place, str(self.root / place))
            run("mount", "--make-rslave", str(self.root / place))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for place in ("proc", "sys", "dev"):
            subprocess.run(["umount", "-R", "-l", str(self.root / place)])
        remove(self.root)

    def sh(self, script):
        env = {**{k: v for k, v in os.environ.items() if "proxy" in k.lower()}, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "DEBIAN_FRONTEND": "noninteractive"}
        return run("chroot", str(self.root), "/bin/sh", "-ec", script, env=env)


def timed(what):
    began = time.monotonic()
    said = what()
    return time.monotonic() - began, said


def table_of(said, name):
    if not any("%" in line or line.strip()[:1].isdigit() for line in said.splitlines() if name in line):
        raise RuntimeError("no table names " + name + ":\n" + said[-2000:])


def clone():
    with Chroot("clone") as c:
        (c.root / "root/cyclescope").mkdir()
        run("sh", "-c", f"git archive HEAD | tar x -C {c.root}/root/cyclescope")
        seconds, said = timed(lambda: c.sh("cd /root/cyclescope && make demo"))
        table_of(said, "join_orders")
        return seconds


RECORD = "cd /root && {0} record -o store -- gzip -9 -c work >/dev/null 2>&1 && {0} prof --by image --store store"


def deb():
    packages = glob.glob(BUILD + "/deb/cyclescope_*.deb")
    if not packages:
        run("scripts/deb", BUILD + "/deb")
        packages = glob.glob(BUILD + "/deb/cyclescope_*.deb")
    with Chroot("deb") as c:
        shutil.copy(packages[0], c.root / "root/cyclescope.deb")
        seconds, said = timed(lambda: c.sh("apt-get install -qq -y --no-install-recommends /root/cyclescope.deb >/dev/null 2>&1; "
                                           + RECORD.format("cyclescope")))
        table_of(said, "gzip")
        return seconds


def portable():
    run("scripts/tarball", str(work))
    return glob.glob(str(work) + "/cyclescope-*.tar.xz")[0]


def tarball():
    packed = portable()
    with Chroot("tarball") as c:
        run("sh", "-c", f"command -v xz >/dev/null && cp {packed} {c.root}/root/")
        c.sh("command -v xz >/dev/null || apt-get install -qq -y xz-utils >/dev/null 2>&1")  # a bare chroot can't unpack one
        seconds, said = timed(lambda: c.sh("cd /root && tar xf cyclescope-*.tar.xz && " + RECORD.format("/root/cyclescope-*/bin/cyclescope")))
        table_of(said, "gzip")
        return seconds


def container():
    image, out = work / "image", work / "out"
    run("scripts/container", portable(), str(image))
    out.mkdir()
    busy = subprocess.Popen(["gzip", "-9"], stdin=open("/dev/zero", "rb"), stdout=subprocess.DEVNULL)
    def both():
        for name, *args in (("record", "record", "-a", "--seconds", "2", "-o", "/out/store"), ("prof", "prof", "--by", "image", "--store", "/out/store")):
            run("scripts/portable/bundle", str(image), str(work / name), str(out), *args)
            said = run("scripts/portable/enter", str(work / name))
        return said
    try:
        seconds, said = timed(both)
    finally:
        busy.kill()
    table_of(said, "gzip")
    return seconds


found = {}
try:
    for name, way in (("tarball", tarball), ("container", container), ("deb", deb), ("clone", clone)):
        if not (QUICK and name == "clone"):
            found[name] = round(way(), 1)
            print(f"{name}: {found[name]} s (target {TARGETS[name]})")
finally:
    remove(work)
row("first-result", max(found[n] / TARGETS[n] for n in found), "of the target", 1, 0, {n: {"s": s, "target": TARGETS[n]} for n, s in found.items()})
