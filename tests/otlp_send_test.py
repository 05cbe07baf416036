# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiver of OTLP/HTTP written from its specification, and what export --to otlp does with each of its answers."""
import gzip, http.server, os, shutil, subprocess, sys, tempfile, threading, time

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
FILLER = BUILD + "/tests/programs/store_filler"
HERE = os.path.dirname(os.path.abspath(__file__))
failures, requests = [], []


def check(what, got, expected):
    if got != expected:
        failures.append(f"{what}: got {got!r}, expected {expected!r}")


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def text(field, words):
    return varint(field << 3 | 2) + varint(len(words)) + words


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers are a list of (status, headers, body); the last one stays."""
    protocol_version = "HTTP/1.1"
    answers = [(200, {}, b"")]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        requests.append({"path": self.path, "headers": dict(self.headers), "body": body, "at": time.monotonic()})
        status, headers, answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == "slow":
            time.sleep(30)  # sleeps: a slow answer
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if answer == "endless":
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_address[1]}"


def send(store, *words, answers=None, env=None, url=URL):
    """What one export says, and the requests that came."""
    Receiver.answers = list(answers or [(200, {}, b"")])
    requests.clear()
    begin = time.monotonic()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    done = subprocess.run([TOOL, "export", "--store", store, "--to", "otlp", *words, *([url] if url else [])],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**clean, **(env or {})}, timeout=60)
    done.seconds = time.monotonic() - begin
    return done


with tempfile.TemporaryDirectory() as work:
    store = work + "/store"
    fill = lambda: subprocess.run([FILLER, store, "count", "3"], check=True, stdout=subprocess.DEVNULL)
    fill()
    subprocess.run([TOOL, "export", "--store", store, "--format", "otlp", "--to", work + "/message"], check=True, stdout=subprocess.DEVNULL)
    message = open(work + "/message", "rb").read()

    # ---- taken ----
    done = send(store)
    check("taken", (done.returncode, len(requests)), (0, 1))
    r = requests[0]
    check("path", r["path"], "/v1development/profiles")
    check("type", r["headers"].get("Content-Type"), "application/x-protobuf")
    check("encoding", r["headers"].get("Content-Encoding"), "gzip")
    check("the message is that of --format otlp", gzip.decompress(r["body"]), message)
    if shutil.which("protoc"):
        out = subprocess.run(["protoc", "-I", HERE, "--decode=ProfilesData", "otlp.proto"], input=gzip.decompress(r["body"]), capture_output=True)
        check("protoc", (out.returncode, b"string_table" in out.stdout), (0, True))
    done = send(store, env={"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}, url=URL + "/other/place?key=hidden-key")
    check("plain", (requests[0]["path"], requests[0]["headers"].get("Content-Encoding"), requests[0]["body"]), ("/other/place?key=hidden-key", None, message))
    check("no key in words", "hidden-key" in done.stdout, False)
    done = send(store, url=None, env={"OTEL_EXPORTER_OTLP_ENDPOINT": URL})
    check("by the environment", (done.returncode, requests[0]["path"]), (0, "/v1development/profiles"))
    send(store, url=None, env={"OTEL_EXPORTER_OTLP_ENDPOINT": URL + "/below/"})
    check("below what all signals have", requests[0]["path"], "/below/v1development/profiles")
    send(store, url=None, env={"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": URL + "/as/it/is"})
    check("profiles have a URL of their own", requests[0]["path"], "/as/it/is")
    check("nowhere to go", send(store, url=None).returncode, 2)

    # ---- secrets ----
    done = send(store, env={"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=s%3Dcret, x-tenant = blue"}, url=URL.replace("//", "//me:pass-word@"), answers=[(401, {}, b"")])
    check("headers", [requests[0]["headers"].get(k) for k in ("x-api-key", "x-tenant")], ["s=cret", "blue"])
    check("asked for", requests[0]["headers"].get("Authorization", "")[:6], "Basic ")
    check("no secret in words", any(w in done.stdout for w in ("pass-word", "s=cret", "s%3D")), False)
    for bad in "s3cret", "key=s3cret%0d%0aX-More: 1", "ke y=s3cret", ",".join(f"k{i}=s3cret" for i in range(99)):
        done = send(store, env={"OTEL_EXPORTER_OTLP_HEADERS": bad})
        check("refused header", (done.returncode, len(requests), "s3cret" in done.stdout), (1, 0, False))
    done = send(store, url="ftp://me:pass-word@host")
    check("no URL", (done.returncode, "pass-word" in done.stdout), (1, False))

    # ---- busy, then content; when it says ----
    done = send(store, answers=[(503, {"Retry-After": "2"}, b""), (429, {}, b""), (200, {}, b"")])
    check("busy", (done.returncode, len(requests)), (0, 3))
    if len(requests) == 3 and not (requests[1]["at"] - requests[0]["at"] >= 1.9 and requests[2]["at"] - requests[1]["at"] >= 0.9):
        failures.append("tried again too early")
    done = send(store, "--retry", "3", answers=[(503, {"Retry-After": "86400"}, b"later")])
    check("tomorrow is too late", (done.returncode, len(requests), "503" in done.stdout), (1, 1, True))

    # ---- refused: once ----
    for status in 400, 404, 413, 500, 302:
        done = send(store, answers=[(status, {"Location": "/elsewhere"}, text(2, b"this is not for us"))])
        check(f"refused {status}", (done.returncode, len(requests), f"{status}: this is not for us" in done.stdout), (1, 1, True))
    done = send(store, answers=[(400, {}, b"plain words\nand more")])
    check("plain words", ("plain words" in done.stdout, "and more" in done.stdout), (True, False))

    # ---- partial success ----
    part = lambda rejected, words: text(1, (b"\x08" + varint(rejected) if rejected else b"") + (text(2, words) if words else b""))
    done = send(store, answers=[(200, {}, part(2, b"too old \x1b[31m"))])
    check("a part", (done.returncode, len(requests), "did not take 2 profiles: too old" in done.stdout, "\x1b" in done.stdout), (1, 1, True, False))
    done = send(store, answers=[(200, {}, part(0, b"a word of advice"))])
    check("advice", (done.returncode, "a word of advice" in done.stdout), (0, True))
    for body in b"\x0a\xff", b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", b"\xff" * 100, b"{}", text(1, b"\x12\xff\xff\xff\xff\x0f"):
        check("an answer of nonsense", send(store, answers=[(200, {}, body)]).returncode, 0)

    # ---- slow, endless, away ----
    done = send(store, "--retry", "2", answers=[("slow", {}, b"")])
    check("slow", (done.returncode, done.seconds < 15), (1, True))
    done = send(store, "--retry", "0", answers=[(200, {}, "endless")])
    check("endless", (done.returncode, done.seconds < 15), (1, True))
    done = send(store, "--retry", "1", url="http://127.0.0.1:9")
    check("away", (done.returncode, done.seconds < 15), (1, True))

    # ---- each epoch once ----
    check("the newest waits", (send(store, "--once").returncode, len(requests)), (0, 0))
    fill(), fill()
    check("a filter that lets nothing through marks nothing", (send(store, "--once", "--event", "instructions").returncode, len(requests)), (0, 0))
    check("refused", (send(store, "--once", answers=[(400, {}, b"")]).returncode, len(requests)), (1, 2))
    check("each is another", len({r["body"] for r in requests}), 2)
    check("one refused", (send(store, "--once", answers=[(400, {}, b""), (200, {}, b"")]).returncode, len(requests)), (1, 2))
    check("it is tried again", (send(store, "--once").returncode, len(requests)), (0, 1))
    check("none again", (send(store, "--once").returncode, len(requests)), (0, 0))
    check("another receiver has none", (send(store, "--once", url=URL + "/b").returncode, len(requests)), (0, 2))
    fill()
    check("one more", (send(store, "--once").returncode, len(requests)), (0, 1))
    check("with an epoch", send(store, "--once", "--epoch", "-1").returncode, 2)

    # ---- the daemon ----
    control, log = work + "/run/control", work + "/log"
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    started = subprocess.run([TOOL, "daemon", "start", "--store", work + "/daemon", "--remarks", log, "--pid", str(burner.pid), "-F", "200", "--merge-interval", "200ms", "--epoch-length", "1s",
                              "--export-to", "otlp " + URL, "--export-interval", "300ms", "--socket", control],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check("the daemon knows its options", started.returncode == 2, False)
    if started.returncode:
        print("the daemon isn't tried:", started.stdout.strip())
    else:
        Receiver.answers = [(200, {}, b"")]
        requests.clear()
        end = time.monotonic() + 60
        while len(requests) < 2 and time.monotonic() < end:
            time.sleep(0.2)  # sleeps: between two looks
        subprocess.run([TOOL, "daemon", "stop", "--socket", control], stdout=subprocess.DEVNULL)
        check("the daemon sends epochs", (len(requests) >= 2, {r["path"] for r in requests}), (True, {"/v1development/profiles"}))
        if len(requests) < 2:
            failures.append(open(log, errors="replace").read()[-500:])
    burner.kill()
for failure in failures:
    print("not ok", failure)
sys.exit(bool(failures))
