#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes docs/pictures/why.png, the picture of the README: one procedure of the HTML page, opened. Needs chromium.
set -eu
cd "$(dirname "$0")/../.."
program=$(realpath "${BUILD:-build}/cyclescope") tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -O2 -g -o "$tmp/join" bench/fixes/join.c
"$program" record --burst-rate 30 -o "$tmp/s" -- "$tmp/join" 5
"$program" report --html "$tmp/page.html" --store "$tmp/s"
# Opens the first procedure and leaves only that section standing.
sed -i "s|$PWD/||g; s|</body>|<script>addEventListener('load', () => setTimeout(() => {\
document.querySelector('#grid button.open').click(); setTimeout(() => { document.activeElement.blur();\
const d = document.querySelector('#detail'); for (const e of document.querySelectorAll('section, header, nav, main > *'))\
if (!e.contains(d) \&\& !d.contains(e)) e.style.display = 'none'; }, 100); }, 100));</script></body>|" "$tmp/page.html"
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=3000 --window-size=1000,760 \
    --screenshot=docs/pictures/why.png "file://$tmp/page.html"
