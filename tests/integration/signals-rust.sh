#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rust programs: by rustc's XRay sleds (rustc where it knows them) and by clang's plugin (a rustc of LLVM 14, as Debian 12's), whichever
# is there; shares agree with the program's own clock, threads and panics included. RUSTC names another rustc.
set -u
RUSTC=${RUSTC:-rustc}
# shellcheck disable=SC2086
version=$($RUSTC --version --verbose 2>/dev/null) || { echo "no rustc"; exit 77; }
[ -z "${CS_SANITIZED:-}" ] || { echo "built with a sanitizer, whose runtime Rust programs lack"; exit 77; }
[ "$(nproc)" -ge 2 ] || { echo "the observer needs a second CPU"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 tried=
fail() { echo "failed: $*"; bad=1; }
cat >"$work/busy.rs" <<'R'
use std::panic;
use std::ptr::{addr_of, addr_of_mut, read_volatile, write_volatile};
#[repr(C)]
struct Time { seconds: i64, ns: i64 }
extern "C" { fn clock_gettime(clock: i32, time: *mut Time) -> i32; }
#[inline(always)]
fn cpu() -> f64 {
    let mut t = Time { seconds: 0, ns: 0 };
    unsafe { clock_gettime(3, &mut t) };
    t.seconds as f64 + t.ns as f64 * 1e-9
}
static mut SUM: u64 = 1;
#[inline(always)]
fn step(i: u64) { unsafe { write_volatile(addr_of_mut!(SUM), read_volatile(addr_of!(SUM)).wrapping_mul(3).wrapping_add(i)) } }
#[inline(never)]
fn add(n: u64) { for i in 0..n { step(i) } }
#[inline(never)]
fn multiply(n: u64, spent: &mut [f64; 3]) {
    let a = cpu();
    for i in 0..n { step(i) }
    let b = cpu();
    add(n);
    let c = cpu();
    for i in 0..n { step(i) }
    spent[0] += c - b;
    spent[1] += b - a + cpu() - c;
}
#[inline(never)]
fn fails(n: u64) -> u64 { if n == 0 { panic!("meant") } else { fails(n - 1) + 1 } }
#[inline(never)]
fn drive(seconds: f64) -> [f64; 3] {
    let (begin, mut spent) = (cpu(), [0.0; 3]);
    while cpu() - begin < seconds {
        multiply(100000, &mut spent);
        let a = cpu();
        for i in 0..100000 { step(i) }
        spent[2] += cpu() - a;
    }
    spent
}
fn main() {
    panic::set_hook(Box::new(|_| {}));
    for n in 0..50 { assert!(panic::catch_unwind(|| fails(n)).is_err()); }
    let seconds = std::env::args().nth(1).unwrap().parse().unwrap();
    let spent = std::thread::spawn(move || drive(seconds)).join().unwrap();
    let all: f64 = spent.iter().sum();
    for (name, s) in ["add", "multiply", "drive"].iter().zip(spent.iter()) { println!("share {} {}", name, s / all) }
    for n in 0..50 { assert!(panic::catch_unwind(|| fails(n)).is_err()); }
}
R
observe() { # HOW COMMAND...
    local how=$1
    shift
    "$CYCLESCOPE" observe -s code --period 3000 --jitter 3000 --log "$work/log" -- "$@" >"$work/truth" 2>"$work/err" || fail "$how: observe: $(cat "$work/err")"
    "$CYCLESCOPE" tags --log "$work/log" --json >"$work/json" || fail "$how: tags"
    python3 - "$work/truth" "$work/json" "$how" "$work/busy.rs" <<'P' || fail "$how: shares"
import collections, json, sys
truth = {w[1]: float(w[2]) for w in map(str.split, open(sys.argv[1])) if w[:1] == ["share"]}
assert len(truth) == 3, truth
seen = collections.Counter()
declared = {t.split("fn ")[1].split("(")[0]: i for i, t in enumerate(open(sys.argv[4]), 1) if t.startswith("fn ")}
for r in json.load(open(sys.argv[2]))["tags"]:
    if r["percent"]:
        seen[r["name"].split()[0].split("::")[-1]] += r["percent"] / 100
    if sys.argv[3] == "sleds" and r["percent"] and r["name"].split()[0].split("::")[-1] in truth:
        assert f"(busy.rs:{declared[r['name'].split()[0].split('::')[-1]]})" in r["name"], r # not what is inlined there
print(sys.argv[3], {k: (round(v, 3), round(seen[k], 3)) for k, v in truth.items()})
assert all(abs(seen[k] - v) < 0.03 for k, v in truth.items()), (truth, seen)
P
}
export RUSTC_BOOTSTRAP=1
# ---- sleds ----
xray=$(realpath "$BUILD")/libcyclescope-xray.so.1
# shellcheck disable=SC2086
if [ -e "$xray" ] && $RUSTC -Z help 2>/dev/null | grep -q instrument-xray; then
    $RUSTC -O -g -Z instrument-xray=always -Z unstable-options -C symbol-mangling-version=legacy -o "$work/sleds" "$work/busy.rs" 2>"$work/err" || fail "sleds: $(head "$work/err")"
    observe sleds env LD_PRELOAD="$xray" "$work/sleds" 2
    "$work/sleds" 0.1 >/dev/null && LD_PRELOAD=$xray "$work/sleds" 0.1 >/dev/null || fail "sleds, not observed"
    tried=1
fi
# ---- the plugin ----
plugin=$(realpath "$BUILD")/plugin/cyclescope-clang.so
# shellcheck disable=SC2086
if [ -e "$plugin" ] && grep -q '^LLVM version: 14\.' <<<"$version"; then
    $RUSTC -O -g -Z llvm-plugins="$plugin" -C link-args="$(realpath "$BUILD")/libcyclescope.a -lc" -o "$work/tagged" "$work/busy.rs" 2>"$work/err" || fail "plugin: $(head "$work/err")"
    observe plugin "$work/tagged" 2
    tried=1
fi
[ "$tried" ] || { echo "neither rustc's XRay sleds nor its LLVM 14 with clang's plugin: $(grep -h '^LLVM\|^release' <<<"$version" | tr '\n' ' ')"; exit 77; }
exit $bad
