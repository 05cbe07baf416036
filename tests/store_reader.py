#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of the profile store, written from store/FORMAT.md alone, simple rather than fast.

    store_reader.py dump FILE     one container as JSON
    store_reader.py names STORE   checks that each profile's file name is the one its head asks for
Exit 1 and a sentence when a file breaks a rule of the page. zstd comes from libzstd through ctypes."""
import ctypes
import ctypes.util
import json
import os
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


def read(data):
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
        kind, columns = h.text(1, 15).decode(), []
        for _ in range(h.fixed(1)):
            column_kind = h.fixed(1)
            columns.append((h.text(1, 23).decode(), column_kind))
    n_keys = sum(k in (KEY, TEXT) for _, k in columns)
    need(1 <= n_keys and all(k in (KEY, TEXT) for _, k in columns[:n_keys]), "keys come first")
    need(all(k <= MIN for _, k in columns), "column kinds are 0 to 4")
    out = {"kind": kind, "event": h.text(0, 63), "label": h.text(0, 63), "unit": h.text(0, 15), "period_sum": h.varint(),
           "enabled_ns": h.varint(), "running_ns": h.varint()}
    n_texts, n_rows, raw_bytes, stored_bytes = h.varint(), h.varint(), h.varint(), h.varint()
    h.end()
    need(stored_bytes == len(body), "the file is as long as it says")
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
        whole += "+" + escape(profile["kind"].encode())
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
                    need(file_name(read(f.read())) == name, "a profile's name is what its head asks for: " + name)


def plain(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def main():
    what, path = sys.argv[1:3]
    try:
        if what == "names":
            check_names(path)
        else:
            with open(path, "rb") as f:
                json.dump(read(f.read()), sys.stdout, default=plain)
    except Broken as rule:
        sys.exit("%s breaks a rule: %s" % (path, rule))


if __name__ == "__main__":
    main()
