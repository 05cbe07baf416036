#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# The server of the Model Context Protocol against a client of our own (tests/mcp_client.py): JSON-RPC, both kinds of revisions,
# every tool by its schema; and hostile input: what isn't JSON, too long, too deep or of the wrong type, paths and links out of
# the folder, values that look like options, programs that aren't allowed, reports over the bound.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/user-cache
unset CYCLESCOPE_CACHE
mkdir "$work/folder" "$work/outside"
gcc -O2 -g -fno-omit-frame-pointer -o "$work/k" bench/kernels/forward_fail.c || { echo "not ok: the kernel doesn't build"; exit 1; }
"$CYCLESCOPE" record -o "$work/outside/store" --no-bursts --no-paths -- "$work/k" 0.3 >/dev/null 2>&1 || { echo "not ok: record"; exit 1; }
ln -s ../outside/store "$work/folder/link"
ln -s ../outside "$work/folder/up"
ln -s ../outside/new "$work/folder/dangling"
"$CYCLESCOPE" mcp --store "$work/folder" --allow k >/dev/null 2>"$work/err" </dev/null
[ $? = 2 ] && grep -q "whole path" "$work/err" || { echo "not ok: --allow of a name"; exit 1; }
"$CYCLESCOPE" mcp --store "$work/folder" --allow /no/such/program >/dev/null 2>"$work/err" </dev/null && { echo "not ok: --allow of nothing"; exit 1; }
find "$work/outside" "$work/user-cache" 2>/dev/null | sort >"$work/before"
python3 tests/mcp_client.py "$CYCLESCOPE" "$work" "$work/k" || exit 1
find "$work/outside" "$work/user-cache" 2>/dev/null | sort | diff "$work/before" - || { echo "not ok: something was written outside the folder"; exit 1; }
echo ok
