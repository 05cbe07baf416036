#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every subcommand: --help, the man page and completion agree (they come from one table), wrong usage is one sentence
# and exit code 2.
# Beside others.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "not ok: $*"; exit 1; }

"$CYCLESCOPE" --help >"$tmp/help"
rc=0; "$CYCLESCOPE" >/dev/null || rc=$?; [ $rc = 2 ] || fail "no subcommand gives $rc"
for s in $("$CYCLESCOPE" --subcommands); do
    grep -q "^  $s " "$tmp/help" || fail "$s is not in --help"
    "$CYCLESCOPE" "$s" --help >"$tmp/$s.help" 2>"$tmp/err" || fail "$s --help"
    [ ! -s "$tmp/err" ] || fail "$s --help writes on standard error"
    "$CYCLESCOPE" --man "$s" >"$tmp/$s.1"
    sed 's/\\-/-/g; s/\\&//g' "$tmp/$s.1" >"$tmp/$s.txt"
    sed -n 's/^  [ -].*--\([a-z0-9-]*\).*/\1/p' "$tmp/$s.help" | while read -r option; do
        grep -q -- "--$option" "$tmp/$s.txt" || fail "$s --$option is not in its man page"
    done
    # Examples: in --help and in the man page alike, and each is understood (--help before its operands prints help).
    sed -n '/^\.SH EXAMPLES/,/^\.SH EXIT/p' "$tmp/$s.txt" | sed -n 's/^\.B \(cyclescope .*\)/\1/p' >"$tmp/examples"
    grep -q "^cyclescope $s" "$tmp/examples" || fail "$s has no example in its man page: cli/tasks.c"
    while read -r _ sub rest; do
        grep -qF "cyclescope $sub${rest:+ $rest}" "$tmp/$s.help" || fail "an example of $s isn't in its --help: $sub $rest"
        rest=${rest%% > *}
        # shellcheck disable=SC2086
        (set -f; "$CYCLESCOPE" "$sub" --help $rest </dev/null >"$tmp/out" 2>&1) && grep -q "^usage: cyclescope $sub" "$tmp/out" ||
            fail "an example of $s isn't understood: $sub $rest: $(cat "$tmp/out")"
    done <"$tmp/examples"
    if command -v man >/dev/null; then
        trouble=$(MANWIDTH=80 man --warnings -l "$tmp/$s.1" 2>&1 >/dev/null) || true
        [ -z "$trouble" ] || fail "man page of $s: $trouble"
    fi
    rc=0; "$CYCLESCOPE" "$s" --no-such-option >/dev/null 2>"$tmp/err" || rc=$?
    [ $rc = 2 ] || fail "$s --no-such-option gives $rc"
    [ "$(wc -l <"$tmp/err")" = 1 ] || fail "$s --no-such-option says more than one sentence"
done
# One language: a letter is one option everywhere, an option has one letter, one operand and one meaning.
python3 - "$tmp" >"$tmp/differ" <<'PYTHON' || fail "options differ between subcommands: $(cat "$tmp/differ")"
import collections, pathlib, re, sys
names, meanings = collections.defaultdict(set), collections.defaultdict(lambda: collections.defaultdict(list))
for help in sorted(pathlib.Path(sys.argv[1]).glob("*.help")):
    options = help.read_text().split("\noptions:\n")[1].split("\n\nexamples")[0]
    for letter, name, rest in re.findall(r"^  (-\w,|   ) --([a-z0-9-]+)(.*(?:\n {20,}.*)*)", options, re.M):
        names[letter.strip(" ,")].add(name)
        meanings[name][letter + re.sub(r"\s+", " ", rest)].append(help.stem)
assert len(meanings) > 100, "no options were read"
wrong = [f"{letter}: {' '.join(sorted(n))}" for letter, n in names.items() if letter and len(n) > 1]
wrong += [f"--{name}: {dict(m)}" for name, m in meanings.items() if len(m) > 1]
print("\n".join(wrong))
sys.exit(bool(wrong))
PYTHON
# Grouped by task, every subcommand in one group.
for task in 'record what runs' 'look where the time went' 'explain why it is slow' 'observe within' 'exchange with' 'keep recordings'; do
    grep -q "^$task.*:$" "$tmp/help" || fail "--help has no group: $task"
done
! grep -q '^other:' "$tmp/help" || fail "a subcommand is in no group: cli/tasks.c"

# What was meant.
meant() { # WANTED COMMAND...
    local wanted=$1
    shift
    "$CYCLESCOPE" "$@" >/dev/null 2>"$tmp/err" || true
    grep -q "did you mean $wanted?" "$tmp/err" || fail "$*: $(cat "$tmp/err")"
}
meant record recrod
meant prof porf
meant diff dif
meant --image prof --imgae x
meant --frequency record --frequencey=5
"$CYCLESCOPE" xyzzy 2>"$tmp/err" || true
! grep -q "did you mean" "$tmp/err" || fail "a guess at xyzzy"
"$CYCLESCOPE" record -p 99999999 2>"$tmp/err" || true
grep -q "4194304" "$tmp/err" || fail "a limit as $(cat "$tmp/err")"

rc=0; "$CYCLESCOPE" nonsense 2>"$tmp/err" || rc=$?; [ $rc = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] || fail nonsense

# An output that can't be written is a failure that is said.
rc=0; "$CYCLESCOPE" doctor >/dev/full 2>"$tmp/err" || rc=$?
[ $rc = 1 ] && grep -q 'could not write' "$tmp/err" || fail "full output: $rc"

# Completion: bash offers subcommands and options; zsh's file is at least well-formed where zsh is there.
"$CYCLESCOPE" --completion bash >"$tmp/bash"
got=$(bash -c 'source "$1"; COMP_WORDS=(cyclescope do); COMP_CWORD=1; _cyclescope cyclescope; echo "${COMPREPLY[*]}"' - "$tmp/bash")
[ "$got" = doctor ] || fail "bash completes do to: $got"
got=$(bash -c 'source "$1"; COMP_WORDS=(cyclescope prof --imag); COMP_CWORD=2; _cyclescope cyclescope; echo "${COMPREPLY[*]}"' - "$tmp/bash")
[ "$got" = --image ] || fail "bash completes --imag to: $got"
# Words of options and verbs: those that the subcommand says it expects.
tab() { # WORD...: what bash makes of the last one
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cyclescope cyclescope; printf "%s\n" "${COMPREPLY[@]}"' - "$tmp/bash" "$@" | sort
}
declare -A commands=([record]="-- true")
"$CYCLESCOPE" record --no-bursts -o "$tmp/forwords" -- "$BUILD/tests/programs/procedures" 30 >/dev/null 2>&1
for typed in 'prof --by' 'prof --sort' 'diff --by' 'stats --by' 'waits --by' 'tree --by' 'top --by' 'fleet prof --by' 'record --label' 'record --driver' \
    'export --format' 'prof -b' 'export -f' store daemon; do
    # shellcheck disable=SC2086
    expected=$(CYCLESCOPE_SERVER=http://localhost:1/x CYCLESCOPE_STORE=$tmp/forwords "$CYCLESCOPE" $typed no-such-word ${commands[${typed%% *}]-} 2>&1 | tail -n 1)
    sed -E 's/.*(expected|there are) //; s/; (see|did you).*//; s/,? or /, /g; s/, /\n/g' <<<"$expected" | sort >"$tmp/expected"
    # shellcheck disable=SC2086
    tab cyclescope $typed '' >"$tmp/offered"
    cmp -s "$tmp/expected" "$tmp/offered" || fail "bash offers for $typed: $(tr '\n' ' ' <"$tmp/offered"), not $expected"
done
[ "$(tab cyclescope store ver)" = verify ] && [ "$(tab cyclescope export -f fol)" = folded ] || fail "bash completes no verb or format"
mkdir "$tmp/zsh"
"$CYCLESCOPE" --completion zsh >"$tmp/zsh/_cyclescope"
if command -v zsh >/dev/null && "$CYCLESCOPE" record -F 2000 -o "$tmp/store" -- "$BUILD/tests/programs/procedures" 50 50 50 50 50 50 50 >/dev/null 2>&1; then
    zsh -n "$tmp/zsh/_cyclescope"
    ln -s "$CYCLESCOPE" "$tmp/zsh/cyclescope"
    # A real zsh in a pseudo-terminal: what a user types, and what the Tab key makes of it.
    cat >"$tmp/tab.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='% '; cd $1; path=($1/zsh \$path); fpath=($1/zsh \$fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep"
zpty -w shell "print rea''dy"
zpty -r shell answer '*ready*'
for typed in 'cyclescope docto' 'cyclescope prof --cs' 'cyclescope list --store store gamm' 'cyclescope store veri' 'cyclescope export --format speeds'; do
    zpty -w -n shell "$typed"$'\t'
    zpty -w -n shell $'\C-x\C-x'
    sleep 1.5 # sleeps: nothing tells when a shell has completed nothing
    zpty -w -n shell $'\C-a: \C-e done\C-m'
    zpty -r shell answer '*done*'
    print -r -- "$answer"
done
zpty -d shell
ZSH
    timeout 30 zsh -f "$tmp/tab.zsh" "$tmp" >"$tmp/tab.out" </dev/null || fail "zsh in a pseudo-terminal"
    for whole in 'cyclescope doctor' 'prof --csv' 'gamma_ray' 'store verify' 'format speedscope'; do
        grep -q -- "$whole" "$tmp/tab.out" || { cat "$tmp/tab.out"; fail "zsh doesn't complete to: $whole"; }
    done
    got=$(bash -c 'source "$1"; COMP_WORDS=("$2" list --store "$3" gamm); COMP_CWORD=4; _cyclescope "$2"; echo "${COMPREPLY[*]}"' - "$tmp/bash" "$CYCLESCOPE" "$tmp/store")
    [ "$got" = gamma_ray ] || fail "bash completes the procedure gamm to: $got"
fi
