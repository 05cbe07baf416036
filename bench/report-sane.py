#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Statements in reports that can't be true (tests/report_rules.py) over stores of real programs: short and long runs, recorded in
several ways; running programs attached to; several recordings in one store, and merged; recordings of perf, imported; observed
programs; stores of random rows. 200 stores and more, --quick: some 40.

report-sane [--quick]
report-sane --make DIR [K/N]     makes the stores only: every N-th, from the K-th
report-sane --check DIR [K/N]    asks the reports of those that DIR has"""
import glob, json, os, re, shutil, signal, subprocess, sys, tempfile

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


def sh(command, cwd):
    """Exit code; 124 where it, with all that it started, had to be ended after a minute."""
    quiet = subprocess.DEVNULL
    p = subprocess.Popen(command, cwd=cwd, stdout=quiet, stderr=quiet, stdin=quiet, start_new_session=True)
    try:
        return p.wait(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return 124


def make_inputs(d):
    shutil.copy(TOOL, f'{d}/tool.bin')
    for name, size in (('part.bin', 600_000), ('big.bin', None)):
        data = open(TOOL, 'rb').read()
        open(f'{d}/{name}', 'wb').write(data[:size] if size else data * 8)
    sh(['sh', '-c', 'gzip -c tool.bin > tool.gz; seq 1 7 2000000 | shuf --random-source=tool.bin > text.txt; sed s/77/78/ text.txt > other.txt'], d)
    open(f'{d}/include.c', 'w').write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <netinet/in.h>\n' + ''.join(
        f'int f{i}(int *a, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += a[k] * k + (s >> {i % 7}); return s; }}\n' for i in range(150)))
    sh(['git', 'init', '-q'], d)


def target(d, name, command):
    """Where it runs, and its words."""
    return os.getcwd() if name == 'git' else d, ['sh', '-c', 'exec ' + command.replace('include.c', f'{d}/include.c')]


def recorded(d, quick):
    """Every program in each of some ways."""
    for k, (name, command) in enumerate(PROGRAMS):
        if not shutil.which(command.split()[0]):
            continue
        cwd, words = target(d, name, command)
        for w, way in enumerate(WAYS):
            if (k + w) % (12 if quick else 2) == 0:
                yield f'recorded-{name}-{w}', lambda store, way=way, cwd=cwd, words=words: sh([TOOL, 'record', '-o', store, *way, '--', *words], cwd)


def attached(d, quick):
    """Programs that run already, for part of their life."""
    for name, command in PROGRAMS[:12:6] if quick else PROGRAMS[:24]:
        cwd, words = target(d, name, command)

        def make(store, cwd=cwd, words=words):
            with subprocess.Popen(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as p:
                code = sh([TOOL, 'record', '-o', store, '-t', '0.4', '--burst-rate', '200', '-p', str(p.pid)], d)
                p.kill()
            return code
        if shutil.which(command.split()[0]):
            yield f'attached-{name}', make


def together(d, quick):
    """Two recordings in one store, as its epochs; and the same merged into another."""
    for name, command in PROGRAMS[:12:6] if quick else PROGRAMS[:36:3]:
        cwd, words = target(d, name, command)

        def twice(store, cwd=cwd, words=words):
            return sh([TOOL, 'record', '-o', store, '--burst-rate', '200', '--', *words], cwd) or sh([TOOL, 'record', '-o', store, '-F', '700', '--no-bursts', '--', *words], cwd)

        def merged(store, name=name):
            return sh([TOOL, 'store', 'merge', '--into', 'both', store, f'{d}/epochs-{name}'], d)
        if shutil.which(command.split()[0]):
            yield f'epochs-{name}', twice
            yield f'merged-{name}', merged


def imported(d, quick):
    files = sorted(f for pattern in ('*/*.perf', '*/*.data', '*/perf.data*', 'lbr-autofdo-test/test.lbr') for f in glob.glob(f'{CORPUS}/{pattern}'))
    files = [os.path.abspath(f) for f in files if os.path.isfile(f) and not f.endswith(('.pb_text', '.buildids', '.txt')) and 'fuzz' not in f]
    for i, f in enumerate(files[:6] if quick else files):
        yield f'imported-{i}', lambda store, f=f: sh([TOOL, 'import', '-o', store, f], d)
    for name, command in PROGRAMS[:3 if quick else 30]:
        cwd, words = target(d, name, command)

        def perf(store, name=name, cwd=cwd, words=words):
            data = f'{d}/{name}.data'
            return sh(['perf', 'record', '-B', '-q', '-e', 'cpu-clock', '-F', '2000', '-o', data, '--', *words], cwd) or sh([TOOL, 'import', '-o', store, data], d)
        if shutil.which('perf') and shutil.which(command.split()[0]):
            yield f'perf-{name}', perf


def observed(d, quick):
    phases = os.path.abspath(f'{BUILD}/signals/examples/phases')
    calls = ['--wait', '0', '-s', 'os:thread,os:syscall', '--', 'sh', '-c']
    ways = [['--', phases], [*calls, 'gzip -9 -c tool.bin'], [*calls, 'sort text.txt'], [*calls, 'find /usr/share'], ['-e', 'task-clock,page-faults', '--', phases],
            ['--any-tag', '--', phases], ['--period', '100k', '--', phases], [*calls, 'xz -c tool.bin']]
    for i, way in enumerate(ways[:3] if quick else ways * 2):
        yield f'observed-{i}', lambda store, i=i, way=way: sh([TOOL, 'observe', '--seconds', str(0.1 + 0.2 * (i // 4)), '-o', store, *way], d)


def random(d, quick):
    filler = os.path.abspath(f'{BUILD}/tests/programs/store_filler')
    for seed in range(4 if quick else 20):
        yield f'random-{seed}', lambda store, seed=seed: sh([filler, store, 'random', str(seed + 1), str(3 + 7 * seed)], d)


def all_stores(d, quick):
    for kind in (recorded, attached, together, imported, observed, random):
        yield from kind(d, quick)


def part(rows, words):
    """Those of rows that the last of words, K/N, asks for."""
    last = words[-1] if words else ''
    k, n = (int(x) for x in (last if re.fullmatch(r'\d+/\d+', last) else '1/1').split('/'))
    return list(rows)[k - 1::n]


def check(d, store, samples):
    found = report_rules.check_store(TOOL, f'{d}/{store}', f'{d}/{store}.html')
    for path in glob.glob(f'{d}/{store}.html'):
        os.unlink(path)
    for line in found:
        print(line.replace(d + '/', ''), flush=True)
    print(f'{store}: {len(found)}', file=sys.stderr, flush=True)
    kind = store.split('-')[0]
    samples[kind] = samples.get(kind, 0) + 1
    return len(found)


def main():
    words = sys.argv[1:]
    quick, making, checking = ('--quick' in words), ('--make' in words), ('--check' in words)
    d = os.path.abspath(words[1]) if making or checking else tempfile.mkdtemp(prefix='report-sane.')
    os.makedirs(d, exist_ok=True)
    os.environ['CYCLESCOPE_CACHE'] = f'{d}/cache'
    kinds, wrong, late = {}, 0, 0
    try:
        if not checking:
            subprocess.run(['make', '-s', f'BUILD={BUILD}', f'{BUILD}/signals/examples/phases', f'{BUILD}/tests/programs/store_filler'], stdout=sys.stderr, check=True)
            if not os.path.exists(f'{d}/include.c'):
                make_inputs(d)
            for name, make in part(all_stores(d, quick), words):
                store = f'{d}/{name}'
                if os.path.isdir(store):
                    continue
                code = make(store)
                if code == 124:
                    late += 1
                    print(f'{name}: not recorded in a minute', file=sys.stderr, flush=True)
                    shutil.rmtree(store, ignore_errors=True)
                if code or not os.path.isdir(store):
                    continue
                if not making:
                    wrong += check(d, name, kinds)
                    if not name.startswith('epochs-'):
                        shutil.rmtree(store, ignore_errors=True)
        else:
            for name in part(sorted(n for n in os.listdir(d) if os.path.isdir(f'{d}/{n}') and '-' in n), words):
                wrong += check(d, name, kinds)
    finally:
        if not making and not checking:
            shutil.rmtree(d, ignore_errors=True)
    print(json.dumps({'name': 'report-sane', 'value': wrong, 'unit': f'statements that can\'t be true, in the reports of {sum(kinds.values())} stores', 'target': 0,
                      'noise': None, 'detail': kinds | {'not recorded in a minute': late}}))


main()
