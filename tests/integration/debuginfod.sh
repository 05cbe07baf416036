#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A removed program's profile gets its names back from a debuginfod server, and keeps them; nobody is asked unless DEBUGINFOD_URLS
# says so; servers that send rubbish, something else, without an end or nothing harm nothing and take no longer than allowed.
# Beside others.
set -u
. "$(dirname "$0")/../until.sh"
cd "$(dirname "$0")/../.." || exit 1
command -v debuginfod-find >/dev/null || { echo "no debuginfod-find (Debian's package debuginfod)"; exit 77; }
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }
unset DEBUGINFOD_URLS DEBUGINFOD_MAXSIZE DEBUGINFOD_CACHE_PATH
export DEBUGINFOD_MAXTIME=4 DEBUGINFOD_TIMEOUT=2 HOME=$work no_proxy=127.0.0.1
cat >"$work/program.c" <<'C'
static volatile unsigned sink;
__attribute__((noinline)) static void gone_but_known(void) { for (unsigned i = 0; i < 1500000000u; i++) sink += i; }
int main(void) { gone_but_known(); }
C
gcc -O1 -g -Wl,--build-id=sha1 "$work/program.c" -o "$work/whole" && objcopy --strip-all "$work/whole" "$work/program" || exit 1
id=$(readelf -n "$work/whole" | sed -n 's/.*Build ID: //p')
mkdir "$work/files"
cp "$work/program" "$work/files/$id.executable"
cp "$work/whole" "$work/files/$id.debuginfo"
python3 tests/debuginfod_server.py "$work/files" "$work/asked" >"$work/port" &
server=$!
until_true test -s "$work/port"
port=$(cat "$work/port")

"$CYCLESCOPE" record -o "$work/store" -- "$work/program" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
prof() { # CACHE MANNER [COMMAND]: a table
    local urls=${2:+DEBUGINFOD_URLS=http://127.0.0.1:$port/$2}
    CYCLESCOPE_CACHE=$work/$1 env ${urls:+"$urls"} "$CYCLESCOPE" prof --store "$work/store" 2>"$work/$1.said"
}
known() { awk '/gone_but_known/ && $2 + 0 > 80 {found = 1} END {exit !found}'; }

# Stripped, its file there: only its names are asked for.
prof plain '' | known && fail "a stripped program has names without a server"
prof stripped good | known || { cat "$work/stripped.said"; fail "no names for a stripped program"; }
[ "$(grep -c "$id" "$work/asked")" = 1 ] && grep -q "$id debuginfo" "$work/asked" || fail "asked for: $(cat "$work/asked")"

# Its file is gone, and so is the recording's copy.
rm -r "$work/program" "$work/store/.images"
mkdir -p "$work/gone/debuginfod.ended" && touch -d '1 hour ago' "$work/gone/debuginfod.ended"
before=$(wc -l <"$work/asked")
prof plain '' >"$work/without"
known <"$work/without" && fail "names without file or server"
[ "$(wc -l <"$work/asked")" = "$before" ] || fail "asked though DEBUGINFOD_URLS isn't set"
prof gone good | known || { cat "$work/gone.said"; fail "no names for a removed program"; }
grep -q "$id executable" "$work/asked" || fail "its file wasn't asked for"
[ ! -e "$work/gone/debuginfod.ended" ] || fail "what an ended command left stays"
before=$(wc -l <"$work/asked")
prof gone '' | known || fail "what was brought isn't kept"
prof gone good | known || fail "what was brought isn't kept, with a server"
[ "$(grep -c "$id" <(tail -n +$((before + 1)) "$work/asked"))" = 0 ] || fail "asked again for what is kept"
others=$(tail -n +$((before + 1)) "$work/asked" | wc -l)
[ "$others" = 0 ] || fail "asked again for what nobody had: $(tail -n "$others" "$work/asked")"

# Bad manners: the table without a server, in time, and nothing left.
for manner in other rubbish flood silent; do
    began=$(date +%s)
    prof "$manner" "$manner" >"$work/table" || { cat "$work/$manner.said"; fail "$manner: exit $?"; }
    took=$(($(date +%s) - began))
    [ $took -le 15 ] || fail "$manner: $took s"
    diff "$work/without" "$work/table" || fail "$manner: another table"
    grep -q "^$manner $id executable" "$work/asked" || fail "$manner: wasn't asked"
    [ "$(du -sm "$work/$manner" | cut -f1)" -le 8 ] || fail "$manner: $(du -sm "$work/$manner") MB stay"
    [ -z "$(find "$work/$manner" -name 'debuginfod.*' -type d)" ] || fail "$manner: its folder stays"
    pgrep -f "debuginfod-find .* $id" >/dev/null && fail "$manner: its child stays"
done
grep -q 'no answer in time' "$work/silent.said" || { cat "$work/silent.said"; fail "silence isn't told"; }

# A debuginfod-find that heeds nothing.
mkdir "$work/bin"
printf '#!/bin/sh\ntrap "" TERM INT\nwhile :; do sleep 1; done\n' >"$work/bin/debuginfod-find" # sleeps: it heeds nothing
chmod +x "$work/bin/debuginfod-find"
began=$(date +%s)
PATH=$work/bin:$PATH prof deaf good >"$work/table" || fail "deaf: exit $?"
[ $(($(date +%s) - began)) -le 15 ] || fail "deaf: $(($(date +%s) - began)) s"
diff "$work/without" "$work/table" || fail "deaf: another table"
pgrep -f "$work/bin/debuginfod-find" >/dev/null && fail "deaf: its child stays"
[ ! -e "$work/.cache/debuginfod_client" ] || fail "debuginfod's own cache was written"
exit 0
