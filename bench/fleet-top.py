# SPDX-License-Identifier: GPL-2.0-or-later
"""How long `fleet prof` takes over ten million rows of twenty hosts, on a server of its own on this machine."""
import json, os, shutil, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, "tests")
from clickhouse_server import EXECUTABLE, Server

TOOL = os.environ["CYCLESCOPE"]
ROWS = 1_000_000 if "--quick" in sys.argv else 10_000_000
BATCH, HOSTS, OFFSETS, PROCEDURES, IMAGES = 50_000, 20, 500_000, 2_500, 25


def report(value, noise, detail):
    print(json.dumps({"name": "fleet-top", "value": value, "unit": "s", "target": 1, "noise": noise, "detail": detail}))


def fill(server):
    ask = lambda sql: server.ask(sql, "fleet")
    image = f"intHash64(intDiv(number % {OFFSETS}, {OFFSETS // IMAGES}))"
    procedure = f"intDiv(number % {OFFSETS}, {OFFSETS // PROCEDURES})"
    ask(f"INSERT INTO points SELECT toDateTime('2024-01-01 00:00:00') + intDiv(number, 100), concat('epoch', toString(intDiv(number, {BATCH}))), "
        f"concat('host', toString(intDiv(number, {BATCH}) % {HOSTS})), '', 'cpu-clock', {image}, {procedure} + 1, 16 * (number % {OFFSETS}), "
        f"1 + number % 7, intHash64(intDiv(number, {BATCH})) FROM system.numbers LIMIT {ROWS}")
    ask(f"INSERT INTO batches SELECT concat('host', toString(number % {HOSTS})), 1, number, intHash64(number), "
        f"toDateTime('2024-01-01 00:00:00'), {BATCH}, {4 * BATCH} FROM system.numbers LIMIT {ROWS // BATCH}")
    ask(f"INSERT INTO images SELECT intHash64(number), toString(number), 0, concat('/usr/lib/image', toString(number), '.so'), '' "
        f"FROM system.numbers LIMIT {IMAGES}")
    ask(f"INSERT INTO symbols SELECT intHash64(intDiv(number, {PROCEDURES // IMAGES})), number + 1, 16, concat('procedure', toString(number)) "
        f"FROM system.numbers LIMIT {PROCEDURES}")


def main():
    if not EXECUTABLE:
        return report(None, None, "no clickhouse-server here: apt-get install clickhouse-server")
    place = tempfile.mkdtemp()
    server = Server(place)
    try:
        server.start()
        # The exporter makes the tables; what it sends is of another event than what is asked for.
        subprocess.run(["make", "-s", "BUILD=" + os.environ["BUILD"], "CS_DEPS_DONE=1", os.environ["BUILD"] + "/tests/programs/store_filler"],
                       check=True, stdout=sys.stderr)
        subprocess.run([os.environ["BUILD"] + "/tests/programs/store_filler", place + "/store", "count", "1"], check=True, stdout=sys.stderr)
        subprocess.run([TOOL, "export", "--store", place + "/store", "--to", "clickhouse", server.url("fleet")], check=True, stdout=sys.stderr)
        fill(server)
        times, sums = [], set()
        for _ in range(5):
            start = time.monotonic()
            answer = subprocess.run([TOOL, "fleet", "prof", "--json", "--server", server.url("fleet")], check=True, capture_output=True)
            times.append(time.monotonic() - start)
            sums.add(json.loads(answer.stdout)["total"])
        expected = sum(1 + n % 7 for n in range(7)) * (ROWS // 7) + sum(1 + n % 7 for n in range(ROWS // 7 * 7, ROWS)) + 1
        if sums != {expected}:
            sys.exit(f"fleet prof summed {sums}, expected {expected}")
        report(round(statistics.median(times), 3), round(max(times) - min(times), 3),
               {"rows": ROWS, "hosts": HOSTS, "procedures": PROCEDURES, "seconds": [round(t, 3) for t in times]})
    finally:
        server.kill()
        shutil.rmtree(place, ignore_errors=True)


main()
