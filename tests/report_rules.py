#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What no report may print, whatever the store: shares outside 0 to 100, sums that don't add up, bounds that don't hold, fewer
cycles than the core needs, a cause where nothing was sampled, "-0.0", "1 bursts". Runs the reports of each store and prints a
line for each statement that can't be true.

Usage: report_rules.py CYCLESCOPE STORE...     exit 1 when there was one"""
import collections, html, json, math, os, re, shlex, subprocess, sys, tempfile

WIDTH = 8  # instructions that no x86-64 or AArch64 core of today retires more of in a cycle, fused ones apart
WIDTHS = {'znver3': 6, 'znver2': 6, 'znver4': 6, 'haswell': 4, 'skylake': 6, 'icelake': 6}  # operations dispatched in a cycle, by the vendors' manuals
PROCEDURES = int(os.environ.get('CS_PROCEDURES', 4))  # of each store that calc, list, edges and cfg are asked about
MAY_EXCEED = re.compile(r'ratio|change|times|error|least|deviation|period|until|of_it_to')  # keys of no share
UNITS = r'(?:bursts|samples|functions|edges|instructions|blocks|rows|images|epochs|threads|intervals|lines|triggers|paths|returns|runs|processes|branches|values|counters|stores)'


class Wrong(list):
    def __init__(self, where):
        super().__init__()
        self.where = where

    def __call__(self, condition, *what):
        if not condition:
            self.append(f'{self.where}: ' + ' '.join(str(w) for w in what))


def numbers(value, key=''):
    """(key, number) of all numbers in a document, with the key that they stand under."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from numbers(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from numbers(v, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield key, value


def check_numbers(wrong, document):
    for key, n in numbers({k: v for k, v in document.items() if k != 'instructions'} if isinstance(document, dict) else document):
        wrong(math.isfinite(n), f'"{key}" is {n}')
        if ('percent' in key or key in ('share', 'first_share')) and not MAY_EXCEED.search(key):
            wrong(-1e-9 <= n <= 100 + 1e-6, f'"{key}" is {n} %')
        wrong(not (isinstance(n, float) and n == 0 and math.copysign(1, n) < 0), f'"{key}" is -0')


def check_text(wrong, text):
    for line in text.splitlines():
        wrong(not re.search(r'(?<![\w.])-0(\.0+)?(?![\w.,:])', line), 'minus nothing:', line.strip())
        wrong(not re.search(r'(?<![\w.])-?(nan|inf)(?![\w])', line), 'no number:', line.strip())
        for n in re.findall(r'(?<![\w.])(\d+(?:\.\d+)?) ?%(?![a-z(])', line):
            if 'budget' not in line:
                wrong(float(n) <= 100.05, 'more than all:', line.strip())
        if re.search(rf'(?<![\w.,/-])1 {UNITS}\b(?! of|:)', line):
            wrong(False, 'one of many:', line.strip())


def check_figure_4(wrong, text):
    """The table of causes as people read it: its subtotals are what stands above them."""
    rows = {name.strip(): float(n) for name, n in re.findall(r'^(\S[^%\n]*?)\s+(-?[0-9.]+) %$', text, re.M)}
    if 'Total tallied' not in rows:
        return
    wrong(abs(rows['Total tallied'] - 100) < 0.11, 'tallied:', rows['Total tallied'])
    wrong(abs(rows['Subtotal dynamic'] + rows['Subtotal static'] - rows['Total stall']) < 0.16, 'stalls do not add up:', rows)
    wrong(rows['Unexplained stall'] <= rows['Subtotal dynamic'] + 0.06, 'more unexplained than stalled:', rows)
    wrong(abs(rows.get('Net sampling error', 0)) < 0.11, 'sampling error:', rows)
    best = re.search(r'Without dynamic stalls: (\d+) of (\d+) samples?', re.sub(r'(?<=\d),(?=\d{3})', '', text))
    wrong(not best or int(best[1]) <= int(best[2]), 'best case beyond all:', best and best[0])


def check_listing(wrong, text):
    """calc's blocks as people read them."""
    for best, n, actual, words in re.findall(r'best case ([0-9.]+) cycles / (\d+) instructions? = \S+ CPI, actual (\S+) / \d+ = \S+ CPI(.*)', text):
        wrong(float(actual) >= 0.99 * float(best) - 0.11 or 'faster than the model' in words, f'{n} instructions took {actual} cycles, at best {best}')
    causes = collections.defaultdict(set)
    for letter, cause in re.findall(r'^ {3}\S+ .* (\S) = (.+?)\?? at [0-9a-f]+, [0-9.]+ to', text, re.M):
        causes[letter].add(cause)
    wrong(all(len(c) == 1 for c in causes.values()), 'one letter for two causes:', dict(causes))


def check_next(wrong, tool, text):
    """What a report says to type next works on that store."""
    for line in re.findall(r'^(?:next:|     ) (cyclescope .*?)(?: {2,}.*)?$', text, re.M):
        words = shlex.split(line)[1:]
        with tempfile.TemporaryDirectory() as work: # a page goes there, not where we are
            code, out, errors = run([tool, *words, *(['--html', os.path.join(work, 'page.html')] if words[0] == 'report' else [])])
        wrong(code == 0 and out.strip(), 'advises', line, 'which says', (errors + out)[-200:])


def check_summary(wrong, s):
    dynamic = s['dynamic']
    rows = [d['share'] for d in dynamic.values()] + list(s['static'].values())
    rows += [s['unexplained'], s['execution'], s['no_frequency']]
    wrong(not s['samples'] or abs(sum(rows) - 100) < 0.1, f'rows add up to {sum(rows):.2f} %')
    for cause, d in dynamic.items():
        wrong(-1e-6 <= d['low'] <= d['share'] + 1e-6, f'{cause}: low {d["low"]:.2f} above share {d["share"]:.2f}')
        wrong(d['share'] <= d['high'] + 1e-6, f'{cause}: share {d["share"]:.2f} above high {d["high"]:.2f}')
        wrong(d['high'] <= 100 + 1e-6, f'{cause}: high is {d["high"]:.2f} %')
    for cause, share in s['static'].items():
        wrong(-1e-6 <= share <= 100 + 1e-6, f'static {cause} is {share:.2f} %')
    for key in ('unexplained', 'execution', 'no_frequency', 'first_share'):
        wrong(-1e-6 <= s[key] <= 100 + 1e-6, f'{key} is {s[key]:.2f} %')
    if s['actual_cpi'] and s['no_frequency'] < 1:
        best, still = 100 * s['best_cpi'] / s['actual_cpi'], sum(s['static'].values()) + s['execution'] + s['gain']
        wrong(abs(best - still) < 1.5, f'{best:.1f} % of the CPI and {still:.1f} % of the samples are no dynamic stall')
    if s['first'] != 'none':
        both = dynamic[s['first']]['share'] + s['static'][s['first']]
        wrong(abs(both - s['first_share']) < 0.1, f'first cause {s["first"]} is {both:.1f} % and {s["first_share"]:.1f} %')


def check_sum(wrong, s):
    check_summary(wrong, s['summary'])
    for p in s['procedures']:
        thin, said = p['first'] == 'too few bursts', p['sentence'].startswith('Not enough evidence')
        wrong(thin == said, f'{p["procedure"]}: "{p["first"]}", and "{p["sentence"]}"')


CONDITIONAL = re.compile(r'^(j(?!mp)\w+|loop\w*|b\.\w+|cbn?z|tbn?z)\b')
GUESSED = re.compile(r'^(j\w+|call\w*|ret\w*|loop\w*|b\.\w+|cbn?z|tbn?z|br|blr)\b')


def check_calc(wrong, c):
    check_summary(wrong, c['summary'])
    wrong(abs(c['summary']['samples'] - c['samples']) < 0.5 + 1e-6 * c['samples'],
          f'{c["samples"]} samples, the summary has {c["summary"]["samples"]}')
    attributed = sum(i['attributed'] for i in c['instructions'])
    wrong(abs(attributed - c['samples']) < 0.5 + 1e-6 * c['samples'], f'{attributed} of {c["samples"]} samples attributed')
    text = {int(i['offset'], 16): i['instruction'] for i in c['instructions']}
    for i in c['instructions']:
        where = f'{i["offset"]} {i["instruction"]}:'
        stall, suspects = i['stall'], i['suspects']
        wrong(stall < 1e8, where, f'stalls for {stall} cycles each time')
        causes = [s['cause'] for s in suspects]
        wrong(len(set(causes)) == len(causes), where, 'one cause twice:', causes)
        wrong(stall >= 0 and i['unexplained'] >= -1e-9, where, 'negative stall')
        # The time of a misprediction is its branch's and shows behind it.
        wrong(set(causes) <= {'mispredict'} or i['attributed'] > 0, where, 'blamed, but nobody sampled it')
        wrong(i['cycles'] is None or stall <= i['cycles'] + 0.01 + 0.02 * i['cycles'] or not suspects,
              where, f'stalls for {stall} of {i["cycles"]} cycles')
        for s in suspects:
            wrong(-1e-6 <= s['low'] <= s['high'] + 1e-6, where, f'{s["cause"]} {s["low"]} to {s["high"]}')
            wrong(s['share'] <= s['high'] + 1e-6 and s['high'] <= stall + 1e-6, where, f'{s["cause"]} takes {s["share"]} of {stall}')
            if s['cause'] == 'mispredict':
                blamed = text.get(int(s['responsible'], 16), '')
                wrong(not blamed or GUESSED.match(blamed) or GUESSED.match(i['instruction']) or '+' in blamed or
                      s['responsible'] == i['offset'], where, 'a misprediction of', blamed)
        total = sum(s['share'] for s in suspects) + i['unexplained']
        wrong(not suspects or abs(total - stall) < 1e-3 * max(1, stall), where, f'shares {total} of stall {stall}')
    width = min([WIDTH] + [w for model, w in WIDTHS.items() if model in c['model']])
    took = collections.Counter()
    for i in c['instructions']:
        took[i['block']] += 0 if i['fused'] else i['cycles'] or 0
    for n, b in enumerate(c.get('blocks', [])):
        actual = b['actual_cpi'] and b['actual_cpi'] * b['instructions']
        wrong(actual is None or abs(actual - took[n]) < 0.01 + 0.001 * actual, f'block {b["offset"]} took {actual} cycles, its instructions {took[n]}')
    for b in c.get('blocks', []):
        for key in ('best_cpi', 'actual_cpi'):
            wrong(b[key] is None or b[key] * b['instructions'] >= b['operations'] / width - 1e-9, f'block {b["offset"]}: {key} {b[key]}')
        wrong(b['percent'] <= 100 + 1e-6, f'block {b["offset"]}: {b["percent"]} %')
    w = c['worst']
    wrong(-1e-6 <= w['low'] <= w['share'] + 1e-6 <= 100 + 2e-6 and w['share'] <= w['high'] + 1e-6 or w['cause'] == 'none',
          f'worst cause {w["cause"]}: {w["share"]} ({w["low"]} to {w["high"]}) %')
    gain = (w['saves_low'], w['saves'], w['saves_high'])
    wrong(w['saves'] is None and w['cause'] in ('false-sharing', 'true-sharing') or 0 <= gain[0] <= gain[1] <= gain[2] <= 100, f'saves {gain} %')
    if c['advice'] and w['cause'] == 'mispredict' and w['responsible'] in text:
        blamed = text[w['responsible']]
        conditional = CONDITIONAL.match(blamed)
        wrong(bool(conditional) or 'branchless' not in c['advice'], f'branchless advice for {blamed}')
    wrong(c['evidence']['enough'] or (w['cause'] == 'none' and not c['advice']), 'a cause without evidence:', w['cause'])
    if w['cause'] == 'i-cache':
        code = [int(i['offset'], 16) for i in c['instructions']]
        wrong(max(code) // 64 != min(code) // 64, 'code in one line waits for its fetch')


def check_prof(wrong, p):
    event = p['event']
    rows = [r['samples'].get(event, 0) for r in p['rows']]
    wrong(sum(rows) == p['total'], f'rows have {sum(rows)} samples of {p["total"]}')
    wrong(rows == sorted(rows, reverse=True), 'rows are out of order')
    running = [r['running_percent'] for r in p['rows']]
    wrong(running == sorted(running), 'running % falls')
    wrong(not running or not p['total'] or abs(running[-1] - 100) < 0.01, 'running % ends at', running[-1:])


def check_list(wrong, l):
    seen = sum(i['samples'] or 0 for i in l.get('instructions', []))
    if 'summary' not in l:
        return
    total = l['summary']['samples']
    wrong(seen <= total, f'instructions have {seen} of {total} samples')
    wrong(sum(i['percent'] or 0 for i in l.get('instructions', [])) <= 100.01, 'instructions have more than all samples')
    wrong(all((i['executions'] or 0) >= 0 for i in l.get('instructions', []) + l.get('lines', [])), 'negative executions')
    s = l['summary']
    wrong(s['lines_with_samples'] <= s['lines_with_code'] or not s['lines_with_code'],
          f'{s["lines_with_samples"]} lines with samples, {s["lines_with_code"]} with code')


def check_edges(wrong, e):
    of = collections.Counter()
    for edge in e['edges']:
        wrong(edge['seen'] >= 0 and (edge['frequency'] or 0) >= 0, 'negative edge', edge)
        if edge['percent_of_source'] is not None:
            of[edge['from']] += edge['percent_of_source']
    for block, percent in of.items():
        wrong(not block or percent <= 100.1, f'edges out of {block} are {percent:.1f} % of its block')


def check_diff(wrong, d):
    for side in 'ab':
        seen = sum(r[f'samples_{side}'] or 0 for r in d['rows'])
        wrong(seen <= d['sides'][side]['samples'] if isinstance(d.get('sides'), dict) else True, f'rows of {side} have {seen} samples')


def check_tags(wrong, t):
    for tag in t.get('tags', [t]):
        shares = [r.get('percent') for r in tag.get('rows', tag.get('values', [])) if isinstance(r, dict) and r.get('percent') is not None]
        wrong(sum(shares) <= 100.1, f'values have {sum(shares):.2f} % of the time')


def run(command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace', timeout=120, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def ask(tool, store, words, wrong, check=None):
    """The report as text and as JSON; a refusal is one sentence. Returns the document."""
    wrong.where = f'{store}: {" ".join(words)}'
    code, text, errors = run([tool, *words, '--store', store])
    wrong(code in (0, 1), f'exit {code}: {errors[-300:]}')
    check_text(wrong, text + errors)
    check_figure_4(wrong, text)
    if words[0] == 'calc':
        check_listing(wrong, text)
    check_next(wrong, tool, text)
    if code:
        wrong(len(errors.strip().splitlines()) == 1, 'refused in', errors.strip().splitlines()[:3])
        return None
    code, text, errors = run([tool, *words, '--json', '--store', store])
    try:
        document = json.loads(text)
    except ValueError as e:
        wrong(False, f'no JSON: {e}')
        return None
    check_numbers(wrong, document)
    for sentence in re.findall(r'"(?:notes|sentence|advice|reason)": ?"([^"]*)"', text):
        check_text(wrong, sentence)
    if check:
        check(wrong, document)
    return document


def check_store(tool, store, page=None):
    """All that the reports of one store say that can't be true."""
    wrong = Wrong(store)
    prof = ask(tool, store, ['prof', '-n', '0'], wrong, check_prof)
    for by in 'image', 'line', 'process', 'tag':
        ask(tool, store, ['prof', '--by', by, '-n', '0'], wrong, check_prof if by != 'tag' else None)
    ask(tool, store, ['prof', '--epoch', 'all'], wrong)
    ask(tool, store, ['sum', '--epoch', 'all'], wrong, check_sum)
    ask(tool, store, ['tree'], wrong)
    ask(tool, store, ['diff'], wrong, check_diff)
    ask(tool, store, ['sum'], wrong, check_sum)
    ask(tool, store, ['stats'], wrong)
    ask(tool, store, ['phases'], wrong)
    ask(tool, store, ['tags'], wrong, check_tags)
    ask(tool, store, ['hist'], wrong)
    names = [r['procedure'] for r in (prof or {'rows': []})['rows'] if r['procedure'] and not r['procedure'].startswith('[')]
    for name in names[:PROCEDURES]:
        ask(tool, store, ['calc', '--all', name], wrong, check_calc)
        ask(tool, store, ['list', name], wrong, check_list)
        ask(tool, store, ['edges', '--all', name], wrong, check_edges)
        ask(tool, store, ['cfg', name], wrong)
        ask(tool, store, ['callers', name], wrong)
        ask(tool, store, ['callees', name], wrong)
    if page:
        code, text, errors = run([tool, 'report', '--html', page, '--store', store])
        wrong.where = f'{store}: report'
        wrong(code in (0, 1), f'exit {code}: {errors[-300:]}')
        if code == 0:
            text = open(page, errors='replace').read()
            found = re.search(r'<script[^>]*application/json[^>]*>(.*?)</script>', text, re.S)
            wrong(found, 'no data in the page')
            if found:
                check_numbers(wrong, json.loads(html.unescape(found[1]) if '&quot;' in found[1][:200] else found[1]))
    return wrong


def main():
    n = 0
    for store in sys.argv[2:]:
        for line in check_store(sys.argv[1], store):
            print(line)
            n += 1
    print(f'{len(sys.argv) - 2} stores, {n} statements that can\'t be true')
    return n > 0


if __name__ == '__main__':
    sys.exit(main())
