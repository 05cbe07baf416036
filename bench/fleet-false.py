#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that `fleet diff` calls real between two halves of one fleet, per 100 comparisons, and whether it finds a planted change. The
recordings are drawn: five or eight a side, 60 functions, 400,000 samples each on average. A recording's shares differ from the
fleet's, by nothing, by half and by twice the counting noise more. In each fourth comparison a side has five hosts of three recordings,
and all recordings of a host differ from the fleet's in the same way, by 5 % of each share. The planted change is 3 % of a function that
has 5 %. Each comparison is on a server of its own table, asked by the program."""
import json, os, random, shutil, subprocess, sys, tempfile

sys.path.insert(0, "tests")
from clickhouse_server import EXECUTABLE, Server

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
COMPARISONS, PLANTED = (60, 20) if "--quick" in sys.argv else (1000, 100)
FUNCTIONS, SAMPLES, TIMES = 60, 400_000, 1.03
random.seed(1)


def report(value, noise, detail):
    print(json.dumps({"name": "fleet-false", "value": value, "unit": "changes called real per 100 comparisons of a fleet with itself", "target": 1,
                      "noise": noise, "detail": detail}))


def drawn(mean):
    """Poisson; beyond some hundred its normal."""
    return max(0, round(random.gauss(mean, mean ** 0.5))) if mean > 200 else sum(1 for _ in iter(lambda left=[mean]: left.__setitem__(0, left[0] - random.expovariate(1)) or left[0] > 0, False))


def recording(weights, dispersion, samples):
    """Counts whose variance is `dispersion` times their mean: each share is drawn about its own."""
    rows = []
    for w in weights:
        mean = w * samples
        rows.append(drawn(random.gammavariate(mean / (dispersion - 1), dispersion - 1) if dispersion > 1 else mean))
    return rows


def main():
    if not EXECUTABLE:
        return report(None, None, "no clickhouse-server here: apt-get install clickhouse-server")
    place = tempfile.mkdtemp()
    server = Server(place)
    ask = lambda sql: server.ask(sql, "fleet")
    try:
        server.start()
        subprocess.run(["make", "-s", "BUILD=" + BUILD, "CS_DEPS_DONE=1", BUILD + "/tests/programs/store_filler"], check=True, stdout=sys.stderr)
        subprocess.run([BUILD + "/tests/programs/store_filler", place + "/store", "count", "1"], check=True, stdout=sys.stderr)
        subprocess.run([TOOL, "export", "--store", place + "/store", "--to", "clickhouse", server.url("fleet")], check=True, stdout=sys.stderr)
        ask("INSERT INTO images VALUES (1, '1', 0, '/usr/bin/server', '')")
        ask(f"INSERT INTO symbols SELECT 1, number + 1, 16, concat('f', toString(number)) FROM system.numbers LIMIT {FUNCTIONS}")
        ask("INSERT INTO batches VALUES ('a', 1, 1, 77, toDateTime('2024-01-01 00:00:00'), 1, 1)")
        weights = [0.05] + [random.paretovariate(1) for _ in range(FUNCTIONS - 1)]
        rest = sum(weights[1:])
        weights[1:] = [0.95 * w / rest for w in weights[1:]]

        def compare(times, dispersion, recordings, hosts=1):
            ask("TRUNCATE TABLE points")
            values = []
            for side in ("old", "new"):
                for host in range(hosts):
                    of = [w * (random.gauss(1, 0.05) if hosts > 1 else 1) for w in weights]
                    of[0] *= times if side == "new" else 1
                    for n in range(recordings):
                        counts = recording(of, dispersion, SAMPLES * random.uniform(0.7, 1.4))
                        values += [f"(toDateTime('2024-01-01 00:00:00'), 'e{n}', '{side}{host}', '{side}', 'cpu-clock', 1, {f + 1}, {16 * f}, {c}, 77)"
                                   for f, c in enumerate(counts) if c]
            ask("INSERT INTO points (time, epoch, host, label, event, image, procedure, offset, count, attempt) VALUES " + ",".join(values))
            said = subprocess.run([TOOL, "fleet", "diff", "label=old", "label=new", "-e", "cpu-clock", "--json", "--top", "0", "--server", server.url("fleet")],
                                  capture_output=True, text=True)
            if said.returncode:
                sys.exit(f"fleet diff: {said.stderr}")
            rows = json.loads(said.stdout)["rows"]
            if len(rows) < FUNCTIONS * 0.9:
                sys.exit(f"{len(rows)} rows of {FUNCTIONS} functions")
            return [r["procedure"] for r in rows if r["significant"] == "yes"]

        false, by_dispersion = 0, {}
        for i in range(COMPARISONS):
            dispersion, recordings = (1, 1.5, 3)[i % 3], (5, 8)[i // 3 % 2]
            several = i % 4 == 3
            real = compare(1, dispersion, 3, 5) if several else compare(1, dispersion, recordings)
            false += len(real)
            kind = "hosts" if several else dispersion
            by_dispersion[kind] = by_dispersion.get(kind, 0) + len(real)
        planted = [compare(TIMES, 1, 5) for _ in range(PLANTED)]
        found = sum("f0" in p for p in planted)
        report(round(100 * false / COMPARISONS, 2), round(100 * max(false, 1) ** 0.5 / COMPARISONS, 2),
               {"comparisons": COMPARISONS, "called_real_by_dispersion": by_dispersion, "planted_found_percent": round(100 * found / PLANTED, 1), "planted_target": 90,
                "others_called_real_beside_it": sum(len([n for n in p if n != "f0"]) for p in planted), "samples_a_recording": SAMPLES})
    finally:
        server.kill()
        shutil.rmtree(place, ignore_errors=True)


main()
