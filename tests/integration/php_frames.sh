#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# PHP's frames as read from its memory against debug_backtrace() of the same moment: functions, methods, closures, generators, called
# back from C; lines of all callers.
set -eu
cd "$(dirname "$0")/../.."
tool=$(realpath "${BUILD:-build}/tests/programs/interpreted_frames")
php=$(command -v php8.2 || true)
[ -n "$php" ] && "$php" -m | grep -q '^posix$' || { echo "no PHP 8.2 with posix here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CYCLESCOPE_CACHE=$scratch/cache
cat >"$scratch/work.php" <<'END'
<?php
$log = fopen($argv[1], 'w'); $stops = 0;
function probe() {
    global $log, $stops;
    if ($stops++ % 7 && $stops > 3) return 1;
    $chain = [];
    foreach (debug_backtrace() as $i => $call)
        $chain[] = [(isset($call['class']) ? $call['class'] . '::' : '') . $call['function'], $call['line'] ?? 0];
    fwrite($log, json_encode($chain) . "\n"); fflush($log); posix_kill(getmypid(), 19);
    return 1;
}
class Store {
    private $kept = [];
    function get($key) { return $this->kept[$key] ?? $this->compute($key); }
    private function compute($key) { $sum = 0; foreach (walk($key % 5) as $x) $sum += $x; return $sum; }
    static function less($a, $b) { return fib(2) + $a - $b; }
    function größe() { return probe() +
        count($this->kept); }
    function __get($name) { return fib(2); }
}
function fib($n) { return $n < 2 ? probe() : fib($n - 1) + fib($n - 2); }
function walk($n) { for ($i = 0; $i < $n; $i++) yield fib($i % 4); }
for ($round = 0; $round < 3; $round++) {
    $store = new Store; fib(4);
    $a = range(1, 6); usort($a, ['Store', 'less']);
    array_map([$store, 'get'], range(0, 8));
    preg_replace_callback('/a/', fn($m) => (string)fib(2), 'aaaa');
    $store->größe(); $store->nowhere;
    array_reduce([1, 2, 3], function ($sum, $x) { return $sum + fib($x % 3); }, 0);
}
END
cat >"$scratch/judge.py" <<'END'
import json, subprocess, sys, time
tool, php, work, log = sys.argv[1:]
target = subprocess.Popen([php, work, log], stdout=subprocess.DEVNULL)
frames = equal = stops = shown = 0
while True:
    for _ in range(20000):
        try:
            state = open(f'/proc/{target.pid}/stat').read().rsplit(')', 1)[1].split()[0]
        except OSError:
            state = 'Z'
        if state in 'TZX':
            break
        time.sleep(0.001)
    if state != 'T':
        break
    calls = json.loads(open(log).read().splitlines()[-1])
    # a call's line is where its caller stands; 0: its caller is C code, which has none
    truth = [(calls[0][0], None)] + [(name, line) for (name, _), (_, line) in zip(calls[1:] + [['{main}', 0]], calls)]
    read = [line.split('\t') for line in subprocess.run([tool, str(target.pid)], capture_output=True, text=True).stdout.splitlines()]
    read = [(name, int(line)) for name, line, _ in read][1:]  # the first is posix_kill itself
    stops += 1
    same = sum(a[0] == b[0] and (not a[1] or not b[1] or a[1] == b[1]) for a, b in zip(truth, read))
    frames += max(len(truth), len(read)); equal += same
    if same != max(len(truth), len(read)) and shown < 2:
        shown += 1
        print('truth', truth, '\nread ', read)
    target.send_signal(18)
target.wait()
print(f'{stops} stops, {equal} of {frames} frames equal')
sys.exit(0 if stops >= 20 and equal >= 0.995 * frames else 1)
END
python3 "$scratch/judge.py" "$tool" "$php" "$scratch/work.php" "$scratch/log"
echo ok
