#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A lint of words: what a person reads, held against the rules of CONTRIBUTING.md, "Words".

Looks at sentences of the manual (docs/, README.md and their like, without docs/lab), at what cli/ prints (--help, man pages, output),
at messages of the other modules, and at the first comment of each C file. Prints FILE: WHAT: SENTENCE for each finding and exits 1 if there is one.

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
    (r"\b(?:this|that|each|every|the|one|other|a|own|store's) rooms?\b(?! for)|\brooms\b", "module"),
    (r"\bculprits? (?:is|are) suspects?\b", "cause"),
    (r"\bsuspects?\b", "possible cause"),
    (r"\bso many\b", "that many; up to N"),
    (r"\bin vain\b", "without result"),
    (r"\bis (?:no|a) finding\b", "say what the reader should do"),
]
MESSAGES = r"(?:cs_fail|rule_report|cs_perfdata_malformed|cs_daemon_notify|cs_session_remark|damaged|\w*(?:remark|warn|refuse|complain))\("
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
    return [s.strip() for s in re.split(r"(?<=[.!?])(?<!\.\.\.)[)\"'*]*\s+", text) if s.strip()]


def words(sentence):
    """What counts as a word. A reference in parentheses is looked up, not read: (Rubin 1981), (alarm.h), (figure 4)."""
    sentence = re.sub(r"\([^()]*(?:\b(?:19|20)\d\d\b|\.(?:[ch]|md|rst|sh)\b|\b(?:section|figure|table)s? \d)[^()]*\)", " ", sentence)
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


def literals(source, where):
    """Sentences of a C file that its users read: in cli/ the help of commands and options and all output, elsewhere messages,
    which are formats of cs_fail and its like. Adjacent literals are joined; what a format puts in counts as one word."""
    text = re.sub(r'"\s*\n\s*"', "", source)
    for match in re.finditer(r'(\w+\([^"();{}]*)?"((?:[^"\\\n]|\\.)*)"', text):
        call, literal = match.group(1) or "", match.group(2)
        if where != "cli" and not re.match(MESSAGES, call):
            continue
        at = source.count("\n", 0, source.find(literal[:20])) + 1
        if re.search(r"SELECT |INSERT |\{s:|COMP_|opt_args|shape=box", literal):
            continue  # the text of another language
        if where == "cli" and not call and re.search(r"%[-+.0-9]*[a-z].*%[-+.0-9]*[a-z].*%[-+.0-9]*[a-z]", literal):
            continue  # built from parts
        for line in literal.split("\\n"):
            # Tables and examples are indented or commands; lines of roff begin with a dot.
            if line.count(" ") >= 4 and not line.startswith(("  ", "cyclescope ", ".")):
                yield at, re.sub(r"%[-+.0-9*]*(?:l|ll|z|h|j)*[a-zA-Z]", "X", line.replace('\\"', "'").replace('"PRI', "")), True


def comment_lines(source):
    """(line number, text) of the first comment, without its stars. A licence's line is no comment."""
    match = re.match(r"(?:#![^\n]*\n)?(?:/\*[^*]*SPDX[^*]*\*/\s*)?/\*(.*?)\*/", source, re.S)
    if not match or "SPDX" in match.group(1):
        return
    first = source.count("\n", 0, match.start(1)) + 1
    for n, line in enumerate(match.group(1).split("\n")):
        yield first + n, line.rstrip()[1:] if n == 0 else re.sub(r"^ ?\*? ?", "", line.rstrip())


def first_comment(source):
    """Paragraphs and list items of the first comment. What is indented or has columns is a table, a drawing or code."""
    block, at, item = [], 0, 0
    for n, line in [*comment_lines(source), (0, "")]:
        if re.search(r"\S {3,}\S", line) or line.startswith("Sources: "):
            line = ""
        indent = len(line) - len(line.lstrip())
        listed = re.match(r" *(?:-|\d+\.) +", line)
        more = line and block and not listed and indent == item  # a line of the same paragraph or list item
        if block and not more:
            yield at, " ".join(block), True
            block = []
        if line and (more or listed or indent == 0):
            if not block:
                at, item = n, listed.end() if listed else 0
            block.append(line[listed.end():] if listed else line.strip())


def parts(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".md"):
        yield from paragraphs(text)
    else:
        yield from first_comment(text)
        yield from literals(text, path.split("/")[0])


def findings(path):
    for line, text, prose in parts(path):
        for sentence in sentences(plain(text)):
            n = len(words(sentence))
            if prose and n > LONGEST:
                yield line, f"{n} words", sentence
            idiom = re.sub(r"\b(leaves?|left|leaving)((?: [\w'`]+){0,5}) alone\b", r"\1\2", sentence)  # "leave it alone" is plain
            for pattern, instead in BANNED:
                for match in pattern.finditer(idiom):
                    yield line, f'"{match.group(0).strip()}": {instead}', sentence


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    files = arguments or subprocess.run(["git", "ls-files", "*.md", "*.c", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    files = [f for f in files if not re.match(r"docs/lab/|bench/|tests/fuzz/seeds/", f)]
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
