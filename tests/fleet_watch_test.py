# SPDX-License-Identifier: GPL-2.0-or-later
"""fleet watch of a store whose past is known, and of a server that the store was sent to: integration/fleet_watch.sh runs it. 24 days
of one program; from the 15th on it has another build-id, whose function f0 takes 5 % more. The noise is drawn from a fixed seed."""
import http.server, json, os, shutil, subprocess, sys, tempfile, threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clickhouse_server import EXECUTABLE, Server

TOOL, FILLER = os.environ["CYCLESCOPE"], os.environ["BUILD"] + "/tests/programs/store_filler"
bad = 0


def check(what, got, expected):
    global bad
    if got == expected:
        print(f"ok {what}")
    else:
        bad += 1
        print(f"not ok {what}: got {got}, expected {expected}")


def fill(store, percent, days=24):
    for day in range(1, days + 1):
        build, part = ("bbbb", percent) if day >= 15 else ("aaaa", 100)
        subprocess.run([FILLER, store, "day", build, str(part), str(day)], check=True)
        made, = [e for e in os.listdir(store) if not e.endswith("-web1")]
        os.rename(f"{store}/{made}", f"{store}/202603{day:02}T120000Z-web1")


def watch(*words, form="--json"):
    done = subprocess.run([TOOL, "fleet", "watch", *words, *([form] if form else [])], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if form and done.stdout else done.stdout, done.stderr


class Receiver(http.server.BaseHTTPRequestHandler):
    got, status = [], 200

    def do_POST(self):
        Receiver.got.append((self.headers["Content-Type"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(Receiver.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def a_store(place):
    code, said, _ = watch("--store", place + "/slower")
    row = said["rows"][0] if said["rows"] else {}
    check("a function that became dearer is found", (code, len(said["rows"]), said["dearer"]), (1, 1, 1))
    check("... with its build-id", [row.get(k) for k in ("function", "image", "build", "old_build", "service")], ["f0", "shop", "bbbb", "aaaa", "shop"])
    check("... its day", row.get("since"), "2026-03-15T00:00Z")
    share = 100 / 4 / sum(1 / (f + 4) for f in range(20))
    check("... and its growth, within a tenth", abs(row.get("growth_percent", 0) - 0.05 * share) < 0.1 * 0.05 * share, True)
    code, text, _ = watch("--store", place + "/slower", form=None)
    check("text names function and build-id", all(w in text for w in ("f0", "bbbb", "dearer")), True)
    check("growth below --least-growth isn't reported", watch("--store", place + "/slower", "--least-growth", "1")[0], 0)
    check("an old change isn't new", watch("--store", place + "/slower", "--new", "1d")[1]["dearer"], 0)
    check("without a change nothing is found", watch("--store", place + "/same")[0], 0)
    check("three days can't tell", watch("--store", place + "/short")[0], 2)
    code, _, why = watch("--store", place + "/none")
    check("no store is a failure", (code, "none" in why), (3, True))


def posts(place):
    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{receiver.server_port}/hook"
    code, said, _ = watch("--store", place + "/slower", "--post", url)
    check("findings are posted once, as JSON", (code, [t for t, _ in Receiver.got]), (1, ["application/json"]))
    check("... the same that --json prints", Receiver.got and Receiver.got[0][1]["rows"] == said["rows"], True)
    watch("--store", place + "/same", "--post", url)
    check("no finding, no post", len(Receiver.got), 1)
    Receiver.status = 500
    code, _, why = watch("--store", place + "/slower", "--post", url)
    check("a receiver that refuses is a failure", (code, "answered 500" in why), (3, True))
    receiver.shutdown()
    check("so is one that is away", watch("--store", place + "/slower", "--post", "http://127.0.0.1:1/")[0], 3)


def a_server(place):
    server = Server(place + "/server")
    try:
        server.start()
        url = server.url("fleet")
        subprocess.run([TOOL, "export", "--store", place + "/slower", "--to", "clickhouse", url], check=True, stdout=subprocess.DEVNULL)
        by_store, by_server = watch("--store", place + "/slower"), watch("--server", url)
        check("a server's answer is the store's", (by_server[0], by_server[1]["rows"]), (by_store[0], by_store[1]["rows"]))
        check("a filter chooses", watch("--server", url, "until=2026-03-14")[0], 0)
        check("a wrong filter is a failure", watch("--server", url, "nonsense=1")[0], 3)
        hostile = "x' OR 1=1 \\"
        server.ask("INSERT INTO points SELECT time, epoch, host, 'x\\' OR 1=1 \\\\', event, image, procedure, offset, count, attempt FROM points", "fleet")
        services = {r["service"] for r in watch("--server", url)[1]["rows"]}
        check("a label that is SQL is a name", services, {"shop", hostile})
    finally:
        server.kill()


def main():
    place = tempfile.mkdtemp()
    try:
        fill(place + "/slower", 105)
        fill(place + "/same", 100)
        fill(place + "/short", 100, days=3)
        a_store(place)
        posts(place)
        if EXECUTABLE:
            a_server(place)
        else:
            print("no clickhouse-server here: the server isn't tried")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if bad else 0


sys.exit(main())
