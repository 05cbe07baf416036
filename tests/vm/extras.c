/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only real hardware has: precise events, branch records, AnyThread. Each that is missing is a skip of
 * its own. Never run in emulation. */
#include "tests/vm/truth.h"

#include <pthread.h>
#include <sched.h>

int failures;

#define LOOP 50000000u
#define RING_PAGES 64

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static char *map_ring(int fd)
{
    char *map = fd < 0
                    ? MAP_FAILED
                    : mmap(NULL, (1 + RING_PAGES) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* Bytes of spin() that loop; the return is outside. */
static bool in_loop(uint64_t pc)
{
    uint64_t start = (uint64_t)(uintptr_t)spin;
    return pc >= start && pc < start + 32;
}

static int open_quietly(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    attr->size = sizeof *attr;
    attr->exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A precise sample has no skid: each lies on one of the loop's two instructions. */
static void precise_samples_lie_on_the_loop(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .config = CYCLES,
                                   .sample_period = 100003,
                                   .sample_type = PERF_SAMPLE_IP,
                                   .exclude_kernel = 1,
                                   .precise_ip = 2};
    int fd = open_quietly(&attr, 0, -1);
    char *map = map_ring(fd);
    if (!map) {
        printf("SKIP precise events: %s\n", strerror(errno));
        return;
    }
    spin(LOOP);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    const struct perf_event_mmap_page *control = (const void *)map;
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE), samples = 0, inside = 0,
             exact_ip = 0;
    for (uint64_t at = 0; at < head && head < RING_PAGES * page_bytes();) {
        const struct perf_event_header *h = (const void *)(map + page_bytes() + at);
        uint64_t pc;
        memcpy(&pc, h + 1, sizeof pc);
        if (h->type == PERF_RECORD_SAMPLE) {
            samples++;
            inside += in_loop(pc);
            exact_ip += (h->misc & PERF_RECORD_MISC_EXACT_IP) != 0;
        }
        at += h->size;
    }
    report("precise-samples", 1, 1e9, (double)samples);
    report("precise-samples-in-the-loop", 0.98 * (double)samples, (double)samples, (double)inside);
    report("precise-samples-marked-exact", 0.9 * (double)samples, (double)samples, (double)exact_ip);
    munmap(map, (1 + RING_PAGES) * page_bytes());
    close(fd);
}

/* All branch records of a loop with one branch are that branch. */
static void branch_records_are_the_loop(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .config = CYCLES,
                                   .sample_period = 1000003,
                                   .sample_type = PERF_SAMPLE_BRANCH_STACK,
                                   .exclude_kernel = 1,
                                   .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY};
    int fd = open_quietly(&attr, 0, -1);
    char *map = map_ring(fd);
    if (!map) {
        printf("SKIP branch records: %s\n", strerror(errno));
        return;
    }
    spin(LOOP);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    const struct perf_event_mmap_page *control = (const void *)map;
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE), records = 0, inside = 0;
    for (uint64_t at = 0; at < head && head < RING_PAGES * page_bytes();) {
        const struct perf_event_header *h = (const void *)(map + page_bytes() + at);
        uint64_t n = 0;
        memcpy(&n, h + 1, sizeof n);
        for (uint64_t i = 0; h->type == PERF_RECORD_SAMPLE && i < n; i++) {
            struct perf_branch_entry e;
            memcpy(&e, (const char *)(h + 1) + 8 + i * sizeof e, sizeof e);
            records++;
            inside += in_loop(e.from) && in_loop(e.to);
        }
        at += h->size;
    }
    report("branch-records", 1, 1e9, (double)records);
    report("branch-records-in-the-loop", 0.95 * (double)records, (double)records, (double)inside);
    munmap(map, (1 + RING_PAGES) * page_bytes());
    close(fd);
}

static int sibling_of(int cpu)
{
    char path[96], text[64] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "re");
    int a = -1, b = -1;
    char sign;
    if (f && fgets(text, sizeof text, f) && sscanf(text, "%d%c%d", &a, &sign, &b) < 3)
        b = -1;
    if (f)
        fclose(f);
    return b < 0 ? -1 : a == cpu ? b : a;
}

static void *spin_on(void *cpu)
{
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET((unsigned)(intptr_t)cpu, &there);
    pthread_setaffinity_np(pthread_self(), sizeof there, &there);
    spin(LOOP);
    return NULL;
}

/* Intel before Ice Lake: bit 21 of the event counts both hardware threads of the core. */
static void any_thread_counts_the_sibling(void)
{
    int cpu = sched_getcpu(), sibling = sibling_of(cpu);
    struct perf_event_attr attr = {.type = PERF_TYPE_RAW, .config = 0x00c0 | 1u << 21, .exclude_kernel = 1};
    int fd = sibling < 0 ? -1 : open_quietly(&attr, -1, cpu);
    if (fd < 0) {
        printf("SKIP AnyThread: %s\n", sibling < 0 ? "one hardware thread a core" : strerror(errno));
        return;
    }
    uint64_t before = 0, after = 0;
    pthread_t thread;
    bool whole = read(fd, &before, sizeof before) == sizeof before;
    pthread_create(&thread, NULL, spin_on, (void *)(intptr_t)sibling);
    pthread_join(thread, NULL);
    whole &= read(fd, &after, sizeof after) == sizeof after;
    expect("any-thread-read-is-whole", 1, whole, 0);
    report("any-thread-counts-the-sibling", 1.99 * LOOP, 2.5 * LOOP, (double)(after - before));
    close(fd);
}

int main(void)
{
    if (!has_pmu())
        return 77;
    precise_samples_lie_on_the_loop();
    branch_records_are_the_loop();
    any_thread_counts_the_sibling();
    return failures != 0;
}
