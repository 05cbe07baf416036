#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tutorials in docs/ work by copy and paste: every ```sh block is run, in order, page by page.
set -u
docs=$(realpath docs) tmp=$(mktemp -d) bad=0
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
ln -s "$CYCLESCOPE" "$tmp/bin/cyclescope"
export PATH=$tmp/bin:$PATH
for page in production runtime-developer architect chains; do
    if [ "$page" != production ] && [ "$(nproc)" -lt 2 ]; then continue; fi
    mkdir "$tmp/$page"
    ln -s "$(realpath "$BUILD")" "$tmp/$page/build"
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$docs/$page.md" >"$tmp/$page.sh"
    [ -s "$tmp/$page.sh" ] || { echo "not ok: no commands in $page"; bad=1; }
    (cd "$tmp/$page" && bash -e "$tmp/$page.sh") >"$tmp/$page.out" 2>&1 || { echo "not ok: $page"; tail -n 20 "$tmp/$page.out"; bad=1; }
done
grep -q -E 'find|main|strcmp' "$tmp/production.out" || { echo "not ok: the responsible procedure isn't named"; bad=1; }
grep -q 'w = w->next' "$tmp/production.out" || { echo "not ok: the responsible line isn't shown"; bad=1; }
if [ -e "$tmp/chains.out" ]; then
    grep -q 'cheapest_price' "$tmp/chains.out" || { echo "not ok: the culprit above the hot function isn't named"; bad=1; }
fi
exit $bad
