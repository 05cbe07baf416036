# SPDX-License-Identifier: GPL-2.0-or-later
"""Profile-guided optimisation by profiles without PMU or LBR, beside instrumented PGO of the same compiler.

For each program: a plain build; an instrumented one, trained, then built again; our profile of the *plain* build under the
training input (`record --bursts`), exported, and given to the compiler, to BOLT, and to both. Then all builds run on the test
input, alternating, and user time is compared run by run. Training and test inputs differ (bench/programs, SIZE train and full).

    bench/run pgo-gain [--quick] [--prepare] [--fresh]

--prepare builds and records only, for as long as it takes (a quarter of an hour); --fresh forgets what was recorded. Without it, a run
builds for CS_PGO_SECONDS (75) at most and measures the programs that are ready by then; the others come in later runs: builds and
profiles are kept under $BUILD/bench/pgo and $BUILD/programs. CS_PGO_PROGRAMS and CS_PGO_ROUTES choose.

A program's gain is plain time / time - 1. The value is the best route's gain over instrumented PGO's, in the geometric means
over the programs where instrumented PGO gains 5 % or more; the others stay in the table, to show that no harm is done.
"""
import concurrent.futures, json, math, os, shlex, shutil, signal, statistics, subprocess, sys, time

BUILD = os.environ.get("BUILD", "build")
TOOL = os.environ.get("CYCLESCOPE", BUILD + "/cyclescope")
QUICK, FRESH, PREPARE = ("--" + w in sys.argv for w in ("quick", "fresh", "prepare"))
GAINING = ["duktape", "sqlite3", "jimtcl", "tcc", "gawk"]
CONTROLS = ["bzip2", "zstd", "lua5.4"]
PROGRAMS = os.environ.get("CS_PGO_PROGRAMS", " ".join(["duktape", "sqlite3"] if QUICK else GAINING + CONTROLS)).split()
ROUTES = os.environ.get("CS_PGO_ROUTES", "clang bolt clang+bolt" if QUICK else "clang bolt clang+bolt gcc").split()
RECORD_S, PAIRS = 20, 3 if QUICK else 5
LEAST_GAIN = 0.05
DEADLINE = None if PREPARE else time.monotonic() + float(os.environ.get("CS_PGO_SECONDS", 8 if QUICK else 75))
MEASURE_S = 6 if QUICK else 40 # of all programs' runs together, about


class NotReady(Exception):
    pass
PLACE = os.path.realpath(BUILD) + "/bench/pgo"


def tool(*names):
    for name in names:
        for folder in ("/usr/lib/llvm-19/bin", "/usr/lib/llvm-16/bin", "/usr/lib/llvm-14/bin", "/usr/bin"):
            if os.access(f"{folder}/{name}", os.X_OK):
                return f"{folder}/{name}"
    return None


CLANG = tool("clang-19", "clang")
PROFDATA = tool("llvm-profdata-19", "llvm-profdata")
BOLT = tool("llvm-bolt", "llvm-bolt-19", "llvm-bolt-16")
EMIT = "-Wl,--emit-relocs"


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(words, shell=False, **more):
    """Output of a command. Past the deadline nothing is started, and what runs is ended with all its children."""
    left = DEADLINE - time.monotonic() if DEADLINE else None
    if left is not None and left <= 0:
        raise NotReady()
    process = subprocess.Popen(words, shell=shell, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)
    try:
        out, errors = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise NotReady() from None
    if process.returncode:
        raise RuntimeError(f"{words if shell else shlex.join(words)}"[:300] + f": {errors.strip()[-300:]}")
    return out, errors


def build(program, label, compiler, flags, link=""):
    return run(["bench/programs", "build", program, label, *flags], env={**os.environ, "CC": compiler, "LINK": link})[0].strip()


def command(program, executable, size):
    return subprocess.run(["bench/programs", "command", program, executable, size], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def kept(path):
    return os.path.exists(path) and not FRESH


def profile(program, plain, name, formats):
    """Records the plain build under the training input and exports; returns {format: file}."""
    store = f"{PLACE}/{program}.{name}.store"
    files = {f: f"{PLACE}/{program}.{name}.{f}" for f in formats}
    newer = lambda f: kept(f) and os.path.getmtime(f) > os.path.getmtime(plain)
    if not newer(store + ".done"):
        shutil.rmtree(store, ignore_errors=True)
        loop = f"end=$((SECONDS+{RECORD_S})); while [ $SECONDS -lt $end ]; do {command(program, plain, 'train')} >/dev/null 2>&1; done"
        _, said = run([TOOL, "record", "--bursts", "--burst-rate", "60", "-o", store, "--", "bash", "-c", loop])
        with open(store + ".done", "w") as f:
            f.write(said)
        say(f"{program}: " + " ".join(l.split(";")[0] for l in said.splitlines() if " bursts, " in l))
    for f, path in files.items():
        if not newer(path) or os.path.getmtime(path) < os.path.getmtime(store + ".done"):
            run([TOOL, "export", "--store", store, "--image", os.path.basename(plain), "--format", f, "--to", path])
    return files


def instrumented_clang(program):
    data = f"{PLACE}/{program}.clang.profdata"
    if not kept(data):
        generating = build(program, "pgo-clang-gen", CLANG, ["-fprofile-generate"])
        raw = f"{PLACE}/{program}.raw"
        shutil.rmtree(raw, ignore_errors=True)
        run(command(program, generating, "train") + " >/dev/null", shell=True, env={**os.environ, "LLVM_PROFILE_FILE": raw + "/%m.profraw"})
        run([PROFDATA, "merge", "-o", data, raw])
        shutil.rmtree(raw)
    return build(program, "pgo-clang-use", CLANG, ["-fprofile-use=" + data])


def instrumented_gcc(program):
    place = f"{PLACE}/{program}.gcda"
    if not kept(place):
        shutil.rmtree(place, ignore_errors=True)
        generating = build(program, "pgo-gcc-gen", "gcc", ["-fprofile-generate", "-fprofile-update=single", "-fprofile-dir=" + place])
        run(command(program, generating, "train") + " >/dev/null", shell=True)
    # Names of the counters hold the directory that the objects were made in, which is another one each time.
    by_object = {}
    for name in os.listdir(place):
        by_object[name.rsplit("#", 1)[-1]] = f"{place}/{name}"
    return build_gcc_use(program, by_object)


def build_gcc_use(program, by_object):
    """gcc looks for <profile dir>/<object>.gcda: one directory of links by a wrapper that runs in the build's directory."""
    flat = f"{PLACE}/{program}.flat"
    shutil.rmtree(flat, ignore_errors=True)
    os.makedirs(flat)
    for name, path in by_object.items():
        os.link(path, f"{flat}/{name}")
    wrapper = f"{PLACE}/gcc-use.{program}"
    with open(wrapper, "w") as f:
        f.write(f"""#!/bin/bash
# The counters of an object, given to the compiler as one file.
for a in "$@"; do [ "$last" = -o ] && out=$a; last=$a; done
case " $* " in *" -c "*) exec gcc "$@" -fprofile-use="{flat}/$(basename "$out" .o).gcda" -Wno-missing-profile ;; esac
exec gcc "$@"
""")
    os.chmod(wrapper, 0o755)
    return build(program, "pgo-gcc-use", wrapper, [])


def bolted(program, executable, fdata, name):
    out = f"{PLACE}/{program}.{name}"
    if not kept(out) or os.path.getmtime(out) < max(os.path.getmtime(fdata), os.path.getmtime(executable)):
        run([BOLT, executable, "-o", out, "-data=" + fdata, "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort",
             "-split-functions", "-split-all-cold", "-icf=1", "-use-gnu-stack"])
    return out


def variants(program):
    """{name: executable}; a route that fails is said and left out."""
    made = {}

    def attempt(name, make):
        try:
            made[name] = make()
        except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
            say(f"{program}, {name}: {error}")

    beside = concurrent.futures.ThreadPoolExecutor(1)
    instrumented = beside.submit(attempt, "clang instrumented", lambda: instrumented_clang(program))
    plain = made["clang plain"] = build(program, "pgo-clang-plain", CLANG, ["-fdebug-info-for-profiling"], EMIT)
    clang_route = [r for r in ROUTES if r != "gcc"]
    if clang_route:
        files = profile(program, plain, "clang", ["llvm", "bolt"] if BOLT else ["llvm"])
    if "clang" in ROUTES or "clang+bolt" in ROUTES:
        attempt("clang", lambda: build(program, "pgo-clang-ours", CLANG, ["-fdebug-info-for-profiling", "-fprofile-sample-use=" + files["llvm"]], EMIT))
    if BOLT and "bolt" in ROUTES:
        attempt("bolt", lambda: bolted(program, plain, files["bolt"], "bolt"))
    if BOLT and "clang+bolt" in ROUTES and "clang" in made:
        attempt("clang+bolt", lambda: bolted(program, made["clang"], profile(program, made["clang"], "ours", ["bolt"])["bolt"], "clang+bolt"))
    if "gcc" in ROUTES:
        attempt("gcc plain", lambda: build(program, "pgo-gcc-plain", "gcc", []))
        attempt("gcc instrumented", lambda: instrumented_gcc(program))
        attempt("gcc", lambda: build(program, "pgo-gcc-ours", "gcc", ["-fauto-profile=" + profile(program, made["gcc plain"], "gcc", ["gcov"])["gcov"]]))
    instrumented.result()
    return made


def user_seconds(words):
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exec " + words], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    _, status, used = os.wait4(pid, 0)
    os.close(null)
    if status:
        raise RuntimeError(f"{words[:200]} failed")
    return used.ru_utime


def measure(program, made, seconds):
    commands = {n: command(program, e, "full") for n, e in made.items()}
    times = {n: [] for n in commands}
    for name in commands:
        user_seconds(commands[name])  # files into memory
    start = time.monotonic()
    for k in range(PAIRS):
        if k >= 2 and time.monotonic() - start > seconds:
            break
        order = sorted(commands) if k % 2 else sorted(commands, reverse=True)
        for name in order:
            times[name].append(user_seconds(commands[name]))
    row = {}
    for name in commands:
        base = name.split()[0].split("+")[0] if name.split()[0] != "bolt" else "clang"
        ratios = [p / t for p, t in zip(times[base + " plain"], times[name])]
        middle = statistics.median(ratios)
        row[name] = {"speedup": round(middle, 3), "noise": round(statistics.median(abs(r - middle) for r in ratios), 3)}
    return row


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values))) if values else None


def share(table, route, reference):
    """Of instrumented PGO's gain, over the programs where that gains enough; None without any."""
    rows = [r for r in table.values() if r.get(reference, {}).get("speedup", 0) >= 1 + LEAST_GAIN and route in r]
    if not rows:
        return None, 0
    ours, theirs = (geometric([r[n]["speedup"] for r in rows]) for n in (route, reference))
    return 100 * (ours - 1) / (theirs - 1), len(rows)


def main():
    os.makedirs(PLACE, exist_ok=True)
    if not CLANG or not PROFDATA:
        print(json.dumps({"name": "pgo-gain", "value": None, "unit": "%", "target": 70, "noise": None,
                          "detail": "clang and llvm-profdata are needed: apt-get install clang-19 llvm-19 bolt-16"}))
        return
    made, table, failed = {}, {}, {}
    for program in PROGRAMS:
        try:
            made[program] = variants(program)
        except NotReady:
            failed[program] = "not built yet: bench/run pgo-gain --prepare builds all, later runs go on"
        except (RuntimeError, OSError) as error:
            failed[program] = str(error)[:200]
            say(f"{program}: {error}")
    if PREPARE:
        return
    for program, executables in made.items():
        table[program] = measure(program, executables, MEASURE_S / len(made))
        say(f"{program}: " + "  ".join(f"{n} {v['speedup']:.3f}±{v['noise']:.3f}" for n, v in table[program].items() if not n.endswith("plain")))
    shares = {}
    for route in ROUTES:
        value, n = share(table, route, ("gcc" if route == "gcc" else "clang") + " instrumented")
        if value is not None:
            shares[route] = {"share_percent": round(value, 1), "programs": n}
    best = max(shares, key=lambda r: (shares[r]["programs"] >= (2 if QUICK else 5), shares[r]["share_percent"]), default=None)
    slower = {f"{p}, {n}": v["speedup"] for p, r in table.items() for n, v in r.items() if n == best and v["speedup"] < 1 - max(0.02, 2 * v["noise"])}
    noise = [v["noise"] for r in table.values() for v in r.values()]
    print(json.dumps({"name": "pgo-gain", "value": shares[best]["share_percent"] if best else None, "unit": "% of instrumented PGO's gain",
                      "target": 70, "noise": round(100 * statistics.mean(noise), 1) if noise else None,
                      "detail": {"best route": best, "routes": shares, "slower than plain beyond noise": slower, "failed": failed, "speedups": table}}))


main()
