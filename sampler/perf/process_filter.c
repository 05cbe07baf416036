/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children of chosen processes are added by the kernel from the moment their parent's byte is set. Those that were
 * there before are looked for. One that is being started at that moment may be seen by neither, hence a second look
 * once the handlers that ran have ended. */
#include "sampler/perf/process_filter.h"
#include "sampler/perf/cpus.h"
#include "sampler/perf/process_bytes.h"
#include "sampler/perf/target.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* generated code */
#include "sampler/perf/process_filter.skel.h"
#pragma GCC diagnostic pop

#include <assert.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INIT_PID_NAMESPACE 0xEFFFFFFCUL
#define BYTES (CS_PROCESS_WORDS * sizeof(__u64))

struct cs_process_filter {
    struct process_filter_bpf *bpf;
    __u64 *chosen;
};

/* Events of CPUs are what this is for. */
static int may_watch_cpus(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .disabled = 1,
                                   .sample_period = 1000000000};
    struct cs_cpus cpus;
    int code = cs_cpus_open(&cpus), fd = -1;
    if (code == 0) {
        fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpus.cpu[0].number, -1, PERF_FLAG_FD_CLOEXEC);
        code = fd < 0 ? -errno : 0;
        cs_cpus_close(&cpus);
    }
    if (fd >= 0)
        close(fd);
    return code;
}

static int load(struct cs_process_filter *f)
{
    libbpf_print_fn_t before = libbpf_set_print(NULL); /* errors come back as numbers */
    f->bpf = process_filter_bpf__open();
    int rc = f->bpf ? process_filter_bpf__load(f->bpf) : -errno;
    if (rc == 0)
        rc = process_filter_bpf__attach(f->bpf); /* the two tracepoints */
    libbpf_set_print(before);
    if (rc < 0)
        return rc;
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(f->bpf->maps.chosen), 0);
    f->chosen = at == MAP_FAILED ? NULL : at;
    return f->chosen ? 0 : -errno;
}

int cs_process_filter_open(struct cs_process_filter **out, struct cs_error *err)
{
    struct stat namespace;
    *out = NULL;
    /* In a container's PID namespace the program would see other PIDs than we do. */
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INIT_PID_NAMESPACE)
        return cs_fail(err, ENOTSUP, "processes can't be chosen by BPF within a PID namespace");
    struct cs_process_filter *f = calloc(1, sizeof *f);
    int rc = f ? may_watch_cpus() : -ENOMEM;
    if (rc == 0)
        rc = load(f);
    if (rc < 0) {
        cs_process_filter_close(f);
        return cs_fail(err, -rc, "processes can't be chosen by BPF (%s)", strerror(-rc));
    }
    *out = f;
    return 0;
}

void cs_process_filter_close(struct cs_process_filter *f)
{
    if (!f)
        return;
    if (f->chosen)
        munmap(f->chosen, BYTES);
    process_filter_bpf__destroy(f->bpf);
    free(f);
}

static void set(struct cs_process_filter *f, pid_t pid)
{
    *cs_process_byte(&f->chosen[cs_process_word((__u32)pid)], (__u32)pid) = 0xff;
}

static bool has(const struct cs_process_filter *f, pid_t pid)
{
    return __atomic_load_n(&f->chosen[cs_process_word((__u32)pid)], __ATOMIC_RELAXED) &
           cs_process_bit((__u32)pid);
}

/* One look. A process is chosen before its children are asked for. True: some weren't yet. */
static bool look(struct cs_process_filter *f, pid_t pid, int *n)
{
    pid_t *processes;
    bool fresh = false;
    set(f, pid);
    *n = cs_processes_below(pid, &processes);
    for (int i = 0; i < *n; i++) {
        fresh |= !has(f, processes[i]);
        set(f, processes[i]);
    }
    if (*n > 0)
        free(processes);
    return fresh;
}

int cs_process_filter_choose(struct cs_process_filter *f, pid_t pid)
{
    assert(pid > 0);
    int n;
    while (look(f, pid, &n))
        ;
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    while (look(f, pid, &n))
        ;
    return n;
}

void cs_process_filter_choose_at_exec(struct cs_process_filter *f, pid_t pid)
{
    __atomic_store_n(&f->bpf->bss->chosen_at_exec, (__u32)pid, __ATOMIC_RELEASE);
}

int cs_process_filter_attach(const struct cs_process_filter *f, int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(f->bpf->progs.pass)) == 0 ? 0 : -errno;
}

int cs_process_filter_map(const struct cs_process_filter *f)
{
    return bpf_map__fd(f->bpf->maps.chosen);
}
