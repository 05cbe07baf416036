#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Chains by our frame tables against libdwfl's of the same stopped threads: C++ with threads, signals and a dlopened library,
# stripped, static; Python; Lua; the compiler; Rust where rustc is. At least 99.9 % of the frames are equal, 99 % of the chains
# reach the beginning.
set -eu
. "$(dirname "$0")/../until.sh"
cd "$(dirname "$0")/../.."
compare=$(realpath "${BUILD:-build}/tests/programs/chain_compare")
scratch=$(mktemp -d)
target=
trap 'kill $target 2>/dev/null || true; rm -rf "$scratch"' EXIT
export CYCLESCOPE_CACHE=$scratch/cache
failed=0 ran=0

judge() { # name, command...
    local name=$1 line
    shift
    "$@" >/dev/null 2>&1 &
    target=$!
    until_true has_run $target 30
    if ! line=$("$compare" $target 60 4 2>&1 | tail -n 1) || [[ $line != chains\ [1-9]* ]]; then
        [[ $line == *"not permitted"* ]] && { echo "threads can't be stopped here"; exit 77; }
        echo "not ok: $name: $line"
        failed=1
    elif awk -v line="$line" 'BEGIN {
            gsub(/[a-z;:]+/, "", line); n = split(line, v, /[ ,]+/)
            for (i = 1; i <= n; i++) if (v[i] != "") f[++k] = v[i]
            exit !(f[2] >= 0.99 * f[1] && f[5] >= 0.999 * f[4] && f[4] >= 3 * f[1]) }'; then
        echo "ok: $name: $line"
        ran=$((ran + 1))
    else
        echo "not ok: $name: $line"
        failed=1
    fi
    kill $target 2>/dev/null || true
    wait $target 2>/dev/null || true
    target=
}

cat >"$scratch/work.cc" <<'END'
#include <algorithm>
#include <csignal>
#include <dlfcn.h>
#include <map>
#include <regex>
#include <string>
#include <sys/time.h>
#include <thread>
#include <vector>
static volatile unsigned long sink;
static void handler(int)
{
    unsigned char here[4096]; // nothing that takes a lock: what is interrupted may hold it
    for (unsigned i = 0; i < 20000; i++)
        here[i % sizeof here] = (unsigned char)(i * 7);
    std::sort(here, here + sizeof here);
    sink += here[17];
}
static void work(int k)
{
    auto *lib = dlopen("libm.so.6", RTLD_LAZY);
    auto *pow = lib ? reinterpret_cast<double (*)(double, double)>(dlsym(lib, "pow")) : nullptr;
    for (;;) {
        std::map<std::string, int> m;
        for (int i = 0; i < 300; i++)
            m[std::to_string(i * k)]++;
        sink += std::regex_search(std::string("aaaaab"), std::regex("a+b")) + (pow ? (int)pow(2, k) : 0);
        std::vector<int> v(1000);
        for (auto &x : v)
            x = rand();
        std::sort(v.begin(), v.end());
    }
}
int main()
{
    struct itimerval t = {{0, 2000}, {0, 2000}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &t, nullptr);
    std::vector<std::thread> threads;
    for (int i = 1; i < 3; i++)
        threads.emplace_back(work, i);
    work(7);
}
END
g++ -O2 -s -o "$scratch/work" "$scratch/work.cc" -lpthread
judge "C++, threads, signals, stripped" "$scratch/work"
g++ -O2 -s -static -o "$scratch/static" "$scratch/work.cc" -lpthread 2>/dev/null && judge "C++, static" "$scratch/static"
gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -g -gz=zlib -o "$scratch/debug" -x c - <<'END'
#include <stdlib.h>
static volatile int sink;
__attribute__((noipa)) static int inner(int n) { int s = 0; for (int i = 0; i < 1000; i++) s += i * n; return s; }
__attribute__((noipa)) static int outer(int n) { volatile int here[8]; here[n & 7] = inner(n) + inner(n + 1); return here[n & 7]; }
int main(void) { for (int i = 0;; i++) sink += outer(i); }
END
readelf -S -W "$scratch/debug" | grep -q 'debug_frame.*C' || echo "(.debug_frame isn't compressed here)"
judge "C, .debug_frame alone, compressed" "$scratch/debug"
gcc -O2 -Wl,--no-eh-frame-hdr -s -o "$scratch/nohdr" -x c - <<'END'
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return memcmp(a, b, 4); }
int main(void) { int v[1000]; for (;;) { for (int i = 0; i < 1000; i++) v[i] = rand(); qsort(v, 1000, 4, compare); } }
END
# libdwfl finds nothing without the header: ours alone must reach the beginning
"$scratch/nohdr" &
target=$!
until_true has_run $target
line=$("$compare" $target 60 4 | tail -n 1)
kill $target; wait $target 2>/dev/null || true; target=
if [[ $line =~ chains\ ([0-9]+),\ complete\ ([0-9]+) ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]; then
    echo "ok: no .eh_frame_hdr: $line"
else
    echo "not ok: no .eh_frame_hdr: $line"
    failed=1
fi
for python in /usr/bin/python3; do
    [ -x $python ] && judge "$python" $python -c 'import json,re
def f(n): return 1 if n<2 else f(n-1)+f(n-2)
while True: f(15); json.dumps(list(range(1000))); sorted(range(1000), key=lambda x:-x); re.sub("a","b","aaa"*100)'
done
command -v lua5.4 >/dev/null && judge "Lua" lua5.4 -e 'local function f(n) if n<2 then return 1 end return f(n-1)+f(n-2) end
while true do f(20); string.rep("a",100):gsub("a","b") end'
if command -v rustc >/dev/null; then
    cat >"$scratch/work.rs" <<'END'
use std::collections::HashMap;
fn work(k: u64) -> u64 { let mut t = 0u64; loop { let mut m: HashMap<String, u64> = HashMap::new();
    for i in 0..500u64 { *m.entry(format!("{}", i * k)).or_insert(0) += i; }
    let mut v: Vec<_> = m.into_iter().collect(); v.sort(); t = t.wrapping_add(v[3].1); if t == 1 { return t; } } }
fn main() { let h: Vec<_> = (1..3).map(|k| std::thread::spawn(move || work(k))).collect(); for x in h { x.join().unwrap(); } }
END
    (cd "$scratch" && rustc -O -C strip=symbols -o rust work.rs) 2>/dev/null && judge "Rust" "$scratch/rust"
fi
echo "$ran programs"
exit $failed
