# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs built with the compiler plugin and without, for the rows that measure it: builds of objects with a section
a function, links of them in random orders ("layouts"), controls without the tags' stores, and exact counts by callgrind."""
import collections
import json
import os
import random
import shlex
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PROGRAMS = os.environ.get("PROGRAMS", "sqlite3 zstd bzip2 lua5.4").split()  # longest to build first
LAYOUTS = int(os.environ.get("LAYOUTS", 32))
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
COMPILER = os.environ.get("CS_PLUGIN_COMPILER", "gcc")  # or clang
SECTIONS = "sections-" if COMPILER == "gcc" else f"{COMPILER}-sections-"
RUNTIME = f"-L{BUILD} -l:libcyclescope.a"


def programs(*args, check=True, **env):
    done = subprocess.run([TOP + "/bench/programs", *args], check=check, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "BUILD": BUILD, "CC": "gcc" if COMPILER == "gcc" else "clang-14", **env})
    return done.stdout.strip() if check else done.returncode


def build_one(name, label):
    """Objects of `name` as `label` (plain, methods, loops), a section a function."""
    flags = ["-ffunction-sections", *(["-gdwarf-4"] if COMPILER == "clang" else [])]  # valgrind doesn't read clang's DWARF 5
    if label.endswith("-brief"):
        level, brief = label[:-len("-brief")], brief_list(name)
        plugin = f"{BUILD}/plugin/cyclescope-clang.so"
        flags += [f"-fplugin={BUILD}/plugin/cyclescope.so", f"-fplugin-arg-cyclescope-{level}", f"-fplugin-arg-cyclescope-brief=@{brief}"] \
            if COMPILER == "gcc" else [f"-fplugin={plugin}", f"-fpass-plugin={plugin}", "-mllvm", f"-cyclescope={level}",
                                       "-mllvm", f"-cyclescope=brief=@{brief}"]
    elif label != "plain":
        plugin = f"{BUILD}/plugin/cyclescope-clang.so"
        flags += [f"-fplugin={BUILD}/plugin/cyclescope.so", f"-fplugin-arg-cyclescope-{label}"] if COMPILER == "gcc" else \
            [f"-fplugin={plugin}", f"-fpass-plugin={plugin}", "-mllvm", f"-cyclescope={label}"]
    folder = f"{BUILD}/programs/{name}/{SECTIONS}{label}"
    if not os.path.exists(folder + "/libs"):  # built when objects weren't kept
        subprocess.run(["rm", "-rf", folder], check=True)
    programs("build", name, SECTIONS + label, *flags, LINK=runtime(label))
    return folder


BRIEF_NS = os.environ.get("CS_BRIEF_NS", "200")


def brief_list(name):
    """Functions of `name` that a profile of the plain build knows to be over within BRIEF_NS, for brief=@FILE."""
    tool, folder = os.environ["CYCLESCOPE"], f"{BUILD}/programs/{name}"
    out = f"{folder}/{SECTIONS}brief.{BRIEF_NS}"
    plain = f"{folder}/{SECTIONS}plain/{name}"
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(plain):
        build_one(name, "plain")
        arguments = shlex.split(programs("command", name, SECTIONS + "plain", "full"))[1:]
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([tool, "record", "-g", "--budget", "40%", "--burst-rate", "1000", "-o", work + "/store", "--", "sh", "-c",
                            'for i in 1 2 3 4 5 6; do "$@"; done >/dev/null', "sh", plain, *arguments],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            done = subprocess.run([tool, "prof", "--store", work + "/store", "--image", name, "--brief-calls", BRIEF_NS], check=True, capture_output=True, text=True)
            with open(out, "w") as f:
                f.write(done.stdout)
    return out


def runtime(label):
    return "" if label == "plain" else RUNTIME


# A tag point of an executable, 13 bytes, and instructions of the same size that store nothing.
POINT = bytes.fromhex("6448c70425")  # movq $imm32, %fs:disp32, without the two numbers
ONE_NOP = bytes.fromhex("66666664480f1f840000000000")
TWO_NOPS = bytes.fromhex("660f1f4400000f1f8000000000")


def control(tagged, instructions, out):
    """A copy of a program with other instructions in the place of each tag point: the same layout, no store."""
    code = bytearray(open(tagged, "rb").read())
    found, at = collections.defaultdict(list), code.find(POINT)
    while at >= 0:
        found[bytes(code[at + 5:at + 9])].append(at)
        at = code.find(POINT, at + 1)
    for at in max(found.values(), key=len):  # those that write the line; others write elsewhere
        code[at:at + 13] = instructions
    with open(out, "wb") as f:
        f.write(code)
    os.chmod(out, 0o755)
    return len(max(found.values(), key=len))


def link(name, label, folder, order, k):
    """The k-th layout: functions in the order of the file."""
    clock, out = f"{folder}/cpu_time.obj", f"{folder}/{name}.{k}"
    if os.path.exists(out) and os.path.getmtime(out) > max(map(os.path.getmtime, (folder + "/stamp", BUILD + "/libcyclescope.a"))):
        return out
    if not os.path.exists(clock):
        subprocess.run(["gcc", "-O2", "-c", "-o", clock, TOP + "/bench/workloads/cpu_time.c"], check=True)
    programs("link", name, SECTIONS + label, out, "-s", "-fuse-ld=gold", f"-Wl,--section-ordering-file={order}", clock,
             LINK=runtime(label))
    return out


def functions(folder):
    """Names of the sections that hold a function each."""
    objects = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".o"))
    rows = subprocess.run(["readelf", "-SW", *objects], check=True, capture_output=True, text=True).stdout
    return sorted({word for word in rows.split() if word.startswith(".text.")})


def layouts(name, folders):
    """All links of one program: [{label: executable}, one a layout]. The same order of functions for every label."""
    names, linked = functions(folders["plain"]), []
    for k in range(LAYOUTS):
        order = f"{folders['plain']}/order.{k}"
        if not os.path.exists(order):
            random.Random(k).shuffle(names)
            with open(order, "w") as out:
                out.write("\n".join(names) + "\n")
        linked.append({label: link(name, label, folder, order, k) for label, folder in folders.items()})
    return linked


def build(level):
    """Layouts by program; controls "one" and "two" (instructions without a store for each point) beside "plain" and `level`."""
    wanted = [(p, label) for p in PROGRAMS for label in ("plain", level)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = dict(zip(wanted, pool.map(lambda w: build_one(*w), wanted)))
        linked = dict(zip(PROGRAMS, pool.map(lambda p: layouts(p, {label: folders[p, label] for label in ("plain", level)}), PROGRAMS)))
    for p, each in linked.items():
        for k, exes in enumerate(each):
            for label, instructions in (("one", ONE_NOP), ("two", TWO_NOPS)):
                exes[label] = f"{folders[p, level]}/{p}.{k}.{label}"
                if not os.path.exists(exes[label]) or os.path.getmtime(exes[label]) < os.path.getmtime(exes[level]):
                    control(exes[level], instructions, exes[label])
    return linked


def tag_table(exe):
    """Tag points (signals/plugin/point.h): records, and the text that they point into."""
    parts = []
    with tempfile.TemporaryDirectory() as work:
        for section in ("tags", "str"):
            subprocess.run(["objcopy", "-O", "binary", f"--only-section=.debug_cyclescope_{section}", "--set-section-flags",
                            f".debug_cyclescope_{section}=alloc", exe, f"{work}/{section}"], check=True, stderr=subprocess.DEVNULL)
            parts.append(open(f"{work}/{section}", "rb").read())
    return list(struct.iter_unpack("<QIIIHBB", parts[0])), parts[1]


def by_callgrind(exe, arguments, tagged=True):
    """Exact counts of the program's workload, by callgrind, kept beside the program: `points` passed, `instructions`
    executed."""
    kept = exe + ".callgrind.json"
    if os.path.exists(kept) and os.path.getmtime(kept) > os.path.getmtime(exe):
        return json.load(open(kept))
    rows = tag_table(exe)[0] if tagged else []
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={work}/out", exe,
                        *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counts, total = read_callgrind(work + "/out", exe)
    found = {"points": sum(counts.get(r[0], 0) for r in rows), "instructions": total}
    json.dump(found, open(kept, "w"))
    return found


def plain_name(function):
    """Without what the compiler appends to copies and parts, and callgrind to recursion levels."""
    return function.split(".")[0].split("'")[0].split("@")[0]


def read_callgrind(out, exe):
    """Instructions by address in the program, and of all."""
    counts, total, address, names, here, arc = {}, 0, 0, {}, None, False
    for row in open(out):
        if row.startswith("ob="):
            number, _, name = row[3:].strip().partition(" ")
            here = names.setdefault(number, name or number)
        elif row.startswith("cob="):
            number, _, name = row[4:].strip().partition(" ")
            names.setdefault(number, name or number)
        elif row.startswith("calls="):
            arc = True  # the next row is what the callee cost
        elif row[0] in "0+-*":
            head, *cells = row.split()
            address = int(head, 16) if head[0] == "0" else address + (0 if head == "*" else int(head))
            if not arc:
                total += int(cells[-1])
                if here == exe:
                    counts[address] = counts.get(address, 0) + int(cells[-1])
            arc = False
    return counts, total
