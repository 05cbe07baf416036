#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the code against the audit in docs/security-tests.md ("Every place that reads a stranger"): a call that reads or writes by PID, by
a stranger's path or through a stranger's file is made only in the files that its row names. Prints what is wrong; exit 1 then."""
import re, subprocess, sys

FOLDERS = ("analysis", "cli", "dte", "exchange", "image", "observer", "sampler", "signals", "store")
CALLS = {  # the row's first word -> what such a call looks like
    "process_vm": r"(?:SYS|__NR)_process_vm|\bprocess_vm_(?:read|write)v\s*\(",
    "mem": r'"[^"\n]*/mem"|, "mem"|\bCS_BURST_FD_MEMORY\b',
    "read": r"\bpread\s*\(\s*(?:[\w>.-]*memory|mem_fd)\b",
    "ptrace": r"\bptrace\s*\(|(?:SYS|__NR)_ptrace",
    "/proc/PID": r'"(?:/proc|%s)/%[du]',
    "openat2": r"\bstruct open_how\b|SYS_openat2",
    "elf": r"\belf_(?:begin|memory|open|clone)\s*\(",
}


def rows(text):
    part = text.split("## Every place that reads a stranger", 1)[-1].split("\n## ", 1)[0]
    found = {}
    for line in part.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 5 and re.match(r"`", cells[0]):
            found[re.match(r"`([^`]+)`", cells[0])[1]] = set(re.findall(r"`([\w/.]+\.[ch])`", cells[1]))
    return found


def main():
    audit = rows(open("docs/security-tests.md").read())
    wrong = [f"docs/security-tests.md: no row for {name}" for name in CALLS if name not in audit]
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *(f"{f}/*.[ch]" for f in FOLDERS)],
                           capture_output=True, text=True, check=True).stdout.split()
    makes = {name: set() for name in CALLS}
    for path in files:
        try:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", open(path).read(), flags=re.S)
        except FileNotFoundError:
            continue
        for name, call in CALLS.items():
            if re.search(call, text):
                makes[name].add(path)
    for name in CALLS:
        named = audit.get(name, set())
        wrong += [f"{path}: a call of the kind `{name}` that the audit in docs/security-tests.md doesn't name; use store/base/foreign.h" for path in sorted(makes[name] - named)]
        wrong += [f"docs/security-tests.md: {path} makes no call of the kind `{name}`" for path in sorted(named - makes[name])]
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong) or not files


sys.exit(main())
