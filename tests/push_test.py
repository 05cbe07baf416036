# SPDX-License-Identifier: GPL-2.0-or-later
"""What export --to otlp (gRPC), pyroscope and parca send, received by grpcio and protobuf, which are others' code: sums by function are
those of prof, and the rules hold by which Pyroscope and Parca refuse a profile. Then what export does with a receiver's answers."""
import collections, gzip, http.server, json, os, re, shutil, socket, subprocess, sys, tempfile, threading, time
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TOOL, BUILD = os.environ["CYCLESCOPE"], os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
OTLP = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
PYROSCOPE, PARCA = "/push.v1.PusherService/Push", "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static volatile unsigned long sink;
__attribute__((noipa)) void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noipa)) void touch(size_t n) {
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    memset(p, 1, n);
    munmap(p, n);
}
int main(void) { for (int i = 0; i < 400; i++) { spin(30000); touch(4 << 20); } }
"""
failures = []


def check(what, got, expected):
    if got != expected:
        failures.append(f"{what}: got {got!r:.300}, expected {expected!r:.300}")


def schema(name, work):
    """Classes of a .proto file in a pool of its own: files of ours have messages of the same name."""
    subprocess.run(["protoc", "-I", HERE, f"--descriptor_set_out={work}/{name}", name], check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(open(f"{work}/{name}", "rb").read()).file:
        pool.AddSerializedFile(file.SerializeToString())
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return lambda message: make(pool.FindMessageTypeByName(message))


class Anyone(grpc.GenericRpcHandler):
    """Every method, bytes as they came. `answers`: bytes, or (code, words); the last one stays."""
    def __init__(self):
        self.calls, self.answers = [], [b""]

    def service(self, details):
        def handle(request, context):
            self.calls.append((details.method, dict(context.invocation_metadata()), request, time.monotonic()))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, bytes):
                return answer
            if len(answer) > 2:
                context.set_trailing_metadata((("grpc-status-details-bin", answer[2]),))
            context.abort(*answer[:2])
        return grpc.unary_unary_rpc_method_handler(handle)


anyone = Anyone()
server = grpc.server(futures.ThreadPoolExecutor(2), handlers=(anyone,), options=[("grpc.max_receive_message_length", -1)])
PORT = server.add_insecure_port("127.0.0.1:0")
server.start()
GRPC = f"grpc://127.0.0.1:{PORT}"


class Web(http.server.BaseHTTPRequestHandler):
    requests, answers = [], [(200, b"")]

    def do_POST(self):
        Web.requests.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        status, answer = Web.answers.pop(0) if len(Web.answers) > 1 else Web.answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
web.daemon_threads = True
threading.Thread(target=web.serve_forever, daemon=True).start()
HTTP = f"http://127.0.0.1:{web.server_address[1]}"


def send(store, to, *words, url=GRPC, answers=None, env=None):
    anyone.answers, Web.answers = list(answers or [b""]), list(answers or [(200, b"")])
    anyone.calls.clear(), Web.requests.clear()
    begin = time.monotonic()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "CYCLESCOPE_EXPORT"))}
    done = subprocess.run([TOOL, "export", "--store", store, "--to", to, *words, *([url] if url else [])], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env={**clean, **(env or {})}, timeout=60)
    done.seconds = time.monotonic() - begin
    return done


def by_function(samples, frames, values):
    """Samples of each innermost function: {function: n}."""
    sums = collections.Counter()
    for sample in samples:
        names = frames(sample)
        if values(sample):
            sums[names[0] if names else "?"] += values(sample)
    return sums


def of_otlp(data):
    d = data.dictionary
    names = lambda s: [d.string_table[d.function_table[l.function_index].name_strindex]
                       for i in d.stack_table[s.stack_index].location_indices[:1] for l in d.location_table[i].lines[:1]]
    types, sums = {}, {}
    for p in data.resource_profiles[0].scope_profiles[0].profiles:
        name = d.string_table[p.sample_type.type_strindex]
        types[name] = (d.string_table[p.sample_type.unit_strindex], d.string_table[p.period_type.type_strindex])
        sums[name] = by_function(p.samples, names, lambda s: s.values[0])
    return types, sums


def of_pprof(p):
    text = p.string_table
    locations, functions = {l.id: l for l in p.location}, {f.id: f for f in p.function}
    names = lambda s: [text[functions[l.function_id].name] for i in s.location_id[:1] for l in locations[i].line[:1]]
    # By these Parca and Pyroscope refuse a profile.
    check("first string", text[0], "")
    for table in p.mapping, p.location, p.function:
        check("ids count from 1", [x.id for x in table], list(range(1, len(table) + 1)))
    check("values of each sample", {len(s.value) for s in p.sample}, {len(p.sample_type)})
    types = {text[t.type]: (text[t.unit], text[p.period_type.type]) for t in p.sample_type}
    return types, {name: by_function(p.sample, names, lambda s, i=i: s.value[i]) for i, name in enumerate(types)}


def same_as_prof(what, types, sums, truth):
    check(what + ": types", types["samples"], ("count", "cpu"))
    check(what + ": the other type", types["page_faults"][0], "count")
    for t in list(types) + [p for _, p in types.values() if p]:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", t):
            failures.append(f"{what}: Pyroscope refuses the type {t}")
    for name, event in ("samples", "cpu-clock"), ("page_faults", "page-faults"):
        check(f"{what}: all {event}", sum(sums[name].values()), next(e["samples"] for e in truth["events"] if e["name"] == event))
        for function in "spin", "touch", "main":
            check(f"{what}: {event} of {function}", sums[name][function],
                  sum(r["samples"].get(event, 0) for r in truth["rows"] if r["procedure"] == function))


def contents(work, otlp, push, pprof):
    store, source = work + "/store", work + "/two.c"
    open(source, "w").write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-o", work + "/two", source], check=True)
    done = subprocess.run([TOOL, "record", "--no-bursts", "-e", "cpu-clock", "-e", "page-faults", "-F", "1000", "-o", store, "--", work + "/two"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print("no recording here: " + done.stdout.strip()[-200:])
        sys.exit(77)
    truth = json.loads(subprocess.run([TOOL, "prof", "--json", "--top", "0", "--store", store], check=True, capture_output=True, text=True).stdout)
    host = os.uname().nodename

    done = send(store, "otlp")
    check("otlp", (done.returncode, [c[0] for c in anyone.calls]), (0, [OTLP]))
    data = otlp("ProfilesData").FromString(anyone.calls[0][2])
    same_as_prof("otlp", *of_otlp(data), truth)
    check("resource", {a.key: a.value.string_value for a in data.resource_profiles[0].resource.attributes},
          {"service.name": "cyclescope", "host.name": host})

    done = send(store, "parca", "--service", "shop", "--host", "web7", env={"CYCLESCOPE_EXPORT_HEADERS": "authorization=Bearer%20s3cret"})
    check("parca", (done.returncode, [c[0] for c in anyone.calls]), (0, [PARCA]))
    check("a header", (anyone.calls[0][1].get("authorization"), "s3cret" in done.stdout), ("Bearer s3cret", False))
    request = push("WriteRawRequest").FromString(anyone.calls[0][2])
    check("normalized", request.normalized, True)
    labels = {l.name: l.value for l in request.series[0].labels.labels}
    check("labels", labels, {"__name__": "process_cpu", "service_name": "shop", "hostname": "web7"})
    packed = request.series[0].samples[0].raw_profile
    profile = pprof("Profile").FromString(gzip.decompress(packed))
    same_as_prof("parca", *of_pprof(profile), truth)
    check("when", time.time() - 300 < profile.time_nanos / 1e9 <= time.time() + 1, True)
    if shutil.which("go"):
        open(work + "/p.pb.gz", "wb").write(packed)
        top = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=page_faults", work + "/p.pb.gz"], capture_output=True, text=True)
        flat = {line.split()[-1]: int(line.split()[0]) for line in top.stdout.splitlines() if re.match(r"\s*\d+\s+[\d.]+%", line)}
        # Go's reader drops what is less than 0.5 %.
        check("go tool pprof", max(flat, key=flat.get, default=None) and flat[max(flat, key=flat.get)],
              max(of_pprof(profile)[1]["page_faults"].values()))

    for url, calls in (HTTP + "/below/", None), (GRPC, anyone.calls):
        done = send(store, "pyroscope", url=url, env={"CYCLESCOPE_EXPORT_HEADERS": "X-Scope-OrgID=blue"})
        check("pyroscope", done.returncode, 0)
        path, headers, body = (Web.requests if calls is None else calls)[0][:3]
        check("pyroscope's path", path, ("/below" if calls is None else "") + PYROSCOPE)
        headers = {k.lower(): v for k, v in headers.items()}
        check("tenant", headers.get("x-scope-orgid"), "blue")
        if calls is None:
            check("type", (headers["content-type"], headers.get("content-encoding")), ("application/proto", None))
        request = push("PushRequest").FromString(body)
        check("labels", {l.name: l.value for l in request.series[0].labels},
              {"__name__": "process_cpu", "service_name": "cyclescope", "hostname": host})
        same_as_prof("pyroscope", *of_pprof(pprof("Profile").FromString(gzip.decompress(request.series[0].samples[0].raw_profile))), truth)


def raw_http2(frames):
    """A server that sends these frames, whatever it is asked: (type, flags, payload) of stream 1."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listening.accept()
        with connection:
            frame = lambda type, flags, payload, stream=1: len(payload).to_bytes(3, "big") + bytes([type, flags]) + stream.to_bytes(4, "big") + payload
            got, at = connection.makefile("rb"), b"\0\0\0\1\0"
            got.read(24)
            while at[3] != 0 or not at[4] & 1: # until the request has ended
                at = got.read(9)
                got.read(int.from_bytes(at[:3], "big"))
            try:
                connection.sendall(frame(4, 0, b"", 0) + b"".join(frame(*f) for f in frames))
                while connection.recv(65536):
                    pass
            except OSError:
                pass
    threading.Thread(target=serve, daemon=True).start()
    return f"grpc://127.0.0.1:{listening.getsockname()[1]}"


def answers(work, otlp):
    store = work + "/filled"
    fill = lambda: subprocess.run([BUILD + "/tests/programs/store_filler", store, "count", "3"], check=True, stdout=subprocess.DEVNULL)
    fill()
    S, R = grpc.StatusCode, otlp("ExportProfilesServiceResponse")
    part = lambda n, words: R(partial_success={"rejected_profiles": n, "error_message": words}).SerializeToString()

    done = send(store, "otlp", answers=[part(2, "too old \x1b[31m")])
    check("a part", (done.returncode, len(anyone.calls), "did not take 2 profiles: too old" in done.stdout, "\x1b" in done.stdout), (1, 1, True, False))
    done = send(store, "otlp", answers=[part(0, "a word of advice")])
    check("advice", (done.returncode, "a word of advice" in done.stdout), (0, True))
    for body in b"\xff" * 100, b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", b"{}":
        check("an answer of nonsense", send(store, "otlp", answers=[body]).returncode, 0)
    whole = anyone.calls[0][2]
    send(store, "otlp", env={"OTEL_EXPORTER_OTLP_COMPRESSION": "none"})
    check("not packed", (anyone.calls[0][2] == whole, len(whole) > 0), (True, True))
    check("packed", int(re.search(r"([\d.]+) kB", send(store, "otlp").stdout)[1].replace(".", "")) < len(whole) / 100, True)
    done = send(store, "otlp", url=GRPC.replace("grpc:", "http:"), env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    check("by the protocol's variable", (done.returncode, len(anyone.calls)), (0, 1))
    done = send(store, "otlp", url=None, env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": GRPC.replace("grpc:", "http:") + "/"})
    check("by the environment", (done.returncode, [c[0] for c in anyone.calls]), (0, [OTLP]))
    check("a URL that is in no command line", send(store, "parca", url=None, env={"CYCLESCOPE_EXPORT_URL": GRPC}).returncode, 0)
    check("nowhere to go", send(store, "parca", url=None).returncode, 2)
    check("another format", send(store, "parca", "--format", "otlp").returncode, 2)

    for code, words in (S.INVALID_ARGUMENT, "this is not for us \x1b[31m 100% sure"), (S.UNAUTHENTICATED, "who?"), (S.RESOURCE_EXHAUSTED, "longer than 4194304"):
        done = send(store, "otlp", answers=[(code, words)])
        check(f"{code.name}", (done.returncode, len(anyone.calls), f"answered {code.name} ({code.value[0]}): {words[:12]}" in done.stdout, "\x1b" in done.stdout),
              (1, 1, True, False))
    done = send(store, "otlp", answers=[(S.UNAVAILABLE, "later"), (S.RESOURCE_EXHAUSTED, "busy", b"x"), b""])
    check("busy", (done.returncode, len(anyone.calls)), (0, 3))
    done = send(store, "parca", "--retry", "5", answers=[(S.UNAVAILABLE, "for ever")])
    check("away for ever", (done.returncode, "UNAVAILABLE (14): for ever" in done.stdout, done.seconds < 15), (1, True, True))

    # Pyroscope's Connect protocol says why in JSON.
    done = send(store, "pyroscope", url=HTTP, answers=[(400, b'{"code":"invalid_argument","message":"profile is too old"}')])
    check("refused by HTTP", (done.returncode, "answered 400: profile is too old\n" in done.stdout), (1, True))
    check("busy by HTTP", (send(store, "pyroscope", url=HTTP, answers=[(503, b""), (200, b"")]).returncode, len(Web.requests)), (0, 2))
    check("deep JSON", send(store, "pyroscope", url=HTTP, answers=[(400, b"[" * 60000)]).returncode, 1)

    # The wrong port, told at once.
    done = send(store, "otlp", url=GRPC.replace("grpc:", "http:"))
    check("HTTP at gRPC's port", (done.returncode, "expected http://HOST:4318 or grpc://HOST:4317" in done.stdout, done.seconds < 15), (1, True, True))
    for bad in "ftp://me:pass-word@host", "grpc://", "host:4317":
        done = send(store, "parca", url=bad)
        check("no URL", (done.returncode, "pass-word" in done.stdout), (1, False))
    # HTTP/2 that is no gRPC: 0x88 is ":status: 200", 0x00 a header by its letters.
    ok, said = (1, 4, b"\x88"), lambda value: (1, 5, b"\x00\x0bgrpc-status" + bytes([len(value)]) + value)
    for what, frames, words in (("no status", [(1, 5, b"\x88")], "without a status"), ("no number", [ok, said(b"abc")], "without a status"),
                                ("a number too large", [ok, said(b"99")], "status (99)"), ("minus", [ok, said(b"-1")], "without a status"),
                                ("a frame that lies", [ok, (0, 0, b"\x00\xff\xff\xff\xff\x0a\xff"), said(b"2")], "UNKNOWN (2)"),
                                ("HTTP's 404", [(1, 5, b"\x8d")], "answered 404")):
        done = send(store, "otlp", url=raw_http2(frames))
        check(what, (done.returncode, words in done.stdout), (1, True))
    # Go's net/http says the length of a short answer; libcurl then doesn't wait for trailers by itself.
    done = send(store, "otlp", url=raw_http2([(1, 4, b"\x88\x00\x0econtent-length\x015"), (0, 0, b"\0" * 5), said(b"0")]))
    check("a length before trailers", done.returncode, 0)
    done = send(store, "otlp", "--retry", "0", url=raw_http2([ok] + [(0, 0, b"x" * 16000)] * 1000))
    check("endless", (done.returncode, done.seconds < 15), (1, True))

    # Each epoch once, each receiver apart.
    fill(), fill()
    for to in "otlp", "parca", "pyroscope":
        check(to + " once", (send(store, to, "--once").returncode, len(anyone.calls)), (0, 2))
        check(to + " not again", (send(store, to, "--once").returncode, len(anyone.calls)), (0, 0))


with tempfile.TemporaryDirectory() as work:
    otlp = schema("otlp.proto", work)
    contents(work, otlp, schema("push.proto", work), schema("profile.proto", work))
    answers(work, otlp)
server.stop(None)
for failure in failures:
    print("not ok", failure)
sys.exit(bool(failures))
