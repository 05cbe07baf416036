#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds what the machines said (WORK/SUITE.log) against expected.tsv: judge.py WORK SUITE... Prints every cell that isn't as expected
with its evidence, then "N passed, N failed, N skipped". Skipped are cells of a suite without a log, whose reason is in WORK/SUITE.absent, and
cells that a kernel newer than the table's broke: they are shown, but nobody changed the repository. With KERNELS_WRITE=1 the cells
found are written as the expected ones, and the versions. Without arguments: prints the table of docs/requirements.md; with --write it is
put there."""
import os, re, sys

here = os.path.dirname(os.path.abspath(__file__))
path, page = f"{here}/expected.tsv", f"{here}/../../docs/requirements.md"
lines = [l.rstrip("\n") for l in open(path)]
comments, rows = [l for l in lines if l.startswith("#")], [l.split("\t") for l in lines if l and not l.startswith("#")]
head, rows = rows[0], rows[1:]
suites = head[1:-1]
expected = {(s, r[0]): r[1 + i] for r in rows for i, s in enumerate(suites)}
names = dict(l[2:].split(" = ") for l in comments if " = " in l)

def version(text):
    """(7, 2, 13, 0) of "7.2.13+deb14" and "7.2.13 (Debian sid)"; (6, 1, 0, 50) of "6.1.0-50-cloud-amd64"."""
    return tuple(int(n or 0) for n in re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-(\d+))?", text).groups())

def short(name):
    return re.sub(r"^(\d+\.\d+)\S*", r"\1", name)

def table():
    shown = [r for r in rows if r[-1] != "-"]
    out = ["| | " + " | ".join(short(names[s]) for s in suites) + " |", "|---" * (len(suites) + 1) + "|"]
    return "\n".join(out + [f"| {r[-1]} | " + " | ".join(r[1:-1]) + " |" for r in shown])

BEGIN, END = "<!-- kernels -->\n", "\n<!-- end -->"
if len(sys.argv) == 1 or sys.argv[1] == "--write":
    if len(sys.argv) > 1:
        text = open(page).read()
        open(page, "w").write(text[:text.index(BEGIN) + len(BEGIN)] + table() + text[text.index(END):])
    else:
        print(table())
    sys.exit(0)

work, passed, failed, skipped, found = sys.argv[1], 0, 0, 0, {}
for suite in sys.argv[2:]:
    if not os.path.exists(f"{work}/{suite}.log"):
        print(f"SKIPPED {suite}:", open(f"{work}/{suite}.absent").read().strip())
        skipped += len(rows)
        continue
    log = open(f"{work}/{suite}.log", errors="replace").read()
    kernel = re.search(r"^KERNEL (.*)", log, re.M)
    booted = kernel[1] if kernel else open(f"{work}/{suite}.version").read()
    new = version(booted) > version(names[suite])
    wrong = []
    print(f"{suite}: {kernel[1] if kernel else 'it never began'}", *re.findall(r"^VM-END (.*)", log, re.M))
    cells = {m[1]: (m[2], m[3], m[4]) for m in re.finditer(r"^CELL (\S+) (yes|no) ?(.*)\n((?:#.*\n)*)", log, re.M)}
    for row in rows:
        want, got = expected[suite, row[0]], cells.get(row[0], ("missing", "", ""))
        found[suite, row[0]] = got[0]
        if want == got[0]:
            passed += 1
        else:
            wrong.append(f"  {row[0]}: {got[0]}, expected {want}: {got[1]}\n{got[2]}")
    wrong += [f"  {name}: no such row in expected.tsv\n" for name in set(cells) - {r[0] for r in rows}]
    if "VM-END" not in log:
        wrong.append("\n    ".join(["  it didn't come to its end; its last lines:", *log.splitlines()[-8:]]) + "\n")
    print(*wrong, sep="", end="")
    if new:
        skipped += len(wrong)
        print(f"  NEW KERNEL: newer than {names[suite]}, the table's, and {len(wrong)} cells aren't as there.",
              "Mend them; KERNELS_WRITE=1 make check-kernels makes this version the table's")
        names[suite] = re.match(r"[\d.]+(?:-\d+)?", booted)[0] + names[suite][names[suite].index(" "):]
    else:
        failed += len(wrong)
comments = [f"# {l[2:].split(' = ')[0]} = {names[l[2:].split(' = ')[0]]}" if " = " in l else l for l in comments]
if os.environ.get("KERNELS_WRITE"):
    with open(path, "w") as f:
        for line in comments + ["\t".join(head)] + ["\t".join([r[0], *(found.get((s, r[0]), expected[s, r[0]]) for s in suites), r[-1]]) for r in rows]:
            print(line, file=f)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0 or not passed)
