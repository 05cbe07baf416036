# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of samples whose call chain reaches the beginning (_start, or where a thread began), of unmodified programs of Debian:
the worst of those of twenty that are installed. Every program is met for the first time: the cache of unwind tables is empty. A chain
that ended before its time counts against it, whatever the cause; causes are in the detail.

CS_CHAINS_PROGRAMS chooses programs, CS_CHAINS_RATE the rate (1000). PHP's JIT, which is off unless one asks for it, isn't among
them: its code has neither frame pointers nor a description (docs/chains.md)."""
import glob, json, os, shutil, subprocess, sys, tempfile

from libsampler import CYCLESCOPE, QUICK, row

RATE = os.environ.get("CS_CHAINS_RATE", "1000")
FOLDER = tempfile.mkdtemp()
LIMIT = ["timeout", "-s", "INT", "2" if QUICK else "4"]

PHP = """$f = []; for ($i = 0; $i < 50; $i++) $f[] = new Fiber(function () use ($i) {
  for (;;) { $a = []; for ($k = 0; $k < 200; $k++) $a["k$k"] = md5((string)($k * $i)); ksort($a); Fiber::suspend(); } });
foreach ($f as $x) $x->start(); for (;;) foreach ($f as $x) $x->resume();"""
PYTHON = """import json, re, hashlib, zlib, decimal
def walk(n): return n if n < 2 else walk(n - 1) + walk(n - 2)
while True:
    walk(15); json.loads(json.dumps([{'a': i} for i in range(200)])); re.sub('a+b', 'c', 'aaab' * 200)
    hashlib.sha256(b'x' * 9999).hexdigest(); zlib.compress(b'abc' * 999); decimal.Decimal(2).sqrt()"""
NODE = """const crypto = require('crypto'); function walk(n) { return n < 2 ? n : walk(n - 1) + walk(n - 2); }
for (;;) { walk(20); JSON.parse(JSON.stringify(Array.from({length: 500}, (x, i) => ({i})))); 'aaab'.repeat(99).replace(/a+b/g, 'c');
crypto.createHash('sha256').update('x'.repeat(9999)).digest('hex'); }"""
PHP_OPCACHE = """<?php function walk($n) { return $n < 2 ? $n : walk($n - 1) + walk($n - 2); }
function mix($a) { $s = 0; foreach ($a as $k => $v) { $s = ($s * 31 + $v) % 1000003; if ($s & 1) $s += strlen(str_repeat("x", $s % 50)); } return $s; }
for ($i = 0;; $i++) { walk(18); mix(range(1, 3000)); $b = range(1, 300); usort($b, fn($x, $y) => $y <=> $x); preg_replace_callback("/a+/", fn($m) => "b", "aab$i"); }"""
LIBRARY = """use List::Util qw(sum); use Digest::SHA qw(sha256_hex); use Encode; use POSIX ();
for (;;) { my @a = sort { $a <=> $b } map { rand } 1 .. 2000; sum(@a); sha256_hex(join ",", @a); encode("UTF-8", "\\x{263a}" x 99); }"""
C = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int main(void) { for (;;) { char *v[500]; for (int i = 0; i < 500; i++) { v[i] = malloc(32); snprintf(v[i], 32, "%d", rand()); }
    qsort(v, 500, sizeof *v, by_text); for (int i = 0; i < 500; i++) free(v[i]); } }
"""


def file(name, text):
    path = f"{FOLDER}/{name}"
    with open(path, "w") as out:
        out.write(text)
    return path


def sources():
    """Some C files that stand alone enough to be compiled again and again."""
    body = "".join(f"int f{i}(int a) {{ int s = 0; for (int k = 0; k < a; k++) s += k * {i} ^ (s >> 3); return s ? s : f{max(0, i - 1)}(a); }}\n"
                   for i in range(60))
    return file("unit.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n" + body)


def built(compiler, *how):
    """Of a C library's own making: no unwind information, other start files."""
    out = f"{FOLDER}/{compiler}{''.join(how)}"
    if not shutil.which(compiler):
        return None
    done = subprocess.run([compiler, "-O2", *how, "-s", "-o", out, file("built.c", C)], stderr=subprocess.DEVNULL)
    return [*LIMIT, out] if done.returncode == 0 else None


def restic():
    """Backs up the same files again and again: goroutines, hashes, compression."""
    if not shutil.which("restic"):
        return None
    os.environ["RESTIC_PASSWORD"] = "x"
    keep = f"restic -q --no-cache -r {FOLDER}/restic"
    return [*LIMIT, "sh", "-c", f"{keep} init; while :; do {keep} backup --force /usr/share/perl /usr/include; done"]


def postgres():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        return None
    folder = os.path.dirname(found[-1])
    script = file("pg.sh", f"""set -e
cd {FOLDER}; mkdir pg; run=""; [ "$(id -u)" = 0 ] && {{ chown -R postgres {FOLDER}; run="setpriv --reuid postgres --regid postgres --clear-groups"; }}
$run {folder}/initdb -D {FOLDER}/pg/data -A trust >/dev/null
$run {folder}/pg_ctl -D {FOLDER}/pg/data -o "-k {FOLDER}/pg -h ''" -w start >/dev/null
$run {folder}/pgbench -h {FOLDER}/pg -i -q postgres 2>/dev/null >/dev/null
$run {folder}/pgbench -h {FOLDER}/pg -T {2 if QUICK else 4} -c 2 -S postgres >/dev/null 2>&1
$run {folder}/pg_ctl -D {FOLDER}/pg/data -m fast stop >/dev/null
""")
    return ["sh", script]


def here(command):
    return command if command and shutil.which(command[0]) else None


def programs():
    unit = sources()
    text = file("numbers", "\n".join(str(i * 2654435761 % 1000003) for i in range(400000)))
    records = file("records.json", json.dumps([{"id": i, "name": f"n{i * 7919 % 10007}", "tags": ["a", "b", str(i)]} for i in range(20000)]))
    go = sorted(glob.glob("/usr/share/go-*/src") + glob.glob("/usr/lib/go-*/src"))
    rounds = 2 if QUICK else 6
    return [
        ("sort (C)", [*LIMIT, "sh", "-c", f"while :; do sort {text} >/dev/null; done"]),
        ("apt-cache (C++)", here(["apt-cache"]) and [*LIMIT, "sh", "-c", "while :; do apt-cache dump >/dev/null; done"]),
        ("xz (threads)", here(["xz"]) and [*LIMIT, "sh", "-c", f"while :; do xz -1 -T2 --block-size=100000 -c {text} >/dev/null; done"]),
        ("php (fibers)", here(["php"]) and [*LIMIT, "php", "-r", PHP]),
        ("php (opcache)", here(["php"]) and [*LIMIT, "php", "-d", "opcache.enable_cli=1", file("hot.php", PHP_OPCACHE)]),
        ("perl (dlopen)", here(["perl"]) and [*LIMIT, "perl", "-e", LIBRARY]),
        ("gofmt (Go)", here(["gofmt"]) and go and [*LIMIT, "sh", "-c", f"while :; do gofmt -l {go[-1]}/go {go[-1]}/net >/dev/null; done"]),
        ("gron (Go)", here(["gron"]) and [*LIMIT, "sh", "-c", f"while :; do gron {records} >/dev/null; done"]),
        ("fzf (Go)", here(["fzf"]) and [*LIMIT, "sh", "-c", f"while :; do fzf --filter 12 <{text} >/dev/null; done"]),
        ("restic (Go)", restic()),
        ("rg (Rust)", here(["rg"]) and [*LIMIT, "sh", "-c", "while :; do rg -j2 -c 'un[a-z]+ed' /usr/include >/dev/null; done"]),
        ("fd (Rust)", here(["fdfind"]) and [*LIMIT, "sh", "-c", "while :; do fdfind -j2 -H 'a[b-z]+.so' /usr >/dev/null; done"]),
        ("exa (Rust)", here(["exa"]) and [*LIMIT, "sh", "-c", "while :; do exa -laR /usr/share/perl /usr/include >/dev/null; done"]),
        ("python3", [*LIMIT, "/usr/bin/python3", "-c", PYTHON]),
        ("postgres", postgres()),
        ("node", here(["node"]) and [*LIMIT, "node", "-e", NODE]),
        ("gcc (short processes)", ["sh", "-c", f"for i in $(seq {rounds}); do gcc -O2 -c -o {FOLDER}/unit.o {unit}; done; for i in $(seq {rounds * 20}); do /bin/ls / >/dev/null; done"]),
        ("musl (static)", built("musl-gcc", "-static")),
        ("musl (shared)", built("musl-gcc")),
        ("static PIE (C)", built("gcc", "-static-pie")),
    ]


def one(name, command):
    store = f"{FOLDER}/store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.rmtree(f"{FOLDER}/cache", ignore_errors=True)
    done = subprocess.run([CYCLESCOPE, "record", "-F", RATE, "--no-bursts", "--driver", "bpf", "--json", "-o", store, "--", *command],
                          capture_output=True, text=True, env={**os.environ, "CYCLESCOPE_CACHE": f"{FOLDER}/cache"})
    try:
        said = json.loads(done.stdout[done.stdout.index("{\n"):])
    except ValueError:
        print(f"{name}: {done.stderr}", file=sys.stderr)
        return None
    ends = said["chains"]["ends"]
    samples = sum(ends.values())
    share = 100 * ends.get("complete", 0) / samples if samples else 0
    others = {k: n for k, n in sorted(ends.items(), key=lambda e: -e[1]) if k != "complete" and n}
    print(f"{name:24} {share:6.2f} % of {samples:6} samples, {said['chains']['frames'] / max(1, samples):5.1f} frames; {others}", file=sys.stderr)
    return {"complete": round(share, 2), "samples": samples, "ends": others}


def main():
    chosen = os.environ.get("CS_CHAINS_PROGRAMS", "")
    detail = {}
    try:
        for name, command in programs():
            if chosen and not any(c in name for c in chosen.split(",")):
                continue
            got = one(name, command) if command else None
            detail[name] = got or "not here"
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    shares = [d["complete"] for d in detail.values() if isinstance(d, dict)]
    row("chains-complete", min(shares) if shares else None, "% of samples", 99, None, detail)


main()
