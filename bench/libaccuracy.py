# SPDX-License-Identifier: GPL-2.0-or-later
"""Frequency estimates of real programs against callgrind's counts: shared by accuracy-*.py, which read one set of runs.

Each of the programs does rounds of its workload, in one process, for some SECONDS under `record --bursts --budget 3%`, all
evidence from that run; before and after it runs alone, and the difference of the times of a round is the measured loss. The truth is callgrind's
counts of one round of the same binary and input, kept under $BUILD/accuracy/truth: they take minutes to make, so
a row makes them only as long as its time allows and leaves the rest out, saying so; `bench/_accuracy_truth.py` makes all.

CS_ACCURACY_SECONDS changes the length (60 for the issue's figures), CS_ACCURACY_SETS the number of runs (the median
counts, the range is the noise), CS_ACCURACY_PROGRAMS the programs, CS_BURST_RATE fixes the rate of bursts instead of the budget,
CS_ACCURACY_PATHS=1 records paths interpreted from samples in place of bursts, CS_ACCURACY_DEFAULT=1 with no option at all.
"""
import json, os, shlex, statistics, subprocess, sys, tempfile, time

BUILD = os.environ.get('BUILD', 'build')
TOOL = os.path.abspath(os.environ.get('CYCLESCOPE', BUILD + '/cyclescope'))
FOLDER = f'{BUILD}/accuracy'
SOURCES = ['bzip2', 'zstd', 'lua5.4', 'sqlite3', 'mawk']                              # bench/programs
OWN = {'json': ('json.cc', 20, 6), 'ray': ('ray.cc', 26, 8), 'sort': ('sort.cc', 20, 6), 'fft': ('fft.c', 400, 120)}  # bench/workloads
PROGRAMS = SOURCES + list(OWN) + ['gzip']                                              # gzip: Debian's, stripped
UNATTENDED = 150                                                                        # seconds of a row
DEFAULT = bool(os.environ.get('CS_ACCURACY_DEFAULT'))
PATHS = '.paths' if os.environ.get('CS_ACCURACY_PATHS') else '.default' if DEFAULT else ''
METHODS = ['equal', 'naive', 'average', 'dcpi', 'paths', 'raw bursts', 'untimed', 'bursts', 'fitted', 'redrawn']


def say(text):
    print(text, file=sys.stderr, flush=True)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def up_to_date(path, *sources):
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(s) for s in sources)


def own(name):
    source = f'bench/workloads/{OWN[name][0]}'
    binary = f'{FOLDER}/programs/{name}'
    if not up_to_date(binary, source):
        os.makedirs(f'{FOLDER}/programs', exist_ok=True)
        compiler = ['g++', '-std=gnu++17'] if source.endswith('.cc') else ['gcc', '-std=gnu11']
        subprocess.run([*compiler, '-O2', '-g', '-o', binary + '.new', source, '-lm'], check=True)
        os.rename(binary + '.new', binary)
    return os.path.abspath(binary)


def program(name, size, rounds=1):
    """(binary, command line for a shell) of so many rounds of the workload in one process; None: not on this machine."""
    if name in OWN:
        binary = own(name)
        return binary, f'{shlex.quote(binary)} {OWN[name][1 if size == "full" else 2] * rounds}'
    if name in SOURCES:
        binary = output('bench/programs', 'build', name, 'plain')
        words = shlex.split(output('bench/programs', 'command', name, 'plain', size))
        if name == 'lua5.4':
            script = f'for i = 1, {rounds} do arg = {{[0] = "", "{size}"}} dofile("{words[1]}") end'
            words = [words[0], '-e', script] if rounds > 1 else words
        elif name == 'sqlite3':
            words += ['.open :memory:', words[-1]] * (rounds - 1)
        else:
            words += [words[-1]] * (rounds - 1)
        return binary, shlex.join(words)
    binary = '/usr/bin/gzip'
    if not os.path.exists(binary):
        return None
    output('bench/programs', 'build', 'bzip2', 'plain')
    text = shlex.split(output('bench/programs', 'command', 'bzip2', 'plain', size))[-1]
    return binary, shlex.join([binary, '-9', '-c', *[text] * rounds])


def truth_path(name, size):
    return f'{FOLDER}/truth/{name}.{size}.callgrind'


def has_truth(found, path):
    """Made of this binary and of what its command line names of ours."""
    return up_to_date(path, found[0], *[w for w in shlex.split(found[1]) if 'bench/workloads/' in w and os.path.exists(w)])


def make_truths(names, size, seconds):
    """Two at a time, the most important first, until the time is over."""
    os.makedirs(f'{FOLDER}/truth', exist_ok=True)
    until, running, left = time.time() + seconds, {}, list(names)
    while left or running:
        while left and len(running) < 2 and time.time() < until:
            name = left.pop(0)
            found = program(name, size)
            path = truth_path(name, size)
            if found and not has_truth(found, path):
                say(f'callgrind: {name}')
                running[name] = subprocess.Popen(
                    f'exec valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes '
                    f'--callgrind-out-file={path}.new {found[1]} >/dev/null 2>{path}.log', shell=True)
        for name, process in list(running.items()):
            if process.poll() is None and time.time() > until:
                process.kill()
                process.wait()
                del running[name]
                say(f'callgrind: {name} would take longer than there is time')
            elif process.poll() is not None:
                path = truth_path(name, size)
                if process.returncode == 0:
                    os.rename(path + '.new', path)
                del running[name]
        if time.time() > until:
            left.clear()
        time.sleep(0.2)


def one_set(name, size, seconds, number):
    truth = truth_path(name, size)
    store = f'{FOLDER}/{name}.{size}.{number}{PATHS}.store'
    subprocess.run(['rm', '-rf', store], check=True)
    rate = os.environ.get('CS_BURST_RATE')
    evidence = ['--no-bursts', '--path-rate', '997'] if PATHS == '.paths' else [] if DEFAULT else ['--bursts', '--budget', '3%', *(['--burst-rate', rate] if rate else [])]
    pace = 0.1 if size != 'full' else 0.33 if name in OWN else 1                      # seconds of a round, about
    alone = max(int(seconds / 12 / pace), 2)
    together = max(int(seconds / pace), 2)
    with tempfile.TemporaryDirectory() as folder:
        def timed(rounds, *before):
            times = folder + '/times'
            done = subprocess.run([*before, 'bash', '-c', f'b=$EPOCHREALTIME; ( {program(name, size, rounds)[1]} ) >/dev/null; '
                                   f'echo $b $EPOCHREALTIME >{times}'], capture_output=True, text=True)
            with open(times) as line:
                begin, end = map(float, line.read().split())
            return (end - begin) / rounds, done.stderr
        plain = [timed(alone)[0]]
        recorded, log = timed(together, TOOL, 'record', '-v', *evidence, '-o', store, '--')
        plain.append(timed(alone)[0])
        loss = 100 * (recorded / statistics.mean(plain) - 1)
    say(f'{name}: loss {loss:.1f} %; ' + ' '.join(l for l in log.splitlines() if 'bursts,' in l or 'paths of' in l))
    result = subprocess.run([TOOL, 'accuracy', '--json', store, truth], capture_output=True, text=True)
    if result.returncode:
        say(result.stderr.strip())
        return None
    answer = json.loads(result.stdout)
    answer['loss'] = loss
    answer['rounds'] = together
    return answer


def measure(argv):
    quick = '--quick' in argv
    size = 'small' if quick else 'full'
    seconds = int(os.environ.get('CS_ACCURACY_SECONDS', 4 if quick else 8))
    sets = int(os.environ.get('CS_ACCURACY_SETS', 1))
    names = os.environ.get('CS_ACCURACY_PROGRAMS', '').split() or (['lua5.4', 'json'] if quick else PROGRAMS)
    which = 'all' if names == PROGRAMS else '+'.join(names)
    kept = f'{FOLDER}/results.{size}.{seconds}.{sets}.{which}{PATHS}.json'
    if os.path.exists(kept) and time.time() - os.path.getmtime(kept) < 3600 and up_to_date(kept, TOOL):
        return json.load(open(kept))
    os.makedirs(FOLDER, exist_ok=True)
    make_truths(names, size, 10 if quick else 60)
    there = [n for n in names if program(n, size) and has_truth(program(n, size), truth_path(n, size))]
    for name in sorted(set(names) - set(there)):
        say(f'{name}: left out, its truth is not made yet (bench/_accuracy_truth.py)')
    results = {}
    for k in range(sets): # one after the other: what the host does in an hour is in all programs
        for name in there:
            run = one_set(name, size, seconds, k)
            if run:
                results.setdefault(name, []).append(run)
    json.dump(results, open(kept, 'w'))
    return results


def method(result, name):
    return next((m for m in result['methods'] if m['method'] == name), None)


def table(results):
    """Means over programs and runs, within 5/10/15 % (instructions, edges), a row a method."""
    rows = {}
    for m in METHODS:
        found = [r for r in (method(r, m) for runs in results.values() for r in runs) if r]
        if found:
            rows[m] = '; '.join('/'.join(f"{statistics.mean(r[f'{what}_{k}'] for r in found):.0f}" for k in (5, 10, 15))
                                for what in ('within', 'edges'))
    return rows


def causes(results):
    """Samples off by more than 5/10/15 %, by what it comes from: means over programs and runs."""
    found = [{c['cause']: c for c in r['causes']} for runs in results.values() for r in runs]
    return {name: '/'.join(f"{statistics.mean(f[name][f'over_{k}'] for f in found):.0f}" for k in (5, 10, 15))
            for name in (found[0] if found else [])}


def report(name, unit, target, figure, argv):
    """figure(result) → number of one run of one program, or None."""
    results = measure(argv)
    by_program, sets = {}, []
    for program_name, runs in results.items():
        values = [v for v in map(figure, runs) if v is not None]
        if values:
            by_program[program_name] = values
    for k in range(max((len(v) for v in by_program.values()), default=0)):
        sets.append(statistics.mean(v[k] for v in by_program.values() if k < len(v)))
    losses = [r['loss'] for runs in results.values() for r in runs]
    detail = {'programs': {p: [round(x, 1) for x in v] for p, v in by_program.items()},
              'bursts': {p: [r['bursts'] for r in runs] for p, runs in results.items()},
              'measured loss, %': {'median': round(statistics.median(losses), 1) if losses else None,
                                   'programs': {p: [round(r['loss'], 1) for r in runs] for p, runs in results.items()}},
              'mean by method, within 5/10/15 %: instructions; edges': table(results),
              'off by more than 5/10/15 %, by cause': causes(results),
              'executions by timed intervals over true ones': {
                  p: [round(r['times_the_truth'] / r['rounds'], 2) for r in runs if r.get('times_the_truth')]
                  for p, runs in results.items()}}
    for name_of, row in detail['mean by method, within 5/10/15 %: instructions; edges'].items():
        print(f'{name_of:11} instructions; edges within 5/10/15 %: {row}')
    print(json.dumps({'name': name, 'value': round(statistics.median(sets), 1) if sets else None, 'unit': unit, 'target': target,
                      'noise': round(max(sets) - min(sets), 1) if len(sets) > 1 else None, 'detail': detail}))


def report_goals(name, unit, target, argv):
    """Ten seconds: medians over the runs of each program, their mean over programs, and the worst program."""
    results = measure(argv)
    goals = {'within_5': 80, 'within_10': 90, 'within_15': 95, 'edges_10': 85}
    of = {p: {g: [round(method(r, 'bursts')[g], 1) for r in runs if method(r, 'bursts')] for g in goals} for p, runs in results.items()}
    of = {p: v for p, v in of.items() if v['within_10']}
    middle = {p: {g: statistics.median(v[g]) for g in goals} for p, v in of.items()}
    mean = {g: round(statistics.mean(m[g] for m in middle.values()), 1) if middle else None for g in goals}
    worst = min(middle, key=lambda p: middle[p]['within_10'], default=None)
    spreads = [max(v['within_10']) - min(v['within_10']) for v in of.values() if len(v['within_10']) > 1]
    detail = {'goals': {**goals, 'worst within_10': 75}, 'means of medians': mean,
              'worst program': [worst, middle[worst]['within_10']] if worst else None, 'programs': of,
              'bursts': {p: [r['bursts'] for r in runs] for p, runs in results.items()},
              'off by more than 5/10/15 %, by cause': causes(results),
              'mean by method, within 5/10/15 %: instructions; edges': table(results)}
    print(json.dumps({'name': name, 'value': mean['within_10'], 'unit': unit, 'target': target,
                      'noise': round(statistics.median(spreads), 1) if spreads else None, 'detail': detail}))
