#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many headers have a function that asserts: what it requires, or what it guarantees. The number may not fall below LEAST, and no
build may switch asserts off. Headers without one are data, code of hot paths, code without libc, or judge what others wrote."""
import re
import subprocess
import sys

LEAST = 310
MODULES = ("analysis", "cli", "dte", "exchange", "image", "observer", "report", "sampler", "signals", "store")
FUNCTION = re.compile(r"^(?:[A-Za-z_][\w \t*(),]*?[ *])?(\w+)\(([^;{}]*)\)[^;{}=]*\n?\{", re.M)
PROTOTYPE = re.compile(r"^[A-Za-z_][^;{}#]*?\b(\w+)\([^;{}]*\)[^;{}]*;", re.M)
ASSERT = re.compile(r"(?<!\w)assert\(")


def code_of(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", open(path, errors="replace").read(), flags=re.S)


listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split()
files = {f: code_of(f) for f in listed if f.split("/")[0] in MODULES and f.endswith((".c", ".h")) and not f.endswith(".bpf.c")}
asserting = set()
for text in files.values():
    for function in FUNCTION.finditer(text):
        if ASSERT.search(text, function.end(), max(text.find("\n}", function.end()), function.end())):
            asserting.add(function.group(1))
headers = [f for f in files if f.endswith(".h")]
having = [f for f in headers if any(m.group(1) in asserting for p in (PROTOTYPE, FUNCTION) for m in p.finditer(files[f]))]
n_asserts = sum(len(ASSERT.findall(text)) for text in files.values())
print(f"{len(having)} of {len(headers)} headers have a function that asserts; {n_asserts} asserts")
off = [f for f in listed if re.search(r"(^|/)Makefile$|\.mk$|^\.ci/|^debian/|^tests/fuzz/", f) and "NDEBUG" in open(f, errors="replace").read()]
for f in off:
    print(f"{f}: sets NDEBUG")
if len(having) < LEAST:
    print(f"fewer than {LEAST}: an assert went that a header's promise had")
sys.exit(bool(off) or len(having) < LEAST)
