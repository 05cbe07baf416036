# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls counted by bursts against callgrind's: of the twenty hottest call edges of a program, the share whose calls are estimated
within 10 %. Relative counts, as accuracy-edges has them: both sides add up to the same over all calls within the program. A call
that bursts never saw is off. An edge with less than a thousandth of all calls is none of the hottest: json has only 13 others. Edges within the program's own image: stripped libraries have other names there and here.

Each program does rounds of its small workload in one process for some SECONDS under `record --bursts --budget 3%`; callgrind
counts one round of the same binary and input. CS_CALLS_SECONDS changes the length (30), CS_CALLS_PROGRAMS the programs,
CS_CALLS_RECORD how it is recorded (--budget 3%), as "-F 200 --burst-rate 60" where the machine is busy and the budget leaves few
bursts. A rate of bursts that costs more than a budget leaves one sample a second, and the time of phases is known by samples.

Where all edges of one phase of a program are off by one factor, and those of another by another, it is the phases' rates that
are off: how that comes is in docs/lab/bursts.md. The detail says how far: `phases apart` is the highest factor over the lowest, `beyond
two errors` how many edges are further off than twice what the report says of itself."""
import collections, json, math, os, re, statistics, subprocess, sys

from libaccuracy import FOLDER, TOOL, has_truth, make_truths, program, say, truth_path

PROGRAMS = os.environ.get('CS_CALLS_PROGRAMS', '').split() or ['bzip2', 'lua5.4', 'sqlite3', 'json', 'ray']
EDGES = 20


def plain(name):
    """Demanglers differ in blanks; callgrind marks what recurs and what the compiler cloned."""
    name = re.sub(r"'\d+$", '', name)
    name = re.sub(r'(\[clone )?(\.(isra|part|constprop|cold|lto_priv)\.?\d*)+\]?', '', name)
    return name.replace(' ', '')[:600]  # reports cut names at 1,023 bytes


def true_calls(path, image):
    """{(caller, callee): calls} within the image, of callgrind's file."""
    objects, functions, calls = {}, {}, collections.Counter()
    ob = fn = cob = cfn = None

    def named(table, text):
        number, name = re.match(r'\((\d+)\)(?: (.*))?', text).groups()
        if name is not None:
            table[number] = name
        return table[number]
    for line in open(path):
        if line.startswith('ob='):
            ob = named(objects, line[3:].rstrip('\n'))
        elif line.startswith('fn='):
            fn = named(functions, line[3:].rstrip('\n'))
        elif line.startswith('cob='):
            cob = named(objects, line[4:].rstrip('\n'))
        elif line.startswith('cfn='):
            cfn = named(functions, line[4:].rstrip('\n'))
        elif line.startswith('calls='):
            if os.path.basename(ob) == image and os.path.basename(cob or ob) == image:
                calls[plain(fn), plain(cfn)] += int(line[6:].split()[0])
            cob = None
    return calls


def our_calls(store, image, callers):
    """The same as `callees` says, of these callers."""
    calls, errors = collections.Counter(), {}
    for caller in sorted(callers):
        answer = subprocess.run([TOOL, 'callees', caller[:1023], '--no-inlines', '--json', '--store', store], capture_output=True, text=True)
        if answer.returncode:
            continue
        answer = json.loads(answer.stdout)
        for row in answer['rows']:
            if row['calls'] and os.path.basename(row['image'] or '') == image:
                pair = plain(answer['procedure']), plain(row['procedure'])
                calls[pair] += row['calls']
                errors[pair] = row['calls_error_percent']
    return calls, errors


def names_in(path, image):
    """callgrind's names as they are, by their plain form."""
    return {plain(n): re.sub(r"'\d+$", '', n) for n in re.findall(r'^c?fn=\(\d+\) (.*)$', open(path).read(), re.M)}


def one(name, seconds):
    binary, _ = program(name, 'small')
    image, truth = os.path.basename(binary), truth_path(name, 'small')
    store = f'{FOLDER}/{name}.calls.store'
    subprocess.run(['rm', '-rf', store], check=True)
    how = os.environ.get('CS_CALLS_RECORD', '--budget 3%').split()
    done = subprocess.run([TOOL, 'record', '--bursts', *how, '-o', store, '--',
                           'bash', '-c', program(name, 'small', max(2, int(seconds / 0.1)))[1] + ' >/dev/null'], capture_output=True, text=True)
    if done.returncode or not os.path.exists(store):
        sys.exit(f'{name}: {done.stderr}')
    say(f'{name}: ' + ' '.join(l for l in done.stderr.splitlines() + done.stdout.splitlines() if 'bursts,' in l))
    want, spelled = true_calls(truth, image), names_in(truth, image)
    got, errors = our_calls(store, image, {spelled[a] for a, b in want})
    whole_want, whole_got = sum(want.values()), sum(n for pair, n in got.items() if pair in want)
    rows = []
    for pair, n in want.most_common(EDGES):
        if n * 1000 < whole_want:
            break
        ratio = got[pair] / whole_got * whole_want / n if whole_got else 0
        rows.append((abs(ratio - 1) <= 0.10, ratio, n, pair, errors.get(pair)))
    for good, ratio, n, pair, error in rows:
        say(f'  {"ok " if good else "OFF"} {ratio:6.2f} ± {error or 0:5.1f} %  {n:12,}  {pair[0][:50]} -> {pair[1][:50]}')
    found = [r[1] for r in rows if r[1] > 0]
    sure = [r for r in rows if r[4] is not None and r[4] <= 10]
    return {'within': 100 * sum(r[0] for r in rows) / len(rows), 'edges': len(rows), 'seen': sum(r[1] > 0 for r in rows),
            'phases apart': round(max(found) / min(found), 2) if found else None,
            'beyond two errors': sum(r[1] > 0 and r[4] is not None and abs(math.log(r[1])) > 2 * r[4] / 100 for r in rows),
            'off where the error said is at most 10 %': sum(not r[0] for r in sure), 'of': len(sure)}


def main():
    quick = '--quick' in sys.argv
    names = PROGRAMS[1:2] if quick else PROGRAMS
    make_truths(names, 'small', 120)
    results = {}
    for name in names:
        if program(name, 'small') and has_truth(program(name, 'small'), truth_path(name, 'small')):
            results[name] = one(name, int(os.environ.get('CS_CALLS_SECONDS', 5 if quick else 30)))
        else:
            say(f'{name}: left out, its truth is not made')
    values = [r['within'] for r in results.values()]
    print(json.dumps({'name': 'calls-truth', 'value': round(statistics.mean(values), 1) if values else None, 'unit': '% within 10 %',
                      'target': 90, 'detail': results}))


main()
