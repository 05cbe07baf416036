#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of the profile store, written from store/FORMAT.md alone, simple rather than fast.

    store_reader.py dump FILE     one container as JSON
    store_reader.py names STORE   checks that each profile's file name is the one its head asks for
    store_reader.py check STORE   checks that and what the page says of epochs, images and files that belong together
Exit 1 and a sentence when a file breaks a rule of the page. zstd comes from libzstd through ctypes, XXH3 from
libxxhash; where that isn't installed the hashes of names and branches are taken as they are."""
import ctypes
import ctypes.util
import json
import os
import re
import sys

M = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


class Broken(Exception):
    pass


def need(condition, rule):
    if not condition:
        raise Broken(rule)


def xxh64(data):
    def rotate(x, r):
        return ((x << r) | (x >> (64 - r))) & M

    def round_(acc, lane):
        return rotate((acc + lane * P2) & M, 31) * P1 & M

    def lane(at, n):
        return int.from_bytes(data[at:at + n], "little")

    at, n = 0, len(data)
    if n >= 32:
        accs = [(P1 + P2) & M, P2, 0, (-P1) & M]
        while at + 32 <= n:
            accs = [round_(acc, lane(at + 8 * i, 8)) for i, acc in enumerate(accs)]
            at += 32
        h = sum(rotate(acc, r) for acc, r in zip(accs, (1, 7, 12, 18))) & M
        for acc in accs:
            h = ((h ^ round_(0, acc)) * P1 + P4) & M
    else:
        h = P5
    h = (h + n) & M
    while at + 8 <= n:
        h = (rotate(h ^ round_(0, lane(at, 8)), 27) * P1 + P4) & M
        at += 8
    if at + 4 <= n:
        h = (rotate(h ^ (lane(at, 4) * P1 & M), 23) * P2 + P3) & M
        at += 4
    while at < n:
        h = rotate(h ^ (data[at] * P5 & M), 11) * P1 & M
        at += 1
    h = (h ^ (h >> 33)) * P2 & M
    h = (h ^ (h >> 29)) * P3 & M
    return h ^ (h >> 32)


def unzstd(data, size):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(max(size, 1))
    got = lib.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    need(got == size, "the body unpacks to the size that the head says")
    return out.raw[:size]


def load_xxh3():
    path = ctypes.util.find_library("xxhash")
    if not path:
        return None
    call = ctypes.CDLL(path).XXH3_64bits_withSeed
    call.restype = ctypes.c_uint64
    call.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    return lambda data, seed=0: call(data, len(data), seed)


xxh3 = load_xxh3()


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, n):
        need(self.at + n <= len(self.data), "nothing ends early")
        self.at += n
        return self.data[self.at - n:self.at]

    def fixed(self, n):
        return int.from_bytes(self.raw(n), "little")

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.raw(1)[0]
            value |= (byte & 0x7f) << (7 * i)
            if byte < 0x80:
                need(value <= M, "a varint is below 2^64")
                need(byte or i == 0, "a varint has its shortest form")
                return value
        raise Broken("a varint has at most 10 bytes")

    def text(self, least=0, most=1 << 64):
        raw = self.raw(self.varint())
        need(0 not in raw, "a text has no NUL")
        need(least <= len(raw) <= most, "a text has the length that the page allows")
        return raw

    def end(self):
        need(self.at == len(self.data), "nothing follows")


KEY, TEXT, SUM, MAX, MIN = range(5)
SCHEMAS = {
    1: ("points", [("offset", KEY), ("samples", SUM)]),
    2: ("edges", [("from", KEY), ("to_image", TEXT), ("to", KEY), ("count", SUM), ("bursts", SUM),
                  ("squares", SUM)]),
    3: ("stacks", [("frames", TEXT), ("samples", SUM)]),
    4: ("intervals", [("length_ms", KEY), ("start_ms", KEY), ("offset", KEY), ("samples", SUM)]),
    5: ("names", [("offset", KEY), ("size", KEY), ("name", TEXT)]),
    6: ("counters", [("name", TEXT), ("sum", SUM)]),
    7: ("facts", [("name", TEXT), ("value", TEXT)]),
}


def spelled(keys, values):
    columns = [(k[:-4], TEXT) if k.endswith(" (t)") else (k, KEY) for k in keys.split(", ")]
    return columns + [(v[:-6], MAX) if v.endswith(" (max)") else (v, SUM) for v in values.split(", ")]


def spelled_out(page):
    """{kind: columns} of the page's table."""
    table = page[page.index("| kind | columns |"):].split("\n\n")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| (.*?) \\\| (.*?) \|$", table, re.M)
    return {kind: spelled(keys, values) for kind, keys, values in rows}


with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "store", "FORMAT.md"), encoding="utf-8") as page:
    SPELLED = spelled_out(page.read())
BURST_EVENTS = {  # all with an empty unit and without sums
    "burst-edges": "edges", "burst-edges-512": "edges", "burst-edges-4096": "edges", "burst-starts": "points",
    "burst-windows": "windows", "burst-beginnings": "beginnings", "burst-paces": "paces", "path-edges": "edges",
    "path-ends": "edges", "path-starts": "edges", "path-windows": "windows", "burst-memory": "memory", "burst-crowded": "points",
    "burst-branches": "branches", "burst-lines": "code-lines", "burst-footprints": "footprints",
    "burst-sharing": "sharing", "burst-page-sizes": "page-sizes"}
IMPORTED_EVENTS = {"lbr-edges": "edges", "lbr-ranges": "ranges", "lbr-mispredicts": "points"}
IMAGE_ID = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,62}"
FRAMES = re.compile(r"%s\+[0-9a-f]+(;%s\+[0-9a-f]+)*" % (IMAGE_ID, IMAGE_ID))
VERDICTS = ("kept", "skew", "descheduled", "away", "thread", "tag", "unread", "wrapped", "gap", "backwards")
CYCLE_BINS, RATE_BINS = 976, 515
OBSERVED = {  # what -> the columns that may be other than "-"
    "tag": "of value bin number cycles events", "rate T": "of value number cycles events squares",
    "edge T": "of value cycles events squares", "bin T": "of value bin number",
    "ratio T": "of value number cycles events squares", "quotient T": "of value bin number",
    "ratio": "number cycles events squares", "quotient": "bin number",
    "rate": "number cycles events squares", "bin": "bin number", "joint": "of bin cycles events",
    "verdict": "of number cycles", "period": "bin number", "gap": "bin number", "run": "number cycles events squares"}


def saturating_sum(numbers):
    return min(sum(numbers), M)


def check_squares(row, count, bursts, squares):
    """squares is the sum of count^2 over the bursts that saw it"""
    if row[squares] < M and row[count] < M:
        need(row[count] <= row[squares] <= row[count] ** 2, "squares is a sum of squares of counts")
        need(row[squares] * row[bursts] >= row[count] ** 2, "squares is a sum over bursts")


def observed_what(what):
    """The form of a row's name as in the page's table, and the counter (None where there is none)."""
    if what in ("tag", "verdict", "period", "gap", "run"):
        return what, None
    match = re.fullmatch(r"(rate|edge|bin|ratio|quotient) ([01]) (.+)", what, re.DOTALL)
    if match:
        return match[1] + " T", match[3]
    match = re.fullmatch(r"(rate|bin|joint|ratio|quotient) (.+)", what, re.DOTALL)
    need(match, "observed: what is one of the page's table: " + what)
    return match[1], match[2]


def check_observed(rows):
    numbers, bins = {}, {}
    runs = sum(row["number"] for row in rows if row["what"] == b"run") or 1  # each has rounded once
    for row in rows:
        form, counter = observed_what(plain(row["what"]))
        for column in ("of", "value", "bin", "number", "cycles", "events", "squares"):
            need(column in OBSERVED[form].split() or not row[column],
                 "observed: %s has no %s" % (form, column))
        if form == "tag":
            need(row["bin"] <= 1, "observed: the number of a tag is 0 or 1")
        elif "bin" in OBSERVED[form].split():
            need(row["bin"] < (CYCLE_BINS if counter is None else RATE_BINS), "observed: a bin is one of the page's")
        if form == "verdict":
            need(plain(row["of"]) in VERDICTS, "observed: a verdict has one of the page's names")
        if form in ("tag", "rate T", "edge T", "bin T", "joint", "ratio T", "quotient T"):
            need(row["of"], "observed: %s is of a tag or counter" % form)
        need(not re.match("ratio|quotient", form) or "/" in counter, "observed: a ratio is of two counters")
        which = (plain(row["what"]).split(" ", 1)[-1], row["of"], row["value"])
        if form in ("rate", "rate T"):
            numbers[which] = row["number"]
            if max(row["squares"], row["events"], row["cycles"]) < M:
                need(max(row["events"] - runs, 0) ** 2 << 10 <= (row["squares"] + runs) * (row["cycles"] + runs),
                     "observed: squares is a sum of squares by cycles")
        if form in ("bin", "bin T"):
            bins[which] = saturating_sum((bins.get(which, 0), row["number"]))
    for which, number in numbers.items():
        need(bins.get(which, 0) == number, "observed: the bins hold the kept intervals: " + which[0])
    need(bins.keys() <= numbers.keys(), "observed: what has bins has a rate")


def check_contexts(rows):
    need(len(rows) <= 65536, "a profile of contexts has at most 65,536 rows")
    for row in rows:
        other = not row["image"]
        need(other or re.fullmatch(IMAGE_ID, plain(row["image"])), "a context's image is named by its id")
        need(not other or not row["offset"], "other has offset 0")
    if xxh3:
        numbers = {xxh3(row["parent"].to_bytes(8, "little") + row["image"] + b"\0" + row["offset"].to_bytes(8, "little"))
                   or 1 for row in rows}
        need(all(not row["parent"] or row["parent"] in numbers for row in rows), "a context's parent is in the file")


def check_meaning(out, columns):
    """What the page says of the rows of each kind and of the event's profiles, one file at a time."""
    kind, event, rows = out["kind"], plain(out["event"]), out["rows"]
    need(columns == SPELLED.get(kind, columns), "a kind that the page spells out has its columns")
    expected = BURST_EVENTS.get(event) or IMPORTED_EVENTS.get(event) or (event == "observed" and "observed")
    need(not expected or kind == expected, "the event's profile is of the kind that the page says")
    if event in BURST_EVENTS:
        need(out["unit"] == b"", "the unit of profiles of bursts is empty")
    if event in IMPORTED_EVENTS:
        need(out["unit"] == b"events", "the unit of branch records is events")
    if event in BURST_EVENTS or event in ("observed", "epoch", "image", "names"):
        need(not (out["period_sum"] or out["enabled_ns"] or out["running_ns"]), "what counts no samples has no sums")
    if event in ("epoch", "image", "names"):
        need(out["label"] == out["unit"] == b"", "a file that is no profile has neither label nor unit")
    if event == "observed-cycles":
        need(kind == "points" and out["unit"] == b"cycles", "observed-cycles are points in cycles")
        need(out["period_sum"] == saturating_sum(r["samples"] for r in rows), "observed-cycles: a sample is a cycle")
        need(all(r["offset"] != M for r in rows), "observed-cycles: \"not running\" is left out")
    for row in rows:
        for column in ("to_image", "start_image", "other_image"):
            need(not row.get(column) or re.fullmatch(IMAGE_ID, plain(row[column])), "an image is named by its id")
        if event in BURST_EVENTS or event == "lbr-edges":
            for least, most in (("bursts", "count"), ("bursts", "executions"), ("bursts", "visits"),
                                ("bursts", "draws"), ("huge", "asked"), ("taken", "executions"), ("transitions", "executions"),
                                ("missed", "executions"), ("missed_local", "executions"),
                                ("missed_global", "executions")):
                if least in row and most in row:
                    need(row[least] <= row[most], "%s is at most %s" % (least, most))
            if kind == "edges":
                check_squares(row, "count", "bursts", "squares")
        if event == "path-starts":
            need(row["from"] == row["to"] and not row["to_image"], "a path's start goes from a branch to itself")
        if event == "burst-lines":
            need(row["offset"] % 64 == 0, "a line of code begins at a multiple of 64")
        if event == "burst-footprints":
            need(row["line"] < 1 << 58, "a line is an address / 64")
        if event == "burst-sharing":
            for which in ("", "other_"):
                need(row[which + "size"] and row[which + "at"] + row[which + "size"] <= 64, "bytes lie in their line")
                need(row[which + "writes"] <= 1, "it writes or it doesn't")
            need(row["writes"] or row["other_writes"], "one of the two writes")
        if event == "lbr-ranges":
            need(row["start"] <= row["end"], "a straight run ends behind its start")
        if kind == "intervals":
            need(row["length_ms"] and row["start_ms"] % row["length_ms"] == 0, "an interval starts at a multiple")
            need(row["offset"] % 16 == 0, "an interval's offset is of a 16-byte block")
        if kind == "stacks":
            need(FRAMES.fullmatch(plain(row["frames"])), "frames are image-id+hexoffset, joined by ;")
        if kind == "branches":
            need(row["kind"] <= 4, "a branch is conditional, a jump, a call, a return, or a call returned to")
    if event == "observed":
        check_observed(rows)
    if kind == "contexts":
        check_contexts(rows)


def read(data, meaning=True):
    """One container; without meaning only what the page says of any container, not of what its rows stand for."""
    c = Cursor(data)
    need(c.raw(4) == b"CSPF", "a file begins with CSPF")
    version = c.fixed(1)
    need(version == 1, "this reader knows version 1")
    flags = c.fixed(1)
    need(flags in (0, 1), "flags are 0 or 1")
    head_bytes = c.fixed(2)
    need(24 + head_bytes <= 2048, "the head ends within 2048 bytes")
    head_sum, body_sum = c.fixed(8), c.fixed(8)
    head = c.raw(head_bytes)
    body = data[24 + head_bytes:]
    need(xxh64(data[:8] + head) == head_sum, "the head's checksum is right")
    need(xxh64(body) == body_sum, "the body's checksum is right")

    h = Cursor(head)
    number = h.varint()
    if number:
        need(number in SCHEMAS, "the schema's number is known")
        kind, columns = SCHEMAS[number]
    else:
        kind, columns = h.text(1, 15).decode(errors="surrogateescape"), []
        n_columns = h.fixed(1)
        need(1 <= n_columns <= 24, "a schema has 1 to 24 columns")
        for _ in range(n_columns):
            column_kind = h.fixed(1)
            columns.append((h.text(1, 23).decode(errors="surrogateescape"), column_kind))
    n_keys = sum(k in (KEY, TEXT) for _, k in columns)
    need(1 <= n_keys and all(k in (KEY, TEXT) for _, k in columns[:n_keys]), "keys come first")
    need(all(k <= MIN for _, k in columns), "column kinds are 0 to 4")
    need(not meaning or number or (kind, columns) not in SCHEMAS.values(), "a schema with a number is not spelled out")
    out = {"kind": kind, "event": h.text(0, 63), "label": h.text(0, 63), "unit": h.text(0, 15),
           "period_sum": h.varint(), "enabled_ns": h.varint(), "running_ns": h.varint()}
    n_texts, n_rows, raw_bytes, stored_bytes = h.varint(), h.varint(), h.varint(), h.varint()
    h.end()
    need(stored_bytes == len(body), "the file is as long as it says")
    need(raw_bytes <= 1 << 30, "a body is at most 2^30 bytes")
    need((raw_bytes - (1 << 20)) // 1000 <= stored_bytes, "a body unpacks to a bounded multiple of itself")
    need(n_rows * len(columns) + n_texts <= raw_bytes, "each text and each number of a row takes a byte")
    need(flags & 1 or raw_bytes == stored_bytes, "a body that isn't packed has one size")
    if flags & 1:
        body = unzstd(body, raw_bytes)
    need(len(body) == raw_bytes, "an unpacked body has the size that the head says")

    b = Cursor(body)
    texts = [b.text() for _ in range(n_texts)]
    need(all(x < y for x, y in zip(texts, texts[1:])), "texts ascend")
    values = []
    for index, (_, column_kind) in enumerate(columns):
        column, before = [], 0
        for _ in range(n_rows):
            coded = b.varint()
            if index == 0:
                before = (before + coded) & M
            elif index < n_keys:
                before = (before + (coded >> 1 ^ -(coded & 1))) & M
            else:
                before = coded
            need(column_kind != TEXT or before < n_texts, "a text's number has a text")
            column.append(before)
        values.append(column)
    b.end()
    rows = list(zip(*values))
    need(all(x[:n_keys] < y[:n_keys] for x, y in zip(rows, rows[1:])), "rows ascend by their keys")
    used = {row[i] for row in rows for i in range(n_keys) if columns[i][1] == TEXT}
    need(len(used) == n_texts, "each text is used")
    out["rows"] = [{name: texts[v] if k == TEXT else v for (name, k), v in zip(columns, row)} for row in rows]
    if meaning:
        check_meaning(out, columns)
    return out


def escape(text):
    return "".join(chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "_-.:=") else "%%%02X" % b
                   for b in text)


def file_name(profile):
    event = escape(profile["event"])
    if event.startswith("."):
        event = "%2E" + event[1:]
    whole = event
    if profile["kind"] != "points":
        whole += "+" + escape(profile["kind"].encode(errors="surrogateescape"))
    if profile["label"]:
        whole += "@" + escape(profile["label"])
    if len(whole) > 200:
        whole = whole[:183] + "~%016x" % xxh64(whole.encode())
    return whole + ".prof"


def check_names(store):
    for folder, _, files in os.walk(store):
        for name in files:
            if name.endswith(".prof"):
                with open(os.path.join(folder, name), "rb") as f:
                    asked = file_name(read(f.read(), meaning=False))
                need(asked == name, "a profile's name is what its head asks for: " + name)


def facts(path, event):
    """The values of each fact of a file, in byte order: the first one counts."""
    need(os.path.isfile(path), "an epoch and an image have a file of facts: " + path)
    with open(path, "rb") as f:
        out = read(f.read())
    need(out["kind"] == "facts" and plain(out["event"]) == event, "%s holds facts of the %s" % (path, event))
    values = {}
    for row in out["rows"]:
        values.setdefault(plain(row["name"]), []).append(plain(row["value"]))
    return values


def check_image(image, folder):
    """What is said of one image; returns its profiles."""
    need(re.fullmatch(IMAGE_ID, image), "an image's id is 1 to 63 of [A-Za-z0-9_.-]: " + image)
    meta = facts(os.path.join(folder, "image.meta"), "image")
    need(meta.keys() <= {"kind", "path", "build-id"}, "an image's facts are kind, path and build-id: " + image)
    need("kind" in meta and all(re.fullmatch("[0-8]", kind) for kind in meta["kind"]), "an image has a kind: " + image)
    need("" not in meta.get("path", []), "a path is not empty: " + image)
    build_id, kind = meta.get("build-id", [""])[0], int(meta["kind"][0])
    need("build-id" not in meta or re.fullmatch("([0-9a-f][0-9a-f])+", build_id), "a build-id is in hex: " + image)
    hashed = re.fullmatch("[cx][0-9a-f]{16}", image) is not None
    if kind == 6:
        need(image == "unknown" or hashed, "an image of kind 6 is \"unknown\" or hashed: " + image)
    elif kind == 8:
        need(image == "contexts" and not build_id, "the image of kind 8 is \"contexts\": " + image)
    elif kind == 7 and build_id:
        need(image == "f" + build_id or hashed, "kind 7 has another id than the file itself: " + image)
    elif build_id:
        need(image == build_id, "the id is the build-id: " + image)
    else:
        need(hashed, "the id of an image without a build-id is x and a hash: " + image)
    profiles, names = [], None
    for name in sorted(os.listdir(folder)):
        if name.startswith(".") or name.endswith(".tmp") or name == "image.meta":
            continue
        with open(os.path.join(folder, name), "rb") as f:
            out = read(f.read())
        if name == "image.names":
            need(out["kind"] == "names" and out["event"] == b"names", "image.names holds names: " + image)
            names = {row["offset"]: row for row in out["rows"]}
            continue
        need(name.endswith(".prof"), "no strangers in an image's folder: " + name)
        need(file_name(out) == name, "a profile's name is what its head asks for: " + name)
        for row in out["rows"]:
            need(image.encode() not in (row.get("to_image"), row.get("start_image")),
                 "the image that the file lies in is named by an empty text: " + name)
        profiles.append(out)
    if kind == 4:
        check_made_code(image, meta.get("path", [""])[0], names or {}, profiles)
    return profiles


def check_made_code(image, path, names, profiles):
    for offset, row in names.items():
        if path.startswith("bpf_") and offset >> 63 == 0:
            continue
        need(offset >> 63 == 1 and offset & 0xffffff == 0 and row["size"] == 1 << 24,
             "a compiled method's name is at an offset with bit 63 and without the low 24: " + image)
        need(not xxh3 or offset == 1 << 63 | xxh3(row["name"]) >> 25 << 24,
             "a compiled method's offset is made of its name: " + image)
    for profile in profiles:
        for row in profile["rows"]:
            offset = row.get("offset", 0)
            if profile["kind"] == "points" and offset >> 63:
                need(offset >> 24 << 24 in names, "an offset with bit 63 has a name: " + image)


def check_observed_cycles(profiles):
    """The first tag's cycles are there twice, once doubled; each run has rounded once."""
    for observed in profiles:
        if plain(observed["event"]) != "observed":
            continue
        runs = sum(row["number"] for row in observed["rows"] if row["what"] == b"run") or 1
        doubled = {}
        for row in observed["rows"]:
            if row["what"] == b"tag" and row["bin"] == 0:
                doubled.setdefault(row["value"], []).append(row["cycles"])
        for cycles in profiles:
            if plain(cycles["event"]) == "observed-cycles" and cycles["label"] == observed["label"]:
                for row in cycles["rows"]:
                    need(row["samples"] == M or any(abs(2 * row["samples"] - twice) <= 2 * runs for twice in
                                                    doubled.get(row["offset"], [])),
                         "observed-cycles are half of what observed says of the first tag")


def by_key(profiles, event):
    """(label, keys of an edge) -> row, of the one image's profiles of that event"""
    return {(p["label"], row["from"], row["to_image"], row["to"]): row
            for p in profiles if plain(p["event"]) == event for row in p["rows"]}


def check_bursts(images, bursts):
    """What belongs together among the profiles of an epoch's bursts and paths."""
    starts = {xxh3(image.encode(), key[1]) for image, profiles in images.items()
              for key in by_key(profiles, "path-starts")} if xxh3 else set()
    for image, profiles in images.items():
        whole = by_key(profiles, "burst-edges")
        for event in ("burst-edges-512", "burst-edges-4096"):
            for key, row in by_key(profiles, event).items():
                need(key in whole and all(row[c] <= whole[key][c] for c in ("count", "bursts", "squares")),
                     "%s is a part of burst-edges: %s" % (event, image))
        for p in profiles:
            if plain(p["event"]) == "path-windows":
                need(not xxh3 or all(row["burst"] in starts for row in p["rows"]),
                     "a path's window is named by a branch that paths came to first: " + image)
            if plain(p["event"]) == "burst-windows" and bursts <= 4096:
                seen = {}
                for row in p["rows"]:
                    seen.setdefault((p["label"], row["from"], row["to_image"], row["to"]), []).append(row["count"])
                for key, counts in seen.items():
                    need(key in whole and saturating_sum(counts) == whole[key]["count"]
                         and len(counts) == whole[key]["bursts"],
                         "windows are the edges of each burst apart: " + image)


def check_epoch(folder):
    meta = facts(os.path.join(folder, "epoch.meta"), "epoch")
    need(meta.keys() <= {"host", "started", "ended", "meta"}, "an epoch's facts are host, started, ended and meta: " + folder)
    need("host" in meta and "started" in meta, "an epoch has a host and a time: " + folder)
    need(all(re.fullmatch(r"\d{8}T\d{6}(\.\d{3})?Z", started) for started in meta["started"]), "started is a UTC time: " + folder)
    need(all(re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z", ended) for ended in meta.get("ended", [])), "ended is a UTC time: " + folder)
    for text in meta.get("meta", []):
        try:
            need(isinstance(json.loads(text), dict), "meta is a JSON object: " + folder)
        except ValueError:
            raise Broken("meta is a JSON object: " + folder) from None
    counters, images = {}, {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith(".") or name.endswith(".tmp") or name in ("lock", "epoch.meta"):
            need(name != "lock" or os.path.getsize(path) == 0, "lock is empty: " + folder)
        elif name == "epoch.counters":
            with open(path, "rb") as f:
                out = read(f.read())
            need(out["kind"] == "counters" and out["event"] == b"epoch", "epoch.counters holds counters: " + folder)
            counters = {plain(row["name"]): row["sum"] for row in out["rows"]}
        else:
            need(os.path.isdir(path), "no strangers in an epoch: " + path)
            images[name] = check_image(name, path)
    for profiles in images.values():
        check_observed_cycles(profiles)
    check_bursts(images, counters.get("bursts", M))


def check_store(store):
    for epoch in sorted(os.listdir(store)):
        if not epoch.startswith(".") and not epoch.endswith(".tmp"):
            check_epoch(os.path.join(store, epoch))


def plain(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def main():
    what, path = sys.argv[1:3]
    try:
        if what == "names":
            check_names(path)
        elif what == "check":
            check_store(path)
        else:
            with open(path, "rb") as f:
                json.dump(read(f.read()), sys.stdout, default=plain)
    except Broken as rule:
        sys.exit("%s breaks a rule: %s" % (path, rule))


if __name__ == "__main__":
    main()
