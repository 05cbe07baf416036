#!/bin/bash
# A recording of any length is imported in little memory: 300 MB through a pipe (CS_STREAM_MB=5000 for five gigabytes), no
# sample lost, under 200 MB resident.
# Beside others.
set -u
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
megabytes=${CS_STREAM_MB:-$([ -n "${CS_QUICK:-}" ] && echo 60 || echo 300)}
python3 - "$work" "$megabytes" <<'P'
import json, os, subprocess, sys
work, megabytes = sys.argv[1:]
tool, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
source = subprocess.Popen([build + "/tests/programs/perfdata_stream", megabytes], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
reader = subprocess.Popen([tool, "import", "-o", work + "/store", "-"], stdin=source.stdout, stdout=subprocess.DEVNULL)
source.stdout.close()
_, status, used = os.wait4(reader.pid, 0)
expected = int(source.stderr.read())
assert source.wait() == 0 and status == 0, (source.returncode, status)
profiles = json.loads(subprocess.run([tool, "store", "ls", work + "/store", "--json"], stdout=subprocess.PIPE, check=True).stdout)["profiles"]
got = sum(p["sum"] for p in profiles if p["kind"] == "points")
print(f"{megabytes} MB, {got} samples, {used.ru_maxrss / 1024:.0f} MB resident, {used.ru_utime + used.ru_stime:.1f} s of CPU time")
assert got == expected, (got, expected)
assert used.ru_maxrss < (1000 if os.environ.get("CS_SANITIZED") else 200) * 1024, used.ru_maxrss
P
