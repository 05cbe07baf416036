/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel permits, and what a sample may carry: one rule a row of doctor. */
#include "cli/doctor/rules.h"

#include <string.h>

const char doctor_paranoid_help[] = "run as root, give the program CAP_PERFMON (and CAP_BPF), or: sysctl "
                                    "kernel.perf_event_paranoid=1 (-1 for whole systems)";

/* ---- kernel ---- */

void judge_paranoid(const struct machine *m, struct finding *f)
{
    uint64_t task = m->probes[PROBE_CLOCK_TASK], kernel = m->probes[PROBE_CLOCK_KERNEL];
    uint64_t cpu = m->probes[PROBE_CLOCK_CPU];
    f->runtime = "the observer needs no permission for its own user's processes";
    f->architect = "the same";
    char level[48] = "unknown";
    if (m->paranoid != INT_MIN)
        snprintf(level, sizeof level, "%d", m->paranoid);
    const char *may = cpu == 0      ? "whole system, kernel included"
                      : kernel == 0 ? "own processes, kernel included"
                      : task == 0   ? "own processes, user space only"
                                    : "nothing";
    SAY(f, "perf_event_paranoid %s; this user may sample: %s", level, may);
    f->production = "record -a and the daemon see everything";
    if (cpu != 0) {
        f->state = task == 0 ? FINDING_LIMITED : FINDING_ABSENT;
        f->production = kernel == 0 ? "record of your own processes; no -a, no whole-system daemon"
                        : task == 0
                            ? "record of your own processes without their kernel side; no -a"
                            : "no events for this user: record works by timers or by ptrace, user code only";
        f->enable =
            task != 0 && m->seccomp > 0 && m->paranoid <= 2 ? doctor_seccomp_help : doctor_paranoid_help;
    }
}

void judge_rate(const struct machine *m, struct finding *f)
{
    f->runtime = "the observer is not limited by it";
    f->architect = "the same";
    f->production = "record -F above it is refused; the kernel lowers it by itself when handlers run long";
    if (m->max_rate <= 0) {
        f->state = FINDING_LIMITED;
        SAY(f, "unknown");
        return;
    }
    SAY(f, "%ld samples/s a CPU at most", m->max_rate);
    if (m->max_rate < 10000) {
        f->state = FINDING_LIMITED;
        f->enable = "sysctl kernel.perf_event_max_sample_rate=100000";
    }
}

void judge_bpf(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_BPF];
    f->runtime = "the os source (who runs on the target's CPU, in which system call) works";
    f->architect = "the same: samples of a stranger are filtered out by thread identity";
    f->production = "samples are counted inside the kernel: the cheapest driver";
    if (got == 0 && !m->bpf_interpreted && m->probes[PROBE_BPF_LOOP] != EOPNOTSUPP) {
        SAY(f, "usable");
        return;
    }
    f->state = FINDING_LIMITED;
    if (got == 0 && !m->bpf_interpreted) {
        SAY(f, "usable, without loops: the kernel is older than Linux 5.17");
        f->production = "call chains come from copies of stacks: more work for the collector, no frames of "
                        "Lua and Python, no profiles by attribute";
        f->enable = "boot Linux 5.17 or later";
        return;
    }
    if (got == 0) {
        SAY(f, "interpreted, not compiled");
        f->production = "with call chains the ring driver is used: same results, more work for the collector";
        f->enable = "sysctl net.core.bpf_jit_enable=1";
        return;
    }
    f->runtime = f->architect = "no os source: pin the target alone on its CPU instead";
    f->production = "the ring driver is used: same results, more work for the collector";
    if (doctor_refused(got)) {
        SAY(f, "not permitted (%s)", got == EPERM ? "EPERM" : "EACCES");
        f->enable = "run as root or give the program CAP_BPF and CAP_PERFMON";
    } else {
        SAY(f, "not usable (%s)", got == ENOSYS ? "ENOSYS" : strerror((int)got));
        f->enable = "boot a kernel with CONFIG_BPF_SYSCALL; in a container allow bpf in the seccomp profile";
    }
}

void judge_btf(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = f->production = "the BPF programs fit themselves to this kernel's structures";
    SAY(f, "%s", m->btf ? "present" : "absent");
    if (!m->btf) {
        f->state = FINDING_LIMITED;
        f->runtime = f->architect = "no os source";
        f->production = "the ring driver is used";
        f->enable = "boot a kernel with CONFIG_DEBUG_INFO_BTF";
    }
}

void judge_waits(const struct machine *m, struct finding *f)
{
    int major = 0, minor = 0;
    bool tells_back = sscanf(m->release, "%d.%d", &major, &minor) == 2 && major * 1000 + minor >= 6016;
    f->runtime = f->architect = "time off the CPU by reason, place and waker: record --waits";
    f->production = f->runtime;
    if (m->probes[PROBE_BPF] == 0 && m->btf && !m->bpf_interpreted && (m->kprobes || tells_back)) {
        SAY(f, "%s", tells_back ? "recorded by tracepoints" : "recorded by tracepoints and a probe");
        return;
    }
    f->state = FINDING_LIMITED;
    f->runtime = f->architect = f->production = "no time off the CPU: samples of what runs only";
    if (m->probes[PROBE_BPF] != 0 || !m->btf || m->bpf_interpreted) {
        SAY(f, "not recorded: they need BPF and BTF");
        f->enable = "see BPF and BTF";
    } else {
        SAY(f, "not recorded: this kernel has no kprobes");
        f->enable = "boot a kernel with CONFIG_KPROBE_EVENTS, or Linux 6.16 or later";
    }
}

/* ---- what a sample may carry ---- */

void judge_regs(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_USER_REGS], trap = m->probes[PROBE_SIGTRAP];
    f->runtime = "not needed";
    f->architect = f->production = "bursts (record --bursts) and call chains by registers work";
    if (got == 0 && trap == 0) {
        SAY(f, "sampled user registers and synchronous traps work");
        return;
    }
    f->state = FINDING_LIMITED;
    SAY(f, "%s%s", got ? "no user registers in samples" : "user registers work",
        trap ? ", no synchronous trap (sigtrap) events" : "");
    f->architect = f->production = "bursts fall back to stopping threads by ptrace, or are off";
    f->enable = trap == EINVAL                                ? "sigtrap events need Linux 5.13 or later"
                : doctor_refused(got) || doctor_refused(trap) ? doctor_paranoid_help
                                                              : "a newer kernel";
}

void judge_lbr(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_LBR];
    f->runtime = "not needed";
    f->architect = f->production = "branch records feed the edge profile with each sample";
    if (got == 0) {
        SAY(f, "usable");
        return;
    }
    f->state = FINDING_ABSENT;
    SAY(f, doctor_refused(got) ? "not permitted" : "none (see PMU)");
    f->architect = f->production =
        "edge profiles come from bursts (record --bursts), which need no such hardware";
    f->enable = doctor_refused(got) ? doctor_paranoid_help : "";
}

void judge_precise(const struct machine *m, struct finding *f)
{
    f->runtime = "not needed";
    f->architect = f->production = "the sampled PC is exact";
    if (m->probes[PROBE_PRECISE] == 0) {
        SAY(f, "PEBS or IBS usable");
        return;
    }
    f->state = FINDING_ABSENT;
    SAY(f, doctor_refused(m->probes[PROBE_PRECISE]) ? "not permitted (see PMU)" : "no PEBS, no IBS");
    f->architect = f->production = "the sampled PC is the successor of the instruction that took the time; "
                                   "calc and lines of source charge that one";
}

void judge_breakpoints(const struct machine *m, struct finding *f)
{
    f->runtime = "not needed";
    f->architect = "exact counts of a chosen address (mem:ADDR:x)";
    f->production = "not needed";
    if (m->probes[PROBE_BREAKPOINT] == 0) {
        SAY(f, "usable without a PMU");
    } else {
        f->state = FINDING_LIMITED;
        SAY(f, doctor_refused(m->probes[PROBE_BREAKPOINT]) ? "not permitted" : "not usable");
        f->architect = "no exact counts of an address";
        f->enable = doctor_refused(m->probes[PROBE_BREAKPOINT]) ? doctor_paranoid_help : "";
    }
}
