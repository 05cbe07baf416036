#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the manual says exists: its links, files, benchmarks, subcommands and options; its lines fit a page; its words are plain.
# (Its blocks of commands run in tutorials.sh.)
# Beside others.
set -u
bad=0
if git rev-parse --git-dir >/dev/null 2>&1; then # the lint needs the list of files
    python3 tests/words.py || bad=1
    # It can fail: a long sentence, a banned word, a message and a comment are found.
    lint=$(mktemp -d)
    mkdir -p "$lint/store" "$lint/docs"
    printf 'The daemon keeps a profile beside the store.\n\nThis sentence has more words than a reader can hold at once because it goes on and on and names one thing after the other until nobody remembers its subject.\n' >"$lint/docs/page.md"
    printf '/* An idea that hangs on another one. */\nint f(void) { return cs_fail(err, 1, "this file was told to be seldom read: %%s", name); }\n' >"$lint/store/x.c"
    found=$(cd "$lint" && python3 "$OLDPWD/tests/words.py" docs/page.md store/x.c | tail -n 1)
    [ "${found%% *}" = 5 ] || { echo "not ok: the lint of words found $found instead of 5"; bad=1; }
    rm -r "$lint"
fi
tests/figures.py || bad=1
wrong=$(mktemp)
sed 's/| 0\.23 ms; 0\.45/| 0.18 ms; 0.45/' docs/bursts.md >"$wrong" # it can fail
if cmp -s "$wrong" docs/bursts.md || tests/figures.py "$wrong" >/dev/null; then echo "not ok: a wrong figure isn't found"; bad=1; fi
rm "$wrong"
if [ -z "${CS_SANITIZED:-}" ] && ! scripts/options-page "$CYCLESCOPE" | diff docs/options.md - >/dev/null; then
    echo "not ok: docs/options.md isn't what --help prints today: scripts/options-page >docs/options.md"
    bad=1
fi
python3 - "$CYCLESCOPE" <<'PY' || bad=1
import glob, os, re, subprocess, sys
program, bad, options = sys.argv[1], 0, {}

def complain(*what):
    global bad
    bad += 1
    print("not ok:", *what)

def anchors(path):
    """What a head is called in links: small letters, hyphens for spaces, no punctuation."""
    heads = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"^```.*?^```", "", open(path, encoding="utf-8").read(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h)).lower().replace(" ", "-") for h in heads}

def told(sub):
    """The options that --help tells of a subcommand; None: there is no such subcommand."""
    if sub not in options:
        p = subprocess.run([program, sub, "--help"], capture_output=True, text=True)
        options[sub] = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", p.stdout)) if p.returncode == 0 else None
    return options[sub]

def command(page, words):
    """words: what follows `cyclescope`, up to the command that it runs or a comment."""
    words = re.split(r"(?:^| )-- |  +| [|>#;&(]|`", words + " ")[0].split()
    if not words or not re.fullmatch("[a-z]+", words[0]):
        return
    known = told(words[0])
    if known is None:
        complain(page, "no subcommand", words[0])
        return
    for w in words[1:]:
        if re.match(r"--?[a-zA-Z]", w) and w.split("=")[0].rstrip(",.)]") not in known:
            complain(page, "cyclescope", words[0], "has no", w)

benches = set(re.findall(r"^ *([a-z][\w-]+)", subprocess.run(["bench/run", "--list"], capture_output=True, text=True).stdout, re.M))
benches |= {name[1:-3] for name in os.listdir("bench") if name.startswith("_")} # long ones that --list leaves out
pages = ["README.md", "CONTRIBUTING.md", "CHANGES.md", "bench/RESULTS.md"] + glob.glob("docs/*.md") + glob.glob("docs/runtimes/*.md") + glob.glob("docs/lab/*.md")
for page in pages:
    text = open(page, encoding="utf-8").read()
    lab = page.startswith("docs/lab/") # of its day: commands and paths too
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if not link.startswith("http") and not os.path.exists(os.path.join(os.path.dirname(page), link)):
            complain(page, "nothing at", link)
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
        target = os.path.join(os.path.dirname(page), link) if link else page
        if not link.startswith("http") and target.endswith(".md") and os.path.exists(target) and anchor not in anchors(target):
            complain(page, "no head for", link + "#" + anchor)
    for name in re.findall(r"bench/run ([a-z][\w-]+)", text):
        if name not in benches:
            complain(page, "no benchmark", name)
    fenced = False
    for n, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        code = fenced or line.startswith("    ")
        if not code and len(line) > 112 and line[0] not in "|!":
            complain("%s:%d" % (page, n), "is %d characters long" % len(line))
        if lab or page in ("CHANGES.md", "docs/upgrading.md"): # they have old names
            continue
        for path in re.findall(r"`((?:docs|bench|tests|sampler|analysis|image|observer|signals|store|cli|scripts|exchange)/[\w./-]+)`", line):
            if not os.path.exists(path) and "NAME" not in path:
                complain("%s:%d" % (page, n), "nothing at", path)
        for words in re.findall(r"`(?:build/)?cyclescope ([^`]*)" if not code else r"^ *(?:\$ )?(?:build/)?cyclescope (.*)", line):
            command("%s:%d" % (page, n), words)
shown = "".join(open(p, encoding="utf-8").read() for p in pages)
for picture in glob.glob("docs/pictures/*.png"):
    if os.path.basename(picture) not in shown:
        complain(picture, "is in no page")
explained = set(re.findall("`([^`]+)`", open("docs/columns.md", encoding="utf-8").read()))
heads = {h: path for path in glob.glob("cli/**/*.c", recursive=True) if "accuracy" not in path
         for of in re.findall(r"\.head = ([^,;}]*)", open(path, encoding="utf-8").read()) for h in re.findall('"([^"]+)"', of)}
for head in sorted(heads.keys() - explained):
    complain("docs/columns.md doesn't explain the head", head, "of", heads[head])
version = re.search(r"^VERSION *:= *(\S+)", open("Makefile").read(), re.M)[1]
for path, pattern in [("CHANGES.md", r"^## (\d\S*)$"), ("debian/changelog", r"^cyclescope \((\S+)\)"), ("scripts/portable/daemonset.yaml", r"cyclescope:(\d\S*)"),
                      ("docs/install.md", r"cyclescope[-_:](\d[\d.]*\d)"), ("docs/runbook.md", r"cyclescope[-_:](\d[\d.]*\d)")]:
    named = re.findall(pattern, open(path).read(), re.M)
    if not named or set(named[:1] if path in ("CHANGES.md", "debian/changelog") else named) != {version}:
        complain(path, "has version", named[:3], "and the Makefile", version)
if len(benches) < 20 or sum(map(bool, options.values())) < 15 or len(heads) < 100:
    complain("too little was looked at:", len(benches), "benchmarks,", len(options), "subcommands,", len(heads), "heads")
sys.exit(bad > 0)
PY
exit $bad
