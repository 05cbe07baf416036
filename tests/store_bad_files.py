#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes tests/store-bad/NAME.prof: files that are wrong in one way each, named by it; checksums are right except
where they are what is wrong, so that the rule itself is met. Also store-good/: the same file, unharmed."""
import ctypes
import ctypes.util
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from store_reader import xxh64  # noqa: E402


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def text(raw):
    return varint(len(raw)) + raw


def zstd(data):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_compress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(len(data) + 1000)
    n = lib.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:n]


STACKS = varint(3)
BODY = text(b"a+1") + text(b"b+2") + bytes([0, 1]) + bytes([5, 7])  # two rows: text 0 | 5, text 1 | 7


def head(schema=STACKS, event=text(b"cpu-clock"), label=text(b""), unit=text(b"ns"), sums=varint(1000) * 3, texts=2,
         rows=2, raw=None, stored=None, body=BODY, tail=b""):
    raw = len(body) if raw is None else raw
    stored = len(body) if stored is None else stored
    return schema + event + label + unit + sums + varint(texts) + varint(rows) + varint(raw) + varint(stored) + tail


def file(h=None, body=BODY, magic=b"CSPF", version=1, flags=0, head_sum=None, body_sum=None, head_bytes=None):
    h = head(body=body) if h is None else h
    first = magic + bytes([version, flags]) + (len(h) if head_bytes is None else head_bytes).to_bytes(2, "little")
    head_sum = xxh64(first + h) if head_sum is None else head_sum
    body_sum = xxh64(body) if body_sum is None else body_sum
    return first + head_sum.to_bytes(8, "little") + body_sum.to_bytes(8, "little") + h + body


def of_body(body, **changes):
    return file(head(body=body, **changes), body)


def spelled(columns, kind=b"odd"):
    return varint(0) + text(kind) + bytes([len(columns)]) + b"".join(bytes([k]) + text(n) for n, k in columns)


POINTS = varint(1)
EVEN = bytes([0]) + bytes([1]) * 1999999 + bytes([1]) * 2000000
long_zeros = bytes(5000)
BAD = {
    "empty": b"",
    "magic-wrong": file(magic=b"CSPG"),
    "version-newer": file(version=99),
    "version-0": file(version=0),
    "flags-unknown": file(flags=2),
    "head-cut-off": file()[:40],
    "head-longer-than-file": file(head_bytes=900),
    "head-over-2048-bytes": file(head(event=text(b"x" * 60)) + b"y" * 2100),
    "head-checksum-wrong": file(head_sum=1),
    "head-with-more-behind": file(head(tail=b"\0")),
    "body-checksum-wrong": file(body_sum=1),
    "body-cut-off": file()[:-1],
    "body-with-more-behind": file() + b"\0",
    "schema-number-unknown": file(head(schema=varint(77))),
    "schema-without-keys": file(head(schema=spelled([(b"a", 2), (b"b", 2)]))),
    "schema-value-before-key": file(head(schema=spelled([(b"a", 2), (b"b", 0)]))),
    "schema-of-no-columns": file(head(schema=spelled([]))),
    "schema-of-25-columns": file(head(schema=spelled([(b"c%d" % i, 0) for i in range(25)]))),
    "schema-column-kind-unknown": file(head(schema=spelled([(b"a", 1), (b"b", 9)]))),
    "schema-column-without-name": file(head(schema=spelled([(b"", 1), (b"b", 2)]))),
    "schema-without-kind": file(head(schema=spelled([(b"a", 1), (b"b", 2)], kind=b""))),
    "event-of-64-bytes": file(head(event=text(b"e" * 64))),
    "event-with-nul": file(head(event=text(b"cpu\0clock"))),
    "varint-longer-than-needed": file(head(sums=b"\x80\x00" + varint(1) * 2)),
    "varint-over-64-bits": file(head(sums=b"\xff" * 9 + b"\x02" + varint(1) * 2)),
    "varint-of-11-bytes": file(head(sums=b"\xff" * 10 + b"\x01" + varint(1) * 2)),
    "rows-more-than-bytes": file(head(rows=1 << 40)),
    "rows-fewer-than-body": of_body(text(b"a+1") + text(b"b+2") + bytes([0, 1, 5, 7, 9])),
    "texts-more-than-bytes": file(head(texts=1 << 40)),
    "text-longer-than-body": of_body(b"\xff\xff\x03" + BODY),
    "text-with-nul": of_body(text(b"a\0c") + text(b"b+2") + bytes([0, 1, 5, 7])),
    "texts-descending": of_body(text(b"b+2") + text(b"a+1") + bytes([0, 1, 5, 7])),
    "text-twice": of_body(text(b"a+1") + text(b"a+1") + bytes([0, 1, 5, 7])),
    "text-unused": of_body(text(b"a+1") + text(b"b+2") + text(b"c") + bytes([0, 1, 5, 7]), texts=3),
    "text-number-without-text": of_body(text(b"a+1") + text(b"b+2") + bytes([0, 2, 5, 7])),
    "row-twice": of_body(bytes([8, 0, 5, 7]), schema=POINTS, texts=0),
    "rows-wrapped-around": of_body(bytes([8]) + varint((1 << 64) - 4) + bytes([5, 7]), schema=POINTS, texts=0),
    "second-key-descending": of_body(bytes([8, 0, 9, 1, 3, 4]), schema=spelled([(b"a", 0), (b"b", 0), (b"n", 2)]),
                                     texts=0),
    "raw-size-over-limit": file(head(raw=1 << 31, stored=len(BODY)), flags=1),
    "raw-size-not-stored-size": file(head(raw=len(BODY) + 1)),
    "zstd-garbage": file(head(), flags=1),
    "zstd-unpacks-to-more": file(head(raw=100, stored=len(zstd(long_zeros)), body=zstd(long_zeros)), zstd(long_zeros),
                                 flags=1),
    # A million rows, one at each offset, that a thousand bytes unpack to.
    "zstd-unpacks-too-far": file(head(schema=POINTS, texts=0, rows=2000000, raw=len(EVEN), stored=len(zstd(EVEN))), zstd(EVEN),
                                 flags=1),
    "zstd-unpacks-to-less": file(head(raw=len(BODY) + 3, stored=len(zstd(BODY)), body=zstd(BODY)), zstd(BODY), flags=1),
}
GOOD = {"stacks": file(), "packed": file(head(raw=len(BODY), stored=len(zstd(BODY)), body=zstd(BODY)), zstd(BODY), flags=1)}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for folder, files in (("store-bad", BAD), ("store-good", GOOD)):
        os.makedirs(os.path.join(here, folder), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(here, folder, name + ".prof"), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
