# SPDX-License-Identifier: GPL-2.0-or-later
"""What broke on other people's programs. Kinds of wrong names, of files that weren't read, of imports and observations
that lost facts, each with a test of ours that knows the right value. Value: share of the kinds whose test passes. A kind
that this machine lacks the tools for (rustc, musl, a Python of 3.12) is left out and named."""
import os, re, subprocess, sys
from libsampler import CYCLESCOPE, row

BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
TESTS = ["names.sh", "files.sh", "import_facts.sh"]
UNIT = {"image/demangle_test": "names-of-languages", "sampler/dynamic/jit_methods_test": "code-lives", "sampler/dynamic/jit_test": "perf-map-without-newline",
        "image/isa/decode_unknown_test": "newest-instructions", "observer/log/observer_lengths_test": "numbers-never-seen",
        "observer/sample/tags_rename_test": "late-values", "observer/sample/rates_mixed_test": "rates-of-mixed-tags"}
WHOLE = {"observe_log.sh": "values-of-one-name", "observe_company.sh": "who-had-the-cpu"}  # one kind each

kinds = {}
subprocess.run(["make", "-s", f"BUILD={BUILD}", "test-programs", *[f"{BUILD}/tests/unit/{u}" for u in UNIT]],
               env={**os.environ, "CS_DEPS_DONE": "1"}, stdout=sys.stderr, check=True)
environment = {**os.environ, "BUILD": BUILD, "CYCLESCOPE": CYCLESCOPE}
for test in TESTS:
    ran = subprocess.run(["bash", f"tests/integration/{test}"], capture_output=True, text=True, env=environment)
    print(ran.stdout, file=sys.stderr)
    for name, said in re.findall(r"(?m)^kind (\S+): (\w+)", ran.stdout):
        kinds[name] = said
for test, name in WHOLE.items():
    ran = subprocess.run(["bash", f"tests/integration/{test}"], capture_output=True, text=True, env=environment)
    kinds[name] = {0: "ok", 77: "skipped"}.get(ran.returncode, "WRONG")
for unit, name in UNIT.items():
    ran = subprocess.run([f"{BUILD}/tests/unit/{unit}"], capture_output=True)
    kinds[name] = "ok" if ran.returncode == 0 else "WRONG"
judged = {k: v for k, v in kinds.items() if v != "skipped"}
wrong = [k for k, v in judged.items() if v != "ok"]
if not judged:
    sys.exit("no kind could be judged here")
row("field", round(100 * (1 - len(wrong) / len(judged)), 1), "%", 100, 0,
    {"kinds": len(judged), "wrong": wrong, "skipped": [k for k, v in kinds.items() if v == "skipped"]})
