#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes small stores from store/FORMAT.md and breaks one rule of the page in each copy: the second reader takes the
first and refuses every other in a sentence.

    store_rules.py DIR    leaves the good store in DIR/good"""
import os
import shutil
import sys

import store_reader as reader
from store_reader import KEY, M, SCHEMAS, SPELLED, TEXT

BUILD_ID, JIT, MISSING, TAG = "ab" * 20, "x" + "1" * 16, "f" + "cd" * 20, "x" + "2" * 16
BPF = "x" + "3" * 16
METHOD = b"Main.run(int)"
MADE = 1 << 63 | (reader.xxh3(METHOD) if reader.xxh3 else 1 << 60) >> 25 << 24


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def text(raw):
    return varint(len(raw)) + raw


def encode(kind, event, rows, columns=None, unit="", sums=(0, 0, 0)):
    number = 0
    if columns is None:
        number = next((n for n, (k, _) in SCHEMAS.items() if k == kind), 0)
        columns = SCHEMAS[number][1] if number else SPELLED[kind]
    head = varint(number)
    if not number:
        head += text(kind.encode()) + bytes([len(columns)])
        head += b"".join(bytes([k]) + text(name.encode()) for name, k in columns)
    rows = [[v.encode() if isinstance(v, str) else v for v in row] for row in rows]
    texts = sorted({v for row in rows for v in row if isinstance(v, bytes)})
    rows = sorted([texts.index(v) if isinstance(v, bytes) else v for v in row] for row in rows)
    body = b"".join(map(text, texts))
    for i, (_, k) in enumerate(columns):
        before = 0
        for row in rows:
            difference = (row[i] - before) & M
            if i and k in (KEY, TEXT):
                difference = (difference << 1 if difference >> 63 == 0 else ~(difference << 1)) & M
            body += varint(difference if k in (KEY, TEXT) else row[i])
            before = row[i]
    head += text(event.encode()) + text(b"") + text(unit.encode()) + b"".join(map(varint, sums))
    head += b"".join(map(varint, (len(texts), len(rows), len(body), len(body))))
    start = b"CSPF\x01\x00" + len(head).to_bytes(2, "little")
    return (start + reader.xxh64(start + head).to_bytes(8, "little") + reader.xxh64(body).to_bytes(8, "little")
            + head + body)


def meta(*facts):
    return encode("facts", "image", facts)


OUTERMOST = reader.xxh3(bytes(8) + BUILD_ID.encode() + b"\0" + (80).to_bytes(8, "little")) if reader.xxh3 else 1
CHAIN = [(0, BUILD_ID, 80, 0), (OUTERMOST, JIT, MADE, 2), (OUTERMOST, "", 0, 1)]


def good():
    epoch = "20261121T134135Z-host/"
    return {
        epoch + "lock": b"",
        epoch + "epoch.meta": encode("facts", "epoch", [("host", "host"), ("meta", "{}"),
                                                        ("started", "20261121T134135Z")]),
        epoch + "epoch.counters": encode("counters", "epoch", [("bursts", 2), ("samples", 3)]),
        epoch + BUILD_ID + "/image.meta": meta(("kind", "0"), ("path", "/bin/a"), ("build-id", BUILD_ID)),
        epoch + BUILD_ID + "/burst-edges+edges.prof": encode("edges", "burst-edges", [(16, "", 32, 3, 2, 5)]),
        epoch + BUILD_ID + "/burst-edges-512+edges.prof": encode("edges", "burst-edges-512", [(16, "", 32, 2, 2, 2)]),
        epoch + BUILD_ID + "/burst-windows+windows.prof": encode("windows", "burst-windows", [(7, 16, "", 32, 1),
                                                                                             (9, 16, "", 32, 2)]),
        epoch + BUILD_ID + "/burst-lines+code-lines.prof": encode("code-lines", "burst-lines",
                                                                  [(64, 5, 2, 0, 0, 0, 0)]),
        epoch + BUILD_ID + "/burst-branches+branches.prof": encode("branches", "burst-branches",
                                                                   [(16, 3, 2, 2, 1, 1, 1, 1, 0)]),
        epoch + BUILD_ID + "/burst-footprints+footprints.prof": encode("footprints", "burst-footprints",
                                                                       [(20, 1000, 4, 2)]),
        epoch + BUILD_ID + "/burst-page-sizes+page-sizes.prof": encode("page-sizes", "burst-page-sizes", [(20, 4, 2)]),
        epoch + BUILD_ID + "/burst-sharing+sharing.prof": encode("sharing", "burst-sharing",
                                                                 [(20, 8, 8, 1, "", 24, 40, 8, 1, 9, 7, 80, 2)]),
        epoch + BUILD_ID + "/lbr-ranges+ranges.prof": encode("ranges", "lbr-ranges", [(16, 32, 4)], unit="events"),
        epoch + BUILD_ID + "/cpu-clock+intervals.prof": encode("intervals", "cpu-clock", [(1000, 5000, 32, 1)]),
        epoch + BUILD_ID + "/path-starts+edges.prof": encode("edges", "path-starts", [(16, "", 16, 1, 1, 1)]),
        epoch + BUILD_ID + "/path-windows+windows.prof": encode(
            "windows", "path-windows",
            [(reader.xxh3(BUILD_ID.encode(), 16) if reader.xxh3 else 1, 16, "", 32, 1)]),
        epoch + JIT + "/image.meta": meta(("kind", "4"), ("path", "[jit] /bin/a")),
        epoch + JIT + "/image.names": encode("names", "names", [(MADE, 1 << 24, METHOD)]),
        epoch + JIT + "/cycles.prof": encode("points", "cycles", [(64, 1), (MADE + 5, 2)], None, "cycles", (3, 3, 3)),
        epoch + BPF + "/image.meta": meta(("kind", "4"), ("path", "bpf_prog_0123456789abcdef_step")),
        epoch + BPF + "/image.names": encode("names", "names", [(0, 157, "bpf_prog_0123456789abcdef_step")]),
        epoch + "contexts/image.meta": meta(("kind", "8"), ("path", "[contexts]")),
        epoch + "contexts/cycles+contexts.prof": encode("contexts", "cycles", CHAIN, None, "cycles", (3, 3, 3)),
        epoch + MISSING + "/image.meta": meta(("kind", "7"), ("path", "/bin/b"), ("build-id", MISSING[1:])),
        epoch + TAG + "/image.meta": meta(("kind", "5"), ("path", "/bin/a")),
        epoch + TAG + "/observed-cycles.prof": encode("points", "observed-cycles", [(1, 50)], None, "cycles",
                                                      (50, 0, 0)),
        epoch + TAG + "/observed+observed.prof": observed(),
    }


OBSERVED = {"tag": ("tag", "phase", 1, 0, 4, 100, 1, 0), "rate": ("rate 0 work", "phase", 1, 0, 3, 40, 10, 2560),
            "bin": ("bin 0 work", "phase", 1, 514, 3, 0, 0, 0), "period": ("period", "", 0, 975, 4, 0, 0, 0),
            "verdict": ("verdict", "kept", 0, 0, 3, 40, 0, 0), "run": ("run", "", 0, 0, 1, 0, 1000, 4)}


def observed(**other):
    return encode("observed", "observed", {**OBSERVED, **other}.values())


def broken():
    """(rule, the file, its contents or None for its removal)"""
    file = BUILD_ID + "/burst-%s.prof"
    seen = TAG + "/observed+observed.prof"
    yield "observed: a tag's number", seen, observed(tag=("tag", "phase", 1, 2, 4, 100, 1, 0))
    yield "observed: rate bin", seen, observed(bin=("bin 0 work", "phase", 1, 515, 3, 0, 0, 0))
    yield "observed: bins", seen, observed(bin=("bin 0 work", "phase", 1, 14, 2, 0, 0, 0))
    yield "observed: rate", seen, observed(bin=("bin 1 work", "phase", 1, 14, 3, 0, 0, 0))
    yield "observed: cycle bin", seen, observed(period=("gap", "", 0, 976, 4, 0, 0, 0))
    yield "observed: verdict", seen, observed(verdict=("verdict", "kind", 0, 0, 3, 40, 0, 0))
    yield "observed: a dash", seen, observed(verdict=("verdict", "kept", 0, 0, 3, 40, 1, 0))
    yield "observed: what", seen, observed(run=("runs", "", 0, 0, 1, 0, 1000, 4))
    yield "observed: squares", seen, observed(rate=("rate 0 work", "phase", 1, 0, 3, 40, 10, 99))
    yield "observed-cycles: half", seen, observed(tag=("tag", "phase", 1, 0, 4, 50, 1, 0))
    yield "observed: no sums", seen, encode("observed", "observed", [], sums=(1, 0, 0))
    yield "observed: its kind", TAG + "/observed.prof", encode("points", "observed", [(1, 1)])
    yield "observed-cycles: sum", TAG + "/observed-cycles.prof", encode("points", "observed-cycles", [(1, 50)], None,
                                                                        "cycles", (51, 0, 0))
    yield "observed-cycles: not running", TAG + "/observed-cycles.prof", encode("points", "observed-cycles", [(M, 50)],
                                                                                None, "cycles", (50, 0, 0))
    yield "edges: squares", file % "edges+edges", encode("edges", "burst-edges", [(16, "", 32, 3, 2, 4)])
    yield "edges: bursts", file % "edges+edges", encode("edges", "burst-edges", [(16, "", 32, 3, 4, 5)])
    yield "bursts: unit", file % "edges+edges", encode("edges", "burst-edges", [(16, "", 32, 3, 2, 5)], unit="ns")
    yield "bursts: id", file % "edges+edges", encode("edges", "burst-edges", [(16, "a/b", 32, 3, 2, 5)])
    yield "bursts: own id", file % "edges+edges", encode("edges", "burst-edges", [(16, BUILD_ID, 32, 3, 2, 5)])
    yield "a part", file % "edges-512+edges", encode("edges", "burst-edges-512", [(16, "", 32, 4, 1, 16)])
    yield "windows: sum", file % "windows+windows", encode("windows", "burst-windows", [(7, 16, "", 32, 1)])
    yield "windows: columns", file % "windows+windows", encode("windows", "burst-windows", [(7, 1)],
                                                               [("burst", KEY), ("count", 2)])
    yield "lines: 64", file % "lines+code-lines", encode("code-lines", "burst-lines", [(65, 5, 2, 0, 0, 0, 0)])
    yield "branches: taken", file % "branches+branches", encode("branches", "burst-branches",
                                                                [(16, 3, 2, 4, 1, 1, 1, 1, 0)])
    yield "branches: kind", file % "branches+branches", encode("branches", "burst-branches",
                                                               [(16, 3, 2, 2, 1, 1, 1, 1, 5)])
    yield "footprints: bursts", file % "footprints+footprints", encode("footprints", "burst-footprints",
                                                                       [(20, 1000, 1, 2)])
    yield "footprints: line", file % "footprints+footprints", encode("footprints", "burst-footprints",
                                                                     [(20, 1 << 58, 4, 2)])
    yield "page-sizes: huge", file % "page-sizes+page-sizes", encode("page-sizes", "burst-page-sizes", [(20, 4, 5)])
    yield "sharing: bytes", file % "sharing+sharing", encode("sharing", "burst-sharing",
                                                             [(20, 60, 8, 1, "", 24, 40, 8, 1, 9, 7, 80, 2)])
    yield "sharing: who writes", file % "sharing+sharing", encode("sharing", "burst-sharing",
                                                                  [(20, 8, 8, 0, "", 24, 40, 8, 0, 9, 7, 80, 2)])
    yield "ranges", BUILD_ID + "/lbr-ranges+ranges.prof", encode("ranges", "lbr-ranges", [(32, 16, 4)], unit="events")
    yield "intervals", BUILD_ID + "/cpu-clock+intervals.prof", encode("intervals", "cpu-clock", [(1000, 5001, 32, 1)])
    yield "stacks", BUILD_ID + "/cpu-clock+stacks.prof", encode("stacks", "cpu-clock", [("a+1;b", 1)])
    if reader.xxh3:
        yield "contexts: parent", "contexts/cycles+contexts.prof", encode("contexts", "cycles", CHAIN[1:])
    yield "contexts: other", "contexts/cycles+contexts.prof", encode("contexts", "cycles", [(0, "", 1, 1)])
    yield "contexts: id", "contexts/image.meta", meta(("kind", "8"), ("path", "[contexts]"), ("build-id", "ab"))
    yield "spelled out", BUILD_ID + "/cpu-clock.prof", encode("points", "cpu-clock", [(1, 1)], SCHEMAS[1][1])
    yield "path-starts", BUILD_ID + "/path-starts+edges.prof", encode("edges", "path-starts", [(16, "", 18, 1, 1, 1)])
    if reader.xxh3:
        yield "path-windows", BUILD_ID + "/path-windows+windows.prof", encode("windows", "path-windows",
                                                                              [(5, 16, "", 32, 1)])
        yield "made code: hash", JIT + "/image.names", encode("names", "names", [(MADE, 1 << 24, METHOD + b"x")])
    yield "made code: size", JIT + "/image.names", encode("names", "names", [(MADE, 1 << 23, METHOD)])
    yield "made code: low bits", JIT + "/image.names", encode("names", "names", [(MADE + 1, 1 << 24, METHOD)])
    yield "made code: bit 63", JIT + "/image.names", encode("names", "names", [(0, 64, "a"), (MADE, 1 << 24, METHOD)])
    yield "made code: no name", JIT + "/image.names", None
    yield "kind 7: id", MISSING + "/image.meta", meta(("kind", "7"), ("build-id", BUILD_ID))
    yield "kind 0: id", MISSING + "/image.meta", meta(("kind", "0"), ("build-id", MISSING[1:]))
    yield "hashed id", BUILD_ID + "/image.meta", meta(("kind", "0"), ("path", "/bin/a"))
    yield "image: kind 9", TAG + "/image.meta", meta(("kind", "9"))
    yield "image: no kind", TAG + "/image.meta", meta(("path", "/bin/a"))
    yield "image: path", TAG + "/image.meta", meta(("kind", "5"), ("path", ""))
    yield "image: build-id", BUILD_ID + "/image.meta", meta(("kind", "0"), ("build-id", BUILD_ID.upper()))
    yield "image: event", TAG + "/image.meta", encode("facts", "epoch", [("kind", "5")])
    yield "epoch: started", "epoch.meta", encode("facts", "epoch", [("host", "h"), ("started", "yesterday")])
    yield "epoch: meta", "epoch.meta", encode("facts", "epoch", [("host", "h"), ("started", "20261121T134135Z"),
                                                                 ("meta", "[]")])
    yield "epoch: no host", "epoch.meta", encode("facts", "epoch", [("started", "20261121T134135Z")])
    yield "counters: event", "epoch.counters", encode("counters", "image", [("samples", 1)])
    yield "image: no facts", TAG + "/image.meta", None
    yield "a stranger", "stranger", b""
    yield "a stranger of an image", TAG + "/stranger", encode("points", "cycles", [])
    yield "the name of a file", TAG + "/other.prof", encode("points", "cycles", [])


def write(place, files):
    for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        with open(os.path.join(place, name), "wb") as f:
            f.write(data)


def main():
    place, files, wrong, n = sys.argv[1], good(), 0, 0
    write(os.path.join(place, "good"), files)
    reader.check_store(os.path.join(place, "good"))
    for rule, name, data in broken():
        name = "20261121T134135Z-host/" + name
        write(os.path.join(place, "bad"), {k: v for k, v in {**files, name: data}.items() if v is not None})
        try:
            reader.check_store(os.path.join(place, "bad"))
            print("the second reader took a store in which this is broken:", rule)
            wrong = 1
        except reader.Broken:
            n += 1
        shutil.rmtree(os.path.join(place, "bad"))
    print(n, "stores refused, each with one rule broken")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
