#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much a result moves when a constant that measurement chose (CS_MODEL_*) is off by a quarter.

usage: bench/run sensitivity [--only PART-OF-A-NAME] [--out FILE]

With --only the rest of FILE stays as it is.

For each constant the program is built with 0.75 and 1.25 of its value and judges the same recordings again:
  accuracy        recordings of bench/accuracy-* with bursts: the estimate that reports use
  accuracy-dcpi   the same recordings: DCPI's rule
  accuracy-paths  recordings with CS_ACCURACY_PATHS=1: paths interpreted from samples
  culprits        recordings of bench/culprit-kernels: first causes
  guilty          recordings of bench/guilty-line: the line that is named
  recording: ...  not run here: it takes new recordings, by the command that is named
Recordings are those that the bench keeps under $BUILD/accuracy, $BUILD/bench/kernels and $BUILD/bench/guilty; they are not made here. The same recording
gives the same answer, so that there is no noise: what reads 0.0 moves less than 0.05."""
import concurrent.futures, glob, json, os, re, shutil, statistics, subprocess, sys, textwrap

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, 'bench')
import lib_culprits
import lib_guilty
from libaccuracy import BUILD, FOLDER, truth_path

OWN = f'{BUILD}/sensitivity'
TOOL = f'{OWN}/cyclescope'
MODEL = re.compile(r'(?:/\*((?:(?!\*/).)*?)\*/\s*)?#ifndef (CS_MODEL_\w+)\n#define \2 +([^\n]*?)\s*(?:/\*.*?\*/)?\n#endif', re.S)
CELL = re.compile(r'\b(unit|source|shows): *(.*?)(?=; *(?:unit|source|shows):|$)')


def paragraph(text):
    return textwrap.fill(text, 108, break_long_words=False, break_on_hyphens=False) + '\n'


def argument(name, fallback):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else fallback


def sources(suffixes):
    listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', *['*' + s for s in suffixes]],
                            capture_output=True, text=True, check=True).stdout
    return [f for f in listed.split() if os.path.exists(f)]


def models():
    """A dict a constant, in the order of files and lines."""
    for path in sources(['.c', '.h']):
        for note, name, value in MODEL.findall(open(path).read()):
            note = ' '.join(note.replace('*', ' ').split())
            cells = dict(CELL.findall(note))
            yield {'name': name, 'value': value.strip('() '), 'file': path, 'what': re.split(r'; *(?:unit|source|shows):', note)[0],
                   **{k: cells.get(k, '').strip(' ;') for k in ('unit', 'source', 'shows')}}


def number(value):
    try:
        return float(eval(re.sub(r'(?<=[0-9])[uUlLfF]+\b', '', value), {'__builtins__': {}}))
    except Exception:
        return None


def scaled(model, factor):
    """Text of the value times the factor; whole numbers stay whole, and move by one at least."""
    value = number(model['value'])
    if re.fullmatch(r'[0-9]+[uUlL]*', model['value']):
        moved = round(value * factor)
        return str(moved if moved != value else int(value) + (1 if factor > 1 else -1))
    return f'{value * factor:.6g}'


class Builder:
    """One build directory; what a constant is in is compiled again for each value, and no more."""
    def __init__(self):
        if not os.path.exists(TOOL):
            shutil.copytree(BUILD, OWN, ignore=shutil.ignore_patterns('sensitivity', 'accuracy', 'programs', 'bench', 'tests', '*san'), symlinks=True)
        self.dirty = set()

    def build(self, name=None, value=''):
        users = {f for f in sources(['.c']) if name and re.search(rf'\b{name}\b', open(f).read())}
        flags = f' -D{name}={value}' if value else f' -D{name}' if name else ''
        again = [w for f in sorted(users | self.dirty) for w in ('-W', f)]
        subprocess.run(['make', '-s', f'-j{os.cpu_count()}', f'BUILD={OWN}', 'CS_DEPS_DONE=1', f'CC={os.environ.get("CC", "ccache gcc")}{flags}',
                        *again, TOOL], check=True, stdout=subprocess.DEVNULL)
        self.dirty = users


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def accuracy_stores(paths):
    for store in sorted(glob.glob(f'{FOLDER}/*.store')):
        name, size, *rest = os.path.basename(store).split('.')[:-1] if 'lua5.4' not in store else \
            ['lua5.4', *os.path.basename(store).split('.')[2:-1]]
        if ('paths' in rest) == paths and os.path.exists(truth_path(name, size)):
            yield store, truth_path(name, size)


def accuracy_of(pair):
    store, truth = pair
    if os.path.exists(store + '/.flows'):
        os.remove(store + '/.flows') # solved by another value
    return run(TOOL, 'accuracy', '--json', store, truth)


def accuracy(method, paths=False):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [r for r in pool.map(accuracy_of, accuracy_stores(paths)) if r]
    if not found:
        return None
    rows = [next(m for m in r['methods'] if m['method'] == method) for r in found]
    figures = {f'within {k} %': statistics.mean(r[f'within_{k}'] for r in rows) for k in (5, 10, 15)}
    figures['edges within 10 %'] = statistics.mean(r['edges_10'] for r in rows)
    figures['program within 10 %'] = statistics.mean(r['program_10'] for r in rows)
    if method != 'dcpi': # of the estimate that reports use
        for level, column, what in (('low', 'of_bad', 'of the bad said low'), ('high', 'share', 'said high'), ('high', 'within_10', 'of high within 10 %')):
            values = [c[column] for r in found for c in r['confidence'] if c['confidence'] == level and c[column] is not None]
            figures[what] = statistics.mean(values) if values else 0
    return figures


def culprit_of(kernel):
    name, procedure, first, impossible, _ = kernel
    store = f'{lib_culprits.FOLDER}/{name}.store'
    if not os.path.exists(store):
        return None
    if os.path.exists(store + '/.flows'):
        os.remove(store + '/.flows')
    result = run(TOOL, 'calc', '--store', store, '--json', procedure)
    if not result:
        return None
    summary = result['summary']
    return {'right': 100.0 * (summary['first'] in first), 'share of the first cause': summary['first_share'],
            'unexplained': summary['unexplained'],
            'share of impossible causes': sum(summary['dynamic'][c]['share'] + summary['static'][c] for c in impossible if c in summary['dynamic'])}


def culprits():
    kernels = [k for file in ('kernels.txt', 'held-out.txt') for k in lib_culprits.table(file)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [r for r in pool.map(culprit_of, kernels) if r]
    return {k: statistics.mean(r[k] for r in found) for k in found[0]} if found else None


RESULTS = {'accuracy': lambda: accuracy('bursts'), 'accuracy-dcpi': lambda: accuracy('dcpi'),
           'accuracy-paths': lambda: accuracy('paths', True), 'culprits': culprits,
           'guilty': lambda: lib_guilty.figures(TOOL, lib_guilty.JUDGED)}


RECORDINGS = {'accuracy': lambda: len(list(accuracy_stores(False))), 'accuracy-paths': lambda: len(list(accuracy_stores(True))),
              'culprits': lambda: len(glob.glob(f'{lib_culprits.FOLDER}/*.store')),
              'guilty': lambda: sum(os.path.exists(f'{lib_guilty.FOLDER}/{s}.truth') for s in lib_guilty.JUDGED)}
RECORDINGS['accuracy-dcpi'] = RECORDINGS['accuracy']


def told(base, moved):
    """The figures that move most, in points."""
    if not base or not moved:
        return 'no recordings'
    off = sorted(((moved[k] - base[k], k) for k in base), key=lambda x: -abs(x[0]))
    some = [f'{d:+.1f} {k}' for d, k in off[:2] if abs(d) >= 0.05]
    return ', '.join(some) or '0.0'


TABLE = '| constant | value | unit | what it is | source | -25 % | +25 % | shown by |\n|---|---|---|---|---|---|---|---|\n'


def row_of(line):
    return '| ' + ' | '.join(c.replace('|', '\\|') for c in line[:-1]) + ' |\n'


def beside(text, judged, rows):
    """What a table has, with these figures and rows instead of its own."""
    first = {m.group(1): paragraph(' '.join(m.group(0).split())) for m in re.finditer(r'^\* `([\w-]+)` as it is[^:]*:.*\n(?:[^*#\n].*\n)*', text, re.M)}
    parts = dict(re.findall(r'^## (\S+)\n\|.*\n\|.*\n((?:\|.*\n)*)', text, re.M))
    old = {path: part.splitlines(keepends=True) for path, part in parts.items()}
    for path, new in rows.items():
        names = {row.split(' | ')[0] for row in new}
        old[path] = [row for row in old.get(path, []) if row.split(' | ')[0] not in names] + new
    return dict(first, **judged), old


def main():
    only, out = argument('--only', ''), argument('--out', 'docs/lab/sensitivity.md')
    chosen = [m for m in models() if only in m['name']]
    results = {k: f for k, f in RESULTS.items() if k in {m['shows'] for m in chosen}}
    builder, lines = Builder(), []
    builder.build()
    base = {k: f() for k, f in results.items()}
    for name, figures in base.items():
        print(name, figures and {k: round(v, 1) for k, v in figures.items()}, file=sys.stderr, flush=True)
    for m in chosen:
        cells = ['', '']
        if m['shows'] in results and number(m['value']) is not None and base[m['shows']]:
            for i, factor in enumerate((0.75, 1.25)):
                builder.build(m['name'], scaled(m, factor))
                cells[i] = told(base[m['shows']], results[m['shows']]())
        lines.append([m['name'].removeprefix('CS_MODEL_').lower(), m['value'], m['unit'], m['what'], m['source'], *cells, m['shows'], m['file']])
        print(' | '.join(lines[-1]), file=sys.stderr, flush=True)
    builder.build()
    os.makedirs(os.path.dirname(out) or '.', exist_ok=True)
    judged = {k: paragraph(f'* `{k}` as it is, {RECORDINGS[k]()} recordings: ' + ', '.join(f'{v:.1f} {what}' for what, v in figures.items())) for k, figures in base.items() if figures}
    rows = {path: [row_of(l) for l in lines if l[-1] == path] for path in dict.fromkeys(l[-1] for l in lines)}
    if only and os.path.exists(out):
        judged, rows = beside(open(out).read(), judged, rows)
    with open(out, 'w') as f:
        f.write('# How much a result moves when a constant is off by a quarter\n\n')
        f.write(paragraph(
            'Made by `bench/run sensitivity`; not edited by hand. Each `CS_MODEL_` constant of the code is built with 0.75 and 1.25 of its '
            'value, and the same recordings are judged again. Moves are in points (of 100), the two figures that move most, a mean over '
            'all recordings. The same recording gives the same answer: 0.0 is less than 0.05. `recording: COMMAND` takes new recordings, '
            'which this table does without. `guilty` is judged by programs on which nothing was chosen (`bench/run guilty-line`).') + '\n')
        f.write(''.join(judged.values()))
        for path in sorted(rows):
            f.write(f'\n## {path}\n{TABLE}' + ''.join(rows[path]))
    idle = [l[0] for l in lines if l[5:7] == ['0.0', '0.0']]
    print(json.dumps({'name': 'sensitivity', 'value': len(idle), 'unit': 'constants that move nothing', 'target': 0, 'noise': 0,
                      'detail': {'constants': len(lines), 'move nothing': idle}}))


if __name__ == '__main__':
    main()
