# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for viewers, checked by what the viewers' own descriptions of the formats ask for: every column as long as its table says,
every index within the table it points into, parents before children (Firefox Profiler, processed profile format); phases,
times and names of events (Trace Event Format), and the stretches against a second reader of the log (observer/LOG.md).
    viewer_files.py firefox FILE        prints the sum of the samples' weights; time off the CPU isn't among them
    viewer_files.py trace FILE LOG"""
import ctypes, ctypes.util, json, struct, sys

COLUMNS = {
    "samples": {"time", "stack", "weight"},
    "stackTable": {"frame", "prefix", "category", "subcategory"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "implementation", "line", "column"},
    "funcTable": {"name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"},
    "resourceTable": {"lib", "name", "host", "type"},
    "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "markers": {"data", "name", "startTime", "endTime", "phase", "category"},
}


def firefox(path):
    profile = json.load(open(path))
    meta = profile["meta"]
    assert meta["preprocessedProfileVersion"] > 0 and meta["version"] > 0 and meta["interval"] > 0
    assert any(c["color"] == "grey" for c in meta["categories"])
    for lib in profile["libs"]:
        assert {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"} <= lib.keys()
    total = 0
    for thread in profile["threads"]:
        assert {"name", "pid", "tid", "processType", "registerTime", "stringArray"} <= thread.keys()
        for table, columns in COLUMNS.items():
            assert columns <= thread[table].keys(), (table, columns - thread[table].keys())
            for column in columns:
                assert len(thread[table][column]) == thread[table]["length"], (table, column)
        size = lambda table: thread[table]["length"]
        strings = len(thread["stringArray"])
        stacks, functions, resources = thread["stackTable"], thread["funcTable"], thread["resourceTable"]
        assert all(0 <= f < size("frameTable") for f in stacks["frame"])
        assert all(p is None or 0 <= p < i for i, p in enumerate(stacks["prefix"]))
        assert all(0 <= f < size("funcTable") for f in thread["frameTable"]["func"])
        assert all(0 <= n < strings for n in functions["name"] + resources["name"])
        assert all(-1 <= r < size("resourceTable") for r in functions["resource"])
        assert all(0 <= l < len(profile["libs"]) for l in resources["lib"])
        samples = thread["samples"]
        assert all(s is None or 0 <= s < size("stackTable") for s in samples["stack"])
        assert samples["time"] == sorted(samples["time"]) and samples["weightType"] in ("samples", "tracing-ms")
        if samples["weightType"] == "samples":
            total += sum(samples["weight"])
    print(total)


def read_log(path):
    """Columns of all chunks, as LOG.md says: [(start, away, tags, after a gap)], head."""
    data = open(path, "rb").read()
    head_bytes, = struct.unpack_from("<I", data, 12)
    n_tags, n_softs, n_pmcs, follow = struct.unpack_from("<4I", data, 16)
    hz, _, _, clock = struct.unpack_from("<4Q", data, 32)
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    samples, names, at = [], {}, head_bytes
    while at + 40 <= len(data):
        kind, records, raw, packed = struct.unpack_from("<I3Q", data, at + 4)
        body = data[at + 40:at + 40 + packed]
        at += 40 + packed
        if kind == 3:
            break
        out = ctypes.create_string_buffer(raw)
        assert zstd.ZSTD_decompress(out, ctypes.c_size_t(raw), body, ctypes.c_size_t(packed)) == raw
        if kind == 2:
            place = 0
            while place < raw:
                length, tag, value = struct.unpack_from("<3Q", out.raw, place)
                names[tag, value] = out.raw[place + 24:place + length].split(b"\0")[0].decode()
                place += length
            continue
        columns = []
        for c in range(2 + follow + n_softs + n_pmcs + n_tags):
            column, value = [], 0
            for d in struct.unpack_from(f"<{records}Q", out.raw, 8 * records * c):
                value = (value + d) & (2**64 - 1)
                column.append(value)
            columns.append(column)
        for i in range(records):
            tags = [columns[len(columns) - n_tags + t][i] for t in range(n_tags)]
            samples.append((columns[0][i], columns[1][i] >> 33 & 1, tags, i == 0))
    return samples, names, hz, clock, n_tags


def trace(path, log):
    document = json.load(open(path))
    samples, names, hz, clock, n_tags = read_log(log)
    events = document["traceEvents"]
    for e in events:
        assert e["ph"] in "MXC" and "pid" in e and "name" in e, e
        assert e["ph"] == "M" or e["ts"] >= 0, e
        assert e["ph"] != "X" or (e["dur"] >= 0 and e["tid"] >= 1), e
        assert e["ph"] != "C" or all(isinstance(v, (int, float)) for v in e["args"].values()), e
    for tag in range(n_tags):
        expected, open_value, began, before = {}, None, 0, 0
        def close(end):
            if open_value is not None:
                name = names.get((tag, open_value), f"0x{open_value:x}" if open_value >= 2**32 else str(open_value))
                expected[name] = expected.get(name, 0) + (end - began) * 1e6 / hz
        for start, away, tags, gap in samples:
            value = None if away or tags[tag] == 2**64 - 1 else tags[tag]
            if gap or value != open_value:
                close(before if gap else start)
                open_value, began = value, start
            before = start
        close(before)
        got, last = {}, -1.0
        for e in events:
            if e["ph"] == "X" and e["tid"] == tag + 1:
                assert e["ts"] >= last - 0.002, (e, last)
                last = e["ts"] + e["dur"]
                got[e["name"]] = got.get(e["name"], 0) + e["dur"]
        assert set(got) == set(expected), (set(got) ^ set(expected))
        for name in expected:
            assert abs(got[name] - expected[name]) <= 1e-3 * expected[name] + 0.002 * len(events), (name, got[name], expected[name])
    assert any(e["ph"] == "X" for e in events)


{"firefox": firefox, "trace": trace}[sys.argv[1]](*sys.argv[2:])
