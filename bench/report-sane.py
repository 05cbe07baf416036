#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Statements in reports that can't be true (tests/report_rules.py) over stores of real programs: short and long runs, recorded in
several ways; recordings of perf, imported; observed programs; stores of random rows. 200 stores and more, --quick: some 40.

report-sane [--quick] [--keep DIR]"""
import glob, json, os, shutil, subprocess, sys, tempfile

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, 'tests')
import report_rules

TOOL, BUILD = os.environ['CYCLESCOPE'], os.environ['BUILD']
CORPUS = os.environ.get('CS_CORPUS', '../shared/corpus')
PROGRAMS = [  # {n}: from 1; text.txt has some 4 MB times n, tool.bin is an executable
    ('gzip', 'gzip -c tool.bin'), ('gzip-9', 'gzip -9 -c tool.bin'), ('gunzip', 'gzip -dc tool.gz'), ('bzip2', 'bzip2 -c part.bin'),
    ('xz', 'xz -1 -c part.bin'), ('zstd', 'zstd -q -5 -c tool.bin'), ('sort', 'sort text.txt'), ('sort-n', 'sort -n -r text.txt'),
    ('mawk', "mawk '{s += $1 * $1; n[$1 % 977]++} END {print s}' text.txt"), ('perl', "perl -e 'for (1 .. 400000) { $h{$_ % 5003} .= chr(65 + $_ % 26) } print scalar keys %h'"),
    ('python3', "python3 -S -c 'print(sum(i * i % 7 for i in range(900000)))'"), ('lua', "lua -e 'local t = {} for i = 1, 2000000 do t[i % 4096] = i * 3 end print(#t)'"),
    ('lua5.4', "lua5.4 -e 'local s = 0 for i = 1, 5000000 do s = s + i // 3 end print(s)'"), ('node', "node -e 'let s = 0; for (let i = 0; i < 2e7; i++) s += Math.sqrt(i); console.log(s)'"),
    ('sqlite3', "sqlite3 :memory: 'with recursive t(x) as (select 1 union all select x + 1 from t where x < 300000) select sum(x * x % 13), count(distinct x % 997) from t'"),
    ('openssl', 'openssl dgst -sha512 big.bin'), ('sha256sum', 'sha256sum big.bin'), ('md5sum', 'md5sum big.bin'), ('base64', 'base64 big.bin'), ('wc', 'wc text.txt'),
    ('grep', "grep -c -E '(1.*7|7.*1)9' text.txt"), ('sed', "sed -e 's/\\([0-9]\\)\\([0-9]\\)/\\2\\1/g' text.txt"), ('tr', "sh -c 'tr 0-9 a-j < text.txt'"), ('cpp', 'cpp include.c'),
    ('gcc', 'gcc -O2 -c -o /dev/null include.c'), ('objdump', 'objdump -d part.bin'), ('nm', 'nm -D tool.bin'), ('readelf', 'readelf -aW part.bin'),
    ('find', 'find /usr/share -name "*.h"'), ('tar', 'tar cf /dev/null --ignore-failed-read /usr/include'), ('jq', "jq -n '[range(200000)] | map(. * 3 % 7) | add'"), ('factor', 'factor 1000000000000000003 999999999999999989'),
    ('bc', "sh -c 'echo \"scale=900; 4*a(1)\" | bc -l'"), ('git', 'git log --stat --oneline -60'), ('diff', 'diff text.txt other.txt'), ('shuf', 'shuf text.txt'), ('od', 'od -x part.bin'),
    ('true', 'true'),
]
WAYS = [  # how a program is recorded
    [], ['--burst-rate', '200'], ['--no-bursts', '-F', '200'], ['-F', '4000', '--no-bursts', '--paths'], ['--intervals', '50ms', '--burst-rate', '60', '--burst-length', '64000'],
    ['-g', '--no-bursts'], ['-e', 'page-faults', '-e', 'cpu-clock', '--no-bursts'], ['--label', 'process', '-F', '3000', '--burst-rate', '500'],
]


def sh(command, cwd, **more):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60, **more).returncode


def make_inputs(d):
    shutil.copy(TOOL, f'{d}/tool.bin')
    for name, size in (('part.bin', 600_000), ('big.bin', None)):
        data = open(TOOL, 'rb').read()
        open(f'{d}/{name}', 'wb').write(data[:size] if size else data * 8)
    sh(['sh', '-c', 'gzip -c tool.bin > tool.gz; seq 1 7 2000000 | shuf --random-source=tool.bin > text.txt; sed s/77/78/ text.txt > other.txt'], d)
    open(f'{d}/include.c', 'w').write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <netinet/in.h>\n' + ''.join(
        f'int f{i}(int *a, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += a[k] * k + (s >> {i % 7}); return s; }}\n' for i in range(150)))
    sh(['git', 'init', '-q'], d)


def make_recorded(d, quick):
    """(name of a store, its path): every program in each of some ways."""
    n = 0
    for k, (name, command) in enumerate(PROGRAMS):
        if not shutil.which(command.split()[0]):
            continue
        for w, way in enumerate(WAYS):
            if (k + w) % (12 if quick else 2):
                continue
            store = f'{d}/rec-{name}-{w}'
            cwd = d if name != 'git' else os.getcwd()
            if sh([TOOL, 'record', '-o', store, *way, '--', 'sh', '-c', 'exec ' + command.replace('include.c', f'{d}/include.c')], cwd) == 0 and os.path.isdir(store):
                n += 1
                yield store


def make_imported(d, quick):
    files = sorted(f for pattern in ('*/*.perf', '*/*.data', '*/perf.data*', 'lbr-autofdo-test/test.lbr') for f in glob.glob(f'{CORPUS}/{pattern}'))
    files = [f for f in files if os.path.isfile(f) and not f.endswith(('.pb_text', '.buildids', '.txt')) and 'fuzz' not in f]
    for i, f in enumerate(files[:6] if quick else files):
        store = f'{d}/imported-{i}'
        if sh([TOOL, 'import', '-o', store, os.path.abspath(f)], d) == 0 and os.path.isdir(store):
            yield store
    if shutil.which('perf'):
        for name, command in PROGRAMS[:3 if quick else 30]:
            data, store = f'{d}/{name}.data', f'{d}/perf-{name}'
            if shutil.which(command.split()[0]) and sh(['perf', 'record', '-B', '-q', '-e', 'cpu-clock', '-F', '2000', '-o', data, '--', 'sh', '-c', 'exec ' + command], d) == 0 and \
                    sh([TOOL, 'import', '-o', store, data], d) == 0 and os.path.isdir(store):
                yield store


def make_observed(d, quick):
    phases = os.path.abspath(f'{BUILD}/signals/examples/phases')
    calls = ['--wait', '0', '-s', 'os:thread,os:syscall', '--', 'sh', '-c']
    ways = [['--', phases], [*calls, 'gzip -9 -c tool.bin'], [*calls, 'sort text.txt'], [*calls, 'find /usr/share'], ['-e', 'task-clock,page-faults', '--', phases],
            ['--any-tag', '--', phases], ['--period', '100k', '--', phases], [*calls, 'xz -c tool.bin']]
    for i, way in enumerate(ways[:3] if quick else ways * 2):
        store = f'{d}/observed-{i}'
        if sh([TOOL, 'observe', '--seconds', str(0.1 + 0.2 * (i // 4)), '-o', store, *way], d) == 0 and os.path.isdir(store):
            yield store


def make_random(d, quick):
    filler = os.path.abspath(f'{BUILD}/tests/programs/store_filler')
    for seed in range(4 if quick else 20):
        store = f'{d}/random-{seed}'
        if sh([filler, store, 'random', str(seed + 1), str(3 + 7 * seed)], d) == 0:
            yield store


def main():
    quick = '--quick' in sys.argv
    keep = sys.argv[sys.argv.index('--keep') + 1] if '--keep' in sys.argv else None
    subprocess.run(['make', '-s', f'BUILD={BUILD}', f'{BUILD}/signals/examples/phases', f'{BUILD}/tests/programs/store_filler'], stdout=sys.stderr, check=True)
    d = os.path.abspath(keep) if keep else tempfile.mkdtemp(prefix='report-sane.')
    os.makedirs(d, exist_ok=True)
    os.environ['CYCLESCOPE_CACHE'] = f'{d}/cache'
    make_inputs(d)
    kinds, wrong, samples = {}, [], []
    try:
        for make in (make_recorded, make_imported, make_observed, make_random):
            for store in make(d, quick):
                kinds[make.__name__] = kinds.get(make.__name__, 0) + 1
                found = report_rules.check_store(TOOL, store, f'{d}/page.html')
                wrong += found
                for line in found:
                    print(line.replace(d + '/', ''), flush=True)
                if not keep:
                    shutil.rmtree(store, ignore_errors=True)
    finally:
        if not keep:
            shutil.rmtree(d, ignore_errors=True)
    stores = sum(kinds.values())
    print(json.dumps({'name': 'report-sane', 'value': len(wrong), 'unit': f'statements that can\'t be true, in the reports of {stores} stores', 'target': 0,
                      'noise': None, 'detail': {k.removeprefix('make_'): n for k, n in kinds.items()}}))


main()
