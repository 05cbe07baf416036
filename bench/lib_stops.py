# SPDX-License-Identifier: GPL-2.0-or-later
"""How long threads stood for a tracer, by the kernel's own account: from the switch that took a traced thread off its CPU to
the waking of it by our processes that hold threads. Needs root and tracefs."""
import os, re, subprocess, tempfile

SWITCH = re.compile(r"\s(\d+\.\d+): sched_switch: .*prev_pid=(\d+) ")
WAKING = re.compile(r"\s(\d+\.\d+): sched_waking: .* pid=(\d+) ")
KB_EACH_CPU = 8192


class Stops:
    def __enter__(self):
        self.place = tempfile.mkdtemp()
        self.instance = None
        if subprocess.run(["mount", "-t", "tracefs", "tracefs", self.place], stderr=subprocess.DEVNULL).returncode == 0:
            self.instance = f"{self.place}/instances/cyclescope-{os.getpid()}"
            os.mkdir(self.instance)
            self._set("buffer_size_kb", KB_EACH_CPU)
            self._set("trace_clock", "mono")
            self._set("options/event-fork", 1)  # whoever they start is followed, too
            self._set("events/sched/sched_switch/filter", "prev_state == 8")  # t, traced
            self._set("events/sched/sched_waking/filter", 'COMM == "cyclescope-burs"')
        return self

    def __exit__(self, *_):
        if self.instance:
            os.rmdir(self.instance)
            subprocess.run(["umount", self.place])
        os.rmdir(self.place)

    def _set(self, name, value):
        with open(f"{self.instance}/{name}", "w") as f:
            f.write(f"{value}\n")

    def before(self, *pids):
        """What is put before a command, so that it and all below it are watched, beside those processes."""
        if not self.instance:
            return []
        self._set("trace", "")
        self._set("set_event_pid", " ".join(map(str, pids)))
        for event in "sched_switch", "sched_waking":
            self._set(f"events/sched/{event}/enable", 1)
        return ["sh", "-c", f'echo $$ >>{self.instance}/set_event_pid; exec "$@"', "sh"]

    def seconds(self):
        """In all, of those that began and ended since; None where nobody tells."""
        if not self.instance:
            return None
        since, total, lost = {}, 0.0, 0
        for event in "sched_switch", "sched_waking":
            self._set(f"events/sched/{event}/enable", 0)
        with open(f"{self.instance}/trace") as trace:
            for line in trace:
                if found := SWITCH.search(line):
                    since[found[2]] = float(found[1])
                elif (found := WAKING.search(line)) and found[2] in since:
                    total += float(found[1]) - since.pop(found[2])
        for cpu in os.listdir(f"{self.instance}/per_cpu"):
            with open(f"{self.instance}/per_cpu/{cpu}/stats") as stats:
                lost += int(re.search(r"overrun: (\d+)", stats.read())[1])
        if lost:
            raise RuntimeError(f"the kernel's buffer was too small: {lost} events lost")
        return total
