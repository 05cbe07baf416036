/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this machine can measure: doctor.
 *
 * Files of this module:
 *   doctor            the subcommand doctor
 *   doctor_events     the events that can be counted
 *   doctor_rules      findings from what the processor has
 *   doctor_rules_kernel  findings from what the kernel permits
 *   doctor_rules_blocks  findings from what containers and security modules take away
 *   machine_blocks    seccomp, Yama, lockdown, hidden processes, cgroups
 *   rules             what these two share
 *   finding           one row of the answer
 *   machine           what the machine has, or had when recorded
 *   machine_file      a file of it
 *   machine_probes    what the kernel lets us open
 *   machine_topology  which CPUs go together
 *   arch              what only one architecture can tell
 *   arch_x86_64       of x86-64
 *   arch_other        of all others
 *
 * Facts about a machine, gathered and not judged: doctor_rules.c says what they mean.
 *
 * A machine can be recorded as a directory and read back elsewhere. So doctor is tested on machines that we
 * don't have. DIR/proc/..., DIR/sys/... are copies of the files of those names. DIR/probes has a line
 * "name=number" for each probe (what only asking the kernel or the CPU shows). DIR/topology.xml is hwloc's.
 * Probes that a record lacks count as ENOSYS. A topology may also come from HWLOC_SYNTHETIC or HWLOC_XMLFILE.
 */
#pragma once

#include "store/base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Asked of the kernel: 0 = works, else a positive errno. EBUSY also where an event opens but never gets a
 * counter. */
enum probe {
    PROBE_CYCLES_TASK,   /* hardware cycles of this thread, user space only */
    PROBE_CYCLES_KERNEL, /* and in the kernel */
    PROBE_CYCLES_CPU,    /* of a whole CPU */
    PROBE_CLOCK_TASK,    /* cpu-clock, the same three */
    PROBE_CLOCK_KERNEL,
    PROBE_CLOCK_CPU,
    PROBE_RDPMC,      /* cap_user_rdpmc in the mapped page of a counting event */
    PROBE_USER_REGS,  /* sampled user registers */
    PROBE_LBR,        /* branch stacks */
    PROBE_PRECISE,    /* PEBS or IBS: precise_ip 2 on cycles */
    PROBE_SIGTRAP,    /* a synchronous SIGTRAP on overflow: what bursts use */
    PROBE_BREAKPOINT, /* hardware breakpoints */
    PROBE_BPF,        /* loading a BPF program of the perf_event kind */
    PROBE_BPF_LOOP,   /* a loop by a helper: EOPNOTSUPP before Linux 5.17 */
    PROBE_CPUID_0A_EAX,
    PROBE_CPUID_0A_EDX, /* these three are register values */
    PROBE_CPUID_80000022_EBX,
    PROBES,
};

struct cpu_pair {
    unsigned target, observer;
    const char *by; /* "SMT sibling", "shares L2", "shares L3", "same package", "other package" */
};

struct machine {
    const char *root; /* "" = this machine */
    uint64_t probes[PROBES];

    char vendor[16], model_name[64];
    unsigned family, model, stepping;
    char flags[4096]; /* " fpu vme ... ", a blank before and after each */
    char pfm_name[48], pfm_description[64];
    unsigned pfm_counters, pfm_fixed;
    bool virtual_machine;
    char clocksource[32];
    double tsc_mhz; /* 0 unknown */

    char release[96];
    int paranoid;          /* INT_MIN unknown */
    long max_rate;         /* a second, 0 unknown */
    int rdpmc_file;        /* /sys/.../cpu/rdpmc, -1 = no such file */
    char pmu_devices[128]; /* "cpu", "cpu_core cpu_atom", "armv8_pmuv3_0", "" none */
    bool btf, bpf_interpreted, kprobes, nmi_watchdog;
    char offline[64];

    int seccomp;       /* 0 no filter, 1 strict, 2 a filter; -1 unknown */
    int ptrace_scope;  /* Yama's, 0 also where there is none */
    char lockdown[32]; /* "none", "integrity", "confidentiality"; "" no such thing */
    int hidepid;       /* of /proc: 0, 1, 2 or 4; -1 unknown */
    bool cgroup2;      /* unified cgroups */

    unsigned n_cpus, n_cores, n_packages, n_pairs;
    bool smt;
    struct cpu_pair *pairs; /* one a CPU that may run us, as far as a partner exists */
};

int machine_gather(struct machine *machine, const char *root, struct cs_error *err);
void machine_fini(struct machine *machine);
/* Writes what machine_gather(DIR) reads. */
int machine_record(const char *directory, struct cs_error *err);

bool machine_flag(const struct machine *machine, const char *flag);
const char *probe_name(enum probe probe);

/* The parts of machine_gather. */
void machine_gather_blocks(struct machine *machine);
void machine_gather_probes(struct machine *machine);
int machine_gather_topology(struct machine *machine, struct cs_error *err);
int machine_save_topology(const char *file, struct cs_error *err);
