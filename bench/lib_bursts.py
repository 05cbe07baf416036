# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs to follow, and the driver that has bursts of them made (tests/programs/burst_driver.c)."""
import json, os, subprocess, sys, tempfile

BUILD = os.environ.get("BUILD", "build")
DRIVER = BUILD + "/tests/programs/burst_driver"
VECTORS = BUILD + "/tests/programs/burst_vectors"
QUICK = "--quick" in sys.argv

LUA = """local t = {}
local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end
while true do
  for i = 1, 500 do t[i] = tostring(f(12) * i % 997) .. "x" end
  table.sort(t)
end"""
PYTHON = """import json, re
while True:
    s = json.dumps({str(i): [i, i / 3, 'a' * (i % 7)] for i in range(400)})
    json.loads(re.sub('a+', 'b', s))"""
SQL = ("with recursive c(x) as (select 1 union all select x+1 from c where x<1000000000) select count(*), "
       "sum(length(printf('%d-%s',x,hex(x)))) from c where x like '%77%' group by x%10;")


def build():
    subprocess.run(["make", "-s", "BUILD=" + BUILD, "CS_DEPS_DONE=1", DRIVER, VECTORS], check=True, stdout=sys.stderr)


def programs(folder):
    text = os.path.join(folder, "text")
    with open(text, "wb") as f:
        for i in range(400000):
            f.write(b"%d %x\n" % (i * i, i * 2654435761 % 4294967296))
    return {
        "lua5.4": ["lua5.4", "-e", LUA],
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "python3": ["/usr/bin/python3", "-c", PYTHON],
        "xz": ["sh", "-c", "exec xz -6 -T1 -c " + (text + " ") * 20 + ">/dev/null"],
        "vectors, 2 threads": [VECTORS, "2"],
    }


def drive(command, bursts, instructions, seconds, *flags):
    run = subprocess.run([DRIVER, "-n", str(bursts), "-i", str(instructions), "-s", str(seconds), *flags, "--", *command],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in run.stdout.split(b"\n")[::-1]:
        if line.startswith(b'{"bursts"'):
            answer = json.loads(line)
            answer["differences"] = run.stderr.decode(errors="replace")
            return answer
    sys.exit("burst_driver: " + run.stderr.decode(errors="replace"))


def report(name, value, unit, target, noise, detail):
    print(json.dumps({"name": name, "value": value, "unit": unit, "target": target, "noise": noise, "detail": detail}))
