# SPDX-License-Identifier: GPL-2.0-or-later
"""Base and head of real programs, for gate-false, gate-time and gate-work: linked once more by bench/programs, with an object in front."""
import json, os, resource, shlex, shutil, subprocess, sys, tempfile

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
PROGRAMS = "bzip2 lua5.4 mawk cmark jimtcl zstd duktape sqlite3".split()
# A constructor that does TURNS turns: a function of the base that the head has more of.
PLANTED = r"""
volatile unsigned long planted_sum;
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++)
        planted_sum = planted_sum * 5 + i;
}
__attribute__((constructor)) static void planted_begin(void) { planted_work(TURNS); }
"""
# Code that nobody calls: what follows it in the file lies elsewhere.
UNRELATED = "int unrelated(int x) { " + "x = x * 3 + 1; if (x & 64) x ^= 5; " * 60 + "return x; }\n"


def programs(n):
    """The first n that can be built here, with the command line of their workload after the executable."""
    found = []
    for name in PROGRAMS:
        if len(found) == n:
            break
        built = subprocess.run(["bench/programs", "build", name], capture_output=True, text=True)
        if built.returncode == 0:
            found.append(name)
        else:
            print(f"{name}: {built.stderr.strip()[-200:]}", file=sys.stderr)
    return found


def link(name, to, source=None, *flags):
    """The program with an object in front (none: as it is), as a file `to`/NAME."""
    os.makedirs(to, exist_ok=True)
    more = []
    if source:
        with open(f"{to}/more.c", "w") as f:
            f.write(source)
        subprocess.run(["gcc", "-O1", "-g", *flags, "-c", "-o", f"{to}/more.o", f"{to}/more.c"], check=True)
        more = [f"{to}/more.o"]
    subprocess.run(["bench/programs", "link", name, "plain", f"{to}/{name}", *more], check=True)
    return f"{to}/{name}"


def command(name, executable, size="full"):
    said = subprocess.run(["bench/programs", "command", name, executable, size], capture_output=True, text=True, check=True)
    return shlex.split(said.stdout)


def cpu_seconds(argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def planted_pair(name, place, percent, size="full"):
    """Commands of base and head: in the base planted_work has a sixth of the time; the head does `percent` of the base's time more."""
    turns = 100_000_000
    plain = min(cpu_seconds(command(name, link(name, f"{place}/plain", PLANTED, "-DTURNS=0"), size)) for _ in range(3))
    each = (min(cpu_seconds(command(name, link(name, f"{place}/much", PLANTED, f"-DTURNS={turns}"), size)) for _ in range(3)) - plain) / turns
    base, more = plain * 0.2, plain * 1.2 * percent / 100
    return [command(name, link(name, f"{place}/{side}", PLANTED, f"-DTURNS={round(work / each)}"), size)
            for side, work in (("base", base), ("head", base + more))]


def instructions(argv):
    """Of one run, by `count`."""
    with tempfile.TemporaryDirectory() as store:
        said = subprocess.run([TOOL, "count", "--json", "--store", f"{store}/s", "--", *argv], capture_output=True, stdin=subprocess.DEVNULL)
    if said.returncode:
        sys.exit(f"count {shlex.join(argv)}: {said.stderr.decode(errors='replace')}")
    return json.loads(said.stdout[said.stdout.rindex(b"\n{\n") + 1 if b"\n{\n" in said.stdout else said.stdout.rindex(b"{\n"):])["instructions"]


def planted_work_pair(name, place, percent, size="full"):
    """The same by instructions: the head executes `percent` of the base's more."""
    turns = 1_000_000
    plain = instructions(command(name, link(name, f"{place}/plain", PLANTED, "-DTURNS=0"), size))
    each = round((instructions(command(name, link(name, f"{place}/much", PLANTED, f"-DTURNS={turns}"), size)) - plain) / turns)
    base, more = plain * 0.2, plain * 1.2 * percent / 100
    return [command(name, link(name, f"{place}/{side}", PLANTED, f"-DTURNS={round(work / each)}"), size)
            for side, work in (("base", base), ("head", base + more))]


def gate(*arguments):
    """(exit code, JSON)"""
    said = subprocess.run([TOOL, "gate", "--json", *arguments], capture_output=True, text=True)
    if said.returncode not in (0, 1, 2):
        sys.exit(f"gate {shlex.join(arguments)}: {said.stderr}")
    return said.returncode, json.loads(said.stdout)


def planted(percent, seconds, n, trials, size, place, pair=planted_pair):
    """Rows of what gate said about planted changes: slower at all, slower by work, function right, line right."""
    rows = []
    for name in programs(n):
        for trial in range(trials):
            base, head = pair(name, f"{place}/{name}.{trial}", percent, size)
            code, said = gate("--for", f"{seconds}s", "--base-command", shlex.join(base), "--", *head)
            check = {c["check"]: c for c in said["checks"]}
            first = said["guilty"][0] if said["guilty"] else {}
            rows.append({"program": name, "slower": code == 1, "work": check["work"]["verdict"], "pace": check["pace"]["verdict"],
                         "waits": check["waits"]["verdict"], "change": check["pace"]["change_percent"], "work_change": check["work"]["change_percent"],
                         "would_see": check["pace"]["visible_percent"], "pairs": check["pace"]["runs_base"],
                         "function": first.get("function") == "planted_work",
                         "line": (first.get("line") or "").rsplit(":", 1)[-1] in ("5", "6")})
            print(rows[-1], file=sys.stderr)
            shutil.rmtree(f"{place}/{name}.{trial}")
    return rows


def share(rows, key):
    return round(100 * sum(bool(r[key]) for r in rows) / max(len(rows), 1), 1)
