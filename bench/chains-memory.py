# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon takes with call chains: a process that maps the code of 300 of this machine's largest images and calls from all
of them for a table, and two storms: short processes and compilers, and libraries that come and go by dlopen. The value is the sum
of the daemon's peak resident memory and of all its BPF maps in the kernel, those that are mmapped counted once; the detail says
them apart.

CS_MEMORY_SECONDS changes the length (60, --quick 20)."""
import glob, json, os, re, shutil, subprocess, sys, tempfile, time

from libsampler import CYCLESCOPE, QUICK, row

SECONDS = int(os.environ.get("CS_MEMORY_SECONDS", 20 if QUICK else 60))
IMAGES = 300
PLACE = tempfile.mkdtemp()
MAPPER = r"""
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sink;
int main(int argc, char **argv)
{
    int mapped = 0;
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);
        Elf64_Ehdr h;
        if (fd < 0 || pread(fd, &h, sizeof h, 0) != sizeof h || memcmp(h.e_ident, ELFMAG, 4) != 0)
            continue;
        for (int p = 0; p < h.e_phnum; p++) {
            Elf64_Phdr ph;
            if (pread(fd, &ph, sizeof ph, (off_t)(h.e_phoff + (unsigned)p * sizeof ph)) == sizeof ph && ph.p_type == PT_LOAD &&
                ph.p_flags & PF_X && mmap(NULL, ph.p_filesz, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)(ph.p_offset & ~4095UL)) != MAP_FAILED)
                mapped++;
        }
        close(fd);
    }
    printf("%d\n", mapped);
    fflush(stdout);
    for (;;)
        sink++;
}
"""
LOADER = r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
    for (;;)
        for (int i = 1; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW);
            if (library)
                dlclose(library);
        }
}
"""


def build(name, text):
    with open(f"{PLACE}/{name}.c", "w") as out:
        out.write(text)
    subprocess.run(["gcc", "-O2", "-o", f"{PLACE}/{name}", f"{PLACE}/{name}.c", "-ldl"], check=True)
    return f"{PLACE}/{name}"


def images():
    """The largest that are executable code by their first bytes; one of each file."""
    seen = {}
    for path in glob.glob("/usr/lib/x86_64-linux-gnu/**/*.so*", recursive=True) + glob.glob("/usr/bin/*"):
        real = os.path.realpath(path)
        try:
            with open(real, "rb") as f:
                if f.read(5) == b"\x7fELF\x02":
                    seen[real] = os.path.getsize(real)
        except OSError:
            pass
    return sorted((p for p in seen if seen[p] < 64 << 20), key=lambda p: -seen[p])[:IMAGES]


def daemon(*words):
    return subprocess.run([CYCLESCOPE, "daemon", *words, "--socket", f"{PLACE}/control"], capture_output=True, text=True)


def maps_bytes(pid):
    """Of the BPF maps that the daemon has open: each once."""
    maps = {}
    for info in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            text = open(info).read()
        except OSError:
            continue
        if found := re.search(r"^map_id:\s*(\d+)", text, re.M):
            maps[found[1]] = int(re.search(r"^memlock:\s*(\d+)", text, re.M)[1])
    return sum(maps.values())


def resident_bytes(pid):
    return {k: int(v) * 1024 for k, v in re.findall(r"^(RssAnon|RssFile|RssShmem):\s*(\d+)", open(f"/proc/{pid}/status").read(), re.M)}


def mapped_bytes(pid):
    """Of those maps, what is counted as resident in the daemon, too."""
    total, inside = 0, False
    for line in open(f"/proc/{pid}/smaps"):
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = "bpf-map" in line or "bpf_" in line
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def main():
    mapper, loader = build("mapper", MAPPER), build("loader", LOADER)
    with open(f"{PLACE}/x.c", "w") as out:
        out.write("#include <stdio.h>\nint main(void) { unsigned x = 0; for (unsigned i = 0; i < 20000; i++) x = x * 31 + i; printf(\"%u\\n\", x); return 0; }\n")
    storm = f"while :; do gcc -O1 -o {PLACE}/x {PLACE}/x.c; for i in 1 2 3 4 5 6 7 8 9; do {PLACE}/x; /bin/true; done; done"
    libraries = [os.path.basename(p) for p in glob.glob("/usr/lib/x86_64-linux-gnu/lib[a-z]*.so.[0-9]") if os.path.getsize(p) > 50000][:60]
    running = []
    try:
        started = daemon("start", "-o", f"{PLACE}/store", "-F", "1000", "--merge-interval", "10s", "--log", f"{PLACE}/log")
        if started.returncode:
            sys.exit(started.stderr)
        pid = json.loads(daemon("status", "--json").stdout)["pid"]
        first = subprocess.Popen([mapper, *images()], stdout=subprocess.PIPE, text=True)
        running = [first, subprocess.Popen(["sh", "-c", storm], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True),
                   subprocess.Popen([loader, *libraries], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        mapped, kernel, look, worst = int(first.stdout.readline()), 0, 0, {"": 0}
        end = time.time() + SECONDS
        while time.time() < end:
            time.sleep(0.02)
            worst = max(worst, resident_bytes(pid), key=lambda r: sum(r.values()))
            if time.time() > look:
                look, kernel = time.time() + 1, max(kernel, maps_bytes(pid))
        twice = mapped_bytes(pid)
        status = json.loads(daemon("status", "--json").stdout)
        resident, peak = resident_bytes(pid), int(re.search(r"^VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read(), re.M)[1]) * 1024
    finally:
        for p in running:
            try:
                os.killpg(p.pid, 9) if p is not first and os.getpgid(p.pid) == p.pid else p.kill()
            except ProcessLookupError:
                pass
            p.wait()
        daemon("stop")
        shutil.rmtree(PLACE, ignore_errors=True)
    ends = status.get("chain_ends", {})
    samples = sum(ends.values())
    row("chains-memory", round((peak + kernel - twice) / 1e6, 1), "MB", 64, None,
        {"seconds": SECONDS, "images mapped": mapped, "resident at most": round(peak / 1e6, 1), "BPF maps at most": round(kernel / 1e6, 1), "of them resident in the daemon": round(twice / 1e6, 1),
         "of what, when most was seen": {k: round(v / 1e6, 1) for k, v in worst.items()},
         "resident at the end": {k: round(v / 1e6, 1) for k, v in resident.items()}, "samples with a chain": samples,
         "complete, %": round(100 * ends.get("complete", 0) / samples, 2) if samples else None,
         "ends": {k: v for k, v in ends.items() if v}})


main()
