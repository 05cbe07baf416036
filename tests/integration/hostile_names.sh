#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names that act: escape sequences, shell text, formulas and HTML as symbols, as names of threads, of JIT code, of the
# executable, of its folder and its source, in its source lines, as a store's and an epoch's name. Nothing of them acts: not on
# the terminal, not in CSV, JSON or the page, and not when a command that was shown is pasted into a shell.
# Beside others.
set -eu
. "$(dirname "$0")/../until.sh"
for tool in objcopy script python3; do command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }; done
tmp=$(mktemp -d)
target=
trap 'kill "$target" 2>/dev/null || true; rm -rf "$tmp"' EXIT
fail() { echo "not ok: $*"; exit 1; }
[ -n "${BUILD:-}" ] || fail "run it by tests/run"

# A program: four procedures, each named for another reader.
terminal=$'\e]0;owned\a\e[2J$(touch owned)`touch owned`;touch owned;=1+1,"x\xff\xc0\xaf\r\xc2\x9b31m</script><img src=x onerror=alert(1)>'
shell=$'$(touch owned)`touch owned`\'"; touch owned; #<b>&'
formula='=1+1|touch owned'
option='--store=owned'
folder=$tmp/$'dir\e[31m$(touch owned)<img src=x>'
program=$folder/$'pr\e]0;owned\a\xffog'
source=$folder/$'$(touch owned)\'".c'
mkdir "$folder"
{
    printf '/* \033[2J\033]0;owned\007 */\n#include <stdint.h>\n#include <stdlib.h>\n#include <sys/prctl.h>\n'
    for f in first second third fourth; do
        printf '__attribute__((noinline, noclone)) uint64_t %s(uint64_t n)\n{\n    uint64_t x = n;\n    for (uint64_t i = 0; i < n; i++) {\n' $f
        printf '        x = x & 1 ? x * 3 + i : x ^ x >> 1; /* \033[2J\007\r */\n        __asm__ volatile("" : "+r"(x));\n    }\n    return x;\n}\n'
    done
    # shellcheck disable=SC2016 # it is a name
    printf 'int main(int argc, char **argv)\n{\n    uint64_t s = 0;\n    prctl(PR_SET_NAME, "\\033[31m$(id)\\r");\n'
    printf '    for (int i = 0; argc == 2 && i < atoi(argv[1]); i++)\n        s += second(4000000);\n'
    printf '    for (int i = 0; argc > 2 && i < atoi(argv[1]); i++)\n        s += first(4000000) + second(3000000) + third(2000000) + fourth(1000000);\n    return s == 1;\n}\n'
} >"$source"
(cd "$folder" && ${CC:-cc} -x c -g -O1 -w -o plain "$source")
objcopy --redefine-sym first="$terminal" --redefine-sym second="$shell" --redefine-sym third="$formula" \
    --redefine-sym fourth="$option" "$folder/plain" "$program"
nm "$program" | grep -q 'owned' || fail "objcopy gave no evil names"

# In one folder all along, where a file named owned would be the proof; the reader's source is at hand.
cd "$folder"
store=$'$(touch owned)\'st`touch owned`'
run=0
"$CYCLESCOPE" record -F 2000 -o "$store" -- "$program" 20 $'arg\e[31m\xff' >"$tmp/record.out" 2>"$tmp/record.err" || run=$?
[ $run = 0 ] || { cat -v "$tmp/record.err"; fail "record"; }
"$CYCLESCOPE" record -F 1000 --no-bursts -o "$tmp/other" -- "$program" 10 >/dev/null 2>&1
# Made code and a thread's name, while the program runs: it takes its map away at its end.
${CC:-cc} -O2 -w -o "$tmp/names" "$OLDPWD/tests/hostile/names.c"
(cd "$tmp" && exec ./names 300 .) >/dev/null & target=$!
until_true test -s "/tmp/perf-$target.map" && until_true has_run $target
"$CYCLESCOPE" record -F 1000 --no-bursts --label command --seconds 1 -o "$tmp/made" -p $target >/dev/null 2>&1 || fail "record -p"

# What is printed is kept, and judged at once further down: a file each, named by number, kind and command.
mkdir "$tmp/kept"
kept=0
keep() { # KIND COMMAND FILE
    kept=$((kept + 1))
    cp "$3" "$tmp/kept/$(printf '%03d' $kept).$1.${2//[^a-z -]/}"
}
look() { # elsewhere than on a terminal
    "$CYCLESCOPE" "$@" >"$tmp/out" 2>"$tmp/err" || { cat -v "$tmp/err"; fail "$*: failed"; }
    [ -s "$tmp/out" ] || fail "$1: nothing printed"
    keep text "$1" "$tmp/out"
    keep text "$1" "$tmp/err"
}
refused() {
    if "$CYCLESCOPE" "$@" >"$tmp/out" 2>"$tmp/err"; then fail "$1: was taken"; fi
    [ -s "$tmp/err" ] || fail "$1: no sentence"
    keep text "$1 refused" "$tmp/err"
}
on_terminal() { # KIND ARGUMENT...: a terminal of 100 columns
    local kind=$1
    shift
    SHELL=$BASH TERM=xterm CYCLESCOPE_PAGER='' script -qec "stty cols 100 rows 50; $(printf '%q ' "$CYCLESCOPE" "$@")" /dev/null \
        </dev/null >"$tmp/out" 2>&1 || { cat -v "$tmp/out" | tail -n 20; fail "$* on a terminal: failed"; }
    keep "$kind" "$1" "$tmp/out"
}
csv() {
    "$CYCLESCOPE" "$@" --csv >"$tmp/out" 2>/dev/null || fail "$1 --csv"
    keep csv "$1" "$tmp/out"
}
json() {
    "$CYCLESCOPE" "$@" --json >"$tmp/out" 2>/dev/null || fail "$1 --json"
    keep json "$1" "$tmp/out"
}
all() { look "$@"; on_terminal tty "$@"; csv "$@"; json "$@"; }

keep text record "$tmp/record.err"
all prof --store "$store"
cp "$tmp/out" "$tmp/exact.json"
look prof --store "$store" --by image
look prof --store "$tmp/other"
look sum --store "$tmp/other"
look prof --store "$store" --by line
look prof --store "$tmp/made"
all prof --by process --store "$tmp/made"
for name in "$terminal" "$shell" "$formula" "$option"; do
    [ -z "${CS_QUICK:-}" ] || [ "$name" = "$terminal" ] || continue
    for report in list calc edges cfg; do
        look $report --store "$store" -- "$name"
    done
done
on_terminal tty list --store "$store" -- "$terminal"
on_terminal tty calc --store "$store" -- "$terminal"
look list --store "$store" -- "${source##*/}"
look cfg --dot --store "$store" -- "$terminal"
look sum --store "$store"
csv sum --store "$store"
look diff "$store" "$tmp/other"
on_terminal tty diff "$store" "$tmp/other"
look stats "$store" "$tmp/other"
look store ls "$store"
cp -r "$store" "$tmp/renamed"
mv "$tmp/renamed/"*Z-* "$tmp/renamed/20200101T000000Z-"$'a\e[2J\a'
look store ls "$tmp/renamed"
look --procedures '' "$store"
look top -p $target --rounds 1 --interval 0.5
on_terminal screen top -p $target --rounds 2 --interval 0.5
for format in folded llvm; do
    look export -f $format --store "$store" --image "$program"
done
"$CYCLESCOPE" export -f bolt --store "$store" --image "$program" >"$tmp/out" 2>"$tmp/err" || true # maybe no name is fit for it
keep text "export -f bolt" "$tmp/out"
keep text "export -f bolt" "$tmp/err"
look export -f csv --store "$store"
keep csv "export -f csv" "$tmp/out"
for format in json speedscope firefox; do
    "$CYCLESCOPE" export -f $format --store "$store" >"$tmp/out" 2>/dev/null || fail "export -f $format"
    keep json "export -f $format" "$tmp/out"
done
"$CYCLESCOPE" export -f pprof --store "$store" --to "$tmp/pprof" >/dev/null 2>&1 || fail "export -f pprof"
python3 - "$tmp/pprof" <<'PY' || fail "pprof: a string is no UTF-8"
import gzip, sys
raw, at, strings = gzip.open(sys.argv[1]).read(), 0, []
def number():
    global at
    n = shift = 0
    while True:
        byte = raw[at]; at += 1
        n |= (byte & 127) << shift; shift += 7
        if byte < 128:
            return n
while at < len(raw): # fields of the outermost message; the string table is number 6
    tag = number()
    if tag & 7 == 0:
        number()
    else:
        assert tag & 7 == 2, tag
        size = number()
        strings += [raw[at:at + size].decode("utf-8")] if tag >> 3 == 6 else []
        at += size
assert any("\x1b]0;owned\x07\ufffdog" in s for s in strings), strings
PY
refused calc --store "$store" "nothing$terminal" # sentences tell of names too
refused prof --store "$terminal"
refused prof --by "$terminal"
refused import "$terminal"
refused list "--$terminal"
refused "$terminal"
look report --store "$store" --html "$tmp/page.html"

# Nothing acts on a terminal: no controls but newlines (and a carriage return before one), no C1, no broken UTF-8. On a terminal
# colours may stand, which a name can't have, and for the screen of top what draws it.
python3 - "$tmp/kept" "$tmp/exact.json" "$shell" "$formula" "$tmp/commands" <<'PY' || fail "a name acts"
import csv, io, json, os, re, sys
folder, exact, shell, formula, commands = sys.argv[1:]
wrong, lines = [], []
for name in sorted(os.listdir(folder)):
    kind = name.split(".")[1]
    raw = open(os.path.join(folder, name), "rb").read()
    if kind in ("tty", "screen"):
        assert b"samples" in raw, (name, raw)
        raw = raw.replace(b"\r\n", b"\n")
        raw = re.sub(rb"\x1b\[[0-9;]*m(?!\$\()", b"", raw)
    if kind == "screen":
        raw = re.sub(rb"\x1b\[(\?1049[hl]|\?25[hl]|H|J|K)", b"", raw).replace(b"\r", b"")
    if kind == "csv":
        raw = raw.replace(b"\r\n", b"\n")
    text = raw.decode("utf-8", "surrogateescape")
    bad = {c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or 0xd800 <= ord(c) < 0xe000}
    wrong += [(name, sorted(bad), next(l for l in text.split("\n") if bad & set(l)))] if bad else []
    if kind == "json":
        decoder, rest = json.JSONDecoder(), text.strip()
        decoder.decode(rest)
    if kind == "csv":
        for cell in (c for row in csv.reader(io.StringIO(text, newline="")) for c in row):
            if re.match(r"[=+\-@]", cell) and not re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", cell):
                wrong.append((name, "formula", cell))
    if kind == "text": # commands to type next
        lines += [m.group(1) for l in text.split("\n") if (m := re.match(r"(?:.*next: *| *)(cyclescope [a-z]+ .*?)(?:      \([a-z]+ .*)?$", l))]
for name, what, where in {w[0]: w for w in wrong}.values(): # one line a file
    print(name, ascii(what), ascii(where)[:160])
rows = [r["procedure"] for r in json.load(open(exact))["rows"]]
assert shell in rows and formula in rows, rows
assert any(r and r.startswith("\x1b]0;owned\x07\x1b[2J$(touch owned)") and r.endswith("<img src=x onerror=alert(1)>") for r in rows), rows
open(commands, "w", errors="surrogateescape").write("".join(l + "\n" for l in dict.fromkeys(lines)))
sys.exit(bool(wrong))
PY

# The page: its data is one script of JSON, in which no name ends it; what a browser sees has no element of theirs.
python3 - "$tmp/page.html" <<'PY' || fail "the page"
import html.parser, json, re, sys
raw = open(sys.argv[1], "rb").read()
text = raw.decode("utf-8")
assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), "controls"
data = re.search(r'<script type="application/json" id="profile">(.*?)</script>', text, re.S).group(1)
assert "<" not in data and ">" not in data
page = json.loads(data)
names = [r[0] for r in page["rows"]]
assert any(n and "</script><img src=x onerror=alert(1)>" in n for n in names), names
assert "onerror" not in text.replace(data, ""), "a name is outside the data"
elements = []
class Elements(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        elements.append((tag, attrs))
Elements().feed(text)
assert not [e for e in elements if e[0] in ("img", "b") or any(k.startswith("on") for k, v in e[1])]
scripts = re.findall(r"<script(?![^>]*application/json)[^>]*>(.*?)</script>", text, re.S)
assert scripts and not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", "".join(scripts))
for d in page["details"]: # the one thing that is read as XML holds none of the names
    assert not d.get("cfg") or not re.search(r"owned|onerror|<script|<img", d["cfg"]["svg"])
PY

# Every command that was shown, pasted into a shell, runs that command with its words, and nothing else.
commands=$tmp/commands
[ -s "$commands" ] || fail "no command was shown"
mkdir "$tmp/bin"
cat >"$tmp/bin/cyclescope" <<'S'
#!/bin/sh
printf '%s\n' "$#" "$@" >>"$PASTED"
S
chmod +x "$tmp/bin/cyclescope"
export PASTED=$tmp/pasted
n=0
while IFS= read -r line; do
    : >"$PASTED"
    PATH=$tmp/bin:$PATH sh -c "$line" >"$tmp/out" 2>&1 </dev/null || { cat -v "$tmp/out"; fail "pasted: $(cat -v <<<"$line")"; }
    [ ! -s "$tmp/out" ] || { cat -v "$tmp/out"; fail "more than the command ran: $(cat -v <<<"$line")"; }
    [ "$(find "$tmp" -name owned | wc -l)" = 0 ] || fail "it ran what the name says: $(cat -v <<<"$line")"
    grep -qx -e calc -e list -e prof -e report -e sum "$PASTED" || fail "another command: $(cat -v <<<"$line")"
    n=$((n + 1))
done <"$commands"
# Where the hottest procedure's name can't be pasted there is no hint. Names of shell text alone can, and come back as they are.
if grep -q 'onerror=alert' "$commands"; then cat -v "$commands"; fail "a hint with control characters"; fi
PATH=$tmp/bin:$PATH sh -c "$(cat "$commands")"
for word in "$shell" "${source##*/}" "$store"; do
    grep -qxF -e "$word" "$PASTED" || fail "doesn't come back from the shell: $(cat -v <<<"$word")"
done
echo "ok: $n commands pasted"
