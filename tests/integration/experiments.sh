#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# calc runs a hot loop by itself. Seven multiplications that wait for each other take 21 cycles on every x86-64 core of both
# vendors; that is the measured figure of the block. Where no turn waits for the one before they take 7, because one begins in
# each cycle: that is what the chain costs. --no-experiments has the model's cycles, and both say which it is.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "skipped: experiments are made on x86-64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CYCLESCOPE_CACHE=$work/cache
fail() { echo "not ok: $*"; exit 1; }
cat >"$work/chain.c" <<'C'
#include <stdint.h>
#include <time.h>
__attribute__((noinline, noclone)) static uint64_t chain(uint64_t x, uint64_t n)
{
    __asm__ volatile("1: .rept 7; imul %2, %0; .endr; dec %1; jnz 1b" : "+r"(x), "+r"(n) : "r"(UINT64_C(3)));
    return x;
}
int main(void)
{
    uint64_t x = 1;
    while (clock() < 2 * CLOCKS_PER_SEC)
        x = chain(x, 100000);
    return x == 0;
}
C
gcc -O2 -g -o "$work/chain" "$work/chain.c" || fail "the program doesn't build"
"$CYCLESCOPE" record -o "$work/store" -- "$work/chain" >"$work/log" 2>&1 || { cat "$work/log"; fail record; }
# A run alone needs some milliseconds without others on its core: five tries.
for try in 1 2 3 4 5; do
    rm -rf "$work/cache"
    "$CYCLESCOPE" calc chain --store "$work/store" --json | grep -q '"measured": [1-9]' && break
done
for how in "" --no-experiments; do
    "$CYCLESCOPE" calc chain $how --store "$work/store" --json >"$work/calc$how.json" || fail "calc $how"
    "$CYCLESCOPE" calc chain $how --store "$work/store" >"$work/calc$how.text" || fail "calc $how as text"
done
python3 - "$work" <<'P'
import json, sys
work = sys.argv[1]
ours, model = (json.load(open(f"{work}/calc{how}.json")) for how in ("", "--no-experiments"))
said, unsaid = (open(f"{work}/calc{how}.text").read() for how in ("", "--no-experiments"))
hottest = lambda d: max(d["blocks"], key=lambda b: b["samples"])
assert model["experiments"] == {} and not any(b["measured"] for b in model["blocks"]), model["experiments"]
assert "measured on this machine" not in unsaid and "none could be measured" not in unsaid
tried = ours["experiments"]
assert tried, "no loop was tried"
if not tried.get("measured"):
    assert "none could be measured" in said
    if set(tried) <= {"turns differ", "no end"}:
        print("skipped: other work disturbs each run:", tried)
        sys.exit(77)
    sys.exit(f"not ok: {tried}")
block = hottest(ours)
cycles = block["best_cpi"] * block["instructions"]
assert block["measured"] and abs(cycles / 21 - 1) < 0.03, (cycles, block)
assert "1 of 1 hot loop measured on this machine" in said and "in a loop whose turn was measured" in said, said[:600]
[loop] = ours["loops"]
assert model["loops"] == [] and model["removed"] is None, model["loops"]
assert abs(loop["cycles"] / 21 - 1) < 0.03 and loop["share"] > 90, loop
assert not {"locks", "divisions"} & set(loop["without"]), loop
without = loop["without"]["chains"]
if without in ("turns differ", "no end"):
    print("skipped: other work disturbed the run without the chain:", loop)
    sys.exit(77)
assert abs(without / 7 - 1) < 0.03, loop
agrees = loop["program_cycles"] is not None and abs(loop["program_cycles"] / loop["cycles"] - 1) < 0.1
sentence = "Without the dependence on the turn before the same loop takes 7"
assert agrees == (ours["removed"] or "").startswith(sentence) == (sentence in said), (loop, ours["removed"])
print(f"ok: {cycles:.2f} cycles a turn, {without:.2f} without the chain")
P
