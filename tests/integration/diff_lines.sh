#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others. diff --by line between two build folders: lines are compared with themselves though others were inserted above
# them. With the sources at hand also within the function, without them above it. Two files of one name stay apart.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }

# A turn of each loop is a chain in a register: a store that is read again takes 0 to 5 cycles, as the processor likes.
# FOLDER ABOVE WITHIN TIMES: the second loop of `work` takes TIMES as long; lines that are inserted.
build() {
    mkdir -p "$1/app/one" "$1/app/two"
    { printf '%s' "$2"; cat <<'C'; } | sed "s,// WITHIN,$3," >"$1/app/work.c"
extern volatile unsigned long sum;
void work(unsigned long first, unsigned long second)
{
    unsigned long x = sum;
    for (unsigned long i = 0; i < first; i++)
        x = (x ^ x >> 3) * 5 + i;
    // WITHIN
    for (unsigned long i = 0; i < second; i++)
        x = (x ^ x >> 3) * 5 + i;
    sum = x;
}
C
    for part in one two; do
        printf 'extern volatile unsigned long sum;\nstatic void step(unsigned long n)\n{\n%s    unsigned long x = sum;\n    while (n--)\n        x = (x ^ x >> 3) * 5 + n;\n    sum = x;\n}\nvoid %s(unsigned long n) { step(n); }\n' \
            "$([ $part = one ] || echo '    n = n / 2;')"$'\n' $part >"$1/app/$part/util.c"
    done
    cat >"$1/app/main.c" <<C
volatile unsigned long sum;
void work(unsigned long, unsigned long), one(unsigned long), two(unsigned long);
int main(void)
{
    for (int i = 0; i < 150; i++) {
        work(1000000, 10000 * $4);
        one(700000);
        two(1000000);
    }
}
C
    (cd "$1" && gcc -g -O1 -fno-inline -o lines "$PWD"/app/*.c "$PWD"/app/*/util.c) || fail "gcc"
    sleep 0.2 # sleeps: a file has its time
}
record() { for run in 1 2 3 4; do "$CYCLESCOPE" record --no-bursts --no-chains -F 2000 -o "$1.store" -- "$1/lines" >/dev/null 2>"$1.said" || fail "record: $(cat "$1.said")"; done; }
build was "" "" 100
build is $'/* new */\n/* lines */\n' "sum++;\\n    sum--;" 200
build above $'/* new */\n/* lines */\n' "" 200
sleep 1 # sleeps: a file's time has seconds
for build in was is above; do record $build; done

check() { # B, LINE of the second loop there, LINE in A
    "$CYCLESCOPE" diff --by line --all --top 0 --json was.store "$1.store" >"$1.json" || fail "diff"
    python3 - "$1.json" "$1" "$2" "$3" <<'P' || fail "was and $1"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
to, line, before = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
busy = [r for r in rows if r["samples_a"] + r["samples_b"] > 0.05 * sum(x["samples_a"] + x["samples_b"] for x in rows)]
at = {(r["procedure"], r["line"]): r for r in busy if r["procedure"] in ("work", "step")}
assert all(r["samples_a"] > 20 and r["samples_b"] > 20 for r in at.values()), at
changed = [k[1] for k, r in at.items() if r["significant"] == "yes" and r["a"] and r["ratio"] > 1.3]
# The loop has two lines, its head and its body: processors differ in which of them samples fall on.
loop = [f"/{to}/app/work.c:{line - n} (A: {before - n})" for n in (0, 1)]
assert all(any(part in w for part in loop) for w in changed), at
assert any(loop[0] in w for w in changed), at
steps = {k[1].split("/app/")[1].split("/")[0]: r for k, r in at.items() if k[0] == "step"}
assert set(steps) == {"one", "two"}, steps
for part, r in steps.items():
    assert 0.5 < r["ratio"] < 2, (part, r)
P
}
check is 12 9
mv was/app gone
check above 11 9
echo ok
