#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the analysis reads off an AArch64 file with binutils' disassembler.

Usage: code.py LISTING OBJDUMP [NM]    (code_listing's output; objdump -d; nm of a file with local labels kept)

Each instruction's kind and target, each leader, each block end, and the edges of direct branches are derived anew from
objdump's text. A leader of ours that objdump doesn't explain must follow a call (that never returns) or be
the target of a table. Cycle equivalence is checked by its definition on small procedures: two blocks are in one class
when no closed walk visits one more often than the other.
"""
import re
import sys
from collections import defaultdict

KIND = {}
for name in ("b", ):
    KIND[name] = "j"
for name in "cbz cbnz tbz tbnz".split():
    KIND[name] = "b"
for name in "ret retaa retab eret eretaa eretab drps".split():
    KIND[name] = "r"
for name in "br braa brab braaz brabz".split():
    KIND[name] = "j*"
for name in "blr blraa blrab blraaz blrabz".split():
    KIND[name] = "c*"
KIND["bl"] = "c"
for name in "brk hlt udf".split():
    KIND[name] = "s"
TARGET = re.compile(r"([0-9a-f]+) <")
PADDING = ("nop", "udf", "bti")


def kind(mnemonic):
    if mnemonic in KIND:
        return KIND[mnemonic]
    if mnemonic in ("b.al", "b.nv"):
        return "j"
    return "b" if mnemonic.startswith("b.") or mnemonic.startswith("bc.") else "n"


def read_objdump(path):
    """offset -> (kind, target, mnemonic)"""
    insns = {}
    for line in open(path, errors="replace"):
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f]{8})\s+\t?(\S+)\s*(.*)", line)
        if not m:
            continue
        k = kind(m.group(3))
        text = m.group(4).split("//")[0]
        t = TARGET.search(text) or re.search(r"(?:0x)?([0-9a-f]+)\s*$", text)
        direct = k in ("j", "b", "c")
        insns[int(m.group(1), 16)] = (k, int(t.group(1), 16) if direct and t else 0, m.group(3))
    return insns


def read_listing(path):
    procedures = []
    for line in open(path):
        w = line.split()
        if w[0] == "P":
            p = {"name": w[1], "insns": {}, "blocks": {}, "edges": [], "classes": {}}
            procedures.append(p)
        elif w[0] == "I":
            star = w[3].startswith("*")
            p["insns"][int(w[1], 16)] = (w[2] + ("*" if star else ""), 0 if star else int(w[3], 16))
        elif w[0] == "B":
            p["blocks"][int(w[1], 16)] = int(w[2], 16)
        elif w[0] == "E":
            p["edges"].append((int(w[1], 16), None if w[2] == "-" else int(w[2], 16), int(w[3])))
        elif w[0] == "C":
            p["classes"][int(w[1], 16)] = int(w[2])
    return procedures


FALL, TAKEN, JUMP, TABLE = 1, 2, 3, 4
complaints = []


def complain(p, text):
    complaints.append(f"{p['name']}: {text}")


def check(p, truth, counts):
    ours = p["insns"]
    for at, (k, target) in ours.items():
        if at not in truth:
            counts["data"] += 1  # objdump shows data there, by a mapping symbol
            continue
        counts["instructions"] += 1
        want, to, name = truth[at]
        if (k, target) != (want, to):
            complain(p, f"{at:x} is {name} ({want} {to:x}), read as {k} {target:x}")
    if not all(at in truth for at in ours):
        return
    starts = sorted(p["blocks"])
    covered = {at for at in ours if any(s <= at < p["blocks"][s] for s in starts)} if len(starts) < 400 else set(ours)
    tables = {to for _, to, k in p["edges"] if k == TABLE}
    leaders, after_call = set(), set()
    for at in ours:
        k, to, name = truth[at]
        if k in ("b", "j") and to in ours:
            leaders.add(to)
        if k in ("b", "j", "j*", "r", "s") and at + 4 in ours:
            leaders.add(at + 4)
        if k == "c" and at + 4 in ours:
            after_call.add(at + 4)
    first = min(ours)
    for at in leaders:
        if at not in p["blocks"] and at in covered:
            complain(p, f"no block starts at {at:x}")
        if at not in p["blocks"] and at not in covered and truth[at][2] not in PADDING:
            complain(p, f"{at:x} is in no block")
    for at in starts:
        if at not in leaders and at not in after_call and at not in tables and at != first:
            complain(p, f"a block starts at {at:x} for no reason")
    out = defaultdict(set)
    for a, b, k in p["edges"]:
        out[a].add((b, k))
    for s in starts:
        counts["blocks"] += 1
        last = p["blocks"][s] - 4
        k, to, name = truth[last]
        want = set()
        if k == "b":
            want = {to, last + 4}
        elif k == "j":
            want = {to}
        elif k in ("n", "c", "c*"):
            want = {last + 4}
        want = {w if w in ours else None for w in want}
        got = {b for b, _ in out[s]}
        if k in ("r", "s"):
            want = {None}
        if k == "j*":
            counts["indirect"] += 1
            counts["tables"] += any(e == TABLE for _, e in out[s])
            continue
        if k == "c" and got == {None}:
            counts["never"] += 1
            continue
        if got != want:
            complain(p, f"block {s:x} goes to {got}, should to {want}")


def tables_of(path):
    """What the compiler's assembly text says: procedure -> set of the labels in its jump tables."""
    found, current, labels = defaultdict(set), None, {}
    section = ".text"
    for line in open(path):
        line = line.strip()
        m = re.match(r"\.type\s+(\w+), %function", line)
        if m:
            current = m.group(1)
        m = re.match(r"\.(?:byte|2byte|hword|word|4byte)\s+\((\.L\w+) - \.Lrtx\d+\) / 4", line)
        if m and current:
            found[current].add(m.group(1))
        m = re.match(r"\.(?:xword|8byte|quad|dword)\s+(\.L\w+)$", line)
        if m and current:
            found["interpreter"].add(m.group(1))
    return found


def equivalence(p):
    """Classes by the definition, on a graph with an edge from outside to the entry and from exits to outside: two blocks
    are equivalent when removing either alone leaves no cycle through the other."""
    nodes = sorted(p["blocks"])
    if len(nodes) > 40:
        return
    succ = defaultdict(set)
    for a, b, k in p["edges"]:
        succ[a].add("out" if b is None else b)
    succ["out"].add(min(nodes))

    def on_cycle(node, without):
        seen, stack = set(), [node]
        while stack:
            for to in succ[stack.pop()]:
                if to == node:
                    return True
                if to != without and to not in seen:
                    seen.add(to)
                    stack.append(to)
        return False

    for i, a in enumerate(nodes):
        for b in nodes[i + 1:]:
            same = not on_cycle(a, b) and not on_cycle(b, a)
            if same != (p["classes"][a] == p["classes"][b]):
                complain(p, f"blocks {a:x} and {b:x}: equivalent {same}, classes {p['classes'][a]}, {p['classes'][b]}")


def main():
    counts = defaultdict(int)
    truth = read_objdump(sys.argv[2])
    procedures = read_listing(sys.argv[1])
    for p in procedures:
        if p["insns"]:
            counts["procedures"] += 1
            check(p, truth, counts)
    if len(sys.argv) > 4:
        labels = {}
        for line in open(sys.argv[3]):
            w = line.split()
            if len(w) == 3:
                labels[w[2]] = int(w[0], 16)
        for name, wanted in tables_of(sys.argv[4]).items():
            p = next(q for q in procedures if q["name"] == name)
            got = {to for _, to, k in p["edges"] if k == TABLE}
            want = {labels[l] for l in wanted}
            counts["table targets"] += len(want)
            if got != want:
                complain(p, f"its table leads to {sorted(map(hex, want - got))} too, not to {sorted(map(hex, got - want))}")
        for p in procedures:
            if p["classes"] and p["name"] in ("nested", "recursive", "few", "compared", "through", "main"):
                equivalence(p)
                counts["classed"] += 1
    print(", ".join(f"{v} {k}" for k, v in counts.items()))
    for c in complaints[:20]:
        print("not ok", c)
    print(f"{len(complaints)} differences")
    return bool(complaints) or counts["instructions"] == 0


if __name__ == "__main__":
    sys.exit(main())
