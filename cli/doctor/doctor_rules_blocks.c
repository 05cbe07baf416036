/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What containers and security modules take away, and the one command that gives it back: one rule a row of doctor. */
#include "cli/doctor/rules.h"

#include <string.h>

const char doctor_seccomp_help[] =
    "docker or podman run --cap-add=PERFMON,BPF --security-opt seccomp=unconfined; systemd-nspawn "
    "--system-call-filter='perf_event_open bpf'";

void judge_seccomp(const struct machine *m, struct finding *f)
{
    bool events = !doctor_refused(m->probes[PROBE_CLOCK_TASK]) && m->probes[PROBE_CLOCK_TASK] != ENOSYS;
    bool bpf = !doctor_refused(m->probes[PROBE_BPF]) && m->probes[PROBE_BPF] != ENOSYS;
    f->runtime = f->architect = f->production = "no system call is refused by a filter";
    if (m->seccomp <= 0) {
        SAY(f, "%s", m->seccomp < 0 ? "unknown" : "no filter");
        return;
    }
    f->runtime = f->architect = f->production = "what is used gets through this process's filter";
    if (events && bpf) {
        SAY(f, "a filter, which lets perf_event_open and bpf through");
        return;
    }
    f->state = FINDING_LIMITED;
    SAY(f, "a filter; refused: %s%s%s", events ? "" : "perf_event_open", events || bpf ? "" : ", ",
        bpf ? "" : "bpf");
    f->runtime = f->architect = "observe has no counters of the kernel, and no os source";
    f->production =
        events ? "the ring driver is used" : "record samples by timers or by ptrace: user code only";
    f->enable = doctor_seccomp_help;
}

void judge_ptrace_scope(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = "not needed";
    f->production = "bursts, and record -p where the kernel has no events";
    SAY(f, m->ptrace_scope == 0   ? "one's own processes may be traced"
           : m->ptrace_scope == 1 ? "Yama: only what one started oneself (ptrace_scope 1)"
           : m->ptrace_scope == 2 ? "Yama: with CAP_SYS_PTRACE only (ptrace_scope 2)"
                                  : "Yama: nobody (ptrace_scope 3)");
    if (m->ptrace_scope == 0)
        return;
    f->state = m->ptrace_scope >= 3 ? FINDING_ABSENT : FINDING_LIMITED;
    f->production = m->ptrace_scope >= 3 ? "no bursts; no record -p without the kernel's events"
                                         : "bursts and such record -p of running processes as root only";
    f->enable = m->ptrace_scope >= 3 ? "reboot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d"
                                     : "sysctl kernel.yama.ptrace_scope=0";
}

void judge_lockdown(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = f->production = "the kernel's memory may be read by BPF programs";
    SAY(f, "%s", *m->lockdown ? m->lockdown : "the kernel has none");
    if (strcmp(m->lockdown, "confidentiality") != 0)
        return;
    f->state = FINDING_LIMITED;
    f->runtime = f->architect = "no os source: pin the target alone on its CPU instead";
    f->production = "BPF programs may not read memory: the ring driver is used";
    f->enable = "boot with lockdown=integrity";
}

void judge_hidden(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = "not needed";
    f->production = "processes of others are seen in /proc, and so their names";
    SAY(f, m->hidepid < 0    ? "unknown"
           : m->hidepid == 0 ? "all are shown"
                             : "/proc hides those of others (hidepid)");
    if (m->hidepid <= 0)
        return;
    f->state = FINDING_LIMITED;
    f->production = "for users who aren't root, samples of others' processes that ran already have no names";
    f->enable = "mount -o remount,hidepid=0 /proc";
}

void judge_cgroups(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = "not needed";
    f->production = "--label container and cgroup know where a process belongs";
    SAY(f, "%s", m->cgroup2 ? "version 2" : "no version 2 at /sys/fs/cgroup");
    if (m->cgroup2)
        return;
    f->state = FINDING_LIMITED;
    f->production = "--label container and cgroup may be empty: version 1 has many hierarchies";
    f->enable = "boot with systemd.unified_cgroup_hierarchy=1; in a container: mount /sys/fs/cgroup";
}
