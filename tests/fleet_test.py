# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet whose server is killed in the middle: integration/fleet.sh runs it. HOSTS stores grow while each sends what is
new, the server is killed and started again twice, and so are exports; in the end its sums must be the stores', read by a reader of our own."""
import json, os, random, re, shutil, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import store_reader
from clickhouse_server import EXECUTABLE, Server

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
FILLER = BUILD + "/tests/programs/store_filler"
HOSTS, ROUNDS = 20, 1 if os.environ.get("CS_QUICK") else 2
failures = []


def check(what, got, expected):
    if got != expected:
        failures.append(f"{what}: got {got}, expected {expected}")


def export(store, host, url, *options, well=True):
    done = subprocess.run([TOOL, "export", "--store", store, "--to", "clickhouse", *(["--host", host] if host else []), *options, url],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if well and done.returncode != 0:
        failures.append(f"{host}: export ended with {done.returncode}: {done.stdout.strip()}")
    return done


def store_sums(store):
    """{(event, label, image id, offset): samples} of all points, summed over epochs."""
    sums = {}
    for epoch in os.listdir(store):
        for folder, _, files in os.walk(os.path.join(store, epoch) if not epoch.startswith(".") else "/nonexistent"):
            for name in files:
                if not name.endswith(".prof"):
                    continue
                profile = store_reader.read(open(os.path.join(folder, name), "rb").read(), meaning=False)
                if profile["kind"] != "points":
                    continue
                for row in profile["rows"]:
                    key = (profile["event"], profile["label"], os.path.basename(folder), row["offset"])
                    sums[key] = sums.get(key, 0) + row["samples"]
    return sums


def text(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def server_sums(server, host):
    answer = server.ask("SELECT event, label, id, offset, sum(count) FROM (SELECT * FROM points WHERE host = '%s' AND attempt IN "
                        "(SELECT min(attempt) FROM batches GROUP BY host, spool, sequence)) ANY LEFT JOIN images USING image "
                        "GROUP BY event, label, id, offset FORMAT JSONCompact" % host, "fleet")
    return {(e, l, i, int(o)): int(n) for e, l, i, o, n in json.loads(answer)["data"]}


def one_host(number, place, url, done):
    store, host = f"{place}/store{number}", f"host{number:02}"
    rng = random.Random(number)
    for turn in range(ROUNDS):
        grow = ["random", str(number * 100 + turn), "25"] if turn % 2 == 0 else ["count", "30"]
        filler = subprocess.Popen([FILLER, store, *grow], stdout=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.2)  # sleeps: killed at any moment
        if os.path.isdir(store):  # beside the growing store: one that is killed wherever it is just then, one that isn't
            killed = subprocess.Popen([TOOL, "export", "--store", store, "--to", "clickhouse", "--host", host, url],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.3)  # sleeps: killed at any moment
            killed.kill()
            killed.wait()
            export(store, host, url, "--retry", "120")
        if filler.wait():
            failures.append("store_filler failed")
        export(store, host, url, "--retry", "120")
        done.append(number)


def watched(number, *rest):
    try:
        one_host(number, *rest)
    except Exception as error:  # else the thread would just be gone
        failures.append(f"host{number:02}: {error!r}")


def the_fleet(server, place):
    url, done = server.url("fleet"), []
    threads = [threading.Thread(target=watched, args=(n, place, url, done)) for n in range(HOSTS)]
    for t in threads:
        t.start()
    for part in (HOSTS * ROUNDS // 5, HOSTS * ROUNDS // 2):
        while len(done) < part and any(t.is_alive() for t in threads):
            time.sleep(0.01)  # sleeps: between two looks
        server.kill()
        time.sleep(0.3)  # sleeps: nobody answers for a while
        server.start()
    for t in threads:
        t.join()
    for n in range(HOSTS):
        truth = {tuple(map(text, k)): v for k, v in store_sums(f"{place}/store{n}").items()}
        check(f"host{n:02}: points", server_sums(server, f"host{n:02}"), {k: v for k, v in truth.items() if v})
    total = sum(sum(store_sums(f"{place}/store{n}").values()) for n in range(HOSTS))
    check("the sum by host", sum(r["samples"] for e in ("cpu-clock",) for r in fleet(server, "prof", "--by", "host", "--top", "0", "-e", e)["rows"]),
          sum(v for n in range(HOSTS) for k, v in store_sums(f"{place}/store{n}").items() if text(k[0]) == "cpu-clock"))
    print(f"{HOSTS} hosts, {total} samples in {server.ask('SELECT count() FROM points', 'fleet').strip()} rows, server killed twice")


def fleet(server, *words):
    done = subprocess.run([TOOL, "fleet", *words, "--json", "--server", server.url("fleet")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        failures.append(f"fleet {words}: {done.stdout}")
        return {"rows": []}
    return json.loads(done.stdout)


def nothing_twice(server, place):
    store, url = f"{place}/store0", server.url("fleet")
    before = server.ask("SELECT count() FROM points", "fleet")
    check("sent again", " 0 samples" in export(store, "host00", url).stdout, True)
    shutil.rmtree(store + "/.fleet")  # its memory is gone, the server's is not
    check("sent again without a spool", " 0 samples" in export(store, "host00", url).stdout, True)
    check("rows after sending again", server.ask("SELECT count() FROM points", "fleet"), before)
    # An acknowledgement that was lost: the batch is there, its file too.
    subprocess.run([FILLER, store, "count", "5"], stdout=subprocess.DEVNULL, check=True)
    server.kill()
    check("server away", export(store, "host00", url, "--retry", "0", well=False).returncode, 1)
    server.start()
    spool = f"{store}/.fleet/" + os.listdir(store + "/.fleet")[0]
    batch = [f for f in os.listdir(spool) if f.startswith("batch-")]
    check("batches that wait", len(batch), 1)
    shutil.copy(f"{spool}/{batch[0]}", place + "/kept")
    export(store, "host00", url)
    shutil.copy(place + "/kept", f"{spool}/{batch[0]}")
    export(store, "host00", url)
    check("after a repeated batch", sum(server_sums(server, "host00").values()), sum(store_sums(store).values()))
    # An insertion that broke off, and a batch inserted twice: neither counts.
    server.ask("INSERT INTO points SELECT time, epoch, host, label, event, image, procedure, offset, count, 17 FROM points", "fleet")
    check("after half an insertion", sum(server_sums(server, "host00").values()), sum(store_sums(store).values()))


def bounded_spool(server, place):
    store, url = f"{place}/bounded", server.url("fleet")
    subprocess.run([FILLER, store, "count", "10"], stdout=subprocess.DEVNULL, check=True)
    export(store, "bounded", url)
    server.kill()
    for seed in range(3):
        subprocess.run([FILLER, store, "random", str(seed), "40"], check=True)
        export(store, "bounded", url, "--retry", "0", "--spool-size", "2000", well=False)
    spool = f"{store}/.fleet/" + os.listdir(store + "/.fleet")[0]
    check("batches in a full spool", sum(f.startswith("batch-") for f in os.listdir(spool)), 1)
    server.start()
    export(store, "bounded", url, "--spool-size", "2000")
    check("bounded spool: points", sum(server_sums(server, "bounded").values()), sum(store_sums(store).values()))


def daemon_sends(server, place):
    """The daemon's own exports, and one by hand after it: each sample once."""
    store, url, control = f"{place}/daemon", server.url("fleet"), f"{place}/run/control"
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        started = subprocess.run([TOOL, "daemon", "start", "-o", store, "--pid", str(burner.pid), "-F", "200", "--merge-interval", "300ms",
                                  "--export-to", url, "--export-interval", "300ms", "--socket", control],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if started.returncode:
            print("the daemon can't sample here: " + started.stdout.strip())
            return
        end = time.time() + 60
        batches = lambda: int(server.ask("SELECT count() FROM batches WHERE host NOT IN (SELECT host FROM batches WHERE host LIKE 'host%' OR host = 'bounded')", "fleet"))
        while batches() < 3 and time.time() < end:
            time.sleep(0.2)  # sleeps: between two looks
        check("batches that the daemon sent", batches() >= 3, True)
        status = json.loads(subprocess.run([TOOL, "daemon", "status", "--json", "--socket", control], stdout=subprocess.PIPE).stdout)
        check("exports that the daemon tells of", (status["exports"] > 0, status["export_failures"]), (True, 0))
        subprocess.run([TOOL, "daemon", "stop", "--socket", control], stdout=subprocess.DEVNULL, check=True)
        export(store, None, url)
        sums = json.loads(server.ask("SELECT sum(count) FROM samples WHERE host NOT LIKE 'host%' AND host != 'bounded' FORMAT JSONCompact", "fleet"))
        check("the daemon's samples", int(sums["data"][0][0]), sum(store_sums(store).values()))
    finally:
        burner.kill()


PROGRAM = """
namespace busy { __attribute__((noipa)) void spin(unsigned long n) { for (volatile unsigned long i = 0; i < n; i = i + 1) {} } }
extern "C" __attribute__((noipa)) void other(unsigned long n) { for (volatile unsigned long i = 0; i < n; i = i + 1) {} }
int main() { for (int i = 0; i < 300; i++) { busy::spin(3000000); other(1000000); } }
"""


def dashboard(server, place):
    """Each query of exchange/fleet/grafana.json, its macros expanded as Grafana's data source does, against prof."""
    here, store = os.path.dirname(os.path.abspath(__file__)), place + "/recorded"
    with open(here + "/../exchange/fleet/grafana.json") as f:
        text = f.read()
    open(place + "/busy.cc", "w").write(PROGRAM)
    subprocess.run(["g++", "-O1", "-o", place + "/busy", place + "/busy.cc"], check=True)
    recorded = subprocess.run([TOOL, "record", "--no-bursts", "-e", "cpu-clock", "-F", "1000", "-o", store, "--", place + "/busy"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if recorded.returncode:
        print("the dashboard isn't tried, no recording here: " + recorded.stdout.strip()[-200:])
        return
    export(store, "web7", server.url("fleet"))
    prof = json.loads(subprocess.run([TOOL, "prof", "--json", "--top", "0", "--store", store], stdout=subprocess.PIPE, check=True).stdout)
    want = {}
    for row in prof["rows"]:
        key = (row["procedure"] or "[no symbol]", row["image"])
        want[key] = want.get(key, 0) + row["samples"].get("cpu-clock", 0)
    want = {key: n for key, n in want.items() if n}
    total, now = sum(want.values()), int(time.time())

    def ask(sql, hosts="'web7'"):
        for macro, value in ((r"\$__timeFilter\((\w+)\)", rf"\1 >= toDateTime({now - 86400}) AND \1 <= toDateTime({now + 60})"), (r"\$__interval_s", "20"),
                             (r"\$\{database\}", "fleet"), (r"\$\{event:singlequote\}", "'cpu-clock'"), (r"\$\{host:singlequote\}", hosts)):
            sql = re.sub(macro, value, sql)
        check("no macro is left", "$" in sql, False)
        begin = time.time()
        rows = json.loads(server.ask(sql + " FORMAT JSONCompact"))["data"]
        print(f"    {len(rows)} rows in {time.time() - begin:.3f} s: {sql[:60]}")
        return rows
    board = json.loads(text)
    variables = {v["name"]: v.get("query") for v in board["templating"]["list"]}
    check("events", ask(variables["event"])[0], ["cpu-clock"])
    check("hosts", ["web7"] in ask(variables["host"]), True)
    answers = {}
    for panel in board["panels"]:
        for target in panel["targets"]:
            answers[panel["type"], panel["id"]] = ask(target["rawSql"])
            ask(target["rawSql"], "'web7', 'host00', 'host01'")
    top = answers["table", 2]
    check("top", {(f, os.path.basename(p)): int(n) for f, p, n, _ in top}, {(f, os.path.basename(p)): n for (f, p), n in want.items()})
    check("a C++ function is readable", any(f.startswith("busy::spin(") for f, _, _, _ in top), True)
    check("shares", abs(sum(s for _, _, _, s in top) - 1) < 1e-6, True)
    series = {}
    for _, function, n in answers["timeseries", 1]:
        series[function] = series.get(function, 0) + int(n)
    check("series", max(series, key=series.get, default=None), top[0][0])
    check("samples by host", sum(int(n) for _, _, n in answers["timeseries", 4]), total)
    check("builds", sum(int(row[-1]) for row in answers["table", 5]), total)
    # Nested sets: a row's children follow it, one level deeper; a value is the row's own plus its children's.
    rows = [(int(level), int(value), int(own)) for level, value, own, _ in answers["flamegraph", 3]]
    check("the root", rows[0], (0, total, 0))
    for i, (level, value, own) in enumerate(rows):
        end = next((k for k in range(i + 1, len(rows)) if rows[k][0] <= level), len(rows))
        check("a flame's children", value, own + sum(v for l, v, _ in rows[i + 1:end] if l == level + 1))
    check("flames", sum(own for _, _, own in rows), total)


def refusals(server):
    for url, words in (("ftp://x", "no URL"), ("http://127.0.0.1:1/", "can't be reached"), (server.url("a-b"), "no name of a database")):
        done = subprocess.run([TOOL, "fleet", "prof", "--server", url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(f"{url} refused", (done.returncode, words in done.stdout), (1, True))


def main():
    if not EXECUTABLE:
        print("no clickhouse-server here: apt-get install clickhouse-server")
        return 77
    place = tempfile.mkdtemp()
    server = Server(place + "/server")
    try:
        server.start()
        the_fleet(server, place)
        nothing_twice(server, place)
        bounded_spool(server, place)
        daemon_sends(server, place)
        dashboard(server, place)
        refusals(server)
    finally:
        server.kill()
        shutil.rmtree(place, ignore_errors=True)
    print("\n".join(f[:600] for f in failures[:20]))
    return 1 if failures else 0


sys.exit(main())
