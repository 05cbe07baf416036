#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of the manual against bench/RESULTS.md: a table row or sentence that cites `bench/run NAME` and has figures must have one
that RESULTS.md has for NAME, as far as the digits go that it prints; of a row it must be the first. Prints what has none; exit 1 then."""
import glob
import re
import sys

FIGURE = r"(?<![\w.,])[-−+]?\d[\d,]*(?:\.\d+)?(?![\w,]|\.\d)"
CITED = r"`bench/run ([a-z][\w-]+)`"  # with variables before it, it is another measurement
SCALES = (1, 1000, 0.001, 100, 0.01)  # ns and µs, ratios and per cent


def number(text):
    return abs(float(re.sub(r"[,+−-]", "", text)))


def units(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith("|"):
            yield from paragraph.split("\n")
        else:
            yield from re.split(r"(?<=[.!?:])\)?\s+", paragraph.replace("\n", " "))


def measured():
    """{name: figures}, of its row and of the notes that begin with it."""
    found = {}
    for line in re.split(r"\n(?=[|-])", open("bench/RESULTS.md", encoding="utf-8").read()):
        names = re.match(r"(?:\||-) ((?:`[a-z][\w-]+`(?:, | and )?)+)", line)
        for name in re.findall(r"`([\w-]+)`", names[1]) if names else []:
            found.setdefault(name, []).extend(number(n) for n in re.findall(FIGURE, line))
    return found


def agrees(figure, known):
    digits = len(figure.split(".")[1]) if "." in figure else 0
    return any(abs(number(figure) * scale - k) <= scale * 0.50001 * 10**-digits for scale in SCALES for k in known)


def main(pages):
    known, bad, looked = measured(), 0, 0
    for page in pages:
        for unit in units(open(page, encoding="utf-8").read()):
            names = [n for n in re.findall(CITED, unit) if n in known]
            row = unit.startswith("|")
            text = unit.split("|", 2)[2] if row else unit  # the first cell says what is measured
            figures = re.findall(FIGURE, re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\(target [^)]*\)|\b[A-Z]\w+ \d+\b", "", text))
            figures = figures[:1] if row and not page.endswith("/figures.md") else figures  # there the paper's come first
            if len(names) != 1 or not figures:
                continue
            looked += 1
            if not any(agrees(f, known[names[0]]) for f in figures):
                bad += 1
                print(f"not ok: {page}: bench/RESULTS.md has other figures for {names[0]}: {unit.strip()[:200]}")
    if len(known) < 50 or (looked < 30 and len(pages) > 20):
        print(f"not ok: too little was looked at: {len(known)} benchmarks, {looked} figures")
        bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["README.md", *glob.glob("docs/*.md"), *glob.glob("docs/runtimes/*.md")]))
