/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each fact means: one rule a row of doctor. Rules only read the machine, so that recorded ones test
 * them. */
#include "cli/doctor/finding.h"

#include <errno.h>
#include <string.h>

#define SAY(f, ...) snprintf((f)->value, sizeof(f)->value, __VA_ARGS__)

static const char paranoid_help[] = "run as root, give the program CAP_PERFMON (and CAP_BPF), or: sysctl "
                                    "kernel.perf_event_paranoid=1 (-1 for whole systems)";
static const char vm_help[] =
    "ask the provider for a machine with a virtual PMU (KVM: -cpu host,pmu=on; many clouds: "
    "a whole-socket or metal instance), or measure on bare metal";

static bool permission(uint64_t error)
{
    return error == EACCES || error == EPERM;
}

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
    char features[160] = "";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (machine_flag(m, shown[i]))
            snprintf(features + strlen(features), sizeof features - strlen(features), " %s", shown[i]);
    SAY(f, "%.40s (family %u model %u), libpfm4: %s;%s", *m->model_name ? m->model_name : "unknown",
        m->family, m->model, *m->pfm_name ? m->pfm_name : "doesn't know it",
        *features ? features : " no features known");
    f->runtime = "nothing depends on the model: signals are plain stores";
    f->architect = "event names are libpfm4's for this model";
    f->production = "event names are libpfm4's for this model; the default event needs no name";
    f->enable = "";
    if (!*m->pfm_name) {
        f->state = FINDING_LIMITED;
        f->architect = "only generic and raw events: libpfm4 has no table for this model";
        f->enable = "install a newer libpfm4";
    } else if (model_is_false(m)) {
        f->state = FINDING_LIMITED;
        snprintf(f->value + strlen(f->value), sizeof f->value - strlen(f->value),
                 "; its flags say a later model");
        f->architect =
            "the stated model number is false (amx or avx512_fp16 came later): named events may be encoded "
            "for the wrong CPU; trust generic events only";
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
    f->enable = "";
    if (task == 0) {
        SAY(f, "present (%s)%s", *m->pmu_devices ? m->pmu_devices : "generic cycles count",
            permission(cpu) ? ", own processes only" : "");
        if (permission(cpu)) {
            f->state = FINDING_LIMITED;
            f->production = "only your own processes: whole-system sampling is not permitted";
            f->enable = paranoid_help;
        }
        return;
    }
    f->runtime = "tags and software counters work as ever; no hardware rates beside them";
    f->architect = "no IPC, no misses here: rates of software counters and time (tsc, signal sources) remain";
    f->production =
        "the sampler uses cpu-clock (time) in place of cycles: where the time went, not why in events";
    f->state = FINDING_ABSENT;
    if (permission(task)) {
        f->state = FINDING_LIMITED;
        SAY(f, "not permitted (%s, perf_event_paranoid %d)", task == EACCES ? "EACCES" : "EPERM",
            m->paranoid);
        f->enable = paranoid_help;
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
    f->runtime = "one hardware rate beside your tags takes two counters";
    f->architect = "as many rates at once; more are multiplexed, and reported with the time each ran";
    f->production = "more events than counters are multiplexed";
    f->enable = "";
    if (general && width) {
        SAY(f, "%u general, %u fixed, %u bits wide", general, fixed, width);
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
    f->enable = "";
    if (got == 0) {
        SAY(f, "usable%s", m->rdpmc_file == 2 ? " (always, also without an event: rdpmc=2)" : "");
        return;
    }
    f->state = FINDING_ABSENT;
    f->runtime = f->architect =
        "no counter reading from user space; the observer's sources are tsc and signal (and "
        "perf-read, some microseconds a reading, where there is a PMU)";
    if (got == EACCES && m->probes[PROBE_CYCLES_TASK] == 0) {
        f->state = FINDING_LIMITED;
        SAY(f, "switched off (rdpmc=%d)", m->rdpmc_file);
        f->enable =
            x86(m) ? "echo 1 > /sys/bus/event_source/devices/cpu/rdpmc" : "sysctl kernel.perf_user_access=1";
    } else {
        SAY(f, permission(got) ? "not permitted (see PMU)" : "not usable: no counter to read (see PMU)");
    }
}

static void judge_anythread(const struct machine *m, struct finding *f)
{
    uint64_t eax = m->probes[PROBE_CPUID_0A_EAX], edx = m->probes[PROBE_CPUID_0A_EDX];
    bool intel = strcmp(m->vendor, "GenuineIntel") == 0, version = (eax & 0xff) >= 3;
    f->runtime = f->architect =
        "an observer on the SMT sibling can't count the target's own instructions: use an "
        "observer on another core with the signal source, or perf-read";
    f->production = "not needed";
    f->enable = "";
    if (!intel) {
        f->state = FINDING_ABSENT;
        SAY(f, "no: only Intel before Ice Lake has it");
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
    f->runtime =
        m->smt
            ? "the sibling is the fastest observer, and steals up to half a core"
            : "the observer runs on another core: no slots stolen, a written line takes longer to come over";
    f->architect = m->smt ? "observe from the sibling for resolution, from another core for truth"
                          : "observations from another core don't disturb the target's pipeline";
    f->production = "no difference";
    f->enable = "";
    f->state = m->smt ? FINDING_GOOD : FINDING_ABSENT;
}

static void judge_topology(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect =
        "observe chooses this pairing unless told otherwise (--target-cpu, --observer-cpu)";
    f->production = "the sampler needs no CPU of its own";
    f->enable = "";
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
    f->enable = "";
    if (!constant || !nonstop || strcmp(m->clocksource, "tsc") != 0) {
        f->state = x86(m) && !constant ? FINDING_ABSENT : FINDING_LIMITED;
        f->runtime = f->architect =
            "rates per TSC cycle are doubtful: the kernel or the CPU doesn't trust this clock";
        f->enable = "in a virtual machine ask for an invariant TSC (KVM: -cpu host,+invtsc); else keep the "
                    "frequency fixed";
    }
}

/* ---- kernel ---- */

static void judge_paranoid(const struct machine *m, struct finding *f)
{
    uint64_t task = m->probes[PROBE_CLOCK_TASK], kernel = m->probes[PROBE_CLOCK_KERNEL];
    uint64_t cpu = m->probes[PROBE_CLOCK_CPU];
    f->runtime = "the observer needs no permission for its own user's processes";
    f->architect = "the same";
    f->enable = "";
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
                        : task == 0 ? "record of your own processes without their kernel side; no -a"
                                    : "no sampling for this user";
        f->enable = paranoid_help;
    }
}

static void judge_rate(const struct machine *m, struct finding *f)
{
    f->runtime = "the observer is not limited by it";
    f->architect = "the same";
    f->production = "record -F above it is refused; the kernel lowers it by itself when handlers run long";
    f->enable = "";
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

static void judge_bpf(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_BPF];
    f->runtime = "the os source (who runs on the target's CPU, in which system call) works";
    f->architect = "the same: samples of a stranger are filtered out by thread identity";
    f->production = "samples are counted inside the kernel: the cheapest driver";
    f->enable = "";
    if (got == 0) {
        SAY(f, "usable");
        return;
    }
    f->state = FINDING_LIMITED;
    f->runtime = f->architect = "no os source: pin the target alone on its CPU instead";
    f->production = "the ring driver is used: same results, more work for the collector";
    if (permission(got)) {
        SAY(f, "not permitted (%s)", got == EPERM ? "EPERM" : "EACCES");
        f->enable = "run as root or give the program CAP_BPF and CAP_PERFMON";
    } else {
        SAY(f, "not usable (%s)", got == ENOSYS ? "ENOSYS" : strerror((int)got));
        f->enable = "boot a kernel with CONFIG_BPF_SYSCALL; in a container allow bpf in the seccomp profile";
    }
}

static void judge_btf(const struct machine *m, struct finding *f)
{
    f->runtime = f->architect = f->production = "the BPF programs fit themselves to this kernel's structures";
    f->enable = "";
    SAY(f, "%s", m->btf ? "present" : "absent");
    if (!m->btf) {
        f->state = FINDING_LIMITED;
        f->runtime = f->architect = "no os source";
        f->production = "the ring driver is used";
        f->enable = "boot a kernel with CONFIG_DEBUG_INFO_BTF";
    }
}

/* ---- what a sample may carry ---- */

static void judge_regs(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_USER_REGS], trap = m->probes[PROBE_SIGTRAP];
    f->runtime = "not needed";
    f->architect = f->production = "bursts (record --bursts) and call chains by registers work";
    f->enable = "";
    if (got == 0 && trap == 0) {
        SAY(f, "sampled user registers and synchronous traps work");
        return;
    }
    f->state = FINDING_LIMITED;
    SAY(f, "%s%s", got ? "no user registers in samples" : "user registers work",
        trap ? ", no synchronous trap (sigtrap) events" : "");
    f->architect = f->production = "bursts fall back to stopping threads by ptrace, or are off";
    f->enable = trap == EINVAL                        ? "sigtrap events need Linux 5.13 or later"
                : permission(got) || permission(trap) ? paranoid_help
                                                      : "a newer kernel";
}

static void judge_lbr(const struct machine *m, struct finding *f)
{
    uint64_t got = m->probes[PROBE_LBR];
    f->runtime = "not needed";
    f->architect = f->production = "branch records feed the edge profile with each sample";
    f->enable = "";
    if (got == 0) {
        SAY(f, "usable");
        return;
    }
    f->state = FINDING_ABSENT;
    SAY(f, permission(got) ? "not permitted" : "none (see PMU)");
    f->architect = f->production =
        "edge profiles come from bursts (record --bursts), which need no such hardware";
    f->enable = permission(got) ? paranoid_help : "";
}

static void judge_precise(const struct machine *m, struct finding *f)
{
    f->runtime = "not needed";
    f->architect = f->production = "the sampled PC is exact";
    f->enable = "";
    if (m->probes[PROBE_PRECISE] == 0) {
        SAY(f, "PEBS or IBS usable");
        return;
    }
    f->state = FINDING_ABSENT;
    SAY(f, permission(m->probes[PROBE_PRECISE]) ? "not permitted (see PMU)" : "no PEBS, no IBS");
    f->architect = f->production =
        "the sampled PC is the successor of the instruction that took the time; calc attributes "
        "it back to that one";
}

static void judge_breakpoints(const struct machine *m, struct finding *f)
{
    f->runtime = "not needed";
    f->architect = "exact counts of a chosen address (mem:ADDR:x)";
    f->production = "not needed";
    f->enable = "";
    if (m->probes[PROBE_BREAKPOINT] == 0) {
        SAY(f, "usable without a PMU");
    } else {
        f->state = FINDING_LIMITED;
        SAY(f, permission(m->probes[PROBE_BREAKPOINT]) ? "not permitted" : "not usable");
        f->architect = "no exact counts of an address";
        f->enable = permission(m->probes[PROBE_BREAKPOINT]) ? paranoid_help : "";
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
    {"registers", "user registers", judge_regs},
    {"lbr", "LBR", judge_lbr},
    {"precise", "precise samples", judge_precise},
    {"breakpoints", "breakpoints", judge_breakpoints},
    {NULL, NULL, NULL},
};
