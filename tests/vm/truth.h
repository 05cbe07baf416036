/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs in this folder share: work whose counts are known, events, and assertions, one line each:
 * ASSERT name expected got ok|FAIL.
 *
 * They run in two places. In the emulated machine (CS_EXACT=1) a core retires exactly what the program says
 * and takes two cycles an instruction, so that swapped events show. On real hardware (make check-hw)
 * instructions are known to a small tolerance, and cycles within bounds that any core keeps. */
#ifndef CS_TESTS_VM_TRUTH_H
#define CS_TESTS_VM_TRUTH_H

#include "observer/source/rdpmc.h"
#include "tests/vm/spin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CYCLES_AN_INSTRUCTION cycles_an_instruction()
#define SLACK 4000.0 /* instructions in user mode at the edges of system calls */

extern int failures; /* defined by each program */

/* Of the emulated core. */
static inline double cycles_an_instruction(void)
{
    const char *said = getenv("CS_CYCLES_AN_INSTRUCTION");
    return said ? strtod(said, NULL) : 2;
}

static inline bool exact(void)
{
    const char *said = getenv("CS_EXACT");
    return said && *said == '1';
}

static inline void report(const char *name, double least, double most, double got)
{
    bool ok = got >= least && got <= most;
    if (least < most)
        printf("ASSERT %-44s %.0f..%.0f %.0f %s\n", name, least, most, got, ok ? "ok" : "FAIL");
    else
        printf("ASSERT %-44s %.0f %.0f %s\n", name, least, got, ok ? "ok" : "FAIL");
    fflush(stdout);
    failures += !ok;
}

static inline void expect(const char *name, double expected, double got, double tolerance)
{
    report(name, expected - tolerance, expected + tolerance, got);
}

/* Instructions: real machines add those of interrupts' edges, at most one in a thousand. */
static inline void expect_instructions(const char *name, double expected, double got, double tolerance)
{
    expect(name, expected, got, exact() ? tolerance : tolerance + expected / 1000);
}

/* Cycles of so many instructions: exact in emulation, between 1/8 and 20 an instruction elsewhere. */
static inline void expect_cycles(const char *name, double instructions, double got, double tolerance)
{
    if (exact())
        expect(name, CYCLES_AN_INSTRUCTION * instructions, got, tolerance);
    else
        report(name, instructions / 8, instructions * 20, got);
}

enum { CYCLES = PERF_COUNT_HW_CPU_CYCLES, INSTRUCTIONS = PERF_COUNT_HW_INSTRUCTIONS };

static inline int open_event(uint64_t config, pid_t pid, int group, void (*adjust)(struct perf_event_attr *))
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

/* Is there a PMU at all? Programs exit 77 where there is none. */
static inline bool has_pmu(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    else
        printf("skipped: no PMU (perf_event_open of instructions: %s)\n", strerror(errno));
    return fd >= 0;
}

struct reading {
    uint64_t value, enabled_ns, running_ns;
};

static inline struct reading read_event(int fd)
{
    struct reading r = {0};
    if (read(fd, &r, sizeof r) != sizeof r)
        memset(&r, 0, sizeof r);
    return r;
}

static inline void for_user_reading(struct perf_event_attr *attr)
{
    attr->config1 = CS_PMC_USER_ACCESS;
}

struct open_pmc {
    int fd;
    void *page;
    struct cs_pmc pmc;
};

static inline struct open_pmc open_pmc(uint64_t config, void (*adjust)(struct perf_event_attr *))
{
    struct open_pmc p = {.fd = open_event(config, 0, -1, adjust)};
    p.page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, p.fd, 0);
    if (p.page == MAP_FAILED) {
        printf("ASSERT map-event-%" PRIu64 " 0 %d FAIL %s\n", config, errno, strerror(errno));
        exit(1);
    }
    p.pmc.page = p.page;
    p.pmc.width = p.pmc.page->pmc_width;
    return p;
}

static inline void close_pmc(struct open_pmc *p)
{
    munmap(p->page, (size_t)sysconf(_SC_PAGESIZE));
    close(p->fd);
}

#endif
