#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Twelve programs that nobody here wrote, put to work: what `waits --critical-path` says that half of the guilty program's time saves,
against the time that the same work takes when that program has half to do. Times are medians of runs in turn; other programs of the
machine leave these the CPUs. The value is the median error, in points of the slow one's time; `wrong_process` counts cases whose
guilty program isn't the one that saves most of those that run.

    bench/run what-if-real [--quick] [CASE...]"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lib_ahead import before_others

cyclescope = os.environ["CYCLESCOPE"]
wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
rounds = 3 if "--quick" in sys.argv else 7
PBKDF = "import hashlib\ndef work(n): hashlib.pbkdf2_hmac('sha256', b'x', b's', n)\n"
SERVER = PBKDF + """import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        work(int(sys.argv[2])); self.send_response(200); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, *a): pass
s = http.server.HTTPServer(('127.0.0.1', 0), H); open(sys.argv[1], 'w').write(str(s.server_port)); s.serve_forever()
"""
POOL = PBKDF + """import multiprocessing, sys
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p: p.map(work, [int(sys.argv[1]), 60000, 60000, 60000], 1)
"""
THREADS = PBKDF + """import threading, sys
n = int(sys.argv[1])
t = [threading.Thread(target=work, args=(k,)) for k in (n, n * 6 // 10)]
[x.start() for x in t]; [x.join() for x in t]
"""
NODE = """const { spawn } = require('child_process'); const end = Date.now() + 700;
spawn('perl', ['-e', 'for ($i = 0; $i < ' + process.argv[2] + '; $i++) { $x = $x * 3 % 1000003 + $i }']);
let x = 0; const go = () => { for (let i = 0; i < 1e5; i++) x = (x * 3 + i) | 0; if (Date.now() < end) setImmediate(go); }; go();
"""
# name: (what is run, as a shell's script; the guilty image's name, or a beginning of its function's; its work; images of the programs
# that run with it). $N: the work, $D: a folder.
CASES = {
    "awk_of_four": ("seq $N | awk '{ for (k = 0; k < 60; k++) s += k * $1; print s % 1000 }' | sort -n | tail -n 1", "mawk|gawk", 300000, "sort|seq|tail"),
    "perl_before_gzip": ("perl -e 'for ($i = 0; $i < 25000; $i++) { for ($k = 0; $k < $N; $k++) { $x = $x * 3 % 1000003 + $i } print $x x 20, \"\\n\" }' | gzip -9 >/dev/null", "perl", 440, "gzip"),
    "sqlite_alone": ("sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < $N) select sum(x * x % 7) from c'", "libsqlite3", 5000000, ""),
    "curl_and_server": ("python3 $D/server.py $D/port $N & while ! [ -s $D/port ]; do sleep 0.01; done; for i in 1 2 3 4 5 6; do curl -s http://127.0.0.1:$(cat $D/port)/ >/dev/null; done; kill $!; rm $D/port", "libcrypto", 500000, "curl|libcurl"),
    "pool_with_one_long": ("python3 $D/pool.py $N", "libcrypto", 2500000, ""),
    "two_threads": ("python3 $D/threads.py $N", "libcrypto", 2500000, ""),
    "make_slow_compile": ("rm -f $D/a $D/b; make -s -j2 -C $D CXXFLAGS=-DWORK=$N", "cc1plus", 400000, "make|as|ld|collect2"),
    "xargs_hashes": ("head -c $N /dev/zero >$D/zeros; printf '%s\\n' 1 2 3 4 | xargs -P 2 -I{} sha512sum $D/zeros", "libcrypto|sha512sum", 300000000, "xargs|head"),
    "redis_script": ("redis-server --port 0 --unixsocket $D/redis --save '' >/dev/null & while ! [ -S $D/redis ]; do sleep 0.01; done; for i in 1 2 3; do redis-cli -s $D/redis eval 'local x = 0 for i = 1, $N do x = (x * 3 + i) % 1000003 end return x' 0; done; redis-cli -s $D/redis shutdown nosave; wait", "lua", 6000000, "redis-cli"),
    "node_beside_perl": ("node $D/beside.js $N", "perl", 12000000, "node"),
    "two_alike": ("perl -e 'for ($i = 0; $i < 3000; $i++) { for ($k = 0; $k < $N; $k++) { $x = $x * 3 % 1000003 + $i } print \"$x\\n\" }' | lua5.4 -e 'for l in io.lines() do for i = 1, 11000 do x = ((x or 0) * 3 + i) % 1000003 end end'", "perl", 6000, "lua"),
    "lua_behind_sqlite": ("sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000) select x from c' | lua5.4 -e 'for l in io.lines() do for i = 1, $N do x = ((x or 0) * 3 + i) % 1000003 end end'", "lua5.4", 600, "sqlite3|libsqlite3"),
}
SLOW_CC = """template <int N> struct S { static constexpr long f(long x) { long s = 0; for (long i = 0; i < N; i++) s += (x * i) % 7; return s; } };
int main() { constexpr long a = S<WORK>::f(3), b = S<WORK>::f(5), c = S<WORK>::f(7); return (a + b + c) & 1; }
"""


def prepare(folder):
    for name, text in {"server.py": SERVER, "pool.py": POOL, "threads.py": THREADS, "beside.js": NODE, "slow.cc": SLOW_CC,
                       "Makefile": "all: a b\na: slow.cc\n\tg++ -O0 -fconstexpr-ops-limit=1000000000 -fconstexpr-loop-limit=100000000 $(CXXFLAGS) -o a slow.cc\nb:\n\tsleep 0.1; touch b\n"}.items():
        with open(f"{folder}/{name}", "w") as f:
            f.write(text)


def command(case, folder, half):
    script, _, work, _ = CASES[case]
    return ["sh", "-c", script.replace("$N", str(work // 2 if half else work)).replace("$D", folder)]


def seconds(case, folder, half):
    begin = time.monotonic()
    subprocess.run(command(case, folder, half), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, preexec_fn=before_others, timeout=120)
    return time.monotonic() - begin


def told(case, folder):
    store = f"{folder}/store"
    shutil.rmtree(store, ignore_errors=True)
    run = subprocess.run([cyclescope, "record", "--waits", "--no-bursts", "-o", store, "--", *command(case, folder, False)],
                         capture_output=True, text=True, preexec_fn=before_others, timeout=120)
    if run.returncode or not os.path.isdir(store):
        raise SystemExit(f"{case}: {run.stderr}")
    said = json.loads(subprocess.run([cyclescope, "waits", "--critical-path", "--json", "--top", "0", "--store", store],
                                     capture_output=True, text=True, check=True).stdout)
    def most(names):
        names = tuple(names.split("|")) if names else ()
        return max([r["half_saves_percent"] for r in said["procedures"]
                    if names and (os.path.basename(r["image"] or "").startswith(names) or r["procedure"].startswith(names))], default=0)
    return most(CASES[case][1]), most(CASES[case][3])


with tempfile.TemporaryDirectory() as folder:
    prepare(folder)
    rows, left_out, errors = {}, {}, []
    for case in CASES:
        if wanted and case not in wanted:
            continue
        missing = [p for p in "awk perl sqlite3 curl python3 make g++ xargs redis-server node lua5.4".split() if p in CASES[case][0] and not shutil.which(p)]
        if missing:
            left_out[case] = f"no {missing[0]} here"
            continue
        pairs = [(seconds(case, folder, False), seconds(case, folder, True)) for _ in range(rounds)]
        slow, mended = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        tries = [told(case, folder) for _ in range(1 if rounds == 3 else 3)]
        mine, others = (statistics.median(t[i] for t in tries) for i in (0, 1))
        saved = 100 * (1 - mended / slow)
        rows[case] = {"seconds": round(slow, 2), "saved_percent": round(saved, 1), "told_percent": round(mine, 1), "error_points": round(mine - saved, 1),
                      "beside_told_percent": round(others, 1)}
        errors.append(abs(mine - saved))
        print(case, rows[case], file=sys.stderr)
print(json.dumps({"name": "what-if-real", "value": round(statistics.median(errors), 1) if errors else None, "unit": "points", "target": 5, "noise": None,
                  "detail": {"worst": round(max(errors, default=0), 1), "wrong_process": [c for c, r in rows.items() if r["told_percent"] <= r["beside_told_percent"]],
                             "programs": rows, "left_out": left_out}}))
