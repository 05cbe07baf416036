#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The share of the manual's sentences that a reader has to read twice: a sheet for a reader who wrote none of them, then its figure.

    bench/run words [--seed N] [--drawn | --commit REV] >sheet    draws 30 sentences of each of twelve pages, three of each kind
    bench/run words --judge sheet...                              computes the share from the marks

The reader reads each sentence once, in the order of the page, below its section's head and after the sentence before it ("..."). "[ ]" becomes "[x]" if one reading wasn't
enough: for its grammar, for a word that nothing on the page or in the glossary explains, or for a reference that stays open. A sheet
is void if its reader wrote the pages, or if a box is anything else. --drawn draws the pages, too, from the index docs/README.md; without it they are PAGES.
--commit draws from the pages of an older commit; a page that it lacks is named, not replaced. Prose only is drawn from: no code and no tables."""
import argparse
import json
import os
import random
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests"))
import words

PAGES = {  # of each kind three that the manual also had before it was rewritten (commit f1e7b95)
    "tutorial": ["production", "architect", "runtime-developer"],
    "how-to": ["pgo", "fleet", "install"],
    "reference": ["sampling", "observer", "daemon"],
    "explanation": ["concepts", "culprits", "bursts"],
}
SENTENCES, TARGET = 30, 5


def text_of(page, commit):
    if not commit:
        with open(os.path.join(TOP, "docs", page + ".md"), encoding="utf-8") as f:
            return f.read()
    done = subprocess.run(["git", "-C", TOP, "show", f"{commit}:docs/{page}.md"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def sentences(markdown):
    """(head of the section, sentence), in the page's order."""
    heads, fenced = {0: ""}, False
    for n, line in enumerate(markdown.split("\n"), 1):
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            heads[n] = line.strip("# ")
    for at, text, prose in words.paragraphs(markdown):
        head = heads[max(n for n in heads if n <= at)]
        for sentence in words.sentences(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)) if prose else []:
            if len(words.words(words.plain(sentence))) >= 5:
                yield head, sentence


def drawn(seed):
    """Three pages of each kind of the index, whose sections have the kind's name first."""
    index, pages = text_of("README", None), {}
    for kind in PAGES:
        section = re.search(rf"^## {kind}.*?(?=^## |\Z)", index, re.M | re.S | re.I).group(0)
        known = sorted({p for row in re.findall(r"^\| (\[.*?) \|", section, re.M) for p in re.findall(r"\(([\w-]+)\.md\)", row)})
        pages[kind] = random.Random(f"{seed} {kind}").sample(known, 3)
    return pages


def draw(seed, commit, kinds):
    print(f"# seed {seed}, pages of {commit or 'the working tree'}; x in the box: read twice")
    for kind, pages in kinds.items():
        for page in pages:
            text = text_of(page, commit)
            if text is None:
                print(f"# {kind} docs/{page}.md: isn't there")
                continue
            every = list(sentences(text))
            chosen = sorted(random.Random(f"{seed} {page}").sample(range(len(every)), min(SENTENCES, len(every))))
            print(f"\n## {kind} docs/{page}.md: {len(chosen)} of {len(every)} sentences")
            head = None
            for i in chosen:
                if every[i][0] != head:
                    head = every[i][0]
                    print(f"### {head}")
                if i and i - 1 not in chosen and every[i - 1][0] == head:
                    print(f"    ... {every[i - 1][1]}")
                print(f"[ ] {every[i][1]}")


def judge(sheets):
    marks, seeds = {}, []
    for sheet in sheets:
        page = None
        with open(sheet, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                found = re.match(r"\[(.*?)\] ", line)
                if line.startswith("# seed"):
                    seeds.append(line.strip("# \n").split(";")[0])
                elif line.startswith("## "):
                    page = tuple(line.split(":")[0].split()[1:])
                elif found and (page is None or found.group(1) not in (" ", "x")):
                    raise SystemExit(f"{sheet}:{n}: a box holds a space or an x, below a page's head")
                elif found:
                    marks.setdefault(page, []).append(found.group(1) == "x")
    if not marks:
        raise SystemExit("no sentence in a box was found: is that a sheet?")
    every = [m for page in marks.values() for m in page]
    share = sum(every) / len(every)
    kinds = {k: [m for page, found in marks.items() if page[0] == k for m in found] for k in PAGES}
    print(json.dumps({"name": "words", "value": round(100 * share, 1), "unit": "%", "target": TARGET,
                      "noise": round(100 * (share * (1 - share) / len(every)) ** 0.5, 1),
                      "detail": {"sentences": len(every), "twice": sum(every), "sheets": seeds,
                                 "by_kind": {k: round(100 * sum(m) / len(m), 1) for k, m in kinds.items() if m},
                                 "by_page": {p[1]: f"{sum(m)}/{len(m)}" for p, m in marks.items()}}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commit")
    parser.add_argument("--judge", nargs="+", metavar="SHEET")
    parser.add_argument("--quick", action="store_true", help="as bench/run --all asks: there is no reader")
    parser.add_argument("--drawn", action="store_true")
    args = parser.parse_args()
    if args.judge:
        judge(args.judge)
    elif args.quick:
        print("it needs a reader: bench/run words >sheet, marks, bench/run words --judge sheet")
        sys.exit(77)
    else:
        draw(args.seed, args.commit, drawn(args.seed) if args.drawn else PAGES)


if __name__ == "__main__":
    main()
