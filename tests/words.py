#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A lint of words: what a person reads, held against the rules of CONTRIBUTING.md, "Words".

Looks at sentences of the manual (docs/, README.md and their like, without docs/lab), at the text of --help and man pages, and at the
first comment of each C file. Prints FILE: WHAT: SENTENCE for each finding and exits 1 if there is one.

    tests/words.py [--count] [FILE...]      without files: all of them"""
import re
import subprocess
import sys

LONGEST = 25  # words of a sentence; code in backticks and links count as one word

# Constructions that have to be read twice, and words that have a plainer one. Each with what to write instead.
BANNED = [
    (r"\bOf [^.:;,]{3,60}? (?:it )?is (?:known|told|said)\b", "say who records it: \"the length of each wait is recorded\""),
    (r"\b(?:is|are|was|were|be|been) told\b", "reported, named, stated"),
    (r"\btold apart\b", "distinguished"),
    (r"\bit is(?:n't| not)? known\b", "name the subject: \"the start is recorded\""),
    (r"\banew\b", "again"),
    (r"\bhangs? on\b", "depends on"),
    (r"\bmany an? [a-z]", "many"),
    (r"\bseldom\b", "rarely"),
    (r"\bwhoever\b", "name the person or program"),
    (r"\bnobody's\b", "name whose it is"),
    (r"(?:^|[.:;] |, )Who (?!s?he)[a-z']+s?\b[^?]*$", "\"users who …\", \"if you …\""),
    (r"\bfor who\b", "\"for users who …\""),
    (r"\bwants (?:a|an|the|its|their|other|more|no)\b", "needs, requires"),
    (r"\bbeside\b", "next to; in addition to"),
    (r"\bof its own accord\b", "by itself"),
    (r"\bby itself alone\b", "only"),
    (r"(?<=[a-z`] )(?<!colour )alone(?=[.,;:)]|$)", "only"),
    (r"\bdrawn anew\b", "resampled"),
    (r"\bstand(?:s|ing)? (?:at|in|beside|there)\b", "is in, is at"),
    (r"\bfor want of\b", "because … is missing"),
    (r"\bthereby\b|\bwherein\b|\bhereof\b", "a plain word"),
    (r"\brooms?\b(?! for)", "module"),
    (r"\bculprits? (?:is|are) suspects?\b", "cause"),
    (r"\bsuspects?\b", "possible cause"),
    (r"\bso many\b", "that many; up to N"),
    (r"\bin vain\b", "without result"),
    (r"\bis (?:no|a) finding\b", "say what the reader should do"),
]
BANNED = [(re.compile(pattern, re.M), instead) for pattern, instead in BANNED]


def plain(text):
    """Markdown to words: code and links are one word each."""
    text = re.sub(r"`[^`]*`", "`x`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", "x", text)
    return re.sub(r"[*_]{1,2}([^*_]+)[*_]{1,2}", r"\1", text)


def sentences(paragraph):
    """A paragraph's sentences. Numbers, initials and "e.g." don't end one."""
    text = re.sub(r"\b(e\.g|i\.e|cf|vs|etc|approx|No)\.", lambda m: m.group(1), paragraph)
    return [s.strip() for s in re.split(r"(?<=[.!?])[)\"'*]*\s+(?=[A-Z`\"'(*\[]|--\w|cyclescope\b)", text) if s.strip()]


def words(sentence):
    return [w for w in re.split(r"[\s/]+|(?<=\w)-(?=\w)", re.sub(r"[^\w\s`%/-]", " ", sentence)) if re.search(r"\w", w)]


def paragraphs(markdown):
    """(line, text, is prose). Code blocks are left out; a table's cells are looked at for words, not for length."""
    block, at, fenced = [], 0, False
    for n, line in enumerate(markdown.split("\n") + [""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        code = fence or fenced or (line.startswith("    ") and not block)
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        if block and (not line.strip() or code or item or line.startswith(("|", "#"))):
            yield at, " ".join(block), True
            block = []
        if code or not line.strip() or line.startswith(("<", "#")):
            continue
        if line.startswith("|"):
            yield n, line.strip("| "), False
            continue
        if not block:
            at = n
        block.append(line[item.end():] if item else line.strip())


def literals(source):
    """Sentences of a C file that its users read: the help of commands and options, adjacent literals joined."""
    text = re.sub(r'"\s*\n\s*"', "", source)
    for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text):
        at = source.count("\n", 0, source.find(match.group(1)[:20])) + 1
        if re.search(r"%[-+.0-9]*[a-z].*%[-+.0-9]*[a-z].*%[-+.0-9]*[a-z]|SELECT |INSERT |\{s:|COMP_|opt_args|shape=box", match.group(1)):
            continue  # built from parts, or the text of another language
        for line in match.group(1).split("\\n"):
            # Tables and examples are indented or commands; lines of roff begin with a dot.
            if line.count(" ") >= 4 and not line.startswith(("  ", "cyclescope ", ".")):
                yield at, line.replace('\\"', "'"), True


def first_comment(source):
    match = re.match(r"(?:/\*[^*]*SPDX[^*]*\*/\s*)?/\*(.*?)\*/", source, re.S)
    if match and "SPDX" not in match.group(1):
        lines = [re.sub(r"^\s*\*? ?", "", line) for line in match.group(1).split("\n")]
        for part in re.split(r"\n\s*\n", "\n".join(lines)):
            if not re.search(r"^ {2,}\S+ {2,}", part, re.M):  # lists of files are tables
                yield 1, " ".join(part.split()), True


def parts(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".md"):
        yield from paragraphs(text)
    else:
        yield from first_comment(text)
        if path.startswith("cli/"):
            yield from literals(text)


def findings(path):
    for line, text, prose in parts(path):
        for sentence in sentences(plain(text)):
            n = len(words(sentence))
            if prose and n > LONGEST:
                yield line, f"{n} words", sentence
            for pattern, instead in BANNED:
                for match in pattern.finditer(sentence):
                    yield line, f'"{match.group(0).strip()}": {instead}', sentence


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    files = arguments or subprocess.run(["git", "ls-files", "*.md", "*.c", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in files if not re.match(r"docs/lab/|bench/|tests/|.*\.bpf\.c|signals/examples/", f)]
    total = 0
    for path in files:
        found = list(findings(path))
        total += len(found)
        if "--count" in sys.argv:
            if found:
                print(f"{len(found):5} {path}")
            continue
        for line, what, sentence in found:
            print(f"{path}:{line}: {what}: {sentence[:160]}")
    print(f"{total} findings in {len(files)} files")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
