# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls counted by bursts against callgrind's: of the twenty hottest call edges of a program, the share whose calls are estimated
within 10 %. Relative counts, as accuracy-edges has them: both sides add up to the same over all calls within the program. A call
that bursts never saw is off. An edge with less than a thousandth of all calls is none of the hottest: json has only 13 others. Edges within the program's own image: stripped libraries have other names there and here.

Each program does rounds of its small workload in one process under `record --bursts`, twice: for some 30 s with `--budget 3%`,
and for some 60 s as docs/frequencies.md tells who wants calls within 10 %, `-F 200 --burst-rate 60`. The value is of the
second; both are printed and in the detail. callgrind counts one round of the same binary and input. CS_CALLS_PROGRAMS
changes the programs, CS_CALLS_SECONDS the length of both, CS_CALLS_RECORD how it is recorded, then once: "--budget 10%".
A rate of bursts that costs more than a budget leaves one sample a second, and the time of phases is known by samples.

Where all edges of one phase of a program are off by one factor, and those of another by another, it is the phases' rates that
are off: how that comes is in docs/lab/bursts.md. The detail says how far: `phases apart` is the highest factor over the lowest, `beyond
two errors` how many edges are further off than twice what the report says of itself."""
import collections, json, math, os, re, statistics, subprocess, sys

from libaccuracy import FOLDER, TOOL, has_truth, make_truths, program, say, truth_path

PROGRAMS = os.environ.get('CS_CALLS_PROGRAMS', '').split() or ['bzip2', 'lua5.4', 'sqlite3', 'json', 'ray']
WAYS = [[os.environ['CS_CALLS_RECORD'], 60]] if 'CS_CALLS_RECORD' in os.environ else [['--budget 3%', 30], ['-F 200 --burst-rate 60', 60]]
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


def one(name, how, seconds):
    binary, _ = program(name, 'small')
    image, truth = os.path.basename(binary), truth_path(name, 'small')
    store = f'{FOLDER}/{name}.calls.store'
    subprocess.run(['rm', '-rf', store], check=True)
    done = subprocess.run([TOOL, 'record', '-v', '--bursts', *how.split(), '-o', store, '--',
                           'bash', '-c', program(name, 'small', max(2, int(seconds / 0.1)))[1] + ' >/dev/null'], capture_output=True, text=True)
    if done.returncode or not os.path.exists(store):
        sys.exit(f'{name}: {done.stderr}')
    said = done.stderr.splitlines() + done.stdout.splitlines()
    say(f'{name}, {how}: ' + '; '.join(l for l in said if 'bursts,' in l or 'ran ' in l))
    want, spelled = true_calls(truth, image), names_in(truth, image)
    by_caller = collections.Counter() # callers with so few calls have no hot edge, and each costs a report
    for pair, n in want.items():
        by_caller[pair[0]] += n
    want = collections.Counter({pair: n for pair, n in want.items() if by_caller[pair[0]] * 10000 >= sum(by_caller.values())})
    got, errors = our_calls(store, image, {spelled[a] for a, b in want})
    whole_want, whole_got = sum(want.values()), sum(n for pair, n in got.items() if pair in want)
    rows = []
    for pair, n in want.most_common(EDGES):
        if n * 1000 < whole_want:
            break
        ratio = got[pair] / whole_got * whole_want / n if whole_got else 0
        rows.append((abs(ratio - 1) <= 0.10, ratio, n, pair, errors.get(pair)))
    far = [abs(math.log(r[1])) / (r[4] / 100) if r[1] > 0 and r[4] else None for r in rows]
    for (good, ratio, n, pair, error), errors_off in zip(rows, far):
        beyond = ' BEYOND TWO ERRORS' if errors_off and errors_off > 2 else ''
        say(f'  {"ok " if good else "OFF"} {ratio:6.2f} ± {error or 0:5.1f} %  {n:12,}  {pair[0][:50]} -> {pair[1][:50]}{beyond}')
    found = [r[1] for r in rows if r[1] > 0]
    sure = [r for r in rows if r[4] is not None and r[4] <= 10]
    return {'within': 100 * sum(r[0] for r in rows) / len(rows), 'edges': len(rows), 'seen': sum(r[1] > 0 for r in rows),
            'bursts': next((int(l.split()[0].replace(',', '')) for l in said if re.match(r'[\d,]+ bursts,', l)), 0),
            'phases apart': round(max(found) / min(found), 2) if found else None,
            'beyond two errors': sum(f is not None and f > 2 for f in far),
            'median error said, %': round(statistics.median([r[4] for r in rows if r[4] is not None] or [0])),
            'off where the error said is at most 10 %': sum(not r[0] for r in sure), 'of': len(sure)}


def main():
    quick = '--quick' in sys.argv
    names = PROGRAMS[1:2] if quick else PROGRAMS
    make_truths(names, 'small', 120)
    there = [n for n in names if program(n, 'small') and has_truth(program(n, 'small'), truth_path(n, 'small'))]
    for name in sorted(set(names) - set(there)):
        say(f'{name}: left out, its truth is not made')
    detail, value = {}, None
    for how, seconds in WAYS:
        seconds = int(os.environ.get('CS_CALLS_SECONDS', 5 if quick else seconds))
        results = {name: one(name, how, seconds) for name in there}
        seen = sum(r['seen'] for r in results.values())
        value = round(statistics.mean(r['within'] for r in results.values()), 1) if results else None
        beyond = sum(r['beyond two errors'] for r in results.values())
        within, edges = sum(r['within'] * r['edges'] / 100 for r in results.values()), sum(r['edges'] for r in results.values())
        say(f'{how}, {seconds} s: {value} % within 10 %, the mean of programs; {within:.0f} of all {edges} edges; {beyond} of {seen} edges seen are beyond two of the errors that the report says')
        detail[how] = {'within': value, 'edges within': round(within), 'edges': edges, 'beyond two errors': beyond, 'of': seen, 'programs': results}
    print(json.dumps({'name': 'calls-truth', 'value': value, 'unit': '% within 10 %', 'target': 90, 'detail': detail}))


main()
