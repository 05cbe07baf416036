#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The transcripts of README.md, of two tutorials and of the pages on the observer and on calc are what the program prints today, numbers aside.
# Beside others.
set -u
[ "$(nproc)" -gt 1 ] || { echo "one CPU: nothing can be observed"; exit 77; }
[ -z "${CS_SANITIZED:-}" ] || { echo "waits on plain builds"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/waits_possible.sh
export CYCLESCOPE_CACHE=$work/cache
scripts/transcripts || exit 1
# It can fail.
printf '```\n$ cyclescope --version\ncyclescope 0.1 gone\n```\n' >"$work/page.md"
scripts/transcripts "$work/page.md" | grep -q "doesn't print gone" || { echo "not ok: a word that isn't printed isn't found"; exit 1; }
