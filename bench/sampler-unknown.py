# SPDX-License-Identifier: GPL-2.0-or-later
"""The fork storm: 200 C files compiled one after the other under `record -a --budget 0.5%`. Value: samples that could
not be placed, %; also at 5 kHz, the sampler's peak memory, its CPU, and how much longer the compiling took."""
import json, os, shutil, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libsampler as lib

FILES = 40 if lib.QUICK else 200
work = tempfile.mkdtemp()
for i in range(FILES):
    with open(f"{work}/f{i}.c", "w") as f:
        f.write("#include <stdio.h>\n" + "".join(f"int f{i}_{k}(int x) {{ return x * {k} + printf(\"%d\", x); }}\n"
                                                 for k in range(20)))


def storm():
    begin = time.time()
    for i in range(FILES):
        subprocess.run(["gcc", "-O2", "-c", f"{work}/f{i}.c", "-o", f"{work}/f{i}.o"], check=True)
    return time.time() - begin


detail = {"files": FILES}
values = {}
try:
    storm_off = storm()
    for name, rate in (("budget 0.5 %", ["--budget", "0.5"]), ("5 kHz", ["-F", "5000"])):
        p = subprocess.Popen([lib.CYCLESCOPE, "record", "-a", "-o", work + "/s", "--json"] + rate,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(1.5)
        with open(f"/proc/{p.pid}/clear_refs", "w") as f:  # the peak from here on: `record` measures the machine's
            f.write("5")                                    # caches at its start, which the daemon does not
        cpu = lib.cpu_ns(p.pid)
        took = storm()
        cpu = lib.cpu_ns(p.pid) - cpu
        peak = [int(l.split()[1]) for l in open(f"/proc/{p.pid}/status") if l.startswith("VmHWM")][0]
        p.send_signal(2)
        d = json.loads(p.communicate()[0])
        values[name] = 100 * d["unknown"] / max(1, d["delivered"])
        detail[name] = {"samples": d["delivered"], "unknown": d["unknown"], "causes": d["causes"], "lost": d["lost"],
                        "map_records_lost": d["map_records_lost"], "rate_hz": round(d["rate_hz"]),
                        "peak_memory_mb": round(peak / 1024, 1),
                        "collector_percent_of_a_cpu": round(100 * cpu * 1e-9 / took, 2),
                        "seconds": round(took, 2), "driver": d["driver"]}
    again = storm()
    detail["seconds without"] = [round(storm_off, 2), round(again, 2)]
finally:
    shutil.rmtree(work)
lib.row("sampler-unknown", round(max(values.values()), 4), "% of samples unknown", "at most 0.05 (memory: 32 MB)", 0,
        detail)
