#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds fixed sleeps in tests. A test waits for a state (tests/until.sh); what has to be a time says why, on its line: "sleeps: REASON".
Not looked at: programs that are observed (tests/programs, tests/hostile), whose sleep is their work, and guests under emulation
(tests/vm, tests/kernels). Prints what is wrong; exit 1 then."""
import os, re, subprocess, sys

# A program that sleeps is no wait of the test: "sleep 30 &", "-- sleep 1", "exec sleep 5" in what is recorded.
SHELL = re.compile(r'(?:^|[;&|({`]|\b(?:do|then|else))\s*sleep\s+["$.\d][^;&|)}\n]*(?:$|[;|)}]|&&|#)')
CALL = re.compile(r'(?<!\w)(?:time\.sleep|u?sleep|(?:clock_)?nanosleep)\(')
FOLDERS = ('tests/integration/', 'tests/unit/', 'tests/real/')


def waits(path, line):
    if path.endswith('.c') or path.endswith('.h') or path.endswith('.py'):
        return CALL.search(line)
    return SHELL.search(line) or 'time.sleep(' in line


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    files = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', 'tests'], capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in files if os.path.isfile(f) and (f.startswith(FOLDERS) or f.count('/') == 1 and f != 'tests/sleeps.py')]
    wrong, marked = [], 0
    for path in files:
        for number, line in enumerate(open(path, errors='replace'), 1):
            if waits(path, line):
                if re.search(r'sleeps: \w', line):
                    marked += 1
                else:
                    wrong.append(f'{path}:{number}: waits for a time, not for a state (tests/until.sh): {line.strip()[:90]}')
    if len(files) < 200:
        wrong.append(f'tests: {len(files)} files: have they moved?')
    print('\n'.join(wrong) or f'{len(files)} files of tests: {marked} sleeps, each with its reason')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
