#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What two mechanisms bring: the same recordings judged with and without them.

snapshots  intervals of native run that were timed by register snapshots (sampler/burst/replayer/trace/match_registers.c): the estimate with them,
           without them (a build with CS_ABLATE_SNAPSHOTS, by polled words alone), and without any interval ("untimed").
           Recordings of bench/accuracy-*.
paths      paths interpreted from samples (analysis/interpret) against what the same samples give without: each rule, and the best of
           them by program. Recordings with CS_ACCURACY_PATHS=1.

Rule: a mechanism stays if it brings at least one point within 10 % (of instructions, of edges, or with one scale for the program: the three
claims of bench/claims.tsv), median of five sets, or makes a result possible that there is none of otherwise.

Recordings are those that the bench keeps under $BUILD/accuracy (CS_ACCURACY_SETS=5); they are not made here."""
import collections, concurrent.futures, json, os, statistics, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _sensitivity import Builder, accuracy_of, accuracy_stores

KEYS = ['within_5', 'within_10', 'within_15', 'edges_5', 'edges_10', 'edges_15', 'program_5', 'program_10', 'program_15']
SIMPLE = ['equal', 'naive', 'average', 'dcpi']


def by_set(paths):
    """{set: {program: methods}}"""
    pairs = list(accuracy_stores(paths))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(accuracy_of, pairs))
    sets = collections.defaultdict(dict)
    for (store, _), answer in zip(pairs, answers):
        name, number = os.path.basename(store).removesuffix('.store').removesuffix('.paths').split('.full.')
        if answer:
            sets[number][name] = {m['method']: m for m in answer['methods']}
    return sets


def row(programs, method):
    return {k: statistics.mean(m[method][k] for m in programs.values()) for k in KEYS}



def show(title, sets):
    """Median over sets of each figure."""
    print(f'{title:34}' + '; '.join('/'.join(f'{statistics.median(s[k] for s in sets):.1f}' for k in KEYS[i:i + 3]) for i in (0, 3, 6)))


def brings(name, with_it, without):
    """{figure: median of what it brings}"""
    gains = {k: [with_it[n][k] - without[n][k] for n in with_it] for k in ('within_10', 'edges_10', 'program_10')}
    for k, values in gains.items():
        print(f'  {name} brings {statistics.median(values):+.1f} to {k} ({", ".join(f"{v:+.1f}" for v in values)})')
    medians = {k: round(statistics.median(v), 1) for k, v in gains.items()}
    print(f'  {name}: ' + ('stays' if max(medians.values()) >= 1 else 'goes'))
    return medians


def main():
    builder, found = Builder(), {}
    builder.build()
    full, samples = by_set(False), by_set(True)
    builder.build('CS_ABLATE_SNAPSHOTS')
    ablated = by_set(False)
    builder.build()
    print('median of sets, within 5/10/15 %: instructions; edges; one scale for the program')
    most = max((len(s) for s in full.values()), default=0)
    names = [n for n in sorted(full) if len(full[n]) == most == len(ablated.get(n, {}))]
    if names:
        print(f'{len(names)} sets of {most} programs with bursts')
        with_it, without = ({n: row(s[n], 'bursts') for n in names} for s in (full, ablated))
        show('polled words and snapshots', with_it.values())
        show('polled words alone', without.values())
        show('untimed', [row(full[n], 'untimed') for n in names])
        found['snapshots'] = brings('snapshots', with_it, without)
    most = max((len(s) for s in samples.values()), default=0)
    names = [n for n in sorted(samples) if len(samples[n]) == most]
    if names:
        print(f'{len(names)} sets of {most} programs with paths')
        with_it = {n: row(samples[n], 'paths') for n in names}
        show('paths from samples', with_it.values())
        for method in SIMPLE:
            show(method, [row(samples[n], method) for n in names])
        without = {n: {k: max(row(samples[n], s)[k] for s in SIMPLE) for k in KEYS} for n in names}
        show('the best of these, each figure', without.values())
        found['paths'] = brings('paths', with_it, without)
    print(json.dumps({'name': 'ablation', 'value': min((max(f.values()) for f in found.values()), default=None), 'unit': 'points within 10 %', 'target': 1,
                      'noise': None, 'detail': found}))


main()
