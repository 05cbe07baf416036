# SPDX-License-Identifier: GPL-2.0-or-later
"""Base and head of real programs, for gate-false, gate-time and gate-work: linked once more by bench/programs, with an object in front."""
import json, math, os, random, shlex, shutil, statistics, subprocess, sys, tempfile, time

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
PROGRAMS = os.environ.get("GATE_NAMES", "bzip2 lua5.4 mawk cmark jimtcl zstd duktape sqlite3").split()
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
# Half at the begin and half at the end: time differs and work doesn't. HEAD is 0 or 1, and TURNS are the same.
SLOWER = {
    "cache": r"""
#include <stdlib.h>
enum { WORDS = 1 << 20 };
volatile unsigned long planted_sum;
__attribute__((noinline)) void planted_work(unsigned long turns, unsigned long *word)
{
    unsigned long stride = HEAD ? 262147 : 1;
    __asm__("" : "+r"(stride));
    for (unsigned long i = 0; i < turns; i++)
        planted_sum += word[i * stride % WORDS];
}
__attribute__((constructor, destructor)) static void planted_half(void)
{
    static unsigned long *word;
    if (!word) {
        word = malloc(WORDS * sizeof *word);
        for (unsigned long i = 0; i < WORDS; i++)
            word[i] = i;
    }
    planted_work((TURNS) / 2, word);
}
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
__attribute__((constructor, destructor)) static void planted_half(void) { planted_work((TURNS) / 2); }
""",
    "sharing": r"""
#include <pthread.h>
struct words { _Alignas(128) volatile unsigned long one; char gap[HEAD ? 8 : 512]; volatile unsigned long two; } planted;
__attribute__((noinline)) void *planted_work(void *second)
{
    struct words *words = &planted;
    __asm__("" : "+r"(words));
    for (unsigned long i = 0; i < TURNS; i++) {
        if (second)
            __atomic_fetch_add(&words->two, 1, __ATOMIC_RELAXED);
        else
            __atomic_fetch_add(&words->one, 1, __ATOMIC_RELAXED);
        for (int k = 0; k < 40; k++) /* else one thread keeps the line, and a run's time is one of two */
            __asm__ volatile("");
    }
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
    "lock": r"""
#include <pthread.h>
static pthread_mutex_t planted_mutex = PTHREAD_MUTEX_INITIALIZER;
static inline void planted_spin(void)
{
    for (unsigned long i = 0; i < 20000; i++)
        __asm__ volatile("");
}
__attribute__((noinline)) void *planted_work(void *second)
{
    for (unsigned long i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&planted_mutex);
        if (HEAD)
            planted_spin();
        pthread_mutex_unlock(&planted_mutex);
        if (!HEAD)
            planted_spin();
    }
    return second;
}
__attribute__((constructor)) static void planted_begin(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, planted_work, 0);
    planted_work(0);
    pthread_join(thread, 0);
}
""",
    "faults": r"""
#include <stdlib.h>
enum { BYTES = 40 << 20, TOUCHED = 64 << 12 };
static char *planted_block;
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++) {
        if (HEAD || !planted_block)
            planted_block = malloc(BYTES);
        for (unsigned long k = 0; k < TOUCHED; k += 4096)
            ((volatile char *)planted_block)[k] = (char)i;
        if (HEAD)
            free(planted_block);
    }
}
__attribute__((constructor, destructor)) static void planted_half(void) { planted_work((TURNS) / 2); }
""",
    "sync": r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int planted_file;
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++) {
        if (write(planted_file, "planted\n", 8) != 8)
            abort();
        if (HEAD)
            fdatasync(planted_file);
    }
}
__attribute__((constructor)) static void planted_begin(void)
{
    char name[] = "/var/tmp/plantedXXXXXX";
    planted_file = mkstemp(name);
    unlink(name);
    planted_work(TURNS);
}
""",
    "wait": r"""
#include <time.h>
__attribute__((noinline)) void planted_work(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++)
        nanosleep(&(struct timespec){0, HEAD ? 1000000 : 100000}, 0);
}
__attribute__((constructor, destructor)) static void planted_half(void) { planted_work((TURNS) / 2); }
""",
}
# Programs of bench/plants with a plant of their own: its lines, and whether its cost is elapsed time.
OWN = {"csvstat": ("note_values", False), "store": ("count_words", True), "jobs": ("read_records", True), "pipe": ("send_piece", True),
       "journal": ("append_line", True), "patience": ("wait_for_half", True), "ledger": ("post", True)}
SLEEP_MORE = 0.0009  # seconds a turn of "wait"
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


def run_on(argv, cpus, elapsed=False):
    """A run that has begun: a function that waits for its CPU time in seconds, or for the time that passes."""
    began, pid = time.monotonic(), os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        os.sched_setaffinity(0, cpus)
        os.execvp(argv[0], argv)

    def end():
        _, status, used = os.wait4(pid, 0)
        assert status == 0, argv
        return time.monotonic() - began if elapsed else used.ru_utime + used.ru_stime
    return end


def logs_of_pairs(base, head, together, pairs, elapsed=False):
    """Logarithms of how much more CPU time (or elapsed time) the head takes, by pairs of our own: at the same time on one CPU, or one after
    the other on all."""
    may, logs = sorted(os.sched_getaffinity(0)), []
    for i in range(pairs):
        cpus = {may[i // 2 % len(may)]} if together else set(may)
        order, ends = (0, 1) if i % 2 else (1, 0), {}
        for side in order:
            ends[side] = run_on((base, head)[side], cpus, elapsed)
            if not together:
                seconds = ends[side]()
                ends[side] = lambda seconds=seconds: seconds
        logs.append(math.log(ends[1]() / ends[0]()))
    return logs


def measured(*pair, **how):
    """The mean of pairs, in percent, and its standard error."""
    logs = logs_of_pairs(*pair, **how)
    return 100 * math.expm1(statistics.fmean(logs)), 100 * statistics.stdev(logs) / len(logs) ** 0.5


def median_measured(*pair, **how):
    """Their median, and its standard error by bootstrap: threads that share a CPU for a while make a few runs much longer."""
    logs, drawn = logs_of_pairs(*pair, **how), random.Random(1)
    medians = [statistics.median(drawn.choices(logs, k=len(logs))) for _ in range(2000)]
    return 100 * math.expm1(statistics.median(logs)), 100 * statistics.stdev(medians)


def slower_pair(kind, name, place, percent, size="full", pairs=16):
    """Base and head with as many turns of SLOWER[kind], so many that the head takes `percent` more of the base's time; what pairs of runs
    measured of that, and its standard error. None: it isn't near that, or can't be measured here and now. A sleep's length is what it asks for."""
    turns = {"cache": 1_000_000, "branch": 10_000_000, "sharing": 3_000_000, "lock": 20_000, "faults": 500, "sync": 50, "wait": 1}[kind]
    waits, threads = kind in ("lock", "sync"), kind in ("lock", "sharing")

    def alone(side, turns):
        os.makedirs(f"{place}/try", exist_ok=True)
        with open(f"{place}/try/alone.c", "w") as f:
            f.write(SLOWER[kind] + "int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-O1", "-g", f"-DHEAD={side}", f"-DTURNS={turns}ul", "-o", f"{place}/try/alone", f"{place}/try/alone.c"], check=True)
        return (statistics.median if threads else min)(run_on([f"{place}/try/alone"], os.sched_getaffinity(0), waits)() for _ in range(7))

    def sides(turns):
        return [command(name, link(name, f"{place}/{side}", SLOWER[kind], f"-DHEAD={i}", f"-DTURNS={turns}ul"), size)
                for i, side in enumerate(("base", "head"))]
    argv = sides(0)[0]
    none = statistics.median(run_on(argv, os.sched_getaffinity(0), waits)() for _ in range(7))
    if kind == "wait":
        turns = max(2 * round(percent / 200 * none / SLEEP_MORE), 2)
        return (*sides(turns), round(100 * turns * SLEEP_MORE / none, 2), 0)
    begin, plain, more = alone(0, 0), alone(0, turns), alone(1, turns)
    own, each = max(plain - begin, 0) / turns, (more - plain) / turns
    if not each > 0:
        return None
    # (each * turns) is `percent` of (none + own * turns)
    turns = max(round(percent / 100 * none / max(each - percent / 100 * own, each / 4)), 1)
    for _ in range(3):
        pair = sides(turns)
        is_now, error = measured(*pair, not threads, pairs, waits)
        print(f"{kind} {name}: {turns} turns take {is_now:.2f} +- {error:.2f} % more", file=sys.stderr)
        if abs(is_now - percent) < 0.2 * percent + error and error < 0.25 * percent:
            break
        turns = max(round(turns * min(max(percent / max(is_now, 0.1), 0.4), 2.5)), 1)
    return (*pair, round(is_now, 2), round(error, 2)) if abs(is_now - percent) < 0.5 * percent and error < 0.35 * percent else None


def own_pair(name, place, percent, size="full", pairs=48):
    """Base and head of bench/plants/NAME.c, whose plant has the size that it has; None where pairs of runs don't show it."""
    argv = []
    for side, i in (("base", 0), ("head", 1)):
        os.makedirs(f"{place}/{side}", exist_ok=True)
        subprocess.run(["gcc", "-O2", "-g", "-pthread", f"-DHEAD={i}", "-o", f"{place}/{side}/{name}", f"bench/plants/{name}.c"], check=True)
        argv.append([f"{place}/{side}/{name}"])
    is_now, error = median_measured(*argv, False, pairs, OWN[name][1])
    print(f"{name}: {is_now:.2f} +- {error:.2f} % more", file=sys.stderr)
    return (*argv, round(is_now, 2), round(error, 2)) if 0.5 * percent < is_now < 2 * percent and error < 0.35 * percent else None


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


def planted(percent, seconds, names, trials, size, place, pair, lines, function="planted_work", **more):
    """Rows of what gate said about planted changes: slower at all, slower by work, function right, line right."""
    rows = []
    for name in names:
        for trial in range(trials):
            made = pair(name, f"{place}/{name}.{trial}", percent, size)
            if not made:
                print(f"{name} {more}: the planted change takes no time here", file=sys.stderr)
                continue
            base, head, *truth = made
            code, said = gate("--for", f"{seconds}s", "--base-command", shlex.join(base), "--", *head)
            check = {c["check"]: c for c in said["checks"]}
            first = said["guilty"][0] if said["guilty"] else {}
            rows.append({"program": name, **more, "measured": truth, "slower": code == 1, "cause": first.get("cause"), "work": check["work"]["verdict"], "pace": check["pace"]["verdict"],
                         "waits": check["waits"]["verdict"], "change": check["pace"]["change_percent"], "work_change": check["work"]["change_percent"],
                         "would_see": check["pace"]["visible_percent"], "pairs": check["pace"]["runs_base"],
                         "function": first.get("function") == function,
                         "line": (first.get("line") or "").rsplit(":", 1)[-1] in lines})
            print(rows[-1], file=sys.stderr)
            shutil.rmtree(f"{place}/{name}.{trial}")
    return rows


def share(rows, key):
    return round(100 * sum(bool(r[key]) for r in rows) / max(len(rows), 1), 1)
