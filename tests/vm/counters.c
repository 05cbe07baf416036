/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs inside the test machine: real counters against exact truth. Under icount an emulated core retires
 * exactly what the program says, and counts two cycles an instruction, so that swapped events show. Prints a
 * line an assertion: ASSERT name expected got ok|FAIL. The reader under test is the shipped one,
 * observer/rdpmc.h. */
#include "dte/dte.h"
#include "observer/rdpmc.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *name, double expected, double got, double tolerance)
{
    bool ok = got >= expected - tolerance && got <= expected + tolerance;
    printf("ASSERT %-44s %16.0f %16.0f %s\n", name, expected, got, ok ? "ok" : "FAIL");
    fflush(stdout);
    failures += !ok;
}

/* Exactly 2 * n instructions. */
static __attribute__((noinline)) void spin(uint64_t n)
{
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
}

enum { CYCLES = PERF_COUNT_HW_CPU_CYCLES, INSTRUCTIONS = PERF_COUNT_HW_INSTRUCTIONS };

static int open_event(uint64_t config, pid_t pid, int group, void (*adjust)(struct perf_event_attr *))
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = config,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    if (adjust)
        adjust(&attr);
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        printf("ASSERT open-event-%" PRIu64 " 0 %d FAIL %s\n", config, errno, strerror(errno));
        failures++;
    }
    return fd;
}

struct reading {
    uint64_t value, enabled_ns, running_ns;
};

static struct reading read_event(int fd)
{
    struct reading r = {0};
    if (read(fd, &r, sizeof r) != sizeof r)
        memset(&r, 0, sizeof r);
    return r;
}

static double scaled(struct reading r)
{
    return (double)r.value * (double)r.enabled_ns / (double)r.running_ns;
}

static void for_user_reading(struct perf_event_attr *attr)
{
    attr->config1 = CS_PMC_USER_ACCESS;
}

static void for_sampling(struct perf_event_attr *attr)
{
    attr->config1 = CS_PMC_USER_ACCESS;
    attr->sample_period = 100000;
}

static void inherited(struct perf_event_attr *attr)
{
    attr->inherit = 1;
}

/* ---- counting ---- */

#define LOOP 10000000u
#define SLACK 4000.0 /* instructions of the system call's edge in user space */

static void counts_a_known_loop(void)
{
    int instructions = open_event(INSTRUCTIONS, 0, -1, NULL), cycles = open_event(CYCLES, 0, -1, NULL);
    uint64_t i0 = read_event(instructions).value, c0 = read_event(cycles).value;
    spin(LOOP);
    uint64_t c1 = read_event(cycles).value, i1 = read_event(instructions).value;
    expect("instructions-of-a-loop", 2.0 * LOOP, (double)(i1 - i0), SLACK);
    expect("cycles-of-a-loop", 4.0 * LOOP, (double)(c1 - c0), 2 * SLACK);
    close(instructions);
    close(cycles);
}

static void group_format(struct perf_event_attr *attr)
{
    attr->read_format = PERF_FORMAT_GROUP;
}

static void counts_in_a_group(void)
{
    int leader = open_event(CYCLES, 0, -1, group_format),
        member = open_event(INSTRUCTIONS, 0, leader, group_format);
    uint64_t a[3] = {0}, b[3] = {0};
    bool whole = read(leader, a, sizeof a) == sizeof a;
    spin(LOOP);
    whole &= read(leader, b, sizeof b) == sizeof b;
    expect("group-has-two-members", 2, (double)b[0], 0);
    expect("group-read-is-whole", 1, whole, 0);
    expect("group-cycles-an-instruction-x1000", 2000, 1000.0 * (double)(b[1] - a[1]) / (double)(b[2] - a[2]),
           1);
    close(member);
    close(leader);
}

static void multiplexes_with_scaling(void)
{
    enum { EVENTS = 12 };
    int fds[EVENTS];
    for (int i = 0; i < EVENTS; i++)
        fds[i] = open_event(i % 2 ? CYCLES : INSTRUCTIONS, 0, -1, NULL);
    for (int i = 0; i < 40; i++)
        spin(LOOP);
    double worst_instructions = 0, worst_cycles = 0;
    bool multiplexed = false;
    for (int i = 0; i < EVENTS; i++) {
        struct reading r = read_event(fds[i]);
        multiplexed |= r.running_ns < r.enabled_ns;
        double error = scaled(r) / ((i % 2 ? 4.0 : 2.0) * 40 * LOOP) - 1,
               *worst = i % 2 ? &worst_cycles : &worst_instructions;
        if (error * error > *worst * *worst)
            *worst = error;
        close(fds[i]);
    }
    expect("twelve-events-share-the-counters", 1, multiplexed, 0);
    expect("multiplexed-instructions-worst-error-ppm", 0, 1e6 * worst_instructions, 5000);
    expect("multiplexed-cycles-worst-error-ppm", 0, 1e6 * worst_cycles, 5000);
}

static void *spin_thread(void *n)
{
    spin((uint64_t)(uintptr_t)n);
    return NULL;
}

static void counts_per_thread_and_inherited(void)
{
    int own = open_event(INSTRUCTIONS, 0, -1, NULL), all = open_event(INSTRUCTIONS, 0, -1, inherited);
    uint64_t own0 = read_event(own).value, all0 = read_event(all).value;
    pthread_t thread;
    pthread_create(&thread, NULL, spin_thread, (void *)(uintptr_t)LOOP);
    pthread_join(thread, NULL);
    expect("other-thread-is-not-counted", 0, (double)(read_event(own).value - own0), 100000);
    expect("inherited-thread-is-counted", 2.0 * LOOP, (double)(read_event(all).value - all0), 100000);
    close(own);
    close(all);
}

static void counts_an_attached_process(void)
{
    int go[2];
    if (pipe(go) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        char c;
        if (read(go[0], &c, 1) == 1)
            spin(LOOP);
        _exit(0);
    }
    int fd = open_event(INSTRUCTIONS, child, -1, NULL);
    if (write(go[1], "g", 1) != 1)
        failures++;
    waitpid(child, NULL, 0);
    expect("attached-process", 2.0 * LOOP, (double)read_event(fd).value, SLACK);
    close(fd);
    close(go[0]);
    close(go[1]);
}

/* ---- the shipped user-space reader ---- */

struct open_pmc {
    int fd;
    void *page;
    struct cs_pmc pmc;
};

static struct open_pmc open_pmc(uint64_t config, void (*adjust)(struct perf_event_attr *))
{
    struct open_pmc p = {.fd = open_event(config, 0, -1, adjust)};
    p.page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, p.fd, 0);
    p.pmc.page = p.page;
    p.pmc.width = p.page == MAP_FAILED ? 64 : p.pmc.page->pmc_width;
    return p;
}

static void close_pmc(struct open_pmc *p)
{
    munmap(p->page, (size_t)sysconf(_SC_PAGESIZE));
    close(p->fd);
}

/* Reads until whole; counts the readings that were not. */
static uint64_t whole_read(const struct open_pmc *p, unsigned *torn)
{
    for (;;) {
        bool whole = true;
        uint64_t value = cs_pmc_read(&p->pmc, &whole);
        if (whole)
            return value;
        ++*torn;
    }
}

static void user_reader_equals_read(void)
{
    struct open_pmc p = open_pmc(INSTRUCTIONS, for_user_reading), c = open_pmc(CYCLES, for_user_reading);
    expect("user-access-is-offered", 1, p.pmc.page->cap_user_rdpmc, 0);
    unsigned torn = 0;
    uint64_t i0 = whole_read(&p, &torn), c0 = whole_read(&c, &torn);
    spin(LOOP);
    uint64_t c1 = whole_read(&c, &torn), i1 = whole_read(&p, &torn);
    expect("user-read-instructions", 2.0 * LOOP, (double)(i1 - i0), 300);
    expect("user-read-cycles", 4.0 * LOOP, (double)(c1 - c0), 600);
    uint64_t by_user = whole_read(&p, &torn), by_kernel = read_event(p.fd).value;
    expect("user-read-equals-read", 0, (double)(by_kernel - by_user), 600);
    close_pmc(&p);
    close_pmc(&c);
}

/* Another process takes the only CPU in turn: the counter is taken off and put back, often with another
 * index. */
static void survives_being_descheduled(void)
{
    pid_t rival = fork();
    if (rival == 0)
        for (;;)
            spin(LOOP);
    struct open_pmc p = open_pmc(INSTRUCTIONS, for_user_reading);
    unsigned torn = 0, backward = 0;
    uint64_t first = whole_read(&p, &torn), last = first;
    for (int i = 0; i < 2000; i++) {
        spin(5000);
        uint64_t now = whole_read(&p, &torn);
        backward += now < last;
        last = now;
    }
    uint64_t by_kernel = read_event(p.fd).value;
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    expect("descheduled-never-backward", 0, backward, 0);
    expect("descheduled-equals-read", 0, (double)(by_kernel - last), 600);
    expect("descheduled-instructions", 2.0 * 5000 * 2000, (double)(last - first), 400000);
    close_pmc(&p);
}

/* A sampling event runs from -period to 0 and wraps there: every overflow is a wrap of what mrs returns. */
static void survives_a_wrap(void)
{
    struct open_pmc p = open_pmc(CYCLES, for_sampling);
    unsigned torn = 0, backward = 0;
    uint64_t first = whole_read(&p, &torn), last = first;
    for (int i = 0; i < 3000; i++) {
        spin(1000);
        uint64_t now = whole_read(&p, &torn);
        backward += now < last;
        last = now;
    }
    uint64_t by_kernel = read_event(p.fd).value;
    expect("wrapped-never-backward", 0, backward, 0);
    expect("wrapped-cycles-x1000-of-known", 1000, 1000.0 * (double)(last - first) / (4.0 * 1000 * 3000), 60);
    expect("wrapped-equals-read", 0, (double)(by_kernel - last), 600);
    close_pmc(&p);
}

/* A counter that is off the hardware has no index: the sample is dropped, not zero. */
static void disabled_counter_gives_no_sample(void)
{
    struct open_pmc p = open_pmc(INSTRUCTIONS, for_user_reading);
    ioctl(p.fd, PERF_EVENT_IOC_DISABLE, 0);
    bool whole = true;
    (void)cs_pmc_read(&p.pmc, &whole);
    expect("disabled-counter-is-not-whole", 0, whole, 0);
    close_pmc(&p);
}

/* More events of the same kind than counters: some index must be other than the first one's. */
static void each_index_reads_its_own_counter(void)
{
    struct open_pmc a = open_pmc(INSTRUCTIONS, for_user_reading), b = open_pmc(CYCLES, for_user_reading),
                    c = open_pmc(INSTRUCTIONS, for_user_reading);
    unsigned torn = 0;
    uint64_t a0 = whole_read(&a, &torn), b0 = whole_read(&b, &torn), c0 = whole_read(&c, &torn);
    spin(LOOP);
    uint64_t a1 = whole_read(&a, &torn), b1 = whole_read(&b, &torn), c1 = whole_read(&c, &torn);
    expect("indices-differ", 1,
           a.pmc.page->index != b.pmc.page->index && b.pmc.page->index != c.pmc.page->index, 0);
    expect("first-counter", 2.0 * LOOP, (double)(a1 - a0), 600);
    expect("second-counter", 4.0 * LOOP, (double)(b1 - b0), 1200);
    expect("third-counter", 2.0 * LOOP, (double)(c1 - c0), 600);
    close_pmc(&a);
    close_pmc(&b);
    close_pmc(&c);
}

int main(void)
{
    counts_a_known_loop();
    counts_in_a_group();
    multiplexes_with_scaling();
    counts_per_thread_and_inherited();
    counts_an_attached_process();
    user_reader_equals_read();
    survives_being_descheduled();
    survives_a_wrap();
    disabled_counter_gives_no_sample();
    each_index_reads_its_own_counter();
    return failures != 0;
}
