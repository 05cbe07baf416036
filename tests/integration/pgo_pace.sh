#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/lib_pace.py: made-up runs whose true times are known come back, though neighbours took up to half of the pace.
set -eu
cd "$(dirname "$0")/../.."
PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import os, random, statistics
import lib_pace

dice = random.Random(7)
true = {"plain": 0.100, "same": 0.100, "faster": 0.090, "slower": 0.105}


def made(q):
    """40 rounds; a round is up to 10 % slower as a whole; one run in ten is disturbed by something that the loop doesn't see."""
    rounds = []
    for _ in range(40):
        common = 1 + 0.1 * dice.random()
        rounds.append({})
        for name, seconds in true.items():
            lost = 0.5 * dice.random()
            odd = 1.3 if dice.random() < 0.1 else 1 + 0.01 * dice.random()
            rounds[-1][name] = (seconds * common * odd / (1 - q * lost), 20000 * (1 - lost))
    return rounds


for q in (0.5, 0.8, 1.1):
    rounds, found = lib_pace.alone(made(q))
    assert abs(found - q) <= 0.15, (q, found)
    middle = {n: statistics.median(r[n] for r in rounds) for n in true}
    for name, seconds in true.items():
        ratio = middle["plain"] / middle[name]
        assert abs(ratio / (true["plain"] / seconds) - 1) < 0.01, (q, name, ratio)

seconds, pace = lib_pace.run("head -c 3000000 /dev/zero | cksum", min(os.sched_getaffinity(0)))
assert seconds > 0 and pace > 0
END
