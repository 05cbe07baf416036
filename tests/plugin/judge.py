#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""judge.py EXECUTABLE < notes: checks each note's tag against the executable's tag table, read from the file by the
description in signals/plugin/point.h alone. Prints each wrong one; the last line is "N notes, M wrong".
judge.py EXECUTABLE --table: a line "FUNCTION method" or "FUNCTION loop LINE" for each region that has a point.
judge.py EXECUTABLE --points: their addresses."""
import struct
import subprocess
import sys
import tempfile


def section(path, name):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["objcopy", "-O", "binary", "--only-section=" + name, "--set-section-flags", name + "=alloc", path,
                        out.name], check=True, stderr=subprocess.DEVNULL)
        return open(out.name, "rb").read()


exe = sys.argv[1]
strings = section(exe, ".debug_cyclescope_str")
table = {}
tags = section(exe, ".debug_cyclescope_tags")
for at in range(0, len(tags), 24):
    addr, file, function, line, loop, depth, kind = struct.unpack_from("<QIIIHBB", tags, at)
    text = strings[function:strings.index(b"\0", function)].decode()
    table[addr] = (text, line, loop, kind)

if "--points" in sys.argv:
    print("\n".join(f"{addr:x}" for addr in table))
    sys.exit()
if "--table" in sys.argv:
    print("\n".join(f"{text} loop {line}" if loop else f"{text} method" for text, line, loop, _ in table.values()))
    sys.exit()
headers = subprocess.run(["readelf", "-lW", exe], capture_output=True, text=True, check=True).stdout
link_base = min(int(row.split()[2], 16) for row in headers.splitlines() if row.split()[:1] == ["LOAD"])
notes = wrong = 0
for row in sys.stdin:
    tag, function, at, first, last = row.split()
    tag, at, first, last = int(tag), int(at), int(first), int(last)
    if function == "base":
        base = tag
        continue
    notes += 1
    found = table.get(link_base + (-tag if tag < 0 else tag - base))
    if found is None:
        why = "is not in the table"
    elif found[0].split(".")[0] != function and function not in found[0]:
        why = f"names {found}"
    elif first == 0 and found[2] != 0:
        why = f"names a loop, {found}"
    elif first > 0 and (found[2] == 0 or not first <= found[1] <= last):
        why = f"names {found}, not the loop in lines {first} to {last}"
    else:
        continue
    wrong += 1
    print(f"line {at} in {function}: tag {tag} {why}")
print(f"{notes} notes, {wrong} wrong")
sys.exit(wrong > 0 or notes < 100)
