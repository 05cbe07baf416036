#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tutorials in docs/ work by copy and paste: every ```sh block is run, in order, page by page. A block ```LANGUAGE FILE is
# saved first. Programs that publish signals are built as an installation's users build them, and observed.
set -u
docs=$(realpath docs) tmp=$(mktemp -d) bad=0
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
ln -s "$CYCLESCOPE" "$tmp/bin/cyclescope"
export PATH=$tmp/bin:$PATH
missing=
for tool in cc c++ gcc clang pkg-config lua5.4 luajit; do command -v $tool >/dev/null || missing="$missing $tool"; done
[ -e "$BUILD/luajit/cyclescope.so" ] && [ -e "$BUILD/lua/cyclescope.so" ] && [ -e "$BUILD/plugin/cyclescope.so" ] && [ -e "$BUILD/plugin/cyclescope-clang.so" ] || missing="$missing languages"
echo 'int main(void) { return 0; }' | clang -fopenmp -x c - -o "$tmp/openmp" 2>/dev/null || missing="$missing libomp"
echo 'int main(void) { return 0; }' | clang -fxray-instrument -x c - -o "$tmp/xray" 2>/dev/null || missing="$missing libclang-rt"
[ -z "${CS_SANITIZED:-}" ] || missing="$missing plain-build"
export PREFIX=$tmp/prefix
make -s BUILD="$BUILD" CS_DEPS_DONE=1 PREFIX="$PREFIX" install >"$tmp/install" 2>&1 || { echo "not ok: install: $(tail -n 3 "$tmp/install")"; exit 1; }
export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig LD_LIBRARY_PATH=$PREFIX/lib
for page in production runtime-developer architect chains signals; do
    if [ "$page" != production ] && [ "$(nproc)" -lt 2 ]; then continue; fi
    if [ $page = signals ] && [ -n "$missing" ]; then continue; fi
    mkdir "$tmp/$page"
    ln -s "$(realpath "$BUILD")" "$tmp/$page/build"
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$docs/$page.md" >"$tmp/$page.sh"
    awk -v folder="$tmp/$page/" '/^```[a-z]+ [a-z.]+$/ { file = folder $2; next } /^```/ { file = "" } file { print >file }' "$docs/$page.md"
    [ -s "$tmp/$page.sh" ] || { echo "not ok: no commands in $page"; bad=1; }
    (cd "$tmp/$page" && bash -ex "$tmp/$page.sh") >"$tmp/$page.out" 2>&1 || { echo "not ok: $page"; tail -n 20 "$tmp/$page.out"; bad=1; }
    for header in "$tmp/$page"/*.h; do # shown, but no command names it
        [ ! -e "$header" ] || gcc -fsyntax-only -I"$PREFIX/include" -x c "$header" || { echo "not ok: $page: $header"; bad=1; }
    done
done
# observed PAGE PATTERN WHAT...: the command that observes WHAT prints each of the names.
observed() {
    local page=$1 command=$2; shift 2
    [ -e "$tmp/$page.out" ] || return 0
    awk -v c="$command" '/^\+ / { on = 0 } /^\+ cyclescope observe/ && substr($0, length($0) - length(c) + 1) == c { on = 1 } on' "$tmp/$page.out" >"$tmp/part"
    for name; do
        grep -v '^+' "$tmp/part" | grep -q -F -e "$name" || { echo "not ok: $page: of $command $name wasn't seen"; cat "$tmp/part"; bad=1; }
    done
}
observed signals ./program parse run
observed signals ./traced main
observed signals ./threads left right
observed signals 'lua5.4 -l cyclescope program.lua' 'parse (program.lua:2)' run
observed signals 'luajit -l cyclescope program.lua' 'parse (program.lua:2)' run
observed signals 'python3 -m cyclescope program.py' 'parse' run
observed signals ./plain 'multiply' 'loop'
observed signals ./clang-plain 'multiply' 'loop'
observed signals ./xray-linked 'multiply'
observed signals './xray-plain' 'multiply'
observed signals ./loops 'OMP'
observed runtime-developer ./yours parse
observed runtime-developer ./shop /cart
observed runtime-developer ./game 'physics (game.cc:' render
observed runtime-developer ./player DrawPlayer
if [ -e "$tmp/runtime-developer.out" ]; then
    if grep -q 'BPF driver alone\|BPF programs' "$tmp/runtime-developer.out"; then :; else grep -q ' /cart$' "$tmp/runtime-developer.out" || { echo "not ok: no share of the route"; bad=1; }; fi
    grep -q 'shop\.render' "$tmp/runtime-developer.out" || { echo "not ok: JIT code has no name in record"; bad=1; }
fi
grep -q -E 'find|main|strcmp' "$tmp/production.out" || { echo "not ok: the responsible procedure isn't named"; bad=1; }
grep -q 'w = w->next' "$tmp/production.out" || { echo "not ok: the responsible line isn't shown"; bad=1; }
if [ -e "$tmp/chains.out" ]; then
    grep -q 'cheapest_price' "$tmp/chains.out" || { echo "not ok: the culprit above the hot function isn't named"; bad=1; }
fi
if [ $bad = 0 ] && [ -n "$missing" ]; then echo "docs/signals.md wasn't run, for want of:$missing"; exit 77; fi
exit $bad
