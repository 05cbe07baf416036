/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each fact means: one rule a row of doctor. Rules only read the machine, so that recorded ones test
 * them. Here those of the processor: CPU, counters, placement, time. */
#include "cli/doctor/rules.h"

#include <errno.h>
#include <string.h>

static const char vm_help[] = "use a machine with a virtual PMU (KVM: -cpu host,pmu=on; many clouds: a "
                              "whole-socket or metal instance), or bare metal";

static bool x86(const struct machine *m)
{
    return strcmp(m->vendor, "GenuineIntel") == 0 || strcmp(m->vendor, "AuthenticAMD") == 0 ||
           strcmp(m->vendor, "HygonGenuine") == 0;
}

/* ---- CPU ---- */

/* Flags that a model older than the hypervisor claims can't have: its event tables are then of the wrong CPU.
 */
static bool model_is_false(const struct machine *m)
{
    return strcmp(m->vendor, "GenuineIntel") == 0 &&
           (machine_flag(m, "amx_tile") || machine_flag(m, "avx512_fp16")) && m->family == 6 &&
           m->model != 143 && m->model != 207 && m->model < 170;
}

static void judge_cpu(const struct machine *m, struct finding *f)
{
    static const char *const shown[] = {"avx2", "avx512f",    "amx_tile",     "rdtscp",    "rdpid",
                                        "ibs",  "perfmon_v2", "arch_perfmon", "hypervisor"};
    char features[100] = "";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (machine_flag(m, shown[i]))
            snprintf(features + strlen(features), sizeof features - strlen(features), " %s", shown[i]);
    SAY(f, "%.40s (family %u model %u), libpfm4: %s;%s", *m->model_name ? m->model_name : "unknown",
        m->family, m->model, *m->pfm_name ? m->pfm_name : "doesn't know it",
        *features ? features : " no features known");
    f->runtime = "nothing depends on the model: signals are plain stores";
    f->architect = "event names are libpfm4's for this model";
    f->production = "event names are libpfm4's for this model; the default event needs no name";
    if (!*m->pfm_name) {
        f->state = FINDING_LIMITED;
        f->architect = "only generic and raw events: libpfm4 has no table for this model";
        f->enable = "install a newer libpfm4";
    } else if (model_is_false(m)) {
        f->state = FINDING_LIMITED;
        snprintf(f->value + strlen(f->value), sizeof f->value - strlen(f->value),
                 "; its flags say a later model");
        f->architect = "the stated model number is false (amx or avx512_fp16 came later): named events may "
                       "be encoded for the wrong CPU; trust generic events only";
        f->enable = "ask the hypervisor for the real model (-cpu host)";
    }
}

/* ---- PMU ---- */

static void judge_pmu(const struct machine *m, struct finding *f)
{
    uint64_t task = m->probes[PROBE_CYCLES_TASK], cpu = m->probes[PROBE_CYCLES_CPU];
    f->runtime = "tags and software counters at full resolution; hardware rates per tag too";
    f->architect = "hardware rates (IPC, misses) at fine grain";
    f->production = "samples by hardware cycles; skid and rates as the hardware allows";
    if (task == 0) {
        SAY(f, "present (%s)%s", *m->pmu_devices ? m->pmu_devices : "generic cycles count",
            doctor_refused(cpu) ? ", own processes only" : "");
        if (doctor_refused(cpu)) {
            f->state = FINDING_LIMITED;
            f->production = "only your own processes: whole-system sampling is not permitted";
            f->enable = doctor_paranoid_help;
        }
        return;
    }
    f->runtime = "tags and software counters work as ever; no hardware rates with them";
    f->architect = "no IPC, no misses here: rates of software counters and time (tsc, signal sources) remain";
    f->production =
        "the sampler uses cpu-clock (time) in place of cycles: where the time went, not why in events";
    f->state = FINDING_ABSENT;
    if (doctor_refused(task)) {
        f->state = FINDING_LIMITED;
        SAY(f, "not permitted (%s, perf_event_paranoid %d)", task == EACCES ? "EACCES" : "EPERM",
            m->paranoid);
        f->enable = doctor_paranoid_help;
    } else if (task == EBUSY) {
        f->state = FINDING_LIMITED;
        SAY(f, "busy: others hold all counters%s", m->nmi_watchdog ? " (the NMI watchdog holds one)" : "");
        f->enable = m->nmi_watchdog ? "sysctl kernel.nmi_watchdog=0, and end other profilers"
                                    : "end other profilers (perf, likwid, VTune, a hypervisor's own)";
    } else if (task == ENOSYS) {
        SAY(f, "no perf events in this kernel or sandbox (ENOSYS)");
        f->production = "no sampling at all; the observer still works";
        f->enable = "boot a kernel with CONFIG_PERF_EVENTS; in a container allow perf_event_open in the "
                    "seccomp profile";
    } else {
        SAY(f, "none: %s (%s)",
            m->virtual_machine ? "the hypervisor gives this machine no counters"
                               : "the kernel has no driver for it",
            task == ENOENT       ? "ENOENT"
            : task == EOPNOTSUPP ? "EOPNOTSUPP"
            : task == EINVAL     ? "EINVAL"
                                 : strerror((int)task));
        f->enable = m->virtual_machine ? vm_help : "boot a kernel whose perf driver knows this CPU";
    }
}

static void judge_counters(const struct machine *m, struct finding *f)
{
    unsigned general = 0, fixed = 0, width = 0;
    uint64_t eax = m->probes[PROBE_CPUID_0A_EAX], edx = m->probes[PROBE_CPUID_0A_EDX];
    if ((eax & 0xff) != 0) {
        general = (eax >> 8) & 0xff;
        width = (eax >> 16) & 0xff;
        fixed = edx & 0x1f;
    } else if ((m->probes[PROBE_CPUID_80000022_EBX] & 0xf) != 0) {
        general = m->probes[PROBE_CPUID_80000022_EBX] & 0xf;
        width = 48;
    } else if (m->probes[PROBE_CYCLES_TASK] == 0 && *m->pfm_name) {
        general = m->pfm_counters;
        fixed = m->pfm_fixed;
        width = strcmp(m->vendor, "AuthenticAMD") == 0 ? 48 : 0;
    }
    f->runtime = "one hardware rate in addition to your tags takes two counters";
    f->architect = "as many rates at once; more are multiplexed, and reported with the time each ran";
    f->production = "more events than counters are multiplexed";
    if (general && width) {
        SAY(f, "%u general, %u fixed, %u bits wide%s", general, fixed, width,
            m->nmi_watchdog ? "; the NMI watchdog holds one" : "");
        if (m->nmi_watchdog)
            f->enable = "sysctl kernel.nmi_watchdog=0 frees one of each CPU";
    } else if (general) {
        SAY(f, "%u general, %u fixed, width not stated", general, fixed);
    } else {
        f->state = FINDING_ABSENT;
        if (m->pfm_counters)
            SAY(f, "none usable (the model %s would have %u general, %u fixed)", m->pfm_name, m->pfm_counters,
                m->pfm_fixed);
        else
            SAY(f, "none usable");
        f->runtime = f->architect = f->production = "see PMU";
    }
}

static void judge_rdpmc(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_RDPMC];
    f->runtime = f->architect = "counters are read in some 30 cycles: sub-microsecond rates";
    f->production = "not needed";
    if (got == 0) {
        SAY(f, "usable%s", m->rdpmc_file == 2 ? " (always, also without an event: rdpmc=2)" : "");
        return;
    }
    f->state = FINDING_ABSENT;
    f->runtime = f->architect = "no counter reading from user space; the observer's sources are tsc and "
                                "signal (with a PMU also perf-read, some microseconds per reading)";
    if (got == EACCES && m->probes[PROBE_CYCLES_TASK] == 0) {
        f->state = FINDING_LIMITED;
        SAY(f, "switched off (rdpmc=%d)", m->rdpmc_file);
        f->enable =
            x86(m) ? "echo 1 > /sys/bus/event_source/devices/cpu/rdpmc" : "sysctl kernel.perf_user_access=1";
    } else {
        SAY(f, doctor_refused(got) ? "not permitted (see PMU)" : "not usable: no counter to read (see PMU)");
    }
}

static void judge_anythread(const struct machine *m, struct finding *f)
{
    uint64_t eax = m->probes[PROBE_CPUID_0A_EAX], edx = m->probes[PROBE_CPUID_0A_EDX];
    bool intel = strcmp(m->vendor, "GenuineIntel") == 0, version = (eax & 0xff) >= 3;
    f->runtime = f->architect = "an observer on the SMT sibling can't count the target's instructions: "
                                "observe from another core with the signal source, or use perf-read";
    f->production = "not needed";
    if (!intel) {
        f->state = FINDING_ABSENT;
        SAY(f, "only on Intel before Ice Lake");
    } else if (!version) {
        f->state = FINDING_ABSENT;
        SAY(f, "no: no architectural PMU of version 3 is visible (CPUID 0AH)");
    } else if (edx >> 15 & 1) {
        f->state = FINDING_ABSENT;
        SAY(f, "removed in this model (CPUID 0AH EDX[15])");
    } else {
        SAY(f, "yes (CPUID 0AH EDX[15] clear)");
        f->runtime = f->architect =
            "an observer on the SMT sibling sees the target's instructions (event suffix :t)";
    }
}

/* ---- placement and time ---- */

static void judge_smt(const struct machine *m, struct finding *f)
{
    SAY(f, "%s (CPUs %u, cores %u, packages %u%s%.64s)", m->smt ? "on" : "one thread a core", m->n_cpus,
        m->n_cores, m->n_packages, *m->offline ? "; offline " : "", m->offline);
    f->runtime = m->smt ? "the sibling is the fastest observer, and steals up to half a core"
                        : "the observer runs on another core: it takes no execution slots, but a written "
                          "line takes longer to arrive";
    f->architect = m->smt ? "observe from the sibling for resolution, from another core for truth"
                          : "observations from another core don't disturb the target's pipeline";
    f->production = "no difference";
    f->state = m->smt ? FINDING_GOOD : FINDING_ABSENT;
}

static void judge_topology(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect =
        "observe chooses this pairing unless told otherwise (--target-cpu, --observer-cpu)";
    f->production = "the sampler needs no CPU of its own";
    if (m->n_pairs == 0) {
        f->state = FINDING_ABSENT;
        SAY(f, "one CPU: nobody can observe it");
        f->runtime = f->architect = "no observer here; the sampler works";
        f->enable = "give the machine (or the cgroup's cpuset) a second CPU";
        return;
    }
    size_t used = 0;
    unsigned shown = 0;
    for (unsigned i = 0; i < m->n_pairs && shown < 4; i++, shown++) {
        int n = snprintf(f->value + used, sizeof f->value - used, "%sCPU %u by CPU %u (%s)", i ? ", " : "",
                         m->pairs[i].target, m->pairs[i].observer, m->pairs[i].by);
        used += (size_t)n < sizeof f->value - used ? (size_t)n : sizeof f->value - used - 1;
    }
    if (shown < m->n_pairs)
        snprintf(f->value + used, sizeof f->value - used, ", and %u more (--json has all)",
                 m->n_pairs - shown);
}

static void judge_tsc(const struct machine *m, struct finding *f)
{
    bool constant = machine_flag(m, "constant_tsc"), nonstop = machine_flag(m, "nonstop_tsc");
    char rate[40] = "";
    if (m->tsc_mhz > 0)
        snprintf(rate, sizeof rate, ", %.0f MHz", m->tsc_mhz);
    SAY(f, "%s, %s%s; clock source %s", constant ? "constant" : "not constant",
        nonstop ? "runs in deep sleep too" : "may stop in deep sleep", rate,
        *m->clocksource ? m->clocksource : "unknown");
    f->runtime = f->architect =
        "time stamps of the two CPUs can be compared; a TSC cycle is not a core cycle";
    f->production = "not needed";
    if (!constant || !nonstop || strcmp(m->clocksource, "tsc") != 0) {
        f->state = x86(m) && !constant ? FINDING_ABSENT : FINDING_LIMITED;
        f->runtime = f->architect =
            "rates per TSC cycle are doubtful: the kernel or the CPU doesn't trust this clock";
        f->enable = "in a virtual machine ask for an invariant TSC (KVM: -cpu host,+invtsc); else keep the "
                    "frequency fixed";
    }
}

const struct finding_rule finding_rules[] = {
    {"cpu", "CPU", judge_cpu},
    {"pmu", "PMU", judge_pmu},
    {"counters", "counters", judge_counters},
    {"rdpmc", "rdpmc", judge_rdpmc},
    {"anythread", "AnyThread", judge_anythread},
    {"smt", "SMT", judge_smt},
    {"pairs", "observation", judge_topology},
    {"tsc", "TSC", judge_tsc},
    {"permission", "permission", judge_paranoid},
    {"rate", "sample rate", judge_rate},
    {"bpf", "BPF", judge_bpf},
    {"btf", "BTF", judge_btf},
    {"waits", "waits", judge_waits},
    {"seccomp", "system calls", judge_seccomp},
    {"ptrace", "ptrace", judge_ptrace_scope},
    {"lockdown", "lockdown", judge_lockdown},
    {"processes", "processes", judge_hidden},
    {"cgroups", "cgroups", judge_cgroups},
    {"registers", "user registers", judge_regs},
    {"lbr", "LBR", judge_lbr},
    {"precise", "precise samples", judge_precise},
    {"breakpoints", "breakpoints", judge_breakpoints},
    {NULL, NULL, NULL},
};
