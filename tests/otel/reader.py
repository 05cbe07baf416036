# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of OpenTelemetry's process context and thread context, written from OTEP 4719 and 4947 alone: it shares no code with
cyclescope. It stops a thread (ptrace), as the specification asks of readers.

    reader.py PID [TID...]   prints a JSON object: resource, schema, keys, threads {TID: null or a record}"""
import ctypes, ctypes.util, json, os, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2
libc.ptrace.restype = ctypes.c_long
ATTACH, DETACH, GETREGSET = 16, 17, 0x4204

def mappings(pid):
    for line in open(f"/proc/{pid}/maps"):
        part = line.split(None, 5)
        start, end = (int(x, 16) for x in part[0].split("-"))
        yield start, end, int(part[2], 16), part[5].rstrip("\n") if len(part) > 5 else ""

class Memory:
    def __init__(self, pid):
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    def read(self, at, n):
        data = os.pread(self.fd, n, at)
        assert len(data) == n, (hex(at), n)
        return data
    def word(self, at):
        return struct.unpack("<Q", self.read(at, 8))[0]

# ---- protobuf ----
def fields(data):
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        assert tag & 7 == 2, tag
        n = varint()
        assert at + n <= len(data)
        yield tag >> 3, data[at:at + n]
        at += n

def any_value(data):
    (field, body), = fields(data)
    if field == 1:
        return body.decode()
    assert field == 5, field
    return [any_value(value) for number, value in fields(body) if number == 1]

def key_value(data):
    parts = dict(fields(data))
    return parts[1].decode(), any_value(parts[2])

# ---- process context ----
def process_context(pid, memory):
    places = [m for m in mappings(pid) if m[3].startswith(("[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"))]
    assert len(places) == 1, places
    at = places[0][0]
    for _ in range(100):
        signature, version, size, published, payload = struct.unpack("<8sIIQQ", memory.read(at, 32))
        assert signature == b"OTEL_CTX" and version == 2
        data = memory.read(payload, size) if published else b""
        if published and memory.word(at + 16) == published:
            break
    resource, attributes = [], []
    for field, body in fields(data):
        if field == 1:
            resource += [key_value(kv) for number, kv in fields(body) if number == 1]
        elif field == 2:
            attributes.append(key_value(body))
    return dict(resource), dict(attributes)

# ---- the thread-local variable ----
def elf(path):
    data = open(path, "rb").read()
    if data[:5] != b"\x7fELF\x02":
        return None
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    return data, segments, sections

def variable(path, name=b"otel_thread_ctx_v1"):
    """(value in the TLS block, size of the block rounded as a program's is, relocations of the variable, has an interpreter)"""
    file = elf(path)
    if not file:
        return None
    data, segments, sections = file
    tls = next((s for s in segments if s[0] == 7), None)
    symbols = next((s for s in sections if s[1] == 11), None)
    if not tls or not symbols:
        return None
    strings = sections[symbols[6]]
    for i in range(symbols[5] // 24):
        at, info, other, section, value, size = struct.unpack_from("<IBBHQQ", data, symbols[4] + i * 24)
        if data[strings[4] + at:].startswith(name + b"\0") and info & 15 == 6 and section:
            break
    else:
        return None
    relocations = []
    for s in sections:
        if s[1] == 4 and s[9] == 24:
            for j in range(s[5] // 24):
                offset, how, addend = struct.unpack_from("<QQq", data, s[4] + j * 24)
                if how >> 32 == i:
                    relocations.append((how & 0xffffffff, offset))
    align = tls[7] or 1
    block = tls[6] + align - 1 - (tls[6] + align - 1 + 0) % align
    first = next(s for s in segments if s[0] == 1)
    return value, block, relocations, first[3]

def tls_place(pid, memory):
    program, seen = os.readlink(f"/proc/{pid}/exe"), set()
    for start, end, offset, path in mappings(pid):
        if not path.startswith("/") or path in seen or offset:
            continue
        seen.add(path)
        found = variable(f"/proc/{pid}/root{path}") if os.path.exists(f"/proc/{pid}/root{path}") else None
        if not found:
            continue
        value, block, relocations, first = found
        if path == program:
            return lambda base: base - block + value
        for how, at in relocations:
            a, b = memory.word(start - first + at), memory.word(start - first + at + 8)
            if how == 18: # TPOFF64
                return lambda base: base + a - (1 << 64 if a >> 63 else 0)
            if how == 36 and b >> 63: # TLSDESC, in the program's own block
                return lambda base: base + b - (1 << 64)
            module, within = (memory.word(b), memory.word(b + 8)) if how == 36 else (a, value) if how == 16 else (0, 0)
            if module:
                def dynamic(base):
                    vector = memory.word(base + 8)
                    if module > memory.word(vector - 16): # it is shorter
                        return None
                    block = memory.word(vector + 16 * module)
                    return None if block in (0, (1 << 64) - 1) else block + within
                return dynamic
    return None

class Stopped:
    def __init__(self, tid):
        self.tid = tid
    def __enter__(self):
        assert libc.ptrace(ATTACH, self.tid, None, None) == 0, os.strerror(ctypes.get_errno())
        os.waitpid(self.tid, 0x40000000)
        registers = (ctypes.c_uint64 * 27)()
        vector = (ctypes.c_uint64 * 2)(ctypes.addressof(registers), ctypes.sizeof(registers))
        assert libc.ptrace(GETREGSET, self.tid, 1, ctypes.addressof(vector)) == 0
        return registers[21] # fs_base
    def __exit__(self, *_):
        libc.ptrace(DETACH, self.tid, None, None)

def record(memory, at, keys):
    if not at:
        return None
    trace, span, valid, flags, size = struct.unpack("<16s8sBBH", memory.read(at, 28))
    if valid != 1:
        return None
    data, attributes, i = memory.read(at + 28, size), {}, 0
    while i + 2 <= size and i + 2 + data[i + 1] <= size:
        if data[i] < len(keys):
            attributes[keys[data[i]]] = data[i + 2:i + 2 + data[i + 1]].decode()
        i += 2 + data[i + 1]
    return {"trace": trace.hex(), "span": span.hex(), "flags": flags, "attributes": attributes, "bytes": 28 + size}

def main():
    pid, tids = int(sys.argv[1]), [int(t) for t in sys.argv[2:]]
    memory = Memory(pid)
    resource, attributes = process_context(pid, memory)
    keys = attributes["threadlocal.attribute_key_map"]
    place, threads = tls_place(pid, memory), {}
    assert place, "no module has otel_thread_ctx_v1 among its dynamic symbols"
    for tid in tids:
        with Stopped(tid) as base:
            at = place(base)
            threads[tid] = record(memory, memory.word(at) if at else 0, keys)
    print(json.dumps({"resource": resource, "schema": attributes["threadlocal.schema_version"], "keys": keys, "threads": threads}))

main()
