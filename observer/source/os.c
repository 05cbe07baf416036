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
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct cs_os {
    struct os_bpf *bpf;
    struct cs_os_line *line;
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

int cs_os_open(unsigned cpu, bool syscalls, struct cs_os **out, struct cs_error *err)
{
    struct cs_os *os = calloc(1, sizeof *os);
    if (!os)
        return cs_fail(err, ENOMEM, "no memory for the os source");
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
        if (rc == 0)
            rc = os_bpf__attach(os->bpf);
    }
    libbpf_set_print(before);
    if (rc < 0) {
        cs_os_close(os);
        if (rc == -EPERM || rc == -EACCES)
            return cs_fail(err, EPERM,
                           "who runs on CPU %u cannot be known without CAP_BPF and CAP_PERFMON (or root)",
                           cpu);
        return cs_fail(err, -rc,
                       "who runs on CPU %u cannot be known: the kernel refuses the BPF program (%s)", cpu,
                       strerror(-rc));
    }
    os->line = &os->bpf->bss->line;
    rc = visit_cpu(cpu, os->line);
    if (rc < 0) {
        cs_os_close(os);
        return cs_fail(err, -rc,
                       rc == -ESRCH
                           ? "who runs on CPU %u is only known by ids of another PID namespace; observe "
                             "from outside of the container"
                           : "CPU %u cannot be visited to see who runs there",
                       cpu);
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
    __atomic_store_n(&os->line->watched, pid, __ATOMIC_RELAXED);
}

const volatile struct cs_os_line *cs_os_line(const struct cs_os *os)
{
    return os->line;
}
