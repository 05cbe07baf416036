# SPDX-License-Identifier: GPL-2.0-or-later
"""Frequency estimates of real programs against callgrind's counts: shared by accuracy-*.py.

Each program runs again and again for SECONDS under `record --bursts`, all evidence from that run; the truth is callgrind's
counts of one run of the same binary and input, kept under $BUILD/accuracy. CS_ACCURACY_SECONDS changes the length,
CS_ACCURACY_SETS the number of runs (the median counts, the range is the noise), CS_BURST_RATE fixes the rate of bursts
instead of the 3 % budget.
"""
import json, os, statistics, subprocess, sys, time

BUILD = os.environ.get('BUILD', 'build')
TOOL = os.environ.get('CYCLESCOPE', BUILD + '/cyclescope')
PROGRAMS = ['bzip2', 'zstd', 'lua5.4', 'sqlite3', 'mawk']


def say(text):
    print(text, file=sys.stderr, flush=True)


def truth_of(name, size, command, binary):
    folder = f'{BUILD}/accuracy'
    os.makedirs(folder, exist_ok=True)
    path = f'{folder}/{name}.{size}.callgrind'
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(binary):
        say(f'callgrind: {name}')
        subprocess.run(f'valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --callgrind-out-file={path}.new '
                       f'{command} >/dev/null 2>{path}.log', shell=True, check=True)
        os.rename(path + '.new', path)
    return path


def one_set(name, size, seconds, number):
    binary = subprocess.run(['bench/programs', 'build', name, 'plain'], capture_output=True, text=True, check=True).stdout.strip()
    command = subprocess.run(['bench/programs', 'command', name, 'plain', size], capture_output=True, text=True, check=True).stdout.strip()
    truth = truth_of(name, size, command, binary)
    store = f'{BUILD}/accuracy/{name}.{size}.{number}.store'
    subprocess.run(['rm', '-rf', store], check=True)
    loop = f'end=$((SECONDS+{seconds})); while [ $SECONDS -lt $end ]; do {command} >/dev/null; done'
    rate = os.environ.get('CS_BURST_RATE')
    start = time.time()
    done = subprocess.run([TOOL, 'record', '--bursts', *(['--burst-rate', rate] if rate else []), '-o', store, '--', 'bash', '-c', loop],
                          capture_output=True, text=True)
    say(f'{name}: {time.time() - start:.0f} s; ' + ' '.join(l for l in done.stderr.splitlines() if 'bursts,' in l))
    result = subprocess.run([TOOL, 'accuracy', '--json', store, truth], capture_output=True, text=True)
    if result.returncode:
        say(result.stderr.strip())
        return None
    return json.loads(result.stdout)


def measure(argv):
    quick = '--quick' in argv
    size = 'small' if quick else 'full'
    seconds = int(os.environ.get('CS_ACCURACY_SECONDS', 10 if quick else 60))
    sets = int(os.environ.get('CS_ACCURACY_SETS', 1))
    names = PROGRAMS[:1] + PROGRAMS[2:3] if quick else PROGRAMS
    kept = f'{BUILD}/accuracy/results.{size}.{seconds}.{sets}.json'
    if os.path.exists(kept) and time.time() - os.path.getmtime(kept) < 3600 and os.path.getmtime(kept) > os.path.getmtime(TOOL):
        return json.load(open(kept))
    results = {n: [r for r in (one_set(n, size, seconds, k) for k in range(sets)) if r] for n in names}
    results = {n: r for n, r in results.items() if r}
    json.dump(results, open(kept, 'w'))
    return results


def method(result, name):
    return next(m for m in result['methods'] if m['method'] == name)


def report(name, unit, target, figure, argv):
    """figure(result) → number of one run of one program, or None."""
    results = measure(argv)
    by_program, sets = {}, []
    for program, runs in results.items():
        values = [v for v in map(figure, runs) if v is not None]
        if values:
            by_program[program] = values
    for k in range(max((len(v) for v in by_program.values()), default=0)):
        sets.append(statistics.mean(v[k] for v in by_program.values() if k < len(v)))
    detail = {'programs': {p: [round(x, 1) for x in v] for p, v in by_program.items()},
              'bursts': {p: [r['bursts'] for r in runs] for p, runs in results.items()},
              'mean by method, within 5/10/15 %': {}}
    if results:
        for m in ['equal', 'naive', 'average', 'dcpi', 'raw bursts', 'bursts', 'redrawn']:
            rows = [method(r, m) for runs in results.values() for r in runs]
            detail['mean by method, within 5/10/15 %'][m] = '/'.join(
                f"{statistics.mean(r[k] for r in rows):.0f}" for k in ('within_5', 'within_10', 'within_15'))
    print(json.dumps({'name': name, 'value': round(statistics.median(sets), 1) if sets else None, 'unit': unit, 'target': target,
                      'noise': round(max(sets) - min(sets), 1) if len(sets) > 1 else None, 'detail': detail}))
