# SPDX-License-Identifier: GPL-2.0-or-later
"""Profile-guided optimisation by profiles without PMU or LBR, beside instrumented PGO of the same compiler.

For each program: a plain build; an instrumented one, trained, then built again; our profile of the *plain* build under the
training input (`record --bursts`), exported, and given to the compiler, to BOLT, and to both; what AutoFDO's own tool makes of
the same samples without branch records. Then all builds run on the test input, in turns of random order, and CPU time is compared.
Training and test inputs differ (bench/programs, SIZE train and small): many runs of a tenth of a second tell builds apart on a
machine that others take away in bursts, few long ones don't.

The plain build also runs in LAYOUTS other layouts (the same objects, moved by some bytes when linked): what a program gains or loses
by where its code happens to lie is no route's doing. A program counts as slower than plain where it is slower than the slowest of these.

    bench/run pgo-gain [--quick] [--prepare] [--fresh]

--prepare builds and records only, for as long as it takes (half an hour); --fresh forgets what was recorded. Without it, a run
builds for CS_PGO_SECONDS (30) at most and measures the programs that are ready by then; the others come in later runs. Builds,
profiles and the times of earlier rounds are kept in CS_PGO_CACHE (default: $BUILD): each run adds its own rounds (70 s of them)
to those of the same executables, so that the figure gets better with every run. CS_PGO_PROGRAMS and CS_PGO_ROUTES choose.

A program's gain is plain time / time - 1. The value is the best route's gain over instrumented PGO's, in the geometric means
over the programs where instrumented PGO gains 5 % or more; the others stay in the table, to show that no harm is done. Times are
medians of what each run would have taken alone on its core (bench/lib_pace.py; what the times as they were say stands beside it); noise is
the spread over rounds drawn again.
"""
import concurrent.futures, csv, hashlib, json, math, os, random, re, shlex, shutil, signal, statistics, subprocess, sys, time
import lib_pace

BUILD = os.environ.get("BUILD", "build")
TOOL = os.environ.get("CYCLESCOPE", BUILD + "/cyclescope")
CACHE = os.path.realpath(os.environ.get("CS_PGO_CACHE", BUILD))
PLACE = CACHE + "/bench/pgo"
QUICK, FRESH, PREPARE = ("--" + w in sys.argv for w in ("quick", "fresh", "prepare"))
GAINING = ["duktape", "sqlite3", "jimtcl", "tcc", "cmark", "gawk", "mawk"]
CONTROLS = ["bzip2", "zstd", "lua5.4"]
PROGRAMS = os.environ.get("CS_PGO_PROGRAMS", " ".join(["duktape", "jimtcl"] if QUICK else GAINING + CONTROLS)).split()
OURS = ["clang", "bolt", "clang+bolt", "gcc"] # the routes that the value is the best of
ROUTES = os.environ.get("CS_PGO_ROUTES", " ".join(OURS + ["autofdo"])).split()
RECORD_S, BURSTS, RECORDINGS = 20, 800, 3
LEAST_GAIN = 0.05
TEST = "small" # input
LAYOUTS = 3
ENOUGH = 5 # runs, before a build is called slower
DEADLINE = None if PREPARE else time.monotonic() + float(os.environ.get("CS_PGO_SECONDS", 5 if QUICK else 30))
MEASURE_S = float(os.environ.get("CS_PGO_MEASURE_SECONDS", 7 if QUICK else 70)) # of all programs' runs together, about


class NotReady(Exception):
    pass


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
    """Output of a command. Past the deadline it gets 4 s, enough to find that it was done before; then it is ended with all its children."""
    left = max(4, DEADLINE - time.monotonic()) if DEADLINE else None
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


def environment(**more):
    return {**os.environ, "BUILD": CACHE, **more}


def build(program, label, compiler, flags, link=""):
    return run(["bench/programs", "build", program, label, *flags], env=environment(CC=compiler, LINK=link))[0].strip()


def command(program, executable, size):
    words = ["bench/programs", "command", program, executable, size]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment()).stdout.strip()


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
        bursts = 0
        for _ in range(RECORDINGS):  # a loaded machine gives few at a time; a store adds up
            _, said = run([TOOL, "record", "-v", "--bursts", "--burst-rate", "60", "-o", store, "--", "bash", "-c", loop])
            bursts += sum(int(l.split()[0].replace(",", "")) for l in said.splitlines() if re.search(r" bursts?, ", l))
            if bursts >= BURSTS:
                break
        with open(store + ".done", "w") as f:
            f.write(f"{bursts} bursts\n")
        say(f"{program}: {bursts} bursts of the {name} build")
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
    """gcc looks for an object's counters under a name made of the directory that it compiles in: a wrapper that runs there gives them
    that name. The place is called by what is in it, so that other counters make another build."""
    contents = hashlib.sha256()
    for name in sorted(by_object):
        with open(by_object[name], "rb") as f:
            contents.update(name.encode() + f.read())
    flat = f"{PLACE}/{program}.counters.{contents.hexdigest()[:12]}"
    os.makedirs(flat, exist_ok=True)
    for name, path in by_object.items():
        if not os.path.exists(f"{flat}/{name}"):
            os.link(path, f"{flat}/{name}")
    wrapper = f"{PLACE}/gcc-use.{program}"
    with open(wrapper, "w") as f:
        f.write(f"""#!/bin/bash
for a in "$@"; do [ "$last" = -o ] && out=$a; last=$a; done
counters=$(basename "$out" .o).gcda
case " $* " in *" -c "*) [ -e "{flat}/$counters" ] && ln -f "{flat}/$counters" "{flat}/${{PWD//\\//#}}#$counters" ;; esac
exec gcc "$@"
""")
    os.chmod(wrapper, 0o755)
    return build(program, "pgo-gcc-use", wrapper, ["-fprofile-use=" + flat, "-Wno-missing-profile"])


def autofdo(program, plain):
    """What AutoFDO's tool writes from the interrupts of the same recording: no branch records, so counts of addresses.

    create_llvm_prof 0.19 prints names of inlined functions after it has freed them. So that it shows what its method is worth, its
    free() does nothing, and static functions have names too long to live on its stack (the code is the same, byte for byte); what is
    still garbled is left out."""
    names = ["-gdwarf-4", "-fdebug-info-for-profiling", "-funique-internal-linkage-names"]
    store, out = f"{PLACE}/{program}.clang.store", f"{PLACE}/{program}.autofdo"
    if not kept(out) or os.path.getmtime(out) < os.path.getmtime(store + ".done"):
        named = build(program, "pgo-clang-names", CLANG, names, EMIT)
        texts = []
        for executable in (plain, named):
            run(["objcopy", "-O", "binary", "-j", ".text", executable, out + ".text"])
            with open(out + ".text", "rb") as f:
                texts.append(f.read())
        if texts[0] != texts[1]:
            raise RuntimeError("-funique-internal-linkage-names changed the code")
        table, samples, shim = out + ".csv", out + ".samples", PLACE + "/no-free"
        run([TOOL, "export", "--store", store, "--image", os.path.basename(plain), "--format", "csv", "--to", table])
        with open(table, newline="") as f:
            points = [(int(r["offset"], 16), r["count"]) for r in csv.DictReader(f) if r["kind"] == "points" and r["event"] == "cpu-clock"]
        with open(samples, "w") as f:  # ranges, addresses, branches
            f.write(f"0\n{len(points)}\n" + "".join(f"{o:x}:{n}\n" for o, n in sorted(points)) + "0\n")
        with open(shim + ".c", "w") as f:
            f.write("void free(void *);\nvoid free(void *bytes) { (void)bytes; }\n")
        run(["gcc", "-shared", "-fPIC", "-w", "-o", shim + ".so", shim + ".c"])
        run(["create_llvm_prof", "--use_lbr=false", "--profiler=text", "--format=text", "--binary=" + named, "--profile=" + samples,
             "--out=" + out + ".new"], env={**os.environ, "LD_PRELOAD": shim + ".so"})
        dropped = readable(out + ".new", out)
        if dropped:
            say(f"{program}, autofdo: {dropped} garbled lines left out")
    return build(program, "pgo-clang-autofdo", CLANG, names + ["-fprofile-sample-use=" + out], EMIT)


def readable(garbled, out):
    """A text profile without the lines that can't be of one, nor what is inside them; how many those were."""
    line_form = re.compile(rb"( *)(\d+(\.\d+)?: )?(([\w.$]+:)*\d+( [\w.$]+:\d+)*)")
    dropped, inside = 0, None
    with open(garbled, "rb") as old, open(out, "wb") as new:
        for line in old.read().split(b"\n"):
            depth = len(line) - len(line.lstrip(b" "))
            if inside is not None and depth > inside:
                continue
            good = not line or line_form.fullmatch(line)
            inside = None if good else depth
            dropped += not good
            if good and line:
                new.write(line + b"\n")
    return dropped


def gcc_with(program, profile):
    """GCC 12's vectoriser divides by zero on some profiles."""
    flags = ["-fauto-profile=" + profile]
    try:
        return build(program, "pgo-gcc-ours", "gcc", flags)
    except RuntimeError as error:
        say(f"{program}: gcc failed with the profile ({str(error)[-120:]}); again without its vectoriser")
        return build(program, "pgo-gcc-ours", "gcc", flags + ["-fno-tree-vectorize"])


def bolted(program, executable, fdata, name):
    out = f"{PLACE}/{program}.{name}"
    if not kept(out) or os.path.getmtime(out) < max(os.path.getmtime(fdata), os.path.getmtime(executable)):
        run([BOLT, executable, "-o", out, "-data=" + fdata, "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort",
             "-split-functions", "-split-all-cold", "-icf=1", "-infer-fall-throughs", "-use-gnu-stack"])
    return out


def layout(program, pad):
    """The plain build's objects, linked once more behind some bytes of nothing."""
    out = f"{PLACE}/{program}.layout{pad}"
    plain = f"{CACHE}/programs/{program}/pgo-clang-plain/{program}"
    if not kept(out) or os.path.getmtime(out) < os.path.getmtime(plain):
        with open(out + ".s", "w") as f:
            f.write(f".text\n.skip {pad}\n.section .note.GNU-stack\n")
        run([CLANG, "-c", "-o", out + ".o", out + ".s"])
        run(["bench/programs", "link", program, "pgo-clang-plain", out, out + ".o"], env=environment(CC=CLANG, LINK=EMIT))
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
    plain = made["clang plain"] = build(program, "pgo-clang-plain", CLANG, ["-gdwarf-4", "-fdebug-info-for-profiling"], EMIT)
    for n in range(LAYOUTS):
        attempt(f"layout {n + 1}", lambda: layout(program, 16 + 16 * n))
    if set(ROUTES) - {"gcc"}:
        files = profile(program, plain, "clang", ["llvm", "bolt"] if BOLT else ["llvm"])
    if "clang" in ROUTES or "clang+bolt" in ROUTES:
        attempt("clang", lambda: build(program, "pgo-clang-ours", CLANG, ["-gdwarf-4", "-fdebug-info-for-profiling", "-fprofile-sample-use=" + files["llvm"]], EMIT))
    if BOLT and "bolt" in ROUTES:
        attempt("bolt", lambda: bolted(program, plain, files["bolt"], "bolt"))
    if BOLT and "clang+bolt" in ROUTES and "clang" in made:
        attempt("clang+bolt", lambda: bolted(program, made["clang"], profile(program, made["clang"], "ours", ["bolt"])["bolt"], "clang+bolt"))
    if "autofdo" in ROUTES and tool("create_llvm_prof"):
        attempt("autofdo", lambda: autofdo(program, plain))
    if "gcc" in ROUTES:
        attempt("gcc plain", lambda: build(program, "pgo-gcc-plain", "gcc", []))
        attempt("gcc instrumented", lambda: instrumented_gcc(program))
        attempt("gcc", lambda: gcc_with(program, profile(program, made["gcc plain"], "gcc", ["gcov"])["gcov"]))
    instrumented.result()
    return made


class Rounds:
    """Runs of all builds of a program, round by round; a build's are kept as long as it, its input and the processor are the same."""

    def __init__(self, program, made):
        self.commands = {n: command(program, e, TEST) for n, e in sorted(made.items())}
        with open("/proc/cpuinfo", "rb") as f:
            model = f.read().split(b"model name")[-1].split(b"\n")[0]
        self.builds = {}
        for name, executable in made.items():
            with open(executable, "rb") as f:
                self.builds[name] = hashlib.sha256(model + TEST.encode() + f.read()).hexdigest()
        self.path, self.rounds, self.corrected = f"{PLACE}/{program}.runs", [], None
        try:
            with open(self.path) as f:
                saved = json.load(f)
            same = {n for n, build in saved["builds"].items() if self.builds.get(n, build) == build}
            self.builds = {**{n: saved["builds"][n] for n in same}, **self.builds}
            self.rounds = [r for r in ({n: run for n, run in r.items() if n in same} for r in saved["rounds"]) if r]
        except (OSError, ValueError, KeyError):
            pass
        self.before = len(self.rounds)

    def add(self):
        if len(self.rounds) == self.before:
            for words in self.commands.values():
                open(shlex.split(words)[0], "rb").read()  # files into memory
        cpus = sorted(os.sched_getaffinity(0))
        cpu = cpus[len(self.rounds) % len(cpus)]
        order = random.sample(list(self.commands), len(self.commands))
        self.rounds.append({name: lib_pace.run(self.commands[name], cpu) for name in order})
        self.corrected = None
        with open(self.path + ".new", "w") as f:
            json.dump({"builds": self.builds, "rounds": self.rounds}, f)
        os.replace(self.path + ".new", self.path)

    def runs_of(self, name):
        return sum(name in r for r in self.rounds)

    def times(self):
        """[{name: seconds, had the run been alone}]"""
        if self.corrected is None:
            self.corrected, _ = lib_pace.alone(self.rounds)
        return self.corrected

    def speedups(self, drawn=None):
        """{name: plain time / time} by the medians; `drawn`: indexes of rounds, default all."""
        rounds = self.times() if drawn is None else [self.times()[i] for i in drawn]
        middle = {n: statistics.median(r[n] for r in rounds if n in r) for n in self.commands if any(n in r for r in rounds)}
        return {n: middle[base_of(n)] / t for n, t in middle.items() if base_of(n) in middle}

    def draw(self, dice):
        return [dice.randrange(len(self.rounds)) for _ in self.rounds]

    def row(self):
        """Speed-ups with their spread over rounds drawn again, and beside them those of the times as they were."""
        dice = random.Random(1)
        drawn = [self.speedups(self.draw(dice)) for _ in range(200)]
        raw = {n: statistics.median(r[n][0] for r in self.rounds if n in r) for n in self.speedups()}
        return {name: {"speedup": round(value, 3), "noise": round(statistics.pstdev(d.get(name, value) for d in drawn), 3), "runs": self.runs_of(name), "as it was": round(raw[base_of(name)] / raw[name], 3)}
                for name, value in self.speedups().items()}


def base_of(name):
    return "gcc plain" if name.startswith("gcc") else "clang plain"


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


def reference(route):
    return ("gcc" if route == "gcc" else "clang") + " instrumented"


def share(table, route):
    """Of instrumented PGO's gain, over the programs where that gains enough; None without any. `table`: program to {name: speed-up}."""
    other = reference(route)
    rows = [r for r in table.values() if r.get(other, 0) >= 1 + LEAST_GAIN and route in r]
    if not rows:
        return None, 0
    ours, theirs = (geometric([r[n] for r in rows]) for n in (route, other))
    return 100 * (ours - 1) / (theirs - 1), len(rows)


def slowest(row):
    """Of the plain build's layouts (clang's, which stand for how far layout alone moves this program), as a speed-up."""
    return min([1] + [v["speedup"] for n, v in row.items() if n.startswith("layout")])


def again(rounds, gaining, route):
    """Spread of a route's share when the rounds are drawn again (bootstrap, the same programs)."""
    dice, values = random.Random(1), []
    for _ in range(200):
        ours, theirs = [], []
        for program in gaining:
            r = rounds[program]
            drawn, own = r.speedups(r.draw(dice)), r.speedups()
            ours.append(drawn.get(route, own[route]))
            theirs.append(drawn.get(reference(route), own[reference(route)]))
        values.append(100 * (geometric(ours) - 1) / max(1e-3, geometric(theirs) - 1))
    return statistics.pstdev(values)


def main():
    os.makedirs(PLACE, exist_ok=True)
    if not CLANG or not PROFDATA:
        print(json.dumps({"name": "pgo-gain", "value": None, "unit": "%", "target": 70, "noise": None,
                          "detail": "clang and llvm-profdata are needed: apt-get install clang-19 llvm-19 bolt-16"}))
        return
    rounds, failed = {}, {}
    for program in PROGRAMS:
        try:
            made = variants(program)
            if not PREPARE:
                rounds[program] = Rounds(program, made)
        except NotReady:
            failed[program] = "not built yet: bench/run pgo-gain --prepare builds all, later runs go on"
        except (RuntimeError, OSError) as error:
            failed[program] = str(error)[:200]
            say(f"{program}: {error}")
    if PREPARE:
        return
    start = time.monotonic()
    while rounds and time.monotonic() - start < MEASURE_S:
        min(rounds.values(), key=lambda r: min(map(r.runs_of, r.commands))).add()
    rounds = {p: r for p, r in rounds.items() if r.rounds}
    table = {p: r.row() for p, r in rounds.items()}
    speedups = {p: {n: v["speedup"] for n, v in r.items()} for p, r in table.items()}
    for program, r in table.items():
        say(f"{program} ({len(rounds[program].rounds)} rounds): " + "  ".join(f"{n} {v['speedup']:.3f}±{v['noise']:.3f}" for n, v in r.items() if not n.endswith("plain")))
    shares = {}
    for route in ROUTES:
        value, n = share(speedups, route)
        if value is not None:
            gaining = [p for p, r in speedups.items() if r.get(reference(route), 0) >= 1 + LEAST_GAIN and route in r]
            shares[route] = {"share_percent": round(value, 1), "noise": round(again(rounds, gaining, route), 1), "programs": n}
    best = max((r for r in shares if r in OURS), key=lambda r: (shares[r]["programs"] >= (2 if QUICK else 5), shares[r]["share_percent"]), default=None)
    slower = {f"{p}, {n}": v for p, r in table.items() for n, v in r.items() if n in OURS and v["runs"] >= ENOUGH and v["speedup"] < slowest(r) - max(0.01, 2 * v["noise"])}
    for program, r in table.items():
        r["rounds"] = {"all": len(rounds[program].rounds), "of this run": len(rounds[program].rounds) - rounds[program].before}
    print(json.dumps({"name": "pgo-gain", "value": shares[best]["share_percent"] if best else None, "unit": "% of instrumented PGO's gain",
                      "target": 70, "noise": shares[best]["noise"] if best else None,
                      "detail": {"best route": best, "routes": shares, "slower than plain beyond noise": slower, "failed": failed, "speedups": table}}))


main()
