/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shipped user-space reader (observer/source/rdpmc.h) against read() and known work, on one CPU. The folder
 * tests/vm/broken builds this with readers that are wrong in one way each: some assertion here must catch every one
 * of them.
 */
#include "tests/vm/truth.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

int failures;

#define LOOP 5000000u

static void for_sampling(struct perf_event_attr *attr)
{
    attr->config1 = CS_PMC_USER_ACCESS;
    attr->sample_period = 100000;
}

static void for_frequent_sampling(struct perf_event_attr *attr)
{
    attr->config1 = CS_PMC_USER_ACCESS;
    attr->sample_period = exact() ? 5001 : 200003;
}

/* Reads until whole; counts the readings that were not. A reader that never comes to an end has failed. */
static uint64_t whole_read(const struct open_pmc *p, unsigned *torn)
{
    for (unsigned tries = 0; tries < 1000000; tries++) {
        bool whole = true;
        uint64_t value = cs_pmc_read(&p->pmc, &whole);
        if (whole)
            return value;
        ++*torn;
    }
    printf("ASSERT reader-comes-to-an-end 1 0 FAIL\n");
    exit(1);
}

static void user_reader_equals_read(void)
{
    struct open_pmc p = open_pmc(INSTRUCTIONS, for_user_reading), c = open_pmc(CYCLES, for_user_reading);
    expect("user-access-is-offered", 1, p.pmc.page->cap_user_rdpmc, 0);
    unsigned torn = 0;
    uint64_t i0 = whole_read(&p, &torn), c0 = whole_read(&c, &torn);
    spin(LOOP);
    uint64_t c1 = whole_read(&c, &torn), i1 = whole_read(&p, &torn);
    expect_instructions("user-read-instructions", 2.0 * LOOP, (double)(i1 - i0), 300);
    expect_cycles("user-read-cycles", 2.0 * LOOP, (double)(c1 - c0), 600);
    uint64_t before = read_event(p.fd).value, user = whole_read(&p, &torn), after = read_event(p.fd).value;
    expect("user-read-lies-between-two-reads", 1, before <= user && user <= after, 0);
    expect("user-read-equals-read", 0, (double)(after - user), 600);
    close_pmc(&p);
    close_pmc(&c);
}

/* Another process takes the same CPU in turn: the counter is taken off and put back, often elsewhere. */
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
    expect_instructions("descheduled-instructions", 2.0 * 5000 * 2000, (double)(last - first), 400000);
    close_pmc(&p);
}

/* A sampling event runs from -period to 0 and wraps there: every overflow is a wrap of what the instruction
 * returns. */
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
    expect_cycles("wrapped-cycles", 2.0 * 1000 * 3000, (double)(last - first), 700000);
    expect("wrapped-equals-read", 0, (double)(by_kernel - last), exact() ? 600 : 20000);
    close_pmc(&p);
}

/* Overflows so often that many fall between the reader's first and last look at the page: the kernel then
 * rewrites counter and offset in the middle of a reading. Those readings must be refused; all others are
 * right. */
static void refuses_what_changed_meanwhile(void)
{
    struct open_pmc p = open_pmc(CYCLES, for_frequent_sampling);
    unsigned torn = 0, backward = 0;
    uint64_t last = whole_read(&p, &torn), worst = 0;
    for (int i = 0; i < 400000; i++) {
        bool whole = true;
        uint64_t now = cs_pmc_read(&p.pmc, &whole);
        torn += !whole;
        if (!whole)
            continue;
        backward += now < last;
        if (now > last && now - last > worst)
            worst = now - last;
        last = now;
    }
    expect("interrupted-never-backward", 0, backward, 0);
    report("interrupted-readings-were-met", 1, exact() ? 400000 : 1e9, torn);
    if (exact())
        report("interrupted-longest-step-cycles", 1, 4000, (double)worst);
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

#ifdef __riscv
/* The emulator counts an event in one counter that can overflow; that of cycles in all modes is another. */
static void for_third_counter(struct perf_event_attr *attr)
{
    attr->exclude_kernel = attr->exclude_hv = 0;
}
#define THIRD_TOLERANCE 800000 /* the kernel's ticks */
#else
#define for_third_counter for_user_reading
#define THIRD_TOLERANCE 1200
#endif

/* Two counters of one kind and one of the other: instructions and cycles differ, so swapped indices show. The
 * second event of cycles has no fixed counter left for it. */
static void each_index_reads_its_own_counter(void)
{
    struct open_pmc a = open_pmc(INSTRUCTIONS, for_user_reading), b = open_pmc(CYCLES, for_user_reading),
                    c = open_pmc(CYCLES, for_third_counter);
    unsigned torn = 0;
    uint64_t a0 = whole_read(&a, &torn), b0 = whole_read(&b, &torn), c0 = whole_read(&c, &torn);
    spin(LOOP);
    uint64_t a1 = whole_read(&a, &torn), b1 = whole_read(&b, &torn), c1 = whole_read(&c, &torn);
    expect("indices-differ", 1,
           a.pmc.page->index != b.pmc.page->index && b.pmc.page->index != c.pmc.page->index, 0);
    expect_instructions("first-counter-has-instructions", 2.0 * LOOP, (double)(a1 - a0), 600);
    expect_cycles("second-counter-has-cycles", 2.0 * LOOP, (double)(b1 - b0), 1200);
    expect_cycles("third-counter-has-cycles", 2.0 * LOOP, (double)(c1 - c0), THIRD_TOLERANCE);
    close_pmc(&a);
    close_pmc(&b);
    close_pmc(&c);
}

int main(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    if (!has_pmu())
        return 77;
    sched_setaffinity(0, sizeof here, &here);
    user_reader_equals_read();
    disabled_counter_gives_no_sample();
    each_index_reads_its_own_counter();
    survives_being_descheduled();
    survives_a_wrap();
    refuses_what_changed_meanwhile();
    return failures != 0;
}
