#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of sample logs, written from observer/LOG.md alone. Prints as JSON what is in the log: its head, the
number of samples, samples and visits of each value of the first tag, the names.

    log_reader.py FILE

Exit 1 and a sentence when the file breaks a rule of the page."""
import json
import struct
import sys
from array import array
from itertools import accumulate

from store_reader import unzstd, xxh64

MASK = (1 << 64) - 1


class Broken(Exception):
    pass


def need(true, rule):
    if not true:
        raise Broken("it does not hold that " + rule)


def text(field):
    need(b"\0" in field, "a text is zero-terminated")
    return field.split(b"\0")[0].decode()


def read_head(data):
    need(len(data) >= 528 and data[:8] == b"UCYCLOG1", "the head is there, with its magic")
    version, length, tags, softs, others, who = struct.unpack_from("<6I", data, 8)
    need((version, length >= 528) == (1, True) or (version, length >= 656) == (2, True), "the version is 1 or 2, and its head is whole")
    need(tags <= 2 * version and softs + others <= 4 and who <= 1, "there are at most two tags (version 2: four) and four counters")
    hz, period, wall_ns, clock = struct.unpack_from("<4Q", data, 32)
    pid, target, observer, _ = struct.unpack_from("<4I", data, 64)
    name = lambda i: text(data[80 + 64 * i:144 + 64 * i])
    return {"tags": [name(1 + i if i < 2 else 5 + i) for i in range(tags)], "counters": [name(3 + i) for i in range(softs + others)],
            "who": who, "length": length, "hz": hz, "period": period, "wall_ns": wall_ns, "clock": clock, "pid": pid,
            "target_cpu": target, "observer_cpu": observer, "program": name(0)}


def columns_of(body, records, width):
    need(len(body) == 8 * records * width and records > 0, "a chunk of samples has W columns of N numbers")
    words = array("Q", body)
    if sys.byteorder == "big":
        words.byteswap()
    return [list(accumulate(words[w * records:(w + 1) * records], lambda a, b: a + b & MASK)) for w in range(width)]


def names_of(body, records):
    at, names = 0, []
    for _ in range(records):
        need(at + 24 <= len(body), "a name is whole")
        length, tag, value = struct.unpack_from("<3Q", body, at)
        need(length % 8 == 0 and length >= 32 and at + length <= len(body), "a name's length fits")
        names.append((tag, value, text(body[at + 24:at + length])))
        at += length
    return names


def read(data):
    head = read_head(data)
    width = 2 + head["who"] + len(head["counters"]) + len(head["tags"])
    at, samples, chunks, values, names, ended, last = head["length"], 0, 0, {}, {}, False, 0
    before = None  # a visit may go on behind a gap
    while at < len(data) and not ended:
        need(at + 40 <= len(data), "a chunk's head is whole")
        magic, kind, records, raw, packed, digest = struct.unpack_from("<4sIQQQQ", data, at)
        need(magic == b"CHNK", "a chunk starts with CHNK")
        body = data[at + 40:at + 40 + packed]
        need(len(body) == packed and xxh64(body) == digest, "a chunk's checksum is right")
        at += 40 + packed
        if kind == 3:
            need(records == samples, "the end counts all samples")
            ended = True
            continue
        body = unzstd(body, raw)
        if kind == 2:
            for tag, value, name in names_of(body, records):
                names[f"{tag} {value}"] = name
            continue
        need(kind == 1, "a chunk has samples or names, or is the end")
        columns = columns_of(body, records, width)
        starts = columns[0]
        need(starts[0] >= last and all(a < b for a, b in zip(starts, starts[1:])), "the clock advances")
        last = starts[-1]
        if head["tags"]:
            for tag in columns[-len(head["tags"])]:
                row = values.setdefault(tag, [0, 0])
                row[0] += 1
                row[1] += tag != before
                before = tag
        samples += records
        chunks += 1
    return {"head": head, "samples": samples, "chunks": chunks, "ended": ended, "names": names,
            "values": {str(v): {"samples": n, "visits": m} for v, (n, m) in values.items()}}


if __name__ == "__main__":
    try:
        print(json.dumps(read(open(sys.argv[1], "rb").read()), indent=1))
    except (Broken, UnicodeDecodeError, OSError) as e:
        sys.exit(f"{sys.argv[1]}: {e}")
