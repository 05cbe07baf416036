#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Which name stands for which code, where that was wrong for somebody's program. A line "kind NAME: ok" or "kind NAME: WRONG"
# each; bench/field.py counts them.
set -u
work=$(mktemp -d) bad=0
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
kind() { # NAME: the last command's status decides
    [ $? = 0 ] && echo "kind $1: ok" && return
    echo "kind $1: WRONG"
    bad=1
    tail -n 30 "${2:-/dev/null}"
}
lacks() { echo "kind $1: skipped, $2"; }
record() { # STORE COMMAND...
    local store=$1
    shift
    "$CYCLESCOPE" record -F 1000 --no-bursts -o "$store" -- "$@" >said 2>&1 || { echo "record $*: $(cat said)"; return 1; }
}
# Share of the samples of a row of prof whose name is TEXT, whole.
share() { "$CYCLESCOPE" prof --store "$1" --json --top 0 | python3 -c '
import json, sys
d = json.load(sys.stdin)
n = lambda r: sum(r["samples"].values())
print(round(100 * sum(n(r) for r in d["rows"] if r["procedure"] == sys.argv[1]) / max(1, sum(map(n, d["rows"])))))' "$2"; }
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || { echo "$1 is not in $2..$3"; false; }; }

# ---- Rust: a program of two functions, 75 and 25 %, one of them a trait's ----
if command -v rustc >/dev/null; then
    cat >two.rs <<'R'
trait Work { fn go(&self, n: u64) -> u64; }
struct Own<T>(T);
#[inline(never)] fn spin(n: u64) -> u64 { let mut s = n; for i in 0..n { s = s.wrapping_mul(31) ^ i; } s }
impl<T: Copy + Into<u64>> Work for Own<T> { #[inline(never)] fn go(&self, n: u64) -> u64 { let mut s = n; for i in 0..n { s = s.wrapping_mul(31) ^ i; } s + self.0.into() } }
fn main() { let mut t = 0u64; for i in 0..100u64 { t = t.wrapping_add(spin(2000000 + i)); t ^= Own(3u32).go(700000 + i); } println!("{t}"); }
R
    for mangling in legacy v0; do
        RUSTC_BOOTSTRAP=1 rustc -O -g -Z unstable-options -C symbol-mangling-version=$mangling -o two two.rs 2>said
        rm -rf rs && record rs ./two && between "$(share rs two::spin)" 60 90 &&
            "$CYCLESCOPE" calc two::spin --store rs >calc 2>&1 && grep -q 'two::spin in two' calc &&
            "$CYCLESCOPE" callers two::spin --store rs >calc 2>&1 &&
            "$CYCLESCOPE" prof --store rs >calc && grep -Eq '<two::Own<(T|u32)> as two::Work>::go' calc
        kind "rust-$mangling" calc
        # every function that binutils can read, as it reads it, but for the hashes of crates
        nm two | awk '{print $NF}' | grep -E '^(_R|_ZN.*17h[0-9a-f]{16}E)' | grep -v "[$]hash" | sort -u >symbols
        "$BUILD/tests/programs/readable_names" <symbols >ours
        c++filt <symbols | sed -E 's/::h[0-9a-f]{16}$//; s/\[[0-9a-f]{5,16}\]//g; s/(<|, )([0-9]+): [a-z0-9]+/\1\2/g' >theirs
        [ "$(wc -l <symbols)" -gt 100 ] && cmp -s ours theirs
        kind "rust-$mangling-all" <(diff ours theirs | head)
    done
else
    lacks rust "no rustc here"
fi

# ---- names beyond any buffer: two functions whose names differ behind 700 letters ----
cat >long.cc <<'C'
template <class A, class B> struct a_pair_with_a_name_of_forty_letters_or_so {};
template <class T> using twice = a_pair_with_a_name_of_forty_letters_or_so<T, T>;
using many = twice<twice<twice<twice<int>>>>;
template <class T> __attribute__((noinline)) long work(long n) { volatile long x = sizeof(T); for (long i = 0; i < n; i++) x = x * 3 + i; return x; }
int main() { long t = 0; for (int i = 0; i < 250; i++) t += work<a_pair_with_a_name_of_forty_letters_or_so<many, int>>(1000000) + work<a_pair_with_a_name_of_forty_letters_or_so<many, char>>(400000); return t == 0; }
C
g++ -O2 -g -o long long.cc && record ls ./long
for f in folded speedscope firefox pprof otlp csv; do "$CYCLESCOPE" export --store ls --format $f --to long.$f 2>>said; done
python3 - <<'P'
import collections, csv, gzip, json, re
def two(counts, what):
    counts = sorted((n for name, n in counts.items() if "work<" in name), reverse=True)
    assert len(counts) == 2 and sum(counts) > 100 and 0.5 < counts[0] / sum(counts) < 0.9, (what, counts)
leaf = collections.Counter()
for line in open("long.folded"):
    names, _, n = line.rstrip().rpartition(" ")
    leaf[names.split(";")[-1]] += int(n)
two(leaf, "folded")
rows = collections.Counter()
for r in csv.DictReader(open("long.csv")):
    if r["kind"] == "points":
        rows[r["procedure"]] += int(r["count"])
two(rows, "csv")
for name in "speedscope", "firefox":
    assert len(set(re.findall(r'"([^"]*work<[^"]*)"', open("long." + name).read()))) == 2, name
p = gzip.open("long.pprof").read()
assert len(set(re.findall(rb"long work<[ -~]*\(long\)", p))) == 2, "pprof"
P
kind export-long-names

# ---- inlined functions of one name in two files ----
cat >one.c <<'C'
static inline __attribute__((always_inline)) void step(long n) { long x = 1; for (; n > 0; n--) { x *= 31; __asm__ volatile("" : "+r"(x)); } }
void one(long n) { step(n); }
C
cat >other.c <<'C'
void one(long);

static inline __attribute__((always_inline)) void step(long n) { long x = 1; for (; n > 0; n--) { x *= 31; __asm__ volatile("" : "+r"(x)); } }
int main(void) { for (int i = 0; i < 60; i++) { one(3000000); step(1000000); } }
C
gcc -O2 -g -o steps one.c other.c && record ss ./steps && "$CYCLESCOPE" callers step --store ss >callers &&
    grep -Eq '\((5[5-9]|[67][0-9]|8[0-9])\.[0-9] %\)' callers
kind inlined-in-two-files callers

# ---- a thread that renames itself: three quarters of its time under the first name ----
cat >renamed.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
static void spin(uint64_t ns)
{
    struct timespec t;
    uint64_t begin = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        begin = begin ? begin : now;
    } while (now - begin < ns);
}
static void *work(void *arg)
{
    pthread_setname_np(pthread_self(), "alpha");
    spin(900000000);
    pthread_setname_np(pthread_self(), "beta");
    spin(300000000);
    return arg;
}
int main(void) { pthread_t t; return pthread_create(&t, 0, work, 0) || pthread_join(t, 0); }
C
gcc -O2 -g -pthread -o renamed renamed.c &&
    "$CYCLESCOPE" record -F 1000 --no-bursts --label thread -o rn -- ./renamed >said 2>&1 &&
    "$CYCLESCOPE" prof --store rn --by label --json --top 0 >prof && python3 -c '
import json
n = {r["process"].split()[0]: sum(r["samples"].values()) for r in json.load(open("prof"))["rows"]}
assert 0.5 < n["alpha"] / sum(n.values()) < 0.93 and n["beta"] > 0, n' >said 2>&1
kind renamed-thread said

# ---- other code at the same address: two methods of two seconds each (the samples of the drain of the change are divided by
# time, however unevenly other work lets the program run), two libraries by turns ----
for way in map dump; do
    record $way.store sh -c 'echo $$ >pid; exec "$@"' - "$BUILD/tests/programs/replaced_code" $way 2000 && between "$(share $way.store first)" 25 75 &&
        between "$(share $way.store second)" 25 75
    kind jit-replaced-$way said
    rm -f "/tmp/perf-$(cat pid).map"
done
echo 'void work(long n) { for (volatile long i = 0; i < n; i++); }' >a.c
sed 's/i < n/i < n - 1/' a.c >b.c
gcc -O1 -g -shared -fPIC -o liba.so a.c && gcc -O1 -g -shared -fPIC -o libb.so b.c &&
    record l.store "$BUILD/tests/programs/replaced_code" libraries 1000 ./liba.so ./libb.so &&
    "$CYCLESCOPE" prof --store l.store --by image --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
n = {r["image_name"]: sum(r["samples"].values()) for r in d["rows"]}
both = n.get("liba.so", 0), n.get("libb.so", 0)
assert min(both) > 0.25 * sum(n.values()), n' >said 2>&1
kind library-replaced said

# ---- assembly: exported symbols without a size don't take hidden code behind them ----
if [ "$(uname -m)" = x86_64 ]; then
    cat >unsized.S <<'END'
.text
.globl exported
.type exported, @function
exported: ret
.hidden called
.globl called
called: dec %rdi
    jnz called
    ret
.skip 40, 0xcc
pointed: dec %rdi
    jnz pointed
    ret
.data
.hidden table
.globl table
table: .quad pointed
.section .note.GNU-stack,"",@progbits
END
    cat >sized.c <<'C'
extern void called(long), exported(void), (*table)(long);
void entry(void) { for (int i = 0; i < 100; i++) { exported(); called(3000000); table(1000000); } }
C
    echo 'void entry(void); int main(void) { entry(); return 0; }' >unsized.c
    gcc -O1 -fno-asynchronous-unwind-tables -shared -fPIC -o libunsized.so unsized.S sized.c && strip libunsized.so &&
        gcc -o unsized unsized.c ./libunsized.so && record u.store ./unsized && "$CYCLESCOPE" prof --store u.store --json >prof && python3 -c '
import json
n = {}
for r in json.load(open("prof"))["rows"]:
    if r["image_name"] == "libunsized.so":
        n[r["procedure"]] = sum(r["samples"].values())
assert n.pop("exported", 0) < 0.02 * sum(n.values()), n
assert len(n) >= 2 and sorted(n.values())[-2] > 0.15 * sum(n.values()) and all(k.startswith("sub_") for k, v in n.items() if v > 9), n' >said 2>&1
    kind unsized-symbols said
fi

# ---- debug information in other shapes: compressed by zstd, beside the object files ----
cat >inlined.cc <<'C'
namespace one { struct in { static inline __attribute__((always_inline)) void run(long n) { for (volatile long i = 0; i < n; i++); } }; }
int main() { for (int i = 0; i < 60; i++) one::in::run(3000000); }
C
for shape in zstd "dwo-5 -gdwarf-5" "dwo-4 -gdwarf-4"; do
    rm -rf d.store inlined
    if [ "$shape" = zstd ]; then
        g++ -O2 -g -o plain inlined.cc && objcopy --compress-debug-sections=zstd plain inlined 2>said || { lacks debug-zstd "objcopy knows no zstd"; continue; }
    else
        # shellcheck disable=SC2086
        g++ -O2 -g -gsplit-dwarf ${shape#* } -o inlined inlined.cc || continue
    fi
    record d.store ./inlined && "$CYCLESCOPE" tree --store d.store >tree && grep -q 'run (inlined)' tree &&
        "$CYCLESCOPE" list main --store d.store >list 2>&1 && ! grep -q 'no line information' list
    kind "debug-${shape%% *}" tree
done
# The last one's .dwo, packed and gone: reports say that inlined functions are missing, and why.
if ls ./*.dwo >/dev/null 2>&1; then
    dwp -e inlined -o inlined.dwp >said 2>&1 || : >inlined.dwp
    mkdir away && mv ./*.dwo away/ && "$CYCLESCOPE" tree --store d.store >tree && tr '\n' ' ' <tree | grep -q 'Inlined functions of .*inlined are missing: packages' &&
        "$CYCLESCOPE" list main --store d.store >tree && tr '\n' ' ' <tree | grep -q 'Inlined functions of .*inlined are missing: packages'
    kind debug-dwp tree
    rm inlined.dwp && "$CYCLESCOPE" tree --store d.store >tree && tr '\n' ' ' <tree | grep -q 'its split debug information .*dwo isn.t where it was built' &&
        mv away/*.dwo . && "$CYCLESCOPE" tree --store d.store >tree && ! grep -q 'are missing' tree
    kind debug-dwo-gone tree
fi

[ $bad = 0 ]
