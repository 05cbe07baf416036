# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report or the collector costs as the work grows, and by which power: CPU seconds of one command against
samples, images, store size, tags, executable size, processes and threads. An exponent of 1 is linear, 0 is constant; the part that
starting takes is measured with the smallest and subtracted. Value: the largest exponent."""
import json, math, os, random, resource, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from libsampler import BUILD, CYCLESCOPE, QUICK, program, row  # noqa: E402

at = tempfile.mkdtemp(prefix="scale.")
os.environ["CYCLESCOPE_CACHE"] = ""
filler = program("perfdata_filler")


def cpu(*command, times=3, before=lambda: None):
    """Least CPU seconds of a few runs, children included."""
    best = math.inf
    for _ in range(times):
        before()
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return best


def alike(n):
    """n images of the same size: copies of one library, each with a build-id of its own."""
    folder = f"{at}/images.{n}"
    if not os.path.exists(folder):
        os.mkdir(folder)
        original = next(p for p in ("/usr/lib/x86_64-linux-gnu/libreadline.so.8", "/usr/lib/x86_64-linux-gnu/libncursesw.so.6",
                                    "/usr/lib/x86_64-linux-gnu/libc.so.6") if os.path.exists(p))
        code = open(original, "rb").read()
        note = code.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
        for i in range(n):
            with open(f"{folder}/lib{i:04}.so", "wb") as f:
                f.write(code[:note] + i.to_bytes(4, "big") + code[note + 4:])
    return folder


def recording(samples, images, folder=()):
    path = f"{at}/{samples}.{images}.data"
    if not os.path.exists(path):
        subprocess.run([filler, str(samples), str(images), path, *folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def imported(samples, images, folder=()):
    store = f"{at}/{samples}.{images}.store"
    if not os.path.exists(store):
        subprocess.run([CYCLESCOPE, "import", "-o", store, recording(samples, images, folder)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return store


def fresh():
    shutil.rmtree(at + "/fresh", ignore_errors=True)


def by_samples(n):
    return cpu(CYCLESCOPE, "import", "-o", at + "/fresh", recording(n, 50), before=fresh)


def by_images(n):
    """Of equal size, and each read as if for the first time: without the cache of procedure tables."""
    return cpu(CYCLESCOPE, "prof", "--store", imported(200000, n, (alike(n),)))


def by_store(epochs):
    """The same profile again and again, as an epoch each."""
    store = f"{at}/epochs.{epochs}"
    shutil.rmtree(store, ignore_errors=True)
    for _ in range(epochs):
        subprocess.run([CYCLESCOPE, "import", "-o", store, recording(20000, 20)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu(CYCLESCOPE, "prof", "--store", store)


def code(n):
    """An executable of n small procedures, sampled once."""
    path = f"{at}/code.{n}"
    with open(path + ".c", "w") as f:
        f.writelines(f"int f{i}(int x) {{ for (int k = 0; k < x; k++) x += k * {i}; return x > {i} ? x : -x; }}\n" for i in range(n))
        f.write("int main(void) { volatile int x = 100; for (long k = 0; k < 4000000; k++) x = f0(x & 63); return x == 1; }\n")
    subprocess.run(["gcc", "-O1", "-g1", "-o", path, path + ".c"], check=True)
    subprocess.run([CYCLESCOPE, "record", "-o", path + ".store", "--", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu(CYCLESCOPE, "list", "--store", path + ".store", "f0")


def collector(script, rate):
    """CPU seconds of the collector itself while the command runs."""
    fresh()
    out = subprocess.run([CYCLESCOPE, "record", "--json", "--no-bursts", "-F", str(rate), "-o", at + "/fresh", "--", "sh", "-c", script],
                         check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    told = json.loads(out[out.index("{"):])
    return told.get("collector_cpu_seconds")


def processes(n):
    return collector(f"i=0; while [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done", 500)


def threads(n):
    source = ("import threading,time\ndef f():\n e=time.time()+1\n while time.time()<e: sum(range(1000))\n"
              f"t=[threading.Thread(target=f) for _ in range({n})]\n[x.start() for x in t];[x.join() for x in t]")
    return collector(f"python3 -c '{source}'", 1000)


def tags(n):
    log = f"{at}/tags.{n}.log"
    subprocess.run([CYCLESCOPE, "observe", "-t", "1", "--period", "4000", "-s", "many", "--log", log, "--", at + "/many", str(n)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu(CYCLESCOPE, "tags", "--log", log)


def build_many():
    with open(at + "/many.c", "w") as f:
        f.write('#define CS_EXECUTABLE\n#include "signals/cyclescope.h"\n#include <stdlib.h>\n'
                "int main(int c, char **v)\n{\n    cs_signal many = cs_define_tag(\"many\");\n    unsigned n = (unsigned)atoi(v[c - 1]), x = 1;\n"
                "    for (;;) {\n        x = x * 1664525u + 1013904223u;\n        cs_set(many, 1 + (x >> 8) % n);\n"
                "        for (volatile int i = 0; i < 2000; i++)\n            ;\n    }\n}\n")
    subprocess.run(["gcc", "-O2", "-I.", "-o", at + "/many", at + "/many.c", BUILD + "/libcyclescope.a", "-pthread"], check=True)


AXES = {
    "samples (import)": (by_samples, [20000, 100000, 500000, 2500000]),
    "images (prof)": (by_images, [1, 30, 120, 480]),
    "store, epochs (prof)": (by_store, [2, 8, 32]),
    "executable, procedures (list)": (code, [100, 1000, 10000]),
    "short processes (collector)": (processes, [100, 400, 1600]),
    "threads (collector)": (threads, [1, 8, 64]),
    "distinct tags (tags of a log)": (tags, [4, 64, 1024]),
}
detail, worst = {}, 0
for axis, (measure, sizes) in AXES.items():
    if measure is tags:
        try:
            build_many()
        except subprocess.CalledProcessError:
            continue
    points = [(n, measure(n)) for n in (sizes[:-1] if QUICK else sizes)]
    if any(y is None for _, y in points):
        continue
    floor = 0.9 * min(y for _, y in points)
    logs = [(math.log(n), math.log(max(y - floor, 1e-4))) for n, y in points[1:]]
    mx, my = (sum(v[k] for v in logs) / len(logs) for k in (0, 1))
    spread = sum((x - mx) ** 2 for x, _ in logs)
    exponent = sum((x - mx) * (y - my) for x, y in logs) / spread if spread else 0
    worst = max(worst, exponent)
    detail[axis] = {"exponent": round(exponent, 2), "seconds": {str(n): round(y, 4) for n, y in points}}
    print(f"{axis:32} exponent {exponent:5.2f}   " + "  ".join(f"{n}: {y:.3f} s" for n, y in points), flush=True)
shutil.rmtree(at)
row("scale", round(worst, 2), "exponent", 1.1, 0.1, detail)
