#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the Model Context Protocol for tests/integration/mcp.sh: drives all tools, checks answers against JSON-RPC 2.0 and
arguments against the tools' schemas, and sends what a hostile client would.

    tests/mcp_client.py CYCLESCOPE WORK PROGRAM     WORK/folder is the server's, WORK/outside isn't"""
import json
import os
import subprocess
import sys

cyclescope, work, program = sys.argv[1:]
folder = work + "/folder"
bad = []


def check(what, ok, *about):
    print("ok" if ok else "not ok:", what, *(about if not ok else ()))
    if not ok:
        bad.append((what, *about))


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([cyclescope, "mcp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next = 0

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode())
        self.process.stdin.flush()

    def answer(self):
        """One line, held against JSON-RPC 2.0."""
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), "the server is gone"
        message = json.loads(line)
        for m in message if isinstance(message, list) else [message]:
            assert m["jsonrpc"] == "2.0" and "id" in m and ("result" in m) != ("error" in m), m
            assert set(m) <= {"jsonrpc", "id", "result", "error"}, m
            if "error" in m:
                assert isinstance(m["error"]["code"], int) and m["error"]["message"], m
        return message

    def raw(self, line):
        self.send(line)
        return self.answer()

    def ask(self, method, params=None):
        self.next += 1
        message = {"jsonrpc": "2.0", "id": self.next, "method": method}
        if params is not None:
            message["params"] = params
        reply = self.raw(json.dumps(message) + "\n")
        assert reply["id"] == self.next, reply
        return reply

    def call(self, tool, **arguments):
        """(is an error, texts)"""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert all(c["type"] == "text" for c in result["content"]) and result["content"]
        texts = [c["text"] for c in result["content"]]
        assert all(len(t.encode()) <= 65536 for t in texts), [len(t) for t in texts]
        return result["isError"], texts

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def fits(schema, value):
    """The part of JSON Schema that the tools use."""
    kinds = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict}
    if not isinstance(value, kinds[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if schema["type"] in ("number", "integer") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if schema["type"] == "string" and not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9):
        return False
    if schema["type"] == "array":
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9) and all(fits(schema["items"], v) for v in value)
    if schema["type"] == "object":
        return all(k in value for k in schema["required"]) and all(
            k in schema["properties"] and fits(schema["properties"][k], v) for k, v in value.items())
    return True


s = Server("--store", folder, "--allow", program, "--allow", "/bin/sh")

# The protocol, of both kinds.
for version in "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
    r = s.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})["result"]
    check(f"initialize {version}", r["protocolVersion"] == version and "tools" in r["capabilities"] and r["serverInfo"]["name"] == "cyclescope", r)
r = s.ask("initialize", {"protocolVersion": "1999-01-01", "capabilities": {}})["result"]
check("an unknown version gets the newest that begins so", r["protocolVersion"] == "2025-11-25", r)
check("initialize without a version", s.ask("initialize", {})["error"]["code"] == -32602)
s.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n{"jsonrpc":"2.0","method":"notifications/none","params":{"x":1}}\n{"jsonrpc":"2.0","id":5,"result":{}}\n')
check("ping after notifications that have no answer", s.ask("ping")["result"] == {})
modern = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
r = s.ask("server/discover", modern)["result"]
check("server/discover", r["resultType"] == "complete" and "2026-07-28" in r["supportedVersions"] and "tools" in r["capabilities"]
      and r["ttlMs"] >= 0 and r["cacheScope"] in ("public", "private") and r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cyclescope", r)
r = s.ask("tools/list", modern)["result"]
check("stateless tools/list", r["resultType"] == "complete" and "ttlMs" in r and r["tools"], r)
r = s.ask("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}})
check("an unknown stateless version", r["error"]["code"] == -32022 and "2026-07-28" in r["error"]["data"]["supported"], r)
r = s.raw('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"none"}]\n')
check("a batch", [(m["id"], "error" in m) for m in r] == [("a", False), ("b", True)], r)

tools = {t["name"]: t for t in s.ask("tools/list")["result"]["tools"]}
check("the tools", set(tools) == {"explain", "prof", "calc", "waits", "diff", "record", "gate"}, set(tools))
check("their schemas", all(t["inputSchema"]["type"] == "object" and t["inputSchema"]["additionalProperties"] is False and t["description"]
                           for t in tools.values()))
runs_programs = [n for n, t in tools.items() if not t["annotations"]["readOnlyHint"]]
check("hints", sorted(runs_programs) == ["gate", "record"] and all(tools[n]["annotations"]["openWorldHint"] for n in runs_programs), runs_programs)


def good(tool, **arguments):
    assert fits(tools[tool]["inputSchema"], arguments), arguments
    error, texts = s.call(tool, **arguments)
    check(f"{tool} {arguments}", not error, texts)
    return json.loads(texts[0]) if not error else {}, texts


def refused(what, tool, says, **arguments):
    error, texts = s.call(tool, **arguments)
    check(f"refused: {what}: {texts[0][:150].strip()!r}", error and says in texts[0], texts)
    return fits(tools[tool]["inputSchema"], arguments)


# What there isn't yet.
refused("no store yet", "prof", "there is no store")
# All tools.
d, texts = good("record", command=[program, "2"], burst_rate=30, frequency=1000)
check("the recording is in the folder", d.get("store") == folder + "/cyclescope.store" and os.path.isdir(folder + "/cyclescope.store"), d)
check("what the command printed", any("visits=" in t for t in texts[1:]), texts[1:])
d, _ = good("explain")
check("explain", d.get("version") == 1 and (d["claim"] or d["missing"]), d)
check("explain's function", d.get("function") == "pack", d.get("function"))
check("explain lists what stands out", len(d.get("stands_out", range(9))) <= 6 and all(p["text"] and p["kind"] for p in d["stands_out"]), d.get("stands_out"))
d, _ = good("prof")
check("prof", d["rows"][0]["procedure"] == "pack" and d["event"], d.get("rows"))
good("prof", by="line", image="k", limit=3, epoch="-1", event=d.get("event"))
d, _ = good("calc", function="pack", limit=1000)
check("calc", d.get("procedure") == "pack" and d["instructions"], d.keys())
good("record", command=[program, "0.3"], seconds=5)
d, _ = good("diff", limit=5)
check("diff", len(d.get("rows", [])) >= 1, d)
good("record", command=["/bin/sh", "-c", 'exec "$0" 0.3', program], store="other")
good("diff", before="cyclescope.store", after="other", by="function")
d, _ = good("gate", base="cyclescope.store", head="other")
check("gate", "verdict" in d, d.keys())

# gate, two builds in one store: the reference is what the linker was told.
own = dict(os.environ, XDG_CACHE_HOME=work + "/client-cache")  # the test looks for what the server writes
ids = {"old": "ab" * 20, "new": "cd" * 20}
for side, build_id in ids.items():
    os.mkdir(f"{work}/{side}")
    subprocess.run(["gcc", "-O2", "-g", f"-Wl,--build-id=0x{build_id}", "-o", f"{work}/{side}/app", "bench/kernels/forward_fail.c"], check=True, env=own)
for i in range(4):
    for side in ids:
        subprocess.run([cyclescope, "record", "--no-bursts", "--no-paths", "-o", folder + "/builds", "--", f"{work}/{side}/app", "0.1"], check=True, capture_output=True, env=own)


def builds(d):
    return {b["side"]: b["build_id"] for b in d.get("builds", [])}


d, _ = good("gate", store="builds", image="app")
check("gate's newest two builds", builds(d) == {"base": ids["old"], "head": ids["new"]} and "verdict" in d, d)
d, _ = good("gate", store="builds", image="app", base_build="cdc", head_build="ab", limit=3)
check("gate's chosen builds", builds(d) == {"base": ids["new"], "head": ids["old"]}, d)
refused("no such build", "gate", "begins with", store="builds", image="app", base_build="ef")
refused("no such image", "gate", "no samples of an image", store="builds", image="none")
for value in "--fail-on=", "--keep=/etc", "-o/etc":
    refused(f"image {value}", "gate", "no samples of an image", store="builds", image=value)
    refused(f"build {value}", "gate", "begins with", store="builds", image="app", head_build=value)

# gate, two commands. The base writes down its own arguments; code made at run time can't be counted, and then only the pace changes.
with open(work + "/made.c", "w") as f:
    f.write(r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int n, char **words)
{
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, "\xc3", 1);
    for (long i = 0; i < atol(words[n - 1]) * 1000000; i++)
        ((void (*)(void))code)();
}
""")
subprocess.run(["gcc", "-O1", "-g", "-o", work + "/made", work + "/made.c"], check=True, env=own)
made = work + "/made"
words = ["x y", 'a"b', "c\\d", "", "e'f", "g\nh", "--json", "\\"]
t = Server("--store", folder, "--allow", made, "--allow", "/bin/sh")
s, first = t, s
d, _ = good("gate", base_command=["/bin/sh", "-c", f'for w; do printf "%s|" "$w"; done >{work}/words; exec {made} 10', "sh", *words], command=[made, "10"], seconds=5)
check("gate of commands", d.get("verdict") in ("slower", "faster", "same", "layout", "can't tell"), d.get("verdict"))
check("the base's arguments are its own", open(work + "/words").read() == "".join(w + "|" for w in words), open(work + "/words").read())
for seconds in 5, 15, 45:  # layouts are tried where the pace is sure
    d, _ = good("gate", base_command=[made, "20"], command=[made, "60"], seconds=seconds,
                relink=["/bin/sh", "-c", f'echo "$CYCLESCOPE_LAYOUT $1" >>{work}/layouts', "sh", "two words"])
    if os.path.exists(work + "/layouts"):
        break
pace = [c for c in d.get("checks", []) if c["check"] == "pace"]
check("gate: three times the turns", pace and pace[0]["change_percent"] > 20, pace)
layouts = open(work + "/layouts").read().splitlines() if os.path.exists(work + "/layouts") else []
check("each layout was asked for, and the first one in the end", layouts == [f"{n} two words" for n in (*range(1, 13), 0)], layouts)
check("the runs are gone", not [e for e in os.listdir(folder) if e.startswith(".gate")], os.listdir(folder))
for what in "base_command", "command", "relink":
    given = {"base_command": [made, "1"], "command": [made, "1"], "relink": ["/bin/sh", "-c", "true"], what: ["/bin/ls"]}
    refused(f"gate's {what}", "gate", "isn't allowed", **given)
refused("a command that fails", "gate", "", base_command=[made, "1"], command=["/bin/sh", "-c", "exit 3"], seconds=5)
check("its runs are gone", not [e for e in os.listdir(folder) if e.startswith(".gate")], os.listdir(folder))
check("it ends", s.close() == 0)
s = first
for what, says, arguments in [("nothing", "give one of", {}), ("half of two stores", '"base" needs "head"', {"base": "other"}), ("half of two commands", '"command" needs', {"command": [program]}),
                              ("a base alone", "needs", {"base_command": [program]}), ("two ways", "give one of", {"base": "other", "head": "other", "image": "k"}),
                              ("a build of nothing", '"head_build" needs "image"', {"base": "other", "head": "other", "head_build": "ab"}),
                              ("another layout of stores", '"relink" needs', {"base": "other", "head": "other", "relink": ["/bin/sh"]}),
                              ("a time of stores", '"seconds" needs', {"base": "other", "head": "other", "seconds": 5}), ("a store alone", '"store" needs "image"', {"store": "other"})]:
    refused(what, "gate", says, **arguments)
error, texts = s.call("record", command=["/bin/sh", "-c", "sleep 0.3; exit 3"], waits=True, store="waiting")
if error or "can't be recorded" in str(texts):
    print("ok no waits here:", texts)
    refused("waits of a recording without", "waits", "record --waits", store="other")
else:
    good("waits", store="waiting", limit=2)
# Bounds of a report.
d, texts = good("calc", function="pack", limit=2)
check("rows are left out with a sentence", len(d["instructions"]) == 2 and "limit" in texts[-1] and "2 of" in texts[-1], texts[1:])
wide = f"{work}/wide.c"
with open(wide, "w") as f:
    f.write("volatile int sink;\n")
    names = [f"quite_a_long_name_of_a_function_that_fills_a_report_{i:04d}" for i in range(700)]
    f.writelines(f"__attribute__((noinline)) void {n}(void) {{ for (int i = 0; i < 1500000; i++) sink += i; }}\n" for n in names)
    f.write("int main(void) {\n" + "".join(f"    {n}();\n" for n in names) + "    return 0;\n}\n")
subprocess.run(["gcc", "-O1", "-o", work + "/wide", wide], check=True, env=own)
subprocess.run([cyclescope, "record", "-F", "1000", "--no-bursts", "--no-paths", "-o", folder + "/wide", "--", work + "/wide"], check=True, capture_output=True, env=own)
full = subprocess.run([cyclescope, "prof", "--json", "--top", "0", "--store", folder + "/wide"], check=True, capture_output=True, env=own).stdout
d, texts = good("prof", store="wide", limit=1000)
check("a report over the bound is cut between rows", len(full) > 65536 and 10 < len(d["rows"]) < 700 and "limit" in texts[-1], len(full), len(d["rows"]), texts[1:])

# Paths.
for store in "../outside/store", "/etc", work + "/outside/store", "other/../../outside/store", "..", "link", "up/store", "-o", "--output=/etc/x":
    refused(f"store {store}", "prof", "store", store=store)
for store in "../new", "dangling", "up/new", "link", "no/such/folder", work + "/new":
    refused(f"record into {store}", "record", "store", store=store, command=[program, "0.1"])
refused("diff of a store outside", "diff", "store", before="other", after="../outside/store")
refused("half of a pair", "diff", "go together", before="other")
# Options.
for value in "--output=/etc/x", "--store=/etc", "-o/etc", "--help", "--csv":
    refused(f"function {value}", "calc", "no samples in a function", function=value)
    refused(f"epoch {value}", "prof", "", epoch=value)
    refused(f"image {value}", "prof", "", image=value)
refused("a command that looks like an option", "record", "isn't allowed", command=["--store=/etc", program])
error, texts = s.call("record", command=["/bin/sh", "-c", 'echo "$0 $1"', "--json-to=/etc/x", "; touch x"])
check("a command's arguments are its own", not error and "--json-to=/etc/x ; touch x" in texts[-1], texts)
# Programs.
for command in ["/bin/ls"], [os.path.basename(program)], [program + " "], ["/bin/../bin/sh", "-c", "true"], ["sh"], [""]:
    refused(f"command {command}", "record", "isn't allowed", command=command)
r = s.raw(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "record", "arguments": {"command": [program + "\0x"]}}}) + "\n")
check("a NUL isn't read", r["error"]["code"] == -32700, r)
# Wrong types: the schema says the same as the server.
for tool, arguments in [("prof", {"limit": "3"}), ("prof", {"limit": 0}), ("prof", {"limit": 1.5}), ("prof", {"limit": 10**9}), ("prof", {"by": "x"}),
                        ("prof", {"by": 3}), ("prof", {"store": ["other"]}), ("prof", {"event": ""}), ("prof", {"none": 1}), ("calc", {"function": None}),
                        ("calc", {"function": "x" * 1001}), ("waits", {"critical_path": "yes"}), ("waits", {"critical_path": 1}), ("record", {}),
                        ("record", {"command": program}), ("record", {"command": []}), ("record", {"command": [3]}), ("record", {"command": ["x"] * 65}),
                        ("record", {"command": [program], "seconds": -1}), ("record", {"command": [program], "seconds": 1e308}),
                        ("gate", {"base_command": [program], "command": program}),
                        ("gate", {"base_command": [program], "command": [program], "seconds": 4}), ("gate", {"base_command": [program], "command": [program], "seconds": 601}),
                        ("gate", {"base_command": [program], "command": [program], "relink": []}), ("gate", {"base_command": ["x"] * 65, "command": [program]}),
                        ("gate", {"image": "k", "base_build": "a" * 65}), ("gate", {"image": "k", "head_build": 7}), ("gate", {"image": ["k"]}),
                        ("gate", {"image": "k", "repository": "/"}), ("record", {"command": [program], "seconds": True}), ("record", {"command": [program], "output": "/etc/x"})]:
    fit = refused(f"{tool} {str(arguments)[:60]}", tool, "", **arguments)
    check("the schema refuses it, too", not fit)
check("no such tool", s.ask("tools/call", {"name": "rm", "arguments": {}})["error"]["code"] == -32602)
for params in {}, {"name": 3}, {"name": "prof", "arguments": []}, {"name": "prof", "arguments": "x"}, {"name": None}:
    check(f"wrong parameters {params}", s.ask("tools/call", params)["error"]["code"] == -32602)

# Messages.
ping = '{"jsonrpc":"2.0","id":%s,"method":"ping"}\n'
for what, line, code in [("no JSON", "hello\n", -32700), ("half of JSON", '{"jsonrpc":"2.0","id":1,\n', -32700), ("bytes that are no text", b"\xff\xfe\x00\x01\n", -32700),
                         ("a member twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n', -32700), ("deep nesting", "[" * 100000 + "]" * 100000 + "\n", -32700),
                         ("deep parameters", '{"jsonrpc":"2.0","id":1,"method":"ping","params":' + '{"a":' * 3000 + "1" + "}" * 3000 + "}\n", -32700),
                         ("a number", "5\n", -32600), ("null", "null\n", -32600), ("a text", '"ping"\n', -32600), ("an empty batch", "[]\n", -32600),
                         ("a large batch", json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 33) + "\n", -32600),
                         ("another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600), ("no version", '{"id":1,"method":"ping"}\n', -32600),
                         ("no method", '{"jsonrpc":"2.0","id":1}\n', -32600), ("a method of another type", '{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
                         ("an id that is null", ping % "null", -32600), ("an id that is an object", ping % "{}", -32600), ("an id with a fraction", ping % "1.5", -32600),
                         ("an unknown method", '{"jsonrpc":"2.0","id":1,"method":"resources/list"}\n', -32601), ("an odd method", '{"jsonrpc":"2.0","id":1,"method":"\\u001b[2J"}\n', -32601),
                         ("parameters as an array", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', -32602),
                         ("a line of 1 MB and more", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + "x" * (1 << 20) + '"}}\n', -32600),
                         ("a line of 20 MB", b"x" * 20_000_000 + b"\n", -32600)]:
    r = s.raw(line)
    check(f"{what}: {r['error']['code']}", r["error"]["code"] == code, r)
    check("... and the next message is read", s.ask("ping")["result"] == {})
long = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + "x" * 900_000 + '"}}\n'
check("a long message within the bound", s.raw(long)["result"] == {})
check("many at once", [s.answer()["id"] for _ in range(50) if _ or s.send("".join(ping % i for i in range(50))) is None] == list(range(50)))
check("it ends with its input", s.close() == 0)

# The last line may have no newline; a client that goes is no error.
p = subprocess.run([cyclescope, "mcp", "--store", folder], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', capture_output=True, timeout=60)
check("a last line without newline", json.loads(p.stdout)["result"] == {} and p.returncode == 0)
# A store as the folder: that one alone. Nothing is allowed without --allow.
s = Server("--store", folder + "/other")
d, _ = good("prof")
check("one store", d.get("rows"), d)
refused("another store than the one", "prof", "one store", store="other")
refused("a program without --allow", "record", "isn't allowed", command=[program])
refused("gate without --allow", "gate", "isn't allowed", base_command=[program], command=[program])
check("nothing but record is more than a report", [t["name"] for t in s.ask("tools/list")["result"]["tools"] if not t["annotations"]["readOnlyHint"]] == ["record"])
check("it ends", s.close() == 0)
for what in bad:  # what it says last is what is kept of a long output
    print("not ok:", *what)
sys.exit(bool(bad))
