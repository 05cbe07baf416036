/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes: questions that only perf_event_open, bpf and CPUID answer. Each leaves nothing behind. */
#include "cli/doctor/arch.h"
#include "cli/doctor/machine.h"
#include "observer/source/arch.h" /* CS_PMC_USER_ACCESS */
#include "observer/source/readable.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[PROBES] = {
    [PROBE_CYCLES_TASK] = "cycles-task",
    [PROBE_CYCLES_KERNEL] = "cycles-kernel",
    [PROBE_CYCLES_CPU] = "cycles-cpu",
    [PROBE_CLOCK_TASK] = "clock-task",
    [PROBE_CLOCK_KERNEL] = "clock-kernel",
    [PROBE_CLOCK_CPU] = "clock-cpu",
    [PROBE_RDPMC] = "rdpmc",
    [PROBE_USER_REGS] = "user-regs",
    [PROBE_LBR] = "lbr",
    [PROBE_PRECISE] = "precise",
    [PROBE_SIGTRAP] = "sigtrap",
    [PROBE_BREAKPOINT] = "breakpoint",
    [PROBE_BPF] = "bpf",
    [PROBE_BPF_LOOP] = "bpf-loop",
    [PROBE_CPUID_0A_EAX] = "cpuid-0a-eax",
    [PROBE_CPUID_0A_EDX] = "cpuid-0a-edx",
    [PROBE_CPUID_80000022_EBX] = "cpuid-80000022-ebx",
};

const char *probe_name(enum probe probe)
{
    assert((size_t)probe < sizeof names / sizeof *names);
    return names[probe];
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    attr->size = sizeof *attr;
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* Opens, works a little, and asks whether the event ever had a counter: pinned events of others (a watchdog,
 * a hypervisor's own profiling) may hold them all, and then the open succeeds and counts nothing. */
static uint64_t runs(struct perf_event_attr attr, pid_t pid, int cpu)
{
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int fd = open_event(&attr, pid, cpu);
    if (fd < 0)
        return (uint64_t)-fd;
    uint64_t got[3] = {0};
    for (volatile int i = 0; i < 200000; i++)
        ;
    ssize_t n = read(fd, got, sizeof got);
    close(fd);
    return n == (ssize_t)sizeof got && got[1] > 0 && got[2] == 0 ? EBUSY : 0;
}

static struct perf_event_attr event(uint32_t type, uint64_t config, bool kernel_too)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = type;
    attr.config = config;
    attr.exclude_kernel = !kernel_too;
    attr.exclude_hv = 1;
    return attr;
}

static uint64_t opens(struct perf_event_attr attr)
{
    int fd = open_event(&attr, 0, -1);
    if (fd < 0)
        return (uint64_t)-fd;
    close(fd);
    return 0;
}

static uint64_t probe_rdpmc(void)
{
    struct perf_event_attr attr = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
    attr.config1 = CS_PMC_USER_ACCESS; /* arm64 must be asked for it */
    int fd = open_event(&attr, 0, -1);
    if (fd < 0)
        return (uint64_t)-fd;
    const struct perf_event_mmap_page *page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    uint64_t answer = (uint64_t)errno;
    if (page != MAP_FAILED) {
        answer = cs_pmc_readable(page) ? 0 : EACCES;
        munmap((void *)(uintptr_t)page, (size_t)sysconf(_SC_PAGESIZE));
    }
    close(fd);
    return answer;
}

static uint64_t probe_bpf(void)
{
    static const struct bpf_insn return_0[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
                                               {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
    attr.insns = (uint64_t)(uintptr_t)return_0;
    attr.insn_cnt = sizeof return_0 / sizeof *return_0;
    attr.license = (uint64_t)(uintptr_t) "GPL";
    long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    if (fd < 0)
        return (uint64_t)errno;
    close((int)fd);
    return 0;
}

static void probe_live(uint64_t *to)
{
    struct perf_event_attr cycles = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
    struct perf_event_attr cycles_all = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
    struct perf_event_attr clock = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
    struct perf_event_attr clock_all = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);
    to[PROBE_CYCLES_TASK] = runs(cycles, 0, -1);
    to[PROBE_CYCLES_KERNEL] = runs(cycles_all, 0, -1);
    to[PROBE_CYCLES_CPU] = runs(cycles_all, -1, 0);
    to[PROBE_CLOCK_TASK] = runs(clock, 0, -1);
    to[PROBE_CLOCK_KERNEL] = runs(clock_all, 0, -1);
    to[PROBE_CLOCK_CPU] = runs(clock_all, -1, 0);
    to[PROBE_RDPMC] = probe_rdpmc();

    struct perf_event_attr regs = clock;
    regs.sample_period = 1000000;
    regs.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER;
    regs.sample_regs_user = 1ull << 8; /* one register that every 64-bit x86 and arm64 kernel knows */
    to[PROBE_USER_REGS] = opens(regs);

    struct perf_event_attr lbr = cycles;
    lbr.sample_period = 1000000;
    lbr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
    lbr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
    to[PROBE_LBR] = opens(lbr);

    struct perf_event_attr precise = cycles_all;
    precise.sample_period = 1000000;
    precise.sample_type = PERF_SAMPLE_IP;
    precise.precise_ip = 2;
    to[PROBE_PRECISE] = opens(precise);

    struct perf_event_attr trap = clock;
    trap.disabled = 1;
    trap.sample_period = 1000000;
    trap.sigtrap = 1;
    trap.remove_on_exec = 1;
    to[PROBE_SIGTRAP] = opens(trap);

    struct perf_event_attr breakpoint = event(PERF_TYPE_BREAKPOINT, 0, false);
    static char watched[8] __attribute__((aligned(8)));
    breakpoint.bp_type = 2; /* HW_BREAKPOINT_W */
    breakpoint.bp_addr = (uint64_t)(uintptr_t)watched;
    breakpoint.bp_len = 8;
    to[PROBE_BREAKPOINT] = opens(breakpoint);

    to[PROBE_BPF] = probe_bpf();
    libbpf_set_print(NULL);
    to[PROBE_BPF_LOOP] = to[PROBE_BPF] ? to[PROBE_BPF]
                         : libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 0
                             ? EOPNOTSUPP
                             : 0;
    arch_probe(to);
}

static void probe_recorded(const char *root, uint64_t *to)
{
    for (int p = 0; p < PROBE_CPUID_0A_EAX; p++)
        to[p] = ENOSYS;
    char path[PATH_MAX], line[160];
    snprintf(path, sizeof path, "%s/probes", root);
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        for (int p = 0; p < PROBES; p++)
            if (strcmp(line, names[p]) == 0)
                to[p] = strtoull(equals + 1, NULL, 0);
    }
    fclose(f);
}

void machine_gather_probes(struct machine *m)
{
    if (*m->root)
        probe_recorded(m->root, m->probes);
    else
        probe_live(m->probes);
}
