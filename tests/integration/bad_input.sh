#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input: each one clear sentence on standard error, the right exit code, and nothing lost.
set -u
tmp=$(mktemp -d)
cleanup() { mountpoint -q "$tmp/small" && umount "$tmp/small"; rm -rf "$tmp"; }
trap cleanup EXIT
bad=0
# expect CODE WORDS COMMAND...: exit code, and a last line on stderr that holds WORDS, in a single sentence.
expect() {
    local code=$1 words=$2 rc=0
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || rc=$?
    if [ $rc -ne "$code" ] || ! grep -v 'no hardware cycles here' "$tmp/err" | tail -n 1 | grep -q -- "$words" ||
        [ "$(grep -vc 'no hardware cycles here' "$tmp/err")" -ne 1 ]; then
        echo "not ok: $* gives $rc (expected $code, '$words'):"
        sed 's/^/    /' "$tmp/err"
        bad=1
    fi
}

# A store that isn't one, that isn't there, that is a file, that is empty.
mkdir "$tmp/empty" "$tmp/other"
echo hello >"$tmp/other/file"
expect 1 'there is no store' "$CYCLESCOPE" prof "$tmp/nowhere"
expect 1 'give --store' "$CYCLESCOPE" waits --store "$tmp/nowhere"
expect 1 "$tmp/other/file" "$CYCLESCOPE" prof "$tmp/other/file"
expect 1 'no samples yet' "$CYCLESCOPE" prof "$tmp/empty"
expect 1 "$tmp/other" "$CYCLESCOPE" prof "$tmp/other"
expect 2 '--by' "$CYCLESCOPE" prof --by nonsense "$tmp/empty"

# A damaged profile: every report and verify name the file, and fail. Without the kept catalogue: it holds small profiles whole, so
# reports would be right in spite of the damage.
"$CYCLESCOPE" record -o "$tmp/s" -- "$BUILD/tests/programs/procedures" 60 60 >/dev/null 2>&1 || { echo "record failed"; exit 1; }
expect 1 'no event cycles' "$CYCLESCOPE" prof -e cycles-that-are-not "$tmp/s"
expect 2 'number' "$CYCLESCOPE" prof --top many "$tmp/s"
profile=$(find "$tmp/s" -name 'cpu-clock*.prof' -size +0 -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
rm -f "$tmp"/s/*/.catalog
cp "$profile" "$tmp/whole"
size=$(stat -c %s "$profile")
for damage in cut flip-head flip-body; do
    cp "$tmp/whole" "$profile"
    case $damage in
    cut) truncate -s $((size - 3)) "$profile" ;;
    flip-head) printf '\xff' | dd of="$profile" bs=1 seek=30 conv=notrunc status=none ;;
    flip-body) printf '\xff' | dd of="$profile" bs=1 seek=$((size - 2)) conv=notrunc status=none ;;
    esac
    cmp -s "$profile" "$tmp/whole" && { echo "not ok: $damage changed nothing"; bad=1; }
    expect 1 "${profile##*/}" "$CYCLESCOPE" prof "$tmp/s"
    "$CYCLESCOPE" store verify --store "$tmp/s" >"$tmp/out" 2>&1 || "$CYCLESCOPE" store verify "$tmp/s" >>"$tmp/out" 2>&1
    grep -q "${profile##*/}" "$tmp/out" || { echo "not ok: verify says nothing of a $damage"; bad=1; }
done
cp "$tmp/whole" "$profile"
"$CYCLESCOPE" prof "$tmp/s" >/dev/null || { echo "not ok: the mended store"; bad=1; }

# Targets that aren't.
expect 1 'nonsense-event' "$CYCLESCOPE" record -e nonsense-event -o "$tmp/x" -- true
sleep 0.01 & gone=$!; wait $gone
expect 1 "$gone" "$CYCLESCOPE" record -o "$tmp/x" -p $gone
expect 1 'no-such-program' "$CYCLESCOPE" record -o "$tmp/x" -- no-such-program
expect 1 "$gone" "$CYCLESCOPE" observe -p $gone
if [ "$(nproc)" -gt 1 ]; then
    expect 1 'CPU 0' "$CYCLESCOPE" observe --target-cpu 0 --observer-cpu 0 -- true
    expect 1 '4095' "$CYCLESCOPE" observe --observer-cpu 4095 -- true
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then # a process that isn't ours
    cp "$CYCLESCOPE" "$tmp/cyclescope"; chmod 755 "$tmp" "$tmp/cyclescope"
    mkdir -m 777 "$tmp/theirs"
    sleep 30 & other=$!
    expect 1 "$other" setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/cyclescope" record -o "$tmp/theirs/x" -p $other
    kill $other
fi

# A disk that fills up during a merge: the old profile stays.
mkdir "$tmp/small"
if mount -t tmpfs -o size=$(($(du -sk "$tmp/s" | cut -f1) + 64))k none "$tmp/small" 2>/dev/null; then
    cp -r "$tmp/s" "$tmp/small/s"
    rm -f "$tmp"/small/s/*/.catalog # a merge would delete it first, and have its room
    before=$("$CYCLESCOPE" prof "$tmp/small/s" --json)
    dd if=/dev/zero of="$tmp/small/filler" bs=1k status=none 2>/dev/null
    expect 1 'No space left' "$CYCLESCOPE" store merge --add "$tmp/small/s" "$tmp/s"
    rm "$tmp/small/filler"
    after=$("$CYCLESCOPE" prof "$tmp/small/s" --json)
    [ "$before" = "$after" ] || { echo "not ok: a full disk changed the profile"; bad=1; }
    "$CYCLESCOPE" store verify "$tmp/small/s" >/dev/null || { echo "not ok: store damaged by a full disk"; bad=1; }
else
    echo "the full disk was left out: no right to mount a tmpfs"
fi

# An assertion that fails: one sentence too, by the program's own __assert_fail. A sanitizer wants to be the first library.
if ! ldd "$CYCLESCOPE" | grep -q 'lib[a-z]*san\.'; then
    printf '%s\n' '#include <assert.h>' 'static int two = 2;' \
        '__attribute__((constructor)) static void f(void) { assert(two == 3); }' >"$tmp/two.c"
    ${CC:-gcc} -shared -fPIC -o "$tmp/two.so" "$tmp/two.c" || exit 1
    expect 134 'two.c:3: f: "two == 3".*report' env LD_PRELOAD="$tmp/two.so" "$CYCLESCOPE" --version
fi
exit $bad
