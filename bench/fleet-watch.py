#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `fleet watch` finds in 200 services over 60 days: 20 have a planted regression. Its size is drawn between 0.1 and 5 % of the service's
time for the same work, evenly by logarithm: the function's own time grows by that, all others take what they took. 16 come with a new
build of the program, 4 without one. The samples are drawn, on two to four hosts a service, 20,000 to 500,000 a host and day. Shares differ
by host (3 % of each share), by day (up to 2 %, which up to 0.6 of the next day's repeats), and by both (1 %). Load changes by the day of
the week. A release comes every 5 to 15 days and reaches the hosts on up to three days, in the middle of a day. In ten other services a function becomes
cheaper with a release. The watch runs as of every second day
(STEP=1: each), as a timer would: a finding counts from its first day on. The program has the
server's answer only, never what was planted."""
import datetime, json, math, os, random, shutil, subprocess, sys, tempfile

sys.path.insert(0, "tests")
from clickhouse_server import EXECUTABLE, Server

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
QUICK = "--quick" in sys.argv
SERVICES, DAYS, PLANTED, CHEAPER, DAY0 = 50 if QUICK else 200, 60, 5 if QUICK else 20, 10, 19800  # days since 1970
STEP = 12 if QUICK else int(os.environ.get("STEP", "2"))
FUNCTIONS = 40  # 28 of the program, 9 of a library, 3 of the kernel
rng = random.Random(7)


def report(value, detail):
    print(json.dumps({"name": "fleet-watch", "value": value, "unit": "planted regressions found, %", "target": 90, "noise": None, "detail": detail}))


def drawn(mean):
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    left, n = math.exp(-mean), -1
    product = 1.0
    while product > left:
        product *= rng.random()
        n += 1
    return max(n, 0)


def service(number, plant, cheaper, points, images, symbols):
    """Appends the rows of one service; what was planted."""
    name, hosts = f"service{number}", rng.randint(2, 4)
    weights = [rng.paretovariate(1) for _ in range(FUNCTIONS)]
    for part, share in ((range(28), 0.7), (range(28, 37), 0.2), (range(37, 40), 0.1)):
        whole = sum(weights[f] for f in part)
        for f in part:
            weights[f] *= share / whole
    releases, day = [], rng.randint(2, 10)
    while day < DAYS:
        releases.append(day)
        day += rng.randint(5, 15)
    spread = rng.randint(0, 2)
    truth, change_day, changed, times = None, None, None, 1
    if plant:
        size = 0.001 * 50 ** rng.random()
        changed = rng.choice([f for f in range(28) if weights[f] > 0.003])
        with_build = plant % 5 != 0
        change_day = rng.choice([d for d in releases if 14 <= d <= 45]) if with_build else rng.randint(20, 45)
        times = 1 + size / weights[changed]
        truth = {"service": name, "function": f"f{changed}", "percent": 100 * size, "day": change_day, "build": None, "hosts": hosts}
    elif cheaper:
        changed, change_day, with_build = max(range(28), key=lambda f: weights[f]), rng.choice([d for d in releases if 14 <= d <= 45]), True
        times = rng.uniform(0.3, 0.8)
    sd, repeats, of_host = rng.uniform(0, 0.02), rng.uniform(0, 0.6), [[rng.gauss(1, 0.03) for _ in range(FUNCTIONS)] for _ in range(hosts)]
    samples = [math.exp(rng.uniform(math.log(20e3), math.log(500e3)))] * hosts
    if truth:
        truth["samples_a_day"] = round(sum(samples))
    image = lambda kind, build: 1000000 * (1 + number) + 1000 * kind + build
    for kind, path in enumerate((f"/usr/bin/{name}", "/usr/lib/libcommon.so.1", "[kernel]")):
        for build in range(len(releases) + 1 if kind == 0 else 1):
            images.append((image(kind, build), str(image(kind, build)), 0, path, f"{name}-{build}" if kind == 0 else f"common{kind}"))
            symbols.extend((image(kind, build), 16 * (f + 1 + build), 16, f"f{f}") for f in ((range(28), range(28, 37), range(37, 40))[kind]))
    if truth and with_build:
        truth["build"] = f"{name}-{releases.index(change_day) + 1}"
    wander = [0.0] * FUNCTIONS
    for day in range(DAYS):
        wander = [repeats * w + rng.gauss(0, sd * math.sqrt(1 - repeats * repeats)) for w in wander]
        for h in range(hosts):
            load = samples[h] * (0.5 if day % 7 > 4 else 1) * rng.uniform(0.8, 1.25)
            arrival = [d + (h * spread) % 3 for d in releases]  # of each release on this host
            now = sum(d <= day for d in arrival)
            parts = [(now, 1.0)]
            if day in arrival:
                old = rng.uniform(0.1, 0.9)
                parts = [(now - 1, old), (now, 1 - old)]
            for build, part in parts:
                after = changed is not None and (build > releases.index(change_day) if with_build else day >= change_day)
                w = [a * (1 + b) * c * rng.gauss(1, 0.01) for a, b, c in zip(weights, wander, of_host[h])]
                if after:
                    w[changed] *= times
                whole = sum(w)
                for f in range(FUNCTIONS):
                    count = drawn(w[f] / whole * load * part)
                    kind = 0 if f < 28 else 1 if f < 37 else 2
                    build_of = build if kind == 0 else 0
                    if count:
                        points.append(f"{86400 * (DAY0 + day) + 40000}\t{name}-{h}-{day}\t{name}-host{h}\t{name}\tcpu-clock\t{image(kind, build_of)}"
                                      f"\t{16 * (f + 1 + build_of)}\t{16 * (f + 1 + build_of)}\t{count}\t77\n")
    return truth


def main():
    if not EXECUTABLE:
        return report(None, "no clickhouse-server here: apt-get install clickhouse-server")
    place = tempfile.mkdtemp()
    server = Server(place)
    ask = lambda sql: server.ask(sql, "fleet")
    try:
        server.start()
        subprocess.run(["make", "-s", "BUILD=" + BUILD, "CS_DEPS_DONE=1", BUILD + "/tests/programs/store_filler"], check=True, stdout=sys.stderr)
        subprocess.run([BUILD + "/tests/programs/store_filler", place + "/store", "count", "1"], check=True, stdout=sys.stderr)
        subprocess.run([TOOL, "export", "--store", place + "/store", "--to", "clickhouse", server.url("fleet")], check=True, stdout=sys.stderr)
        ask("TRUNCATE TABLE points")
        ask("INSERT INTO batches VALUES ('a', 1, 1, 77, toDateTime('2024-01-01 00:00:00'), 1, 1)")
        images, symbols, truths = [], [], []
        order = rng.sample(range(SERVICES), PLANTED + CHEAPER)
        for number in range(SERVICES):
            points = []
            plant = order.index(number) + 1 if number in order[:PLANTED] else 0
            truth = service(number, plant, number in order[PLANTED:], points, images, symbols)
            if truth:
                truths.append(truth)
            ask("INSERT INTO points (time, epoch, host, label, event, image, procedure, offset, count, attempt) FORMAT TabSeparated\n" + "".join(points))
        ask("INSERT INTO images VALUES " + ",".join(map(str, images)))
        ask("INSERT INTO symbols VALUES " + ",".join(map(str, symbols)))
        rows = int(ask("SELECT count() FROM points"))

        def watch(day):
            """Findings as of the end of a day: {(service, function, what brought it): row}."""
            said = subprocess.run([TOOL, "fleet", "watch", "until=" + day_text(DAY0 + day + 1), "-e", "cpu-clock", "--json", "--server", server.url("fleet")], capture_output=True, text=True)
            if said.returncode not in (0, 1, 2):
                sys.exit(f"fleet watch: {said.stderr}")
            return json.loads(said.stdout)

        first, last = {}, None
        for day in range(11, DAYS, STEP):
            last = watch(day)
            for r in last["rows"]:
                if r["verdict"] == "dearer":
                    first.setdefault((r["service"], r["function"], r["build"] or r["since"][:10]), (day, r))
        found, delays, missed, right, wrong, about = 0, [], [], 0, [], set()
        for t in truths:
            hits = [(day, r) for (s, f, _), (day, r) in first.items() if s == t["service"] and f == t["function"] and day >= t["day"]]
            if not hits:
                missed.append(t)
                continue
            found += 1
            day, r = min(hits, key=lambda h: h[0])
            delays.append(day - t["day"])
            right += r["build"] == t["build"]
            if r["build"] != t["build"]:
                wrong.append({"brought_by": t["build"], "said": r["build"], "percent": round(t["percent"], 2), "day": t["day"], "since": since(r)})
            about.add((t["service"], t["function"]))
        false = [{"service": s, "function": f, "brought": b, "day": d, "growth": round(r["growth_percent"], 3), "before": round(r["before_percent"], 2), "q": r["false_discovery"]}
                 for (s, f, b), (d, r) in first.items() if (s, f) not in about or d < next(t["day"] for t in truths if t["service"] == s)]
        delays.sort()
        report(round(100 * found / len(truths), 1),
               {"services": SERVICES, "days": DAYS, "planted": len(truths), "found": found, "false": len(false), "build_right": right, "build_wrong": wrong,
                "delay_epochs_median": delays[len(delays) // 2] if delays else None, "delay_epochs_longest": delays[-1] if delays else None,
                "missed": [{k: t[k] for k in ("percent", "samples_a_day")} | {"build": bool(t["build"])} for t in missed],
                "false_findings": false[:20], "sizes_found": sorted(round(t["percent"], 2) for t in truths if t not in missed),
                "looked_at": last["looked_at"], "rows": rows})
    finally:
        server.kill()
        shutil.rmtree(place, ignore_errors=True)


def since(row):
    return (datetime.datetime.fromisoformat(row["since"][:10]) - datetime.datetime(1970, 1, 1)).days - DAY0


def day_text(day):
    return datetime.datetime.fromtimestamp(86400 * day, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")


main()
