#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: time in the kernel has the program's line that makes it. More page faults are a cause, so are more system calls,
# and the C library's function that makes them is named. Where system calls aren't counted the output says so.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
gate() { "$CYCLESCOPE" gate "$@" >said 2>err; code=$?; }

cat >app.c <<'C'
#include <stdlib.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void one(void) { for (unsigned long i = 0; i < 20000000; i++) sum = sum * 5 + i; }
__attribute__((noinline)) void load(int n)
{
    for (int i = 0; i < n; i++) {
        volatile char *block = malloc(40 << 20);
        for (int k = 0; k < 200; k++)
            block[4096 * k] = 1;
        free((void *)block);
    }
}
__attribute__((noinline)) void ask(int n)
{
    for (int i = 0; i < n; i++)
        sum += (unsigned long)getppid();
}
int main(void) { one(); load(LOADS); ask(ASKS); one(); }
C
mkdir base loads asks
gcc -g -O1 -DLOADS=1 -DASKS=1 -o base/app app.c && gcc -g -O1 -DLOADS=100 -DASKS=1 -o loads/app app.c &&
    gcc -g -O1 -DLOADS=1 -DASKS=200000 -o asks/app app.c || fail "gcc"

told=0
for side in loads asks; do
    gate --for 12s --base-command base/app --json -- $side/app
    [ $code -lt 3 ] || fail "$side: exit $code: $(cat said err)"
    python3 - $side <<'P'
import json, sys
side, said = sys.argv[1], json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
if check["pace"]["verdict"] != "slower":
    sys.exit(77)
rows = [g for g in said["guilty"] if g["kind"] == "kernel"]
assert len(rows) == 1, said["guilty"]
row, line = rows[0], int(rows[0]["line"].rsplit(":", 1)[1])
want = {"loads": ("load", "page-fault", (8, 9, 10, 11)), "asks": ("ask", "system-call", (16, 17))}[side]
assert (row["function"], row["cause"]) == want[:2] and line in want[2] and row["significant"], row
assert ("getppid" in row["cause_text"]) == (side == "asks"), row
assert not [g for g in said["guilty"] if g["image"] == "[kernel]"], said["guilty"]
assert ("system calls" in check) == (not any("System calls were not counted" in n for n in said["notes"])), said
if side == "loads":
    assert check["page faults"]["head"] > check["page faults"]["base"] + 15000, check
P
    rc=$?
    [ $rc = 77 ] && { echo "$side: the machine is too busy to see the growth"; continue; }
    [ $rc = 0 ] || fail "$side: $(cat said)"
    told=1
done
[ $told = 1 ] || exit 77
echo ok
