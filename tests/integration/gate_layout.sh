#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate --relink: a head whose word lies across two pages loses that when it is linked again, so layout made the growth. A walk that
# misses the caches stays slow in every layout. A command that makes no other layout is no evidence; one that fails ends all.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "a word across two pages costs enough on x86-64"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
gate() { "$CYCLESCOPE" gate "$@" >said 2>err; code=$?; }

cat >lay.c <<'C'
extern unsigned long word;
__attribute__((noinline)) void spin(void) { for (unsigned long i = 0; i < 8000000; i++) *(volatile unsigned long *)&word += i; }
int main(void) { for (unsigned long i = 0, s = 1; i < 20000000; i++) __asm__ volatile("" : "=r"(s) : "0"(s * 1000003 + i)); spin(); }
C
cat >walk.c <<'C'
#include <stdlib.h>
enum { WORDS = 1 << 22 };
volatile unsigned long sum;
__attribute__((noinline)) void walk(unsigned long *word)
{
    unsigned long stride = STRIDE;
    __asm__("" : "+r"(stride));
    for (unsigned long i = 0; i < 5000000; i++)
        sum += word[i * stride % WORDS];
}
int main(void)
{
    unsigned long *word = malloc(WORDS * sizeof *word);
    for (unsigned long i = 0; i < WORDS; i++)
        word[i] = i;
    walk(word);
}
C
gcc -O1 -g -c lay.c && gcc -O1 -g -DSTRIDE=1 -c -o near.o walk.c && gcc -O1 -g -DSTRIDE=1048583 -c -o far.o walk.c || fail "gcc"
cat >data.s <<'S'
.data
.balign 4096
front: .org front + PLACE
.globl word
word: .quad 0
.org front + 12288
.section .note.GNU-stack, "", @progbits
S
lay() { sed "s/PLACE/$2/" data.s >place.s && as -o place.o place.s && gcc -o "$1" lay.o place.o; } # a word that lies there in a page
lay aligned 0 && lay across 4092 || fail "link"
cat >link-across <<'L'
#!/bin/bash
echo "$CYCLESCOPE_LAYOUT" >>asked
[ "$CYCLESCOPE_LAYOUT" = 0 ] && place=4092 || place=$((64 * CYCLESCOPE_LAYOUT))
sed "s/PLACE/$place/" data.s >place.s && as -o place.o place.s && gcc -o across lay.o place.o
L
cat >link-both <<'L'
#!/bin/bash
printf '.text\n.skip %d\n.section .note.GNU-stack, "", @progbits\n' $((48 * CYCLESCOPE_LAYOUT)) >pad.s && as -o pad.o pad.s && gcc -o far pad.o far.o && gcc -o near pad.o near.o
L
chmod +x link-across link-both
CYCLESCOPE_LAYOUT=0 ./link-both 2>/dev/null || fail "link far"

before=$(sha256sum <across)
gate --for 12s --base-command ./aligned --relink ./link-across --json -- ./across
[ $code = 0 ] || fail "a word across two pages: exit $code: $(cat said err)"
[ "$(sha256sum <across)" = "$before" ] && [ "$(tr '\n' ' ' <asked)" = "1 2 3 4 5 6 7 8 9 10 11 12 0 " ] || fail "the layout as it was: $(cat asked)"
python3 - <<'P' || fail "a word across two pages: $(cat said)"
import json
said = json.load(open("said"))
pace, = [c for c in said["checks"] if c["check"] == "pace"]
assert pace["verdict"] == said["verdict"] == "layout", pace
assert "layout made it: relinked" in pace["sentence"] and len(said["layouts"]) == 12, said
assert all(l["change_percent"] < pace["change_percent"] for l in said["layouts"]), said["layouts"]
P
gate --for 12s --base-command ./near --relink ./link-both --json -- ./far
[ $code = 1 ] && grep -q "not by layout: relinked 12 times, base and head" said || fail "a walk that misses: exit $code: $(cat said err)"
# A command without effect, although each of its files is another one; one that fails; one that isn't run, because nothing changed.
printf '#!/bin/bash\ncp across.o across && echo "$RANDOM$CYCLESCOPE_LAYOUT" >>across\n' >link-same
chmod +x link-same
cp across across.o
gate --for 10s --base-command ./aligned --relink ./link-same -- ./across
[ $code = 1 ] && grep -q "made 0 other files" said || fail "no other layout: exit $code: $(cat said err)"
gate --for 10s --base-command ./aligned --relink false -- ./across
[ $code = 3 ] && grep -q "false failed with CYCLESCOPE_LAYOUT=1" err || fail "a command that fails: exit $code: $(cat said err)"
cp aligned same
gate --for 3s --base-command ./aligned --relink false -- ./same
[ $code = 0 ] || [ $code = 2 ] || fail "nothing changed: exit $code: $(cat said err)"
gate --relink true --base a --head b
[ $code = 3 ] && grep -q -- "--relink needs --base-command" err || fail "of stores: exit $code: $(cat said err)"
echo ok
