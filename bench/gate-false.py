#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Of 1,000 comparisons of a program with its equal, how many `gate` calls slower. Equal is the same file, the same objects linked
again, or the program with a function in front that nobody calls. Runs are recorded in turn, each in a store of its own. A comparison
takes eight pairs of neighbours at random, and two thirds of the pairs that `gate` only timed, with its counts. Of the same file it also takes at random which of a pair is the base. So comparisons share runs:
what is resampled are pairs of real recordings, GATE_PAIRS of each program and kind. Independent are as many comparisons as have no
pair in common (`disjoint` in the result): further ones say how the verdict varies with the choice of runs. GATE_PROGRAMS, GATE_COMPARISONS. GATE_POOL: a
folder that keeps the runs, and has them the next time. GATE_MINUTES: comparisons end after as long, and those made count.
GATE_ALONE=SECONDS: each comparison is a `gate` of as many seconds with runs of its own, so all are independent. With GATE_POOL those that were
made before count, too: a few minutes at a time do, where the machine is shared. GATE_AGAIN=1: no new ones, but those of the pool resampled."""
import concurrent.futures, glob, itertools, json, os, random, shlex, shutil, subprocess, sys, tempfile, time

from lib_gate import TOOL, UNRELATED, command, gate, link, programs

quick = "--quick" in sys.argv
PAIRS, COMPARED, N, COMPARISONS, TIMED = (int(os.environ.get(k, v)) for k, v in (
    ("GATE_PAIRS", 12 if quick else 24), ("GATE_COMPARED", 8), ("GATE_PROGRAMS", 2 if quick else 4), ("GATE_COMPARISONS", 30 if quick else 1000), ("GATE_TIMED", 30 if quick else 60)))
random.seed(1)
place = os.environ.get("GATE_POOL") or tempfile.mkdtemp()


def lines(path):
    """Empty where `gate` had no time left for runs that it only times."""
    return open(path).readlines() if os.path.exists(path) else []


kinds = {"same": None, "rebuilt": "static int nothing;\n", "unrelated": UNRELATED}
alone, again, pools, times, ready = float(os.environ.get("GATE_ALONE", 0)), "GATE_AGAIN" in os.environ, {}, {}, {}


def kept(name, kind):
    """Neighbours of recorded runs, and of timed ones, of the pool's comparisons."""
    recorded, timed = [], []
    for said in glob.glob(f"{place}/alone.*.json"):
        if json.load(open(said))[0] != [name, kind]:
            continue
        at = said[: -len(".json")]
        recorded += zip(*([(f"{at}/{side}.store", epoch) for epoch in sorted(os.listdir(f"{at}/{side}.store")) if epoch[0] != "."] for side in ("base", "head")))
        timed += zip(*(lines(f"{at}/{side}.times") for side in ("base", "head")))
        if not os.path.exists(turns := f"{place}/{name}.{kind}.turns"):
            os.symlink(at, turns)
    return recorded, timed


def linked(name, kind, text):
    """As it is where a pool has it."""
    to = f"{place}/{name}.{kind}"
    return f"{to}/{name}" if os.path.exists(f"{to}/{name}") else link(name, to, text)


for name in programs(N):
    base = linked(name, "base", None)
    heads = {kind: linked(name, kind, text) if text else base for kind, text in kinds.items()}
    for kind, head in heads.items():
        ready[name, kind] = command(name, base, "small"), command(name, head, "small")
        pools[name, kind] = []
        if alone:
            if again:
                pools[name, kind], times[name, kind] = kept(name, kind)
            continue
        for pair in range(PAIRS):
            stores = [f"{place}/{name}.{kind}.{pair}.{side}" for side in "bh"]
            for side in ((0, 1), (1, 0))[pair % 2]:
                if os.path.exists(stores[side]):
                    continue
                subprocess.run([TOOL, "record", "--no-bursts", "--waits", "--calibrate", "-F", "4000", "-o", stores[side], "--", *ready[name, kind][side]],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            pools[name, kind].append(stores)
        turns = f"{place}/{name}.{kind}.turns"
        if not os.path.exists(turns):
            gate("--for", f"{TIMED}s", "--keep", turns, "--base-command", shlex.join(ready[name, kind][0]), "--", *ready[name, kind][1])
        times[name, kind] = list(zip(*(lines(f"{turns}/{side}.times") for side in ("base", "head"))))


def by_itself(number):
    """A `gate` with runs of its own; one that another run of this bench was ended in is made again."""
    (name, kind), at = list(ready)[number % len(ready)], f"{place}/alone.{number}"
    if not os.path.exists(f"{at}.json"):
        if time.monotonic() > ends:
            return None
        shutil.rmtree(at, ignore_errors=True)
        base, head = ready[name, kind]
        said = gate("--for", f"{alone}s", "--keep", at, "--base-command", shlex.join(base), "--", *head)
        with open(f"{at}.new", "w") as f:
            json.dump([(name, kind), *said], f)
        os.rename(f"{at}.new", f"{at}.json")
    return json.load(open(f"{at}.json"))


def link_once(src, dst):
    if not os.path.exists(dst):
        os.link(src, dst)


def gather(stores, to):
    os.makedirs(to)
    for store in stores:
        store, only = store if isinstance(store, tuple) else (store, None)
        for entry in os.listdir(store):
            if only and entry[0] != "." and entry != only:
                continue
            if os.path.isdir(f"{store}/{entry}"):
                shutil.copytree(f"{store}/{entry}", f"{to}/{entry}", copy_function=link_once, dirs_exist_ok=True)
            else:
                link_once(f"{store}/{entry}", f"{to}/{entry}")
    return to


def compare(chosen):
    number, (key, pairs, timed) = chosen
    if time.monotonic() > ends:
        return None, None
    at = f"{place}/compared.{number}"
    os.makedirs(at)
    for i, side in enumerate(("base", "head")):
        with open(f"{at}/{'AB'[i]}.times", "w") as f:
            f.writelines(pair[i] for pair in timed)
        if os.path.exists(work := f"{place}/{key[0]}.{key[1]}.turns/{side}.work.store"):
            os.symlink(work, f"{at}/{'AB'[i]}.work.store")
    code, said = gate("--base", gather([p[0] for p in pairs], f"{at}/A"), "--head", gather([p[1] for p in pairs], f"{at}/B"))
    shutil.rmtree(at)
    return code, said


def resampled():
    chosen = []
    for i in range(COMPARISONS):
        key = list(pools)[i % len(pools)]
        of_all = [random.sample(pools[key], COMPARED), random.sample(times[key], 2 * len(times[key]) // 3)]
        chosen.append((key, *([p if key[1] != "same" or random.random() < 0.5 else p[::-1] for p in pairs] for pairs in of_all)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return [(key, *said) for (key, *_), said in zip(chosen, pool.map(compare, enumerate(chosen)))]


ends = time.monotonic() + 60 * float(os.environ.get("GATE_MINUTES", "1e6"))
counts, slower, seen, compared, left_out = {}, {}, [], 0, 0
for (name, kind), code, said in itertools.takewhile(bool, map(by_itself, range(COMPARISONS))) if alone and not again else resampled():
    if code is None:
        continue
    check = {c["check"]: c for c in said["checks"]}
    if not check["pace"]["in_turn"]:  # a run is missing, as after a recording that was ended by hand: not equal sides
        print(f"{name} {kind}: not in turn, left out", file=sys.stderr)
        left_out += 1
        continue
    compared += 1
    counts.setdefault(kind, [0, 0, 0])[code] += 1
    if check["pace"]["visible_percent"] is not None:
        seen.append(check["pace"]["visible_percent"])
    if code == 1:
        why = f'{name} {kind}: {", ".join(c["check"] for c in said["checks"] if c["verdict"] == "slower")}'
        slower[why] = slower.get(why, 0) + 1
        print(said["sentence"], [c["sentence"] for c in said["checks"]], said["guilty"][:2], file=sys.stderr)
if not os.environ.get("GATE_POOL"):
    shutil.rmtree(place)
value = sum(c[1] for c in counts.values())
print(json.dumps({"name": "gate-false", "value": round(1000 * value / max(compared, 1), 2), "unit": "slower per 1,000 comparisons of equal programs", "target": 1,
                  "noise": round(1000 * max(value, 1) ** 0.5 / max(compared, 1), 2),
                  "detail": {"comparisons": compared, "left_out": left_out, "same_slower_cant_tell": counts, "slower": slower, "timed_pairs": {f"{n} {k}": len(t) for (n, k), t in times.items()}, "programs": sorted({n for n, _ in pools}),
                             "pairs_recorded_each": {f"{n} {k}": len(p) for (n, k), p in pools.items()} if again or not alone else None,
                             "disjoint": compared if alone and not again else sum(len(p) // COMPARED for p in pools.values()), "pairs_compared": COMPARED if again or not alone else None, "would_see_percent_median": sorted(seen)[len(seen) // 2] if seen else None}}))
