# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of transfers said by paths (from registers and 512 bytes of stack) that are where control went, by single-stepping.
Beside it how many moments tell of at least one branch, and how many branches each of those tells."""
import json, os, shlex, subprocess, sys

import libaccuracy
import lib_bursts as lib

DRIVER = lib.BUILD + '/tests/programs/path_driver'
names = ['json', 'sort'] if lib.QUICK else ['lua5.4', 'sqlite3', 'mawk', 'bzip2', 'zstd', 'json', 'ray', 'sort', 'fft']
subprocess.run(['make', '-s', 'BUILD=' + lib.BUILD, 'CS_DEPS_DONE=1', DRIVER], check=True, stdout=sys.stderr)
os.makedirs(libaccuracy.FOLDER, exist_ok=True)
right = wrong = 0
detail = {}
for name in names:
    found = libaccuracy.program(name, 'full', 20)
    said = subprocess.run([DRIVER, '-n', '200' if lib.QUICK else '2000', '--', *shlex.split(found[1])], capture_output=True, text=True, check=True)
    r = json.loads(said.stdout)
    right += r['right']
    wrong += r['wrong']
    detail[name] = {'moments': r['moments'], 'resolved, %': round(100 * r['resolved'] / max(r['moments'], 1)),
                    'branches': round(r['steps'] / max(r['resolved'], 1), 1), 'right': r['right'], 'wrong': r['wrong']}
    print(f'{name:8} {detail[name]}', said.stderr.strip())
lib.report('path-exact', round(100 * right / max(right + wrong, 1), 3), '%', 100, 0, detail)
