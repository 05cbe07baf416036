#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the analysis reads off an AArch64 or RISC-V file with binutils' disassembler.

Usage: code.py MACHINE LISTING OBJDUMP [NM ASSEMBLY]    (aarch64 or riscv64; code_listing's output; objdump -d; nm of a file with
local labels kept; what the compiler wrote)

Each instruction's kind and target (on RISC-V its text), each leader, each block end, and the edges of direct branches are derived anew from
objdump's text. A leader of ours that objdump doesn't explain must follow a call (that never returns) or be
the target of a table. Cycle equivalence is checked by its definition on small procedures: two blocks are in one class
when no closed walk visits one more often than the other.
"""
import re
import sys
from collections import defaultdict

MACHINE = sys.argv[1]
RISCV = MACHINE == "riscv64"
# b branch, j jump, c call, r return, s stop; * through a register
KINDS = {
    "aarch64": {"b": "cbz cbnz tbz tbnz", "j": "b b.al b.nv", "c": "bl", "j*": "br braa brab braaz brabz",
                "c*": "blr blraa blrab blraaz blrabz", "r": "ret retaa retab eret eretaa eretab drps", "s": "brk hlt udf"},
    "riscv64": {"b": "beq bne blt bge bltu bgeu beqz bnez blez bgez bltz bgtz", "j": "j", "c": "jal", "j*": "jr", "c*": "jalr",
                "r": "ret mret sret uret", "s": "ebreak unimp"},
}[MACHINE]
KIND = {name: kind for kind, names in KINDS.items() for name in names.split()}
TARGET = re.compile(r"([0-9a-f]+) <")
PADDING = ("nop", "udf", "bti", "unimp")


def kind(mnemonic):
    conditional = not RISCV and re.match(r"bc?\.", mnemonic)
    return KIND.get(mnemonic, "b" if conditional else "n")


def read_objdump(path):
    """offset -> (kind, target, mnemonic, bytes, text)"""
    insns = {}
    for line in open(path, errors="replace"):
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f]{4,8})\s+\t?(\S+)\s*(.*)", line)
        if not m:
            continue
        k = kind(m.group(3))
        operands, _, remark = m.group(4).partition("#" if RISCV else "//")
        t = TARGET.search(operands) or re.search(r"(?:0x)?([0-9a-f]+)\s*$", operands)
        direct = k in ("j", "b", "c")
        if k == "j*" and operands.strip() == "t0":  # the other link register
            k = "r"
        if k in ("j*", "c*") and TARGET.search(remark):  # the instruction before has the rest of the address
            direct, k, t = True, k[0], TARGET.search(remark)
        text = re.sub(r"\s*<.*", "", operands).strip()
        insns[int(m.group(1), 16)] = (k, int(t.group(1), 16) if direct and t else 0, m.group(3), len(m.group(2)) // 2,
                                      (m.group(3) + " " + text).strip())
    return insns


def read_listing(path):
    procedures = []
    for line in open(path):
        w = line.split()
        if w[0] == "P":
            p = {"name": w[1], "insns": {}, "text": {}, "blocks": {}, "edges": [], "classes": {}}
            procedures.append(p)
        elif w[0] == "I":
            star = w[3].startswith("*")
            p["insns"][int(w[1], 16)] = (w[2] + ("*" if star else ""), 0 if star else int(w[3], 16))
        elif w[0] == "T":
            p["text"][int(w[1], 16)] = " ".join(w[2:])
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


def plain(text):
    """Numbers as one of us writes them; what adds a constant is addi (binutils 2.40 says add of a compressed one)."""
    text = re.sub(r"^(add|addw|and|or|xor|sll|srl|sra|sllw|srlw|sraw|csrw|csrs|csrc) (.*)$", with_i, text)
    return re.sub(r"\b(0x)?[0-9a-f]+$", lambda m: m.group(0).removeprefix("0x"), text)


def with_i(m):
    last = m.group(2).rsplit(",", 1)[1]
    if not re.fullmatch(r"-?(\d+|0x[0-9a-f]+)", last):
        return m.group(0)
    return (m.group(1)[:-1] + "iw" if m.group(1).endswith("w") else m.group(1) + "i") + " " + m.group(2)


def check(p, truth, counts):
    ours = p["insns"]
    for at, (k, target) in ours.items():
        if at not in truth:
            counts["data"] += 1  # objdump shows data there, by a mapping symbol
            continue
        counts["instructions"] += 1
        want, to, name, size, text = truth[at]
        if RISCV and plain(p["text"][at]) != plain(text):
            counts["texts that differ"] += 1
            complain(p, f"{at:x} is \"{text}\", written as \"{p['text'][at]}\"")
        if (k, target) != (want, to):
            complain(p, f"{at:x} is {name} ({want} {to:x}), read as {k} {target:x}")
    if not all(at in truth for at in ours):
        return
    starts = sorted(p["blocks"])
    covered = {at for at in ours if any(s <= at < p["blocks"][s] for s in starts)} if len(starts) < 400 else set(ours)
    tables = {to for _, to, k in p["edges"] if k == TABLE}
    leaders, after_call = set(), set()
    for at in ours:
        k, to, name, size, _ = truth[at]
        if k in ("b", "j") and to in ours:
            leaders.add(to)
        if k in ("b", "j", "j*", "r", "s") and at + size in ours:
            leaders.add(at + size)
        if k == "c" and at + size in ours:
            after_call.add(at + size)
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
        last = max(at for at in (p["blocks"][s] - 4, p["blocks"][s] - 2) if at in ours and at + truth[at][3] == p["blocks"][s])
        k, to, name, size, _ = truth[last]
        want = set()
        if k == "b":
            want = {to, last + size}
        elif k == "j":
            want = {to}
        elif k in ("n", "c", "c*"):
            want = {last + size}
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
        m = re.match(r"\.type\s+(\w+), [%@]function", line)
        if m:
            current = m.group(1)
        m = (re.match(r"\.(?:byte|2byte|hword|word|4byte)\s+\((\.L\w+) - \.Lrtx\d+\) / 4", line)
             or RISCV and re.match(r"\.word\s+(\.L\w+)(?:-\.L\w+)?$", line))
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
    truth = read_objdump(sys.argv[3])
    procedures = read_listing(sys.argv[2])
    for p in procedures:
        if p["insns"]:
            counts["procedures"] += 1
            check(p, truth, counts)
    if len(sys.argv) > 5:
        labels = {}
        for line in open(sys.argv[4]):
            w = line.split()
            if len(w) == 3:
                labels.setdefault(w[2], set()).add(int(w[0], 16))  # the C library's files have such names too
        for name, wanted in tables_of(sys.argv[5]).items():
            p = next(q for q in procedures if q["name"] == name)
            got = {to for _, to, k in p["edges"] if k == TABLE}
            want = {at for l in wanted for at in labels[l] if at in p["insns"]}
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
    compared = ["instructions"] + (["table targets", "classed"] if len(sys.argv) > 5 else [])
    return bool(complaints) or not all(counts[c] for c in compared)


if __name__ == "__main__":
    sys.exit(main())
