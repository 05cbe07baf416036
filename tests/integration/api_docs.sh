#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The public headers build as one page without a warning (make docs-api): every header says what it is for, and comments
# stand with what they document.
# Beside others.
set -u
command -v doxygen >/dev/null || { echo "doxygen isn't installed"; exit 77; }
tmp=$(mktemp -d) bad=0
trap 'rm -rf "$tmp"' EXIT
env -u MAKEFLAGS -u MFLAGS make --no-print-directory CS_DEPS_DONE=1 BUILD="$tmp" docs-api >"$tmp/out" 2>"$tmp/err" || { echo "not ok: make docs-api"; cat "$tmp/err"; exit 1; }
grep -i warning "$tmp/err" && { echo "not ok: warnings"; bad=1; }
python3 - "$tmp/docs/api.html" <<'PY' || bad=1
import html, re, subprocess, sys
page = open(sys.argv[1], encoding="utf-8").read()
text = html.unescape(page)
bad = 0
def expect(what, there):
    global bad
    if not there:
        bad += 1
        print("not ok:", what)
headers = subprocess.run(["git", "ls-files", "store/*.h", "store/*/*.h", "dte/*.h"], capture_output=True, text=True).stdout.split()
for h in headers:
    expect(h + " is on the page", "<h3 id='%s'>" % h in page)
# By grep, not by our filter: what the installed header declares is on the page, and so are its comment's words.
source = open("signals/cyclescope.h", encoding="utf-8").read()
for name in set(re.findall(r"\b(cs_\w+)\(", re.sub(r"/\*.*?\*/", "", source, flags=re.S))):
    expect("cyclescope.h: " + name, re.search(r"<code>[^<]*\b%s\b" % name, page))
expect("the example of cyclescope.h is kept as it stands", re.search(r"<pre>[^<]*cs_define\(CS_ANY_WORD, &quot;rows&quot;, CS_COUNTER\);", page))
expect("comments behind members", "with the terminating NUL" in text)
sys.exit(bad > 0)
PY
# It can complain: a header that doesn't say what it is for.
mkdir -p "$tmp/mute/xml"
printf '/* SPDX-License-Identifier: MIT */\n#ifndef A_H\n#define A_H\nint a(void);\n#endif\n' >"$tmp/mute/a.h"
{ cat docs/api/Doxyfile; echo "INPUT = $tmp/mute/a.h"; echo "OUTPUT_DIRECTORY = $tmp/mute"; } | doxygen - >/dev/null 2>&1
docs/api/one-page "$tmp/mute/xml" "$tmp/mute" >/dev/null 2>&1 && { echo "not ok: a header without a comment passes"; bad=1; }
exit $bad
