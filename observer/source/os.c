/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/os.h"
#include "observer/source/clock.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "observer/source/os.skel.h"
#pragma GCC diagnostic pop

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct cs_os {
    struct os_bpf *bpf;
};

/* Runs on the CPU for a moment, so that its line is of now; 0 when the line then spoke of us. */
static int visit_cpu(unsigned cpu, const volatile struct cs_os_line *line)
{
    cpu_set_t before, there;
    CPU_ZERO(&there);
    CPU_SET(cpu, &there);
    if (sched_getaffinity(0, sizeof before, &before) < 0)
        return -errno;
    if (sched_setaffinity(0, sizeof there, &there) < 0)
        return -errno;
    int rc = -ESRCH;
    /* Whoever reads this runs there: if the line is kept, it names this process at that very moment. */
    for (int i = 0; i < 200 && rc; i++) {
        if (line->process == (unsigned)getpid())
            rc = 0;
        else /* a thread that was there already must leave and come back to be seen */
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    sched_setaffinity(0, sizeof before, &before);
    return rc;
}

/* Those that may be visited; none is an error. */
static int visit_cpus(struct cs_os *os, unsigned cpu)
{
    cpu_set_t ours;
    int rc = -EINVAL;
    if (cpu != CS_OS_EVERY_CPU)
        return visit_cpu(cpu, cs_os_line(os, cpu));
    if (sched_getaffinity(0, sizeof ours, &ours) < 0)
        return -errno;
    for (unsigned i = 0; i < CS_OS_CPUS_MAX; i++)
        if (CPU_ISSET(i, &ours) && (rc = visit_cpu(i, cs_os_line(os, i))) < 0)
            return rc;
    return rc;
}

int cs_os_open(unsigned cpu, bool syscalls, struct cs_os **out, struct cs_error *err)
{
    char where[32] = "each CPU";
    struct cs_os *os = calloc(1, sizeof *os);
    if (!os)
        return cs_fail(err, ENOMEM, "no memory for the os source");
    if (cpu != CS_OS_EVERY_CPU)
        snprintf(where, sizeof where, "CPU %u", cpu);
    libbpf_print_fn_t before = libbpf_set_print(NULL);
    errno = 0;
    os->bpf = os_bpf__open();
    int rc = os->bpf ? 0 : -errno;
    if (rc == 0) {
        os->bpf->rodata->target_cpu = cpu;
        os->bpf->rodata->syscalls = syscalls;
        bpf_program__set_autoload(os->bpf->progs.on_enter, syscalls);
        bpf_program__set_autoload(os->bpf->progs.on_exit, syscalls);
        bpf_program__set_autoload(os->bpf->progs.on_back,
                                  libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0);
        rc = os_bpf__load(os->bpf);
        /* Far apart: one CPU's count says nothing of another's. */
        for (unsigned i = 0; rc == 0 && i < CS_OS_CPUS_MAX; i++)
            os->bpf->bss->lines[i] =
                (struct cs_os_line){.thread_id = (unsigned long long)i << 54, .watched = ~0u};
        if (rc == 0)
            rc = os_bpf__attach(os->bpf);
    }
    libbpf_set_print(before);
    if (rc < 0) {
        cs_os_close(os);
        if (rc == -EPERM || rc == -EACCES)
            return cs_fail(err, EPERM,
                           "who runs on %s cannot be known without CAP_BPF and CAP_PERFMON (or root)", where);
        return cs_fail(err, -rc, "who runs on %s cannot be known: the kernel refuses the BPF program (%s)",
                       where, strerror(-rc));
    }
    rc = visit_cpus(os, cpu);
    if (rc < 0) {
        cs_os_close(os);
        return cs_fail(err, -rc,
                       rc == -ESRCH ? "who runs on %s is only known by ids of another PID namespace; observe "
                                      "from outside of the container"
                                    : "%s cannot be visited to see who runs there",
                       where);
    }
    *out = os;
    return 0;
}

void cs_os_close(struct cs_os *os)
{
    if (!os)
        return;
    os_bpf__destroy(os->bpf);
    free(os);
}

void cs_os_watch(struct cs_os *os, unsigned pid)
{
    for (unsigned i = 0; i < CS_OS_CPUS_MAX; i++)
        __atomic_store_n(&os->bpf->bss->lines[i].watched, pid, __ATOMIC_RELAXED);
}

const volatile struct cs_os_line *cs_os_line(const struct cs_os *os, unsigned cpu)
{
    return &os->bpf->bss->lines[cpu % CS_OS_CPUS_MAX];
}
