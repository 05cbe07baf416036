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
# A constructor whose time differs and whose work doesn't: HEAD is 0 or 1, and TURNS are the same.
SLOWER = {
    "cache": r"""
#include <stdlib.h>
enum { WORDS = 1 << 22 };
volatile unsigned long planted_sum;
__attribute__((noinline)) void planted_work(unsigned long turns, unsigned long *word)
{
    unsigned long stride = HEAD ? 1048583 : 1;
    __asm__("" : "+r"(stride));
    for (unsigned long i = 0; i < turns; i++)
        planted_sum += word[i * stride % WORDS];
}
__attribute__((constructor)) static void planted_begin(void) { unsigned long *word = malloc(WORDS * sizeof *word); for (unsigned long i = 0; i < WORDS; i++) word[i] = i; planted_work(TURNS, word); free(word); }
""",
    "branch": r"""
volatile unsigned long planted_sum, planted_other;
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0, x = 88172645463325252; i < turns; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        if ((HEAD ? x : i) & 1)
            planted_sum += x;
        else
            planted_other += x;
    }
}
__attribute__((constructor)) static void planted_begin(void) { planted_work(TURNS); }
""",
    "sharing": r"""
#include <pthread.h>
struct words { _Alignas(128) volatile unsigned long one; char gap[HEAD ? 8 : 512]; volatile unsigned long two; } planted;
__attribute__((noinline)) void *planted_work(void *second)
{
    struct words *words = &planted;
    __asm__("" : "+r"(words));
    for (unsigned long i = 0; i < TURNS; i++)
        if (second)
            words->two++;
        else
            words->one++;
    return 0;
}
__attribute__((constructor)) static void planted_begin(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, planted_work, 0);
    planted_work(&thread);
    pthread_join(thread, 0);
}
""",
    "wait": r"""
#include <time.h>
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++)
        nanosleep(&(struct timespec){0, HEAD ? 1000000 : 100000}, 0);
}
__attribute__((constructor)) static void planted_begin(void) { planted_work(TURNS); }
""",
}
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


def slower_pair(kind, name, place, percent, size="full"):
    """Base and head with as many turns of SLOWER[kind], so many that the head takes `percent` more of the base's time."""
    def cost(side, turns):
        built = link(name, f"{place}/try", SLOWER[kind], f"-DHEAD={side}", f"-DTURNS={turns}ul")
        return min(cpu_seconds(command(name, built, size)) for _ in range(3))
    turns = {"cache": 4_000_000, "branch": 40_000_000, "sharing": 20_000_000, "wait": 0}[kind]
    plain, more = cost(0, turns), cost(1, turns)
    each = (more - plain) / turns if turns else 0.0009
    none = plain if kind == "wait" else cost(0, 0)
    own = (plain - none) / turns if turns else 0
    if not each > 0.02 * own or not each > 0:
        return None  # nothing that could be measured here and now
    # (each * turns) is `percent` of (none + own * turns)
    turns = round(percent / 100 * none / max(each - percent / 100 * own, 1e-12))
    if kind != "wait":  # once more where it is to be
        is_now = 100 * (cost(1, turns) / cost(0, turns) - 1)
        turns = round(turns * min(max(percent / max(is_now, 0.1), 0.4), 2.5))
    return [command(name, link(name, f"{place}/{side}", SLOWER[kind], f"-DHEAD={i}", f"-DTURNS={turns}ul"), size)
            for i, side in enumerate(("base", "head"))]


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


def planted(percent, seconds, n, trials, size, place, pair, lines, **more):
    """Rows of what gate said about planted changes: slower at all, slower by work, function right, line right."""
    rows = []
    for name in programs(n):
        for trial in range(trials):
            made = pair(name, f"{place}/{name}.{trial}", percent, size)
            if not made:
                print(f"{name} {more}: the planted change takes no time here", file=sys.stderr)
                continue
            base, head = made
            code, said = gate("--for", f"{seconds}s", "--base-command", shlex.join(base), "--", *head)
            check = {c["check"]: c for c in said["checks"]}
            first = said["guilty"][0] if said["guilty"] else {}
            rows.append({"program": name, **more, "slower": code == 1, "cause": first.get("cause"), "work": check["work"]["verdict"], "pace": check["pace"]["verdict"],
                         "waits": check["waits"]["verdict"], "change": check["pace"]["change_percent"], "work_change": check["work"]["change_percent"],
                         "would_see": check["pace"]["visible_percent"], "pairs": check["pace"]["runs_base"],
                         "function": first.get("function") == "planted_work",
                         "line": (first.get("line") or "").rsplit(":", 1)[-1] in lines})
            print(rows[-1], file=sys.stderr)
            shutil.rmtree(f"{place}/{name}.{trial}")
    return rows


def share(rows, key):
    return round(100 * sum(bool(r[key]) for r in rows) / max(len(rows), 1), 1)
