/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shipped counter-reading code on an emulated PMU. It has perf mmap pages in ordinary memory, and a
 * SIGSEGV handler that executes `rdpmc` from a scripted counter. The instruction faults where CR4.PCE is
 * clear, or no PMU is there. The reader must be right or say that it could not read; it must never be
 * wrong. */

#include "dte/dte.h"
#include "observer/loop/loop.h"
#include "observer/source/rdpmc.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define COUNTERS 4

/* ---- the machine ---- */
static struct {
    uint64_t raw[COUNTERS]; /* what the hardware counter holds, `width` bits */
    unsigned width;
    uint64_t step;           /* added at each rdpmc of a counter */
    unsigned executed;       /* rdpmc instructions */
    void (*meanwhile)(void); /* called in the middle of a reading: what the kernel does to the page */
} pmu;

static void execute_rdpmc(int number, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    const uint8_t *at = (const uint8_t *)c->uc_mcontext.gregs[REG_RIP];
    (void)info;
    if (at[0] != 0x0f || at[1] != 0x33) {
        signal(number, SIG_DFL);
        return;
    }
    uint32_t index = (uint32_t)c->uc_mcontext.gregs[REG_RCX];
    if (index >= COUNTERS)
        _exit(99); /* a reader that asks for a counter that isn't there */
    uint64_t mask = ~0ull >> (64 - pmu.width), value = pmu.raw[index] & mask;
    pmu.raw[index] = (pmu.raw[index] + pmu.step) & mask;
    pmu.executed++;
    c->uc_mcontext.gregs[REG_RAX] = (greg_t)(value & 0xffffffff);
    c->uc_mcontext.gregs[REG_RDX] = (greg_t)(value >> 32);
    c->uc_mcontext.gregs[REG_RIP] += 2;
    if (pmu.meanwhile)
        pmu.meanwhile();
}

/* ---- the kernel's side of perf mmap pages ---- */
static struct perf_event_mmap_page pages[COUNTERS];

/* Odd while the page changes. In order with the change, as the kernel's barriers see to: a reader on another
 * processor must not see half of a change under an even number. */
static void begin_or_end_change(unsigned page)
{
    __atomic_fetch_add(&pages[page].lock, 1, __ATOMIC_SEQ_CST);
}

/* The event counted `events` so far and now sits in hardware counter `index`, whose raw value is `raw`. The
 * kernel stores offset so that offset + sign-extended raw = events. */
static void schedule(unsigned page, unsigned index, uint64_t raw, uint64_t events)
{
    uint64_t mask = ~0ull >> (64 - pmu.width);
    unsigned unused = 64 - pmu.width;
    begin_or_end_change(page);
    pmu.raw[index] = raw & mask;
    pages[page].offset = (int64_t)(events - (uint64_t)((int64_t)((raw & mask) << unused) >> unused));
    pages[page].index = index + 1;
    begin_or_end_change(page);
}

static void deschedule(unsigned page)
{
    begin_or_end_change(page);
    pages[page].index = 0;
    begin_or_end_change(page);
}

static int fresh_machine(void **state)
{
    (void)state;
    memset(&pmu, 0, sizeof pmu);
    memset(pages, 0, sizeof pages);
    pmu.width = 48;
    return 0;
}

/* A machine with a PMU executes the instruction: nothing to emulate, and the scripts would not be followed.
 */
static bool emulated(void)
{
    struct cs_pmc pmc = {.page = &pages[0], .width = 48};
    bool whole = true;
    /* Here and not in the set-up: the test framework has its own handler around each test. */
    struct sigaction action = {.sa_sigaction = execute_rdpmc, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    schedule(0, 0, 1234, 1234);
    unsigned before = pmu.executed;
    uint64_t seen = cs_pmc_read(&pmc, &whole);
    return pmu.executed == before + 1 && seen == 1234;
}

TEST(reads_what_was_counted)
{
    if (!emulated())
        skip();
    struct cs_pmc pmc = {.page = &pages[0], .width = 48};
    bool whole = true;
    schedule(0, 2, 0x123456789abc, 7000000000ull);
    assert_int_equal(cs_pmc_read(&pmc, &whole), 7000000000ull);
    assert_true(whole);
}

static void change_over_a_wrap_is_right(unsigned width)
{
    struct cs_pmc pmc = {.page = &pages[0], .width = width};
    pmu.width = width;
    pmu.step = 1000;
    uint64_t top = 1ull << width;
    /* Sign-extended, a counter wraps at half its range as well as at the end: both must be seamless once the
     * kernel has brought the offset up to date, and one modulo 2^width before. */
    for (unsigned k = 0; k < 2; k++) {
        uint64_t edge = k ? top : top / 2;
        bool whole = true;
        schedule(0, 1, edge - 2500, 1000000);
        uint64_t before = cs_pmc_read(&pmc, &whole);
        for (unsigned i = 0; i < 5; i++) {
            uint64_t now = cs_pmc_read(&pmc, &whole);
            assert_true(whole);
            assert_int_equal((now - before) << (64 - width) >> (64 - width), 1000);
            before = now;
        }
    }
}

TEST(counter_wraps_at_40_bits)
{
    if (!emulated())
        skip();
    change_over_a_wrap_is_right(40);
}

TEST(counter_wraps_at_48_bits)
{
    if (!emulated())
        skip();
    change_over_a_wrap_is_right(48);
}

TEST(descheduled_counter_is_unread_and_not_touched)
{
    if (!emulated())
        skip();
    struct cs_pmc pmc = {.page = &pages[0], .width = 48};
    bool whole = true;
    schedule(0, 0, 5000, 5000);
    deschedule(0);
    unsigned executed = pmu.executed;
    cs_pmc_read(&pmc, &whole);
    assert_false(whole);
    assert_int_equal(pmu.executed, executed);
}

static void kernel_moves_it(void)
{
    pmu.meanwhile = NULL;
    schedule(0, 3, 99, 6000);
}

TEST(page_that_changes_in_mid_read_is_unread)
{
    if (!emulated())
        skip();
    struct cs_pmc pmc = {.page = &pages[0], .width = 48};
    bool whole = true;
    schedule(0, 0, 5000, 5000);
    pmu.meanwhile = kernel_moves_it;
    cs_pmc_read(&pmc, &whole);
    assert_false(whole);
    whole = true;
    assert_int_equal(cs_pmc_read(&pmc, &whole), 6000); /* and the next one is right again */
    assert_true(whole);
}

TEST(page_that_is_being_written_is_unread)
{
    if (!emulated())
        skip();
    struct cs_pmc pmc = {.page = &pages[0], .width = 48};
    bool whole = true;
    schedule(0, 0, 5000, 5000);
    pages[0].lock++; /* odd: the kernel is in the middle */
    cs_pmc_read(&pmc, &whole);
    assert_false(whole);
}

TEST(swapped_counters_keep_their_events)
{
    if (!emulated())
        skip();
    struct cs_pmc cycles = {.page = &pages[0], .width = 48}, instructions = {.page = &pages[1], .width = 48};
    bool whole = true;
    schedule(0, 0, 1000, 1000);
    schedule(1, 1, 70000, 70000);
    assert_int_equal(cs_pmc_read(&cycles, &whole), 1000);
    assert_int_equal(cs_pmc_read(&instructions, &whole), 70000);
    schedule(0, 1, 42, 1500); /* the kernel swaps them: other hardware counters, other raw values */
    schedule(1, 0, 43, 70900);
    assert_int_equal(cs_pmc_read(&cycles, &whole), 1500);
    assert_int_equal(cs_pmc_read(&instructions, &whole), 70900);
    assert_true(whole);
}

/* What the core counted less what the observer did of it, each on a counter of its own. */
TEST(own_part_is_taken_off)
{
    if (!emulated())
        skip();
    uint32_t sequence = 0;
    struct cs_pmc own = {.page = &pages[1], .width = 48},
                  target = {.page = &pages[0], .width = 48, .own = &own, .sequence = &sequence};
    bool whole = true;
    schedule(0, 0, 5000, 5000);
    schedule(1, 1, 2000, 2000);
    cs_pmc_read(&target, &whole);
    whole = true;
    assert_int_equal(cs_pmc_read(&target, &whole), 3000);
    pmu.raw[0] += 900;
    pmu.raw[1] += 250;
    assert_int_equal(cs_pmc_read(&target, &whole), 3650);
    assert_true(whole);
    schedule(0, 0, 7000, 5900); /* the observer was away: what the target did meanwhile isn't known */
    cs_pmc_read(&target, &whole);
    assert_false(whole);
    whole = true;
    assert_int_equal(cs_pmc_read(&target, &whole), 3650);
    assert_true(whole);
    deschedule(1);
    cs_pmc_read(&target, &whole);
    assert_false(whole);
}

/* ---- the whole shipped loop on that machine ---- */
static unsigned disturbances;
static unsigned reads;

/* Every few readings the kernel does one of its things to the page that is being read. */
static void disturb(void)
{
    uint64_t mask = ~0ull >> (64 - pmu.width);
    if (++reads % 7 != 0)
        return;
    unsigned unused = 64 - pmu.width, index = pages[0].index ? pages[0].index - 1 : 0;
    uint64_t events = (uint64_t)(pages[0].offset + ((int64_t)((pmu.raw[index] & mask) << unused) >> unused));
    disturbances++;
    switch (disturbances % 3) {
    case 0:
        deschedule(0);
        break;
    default:
        schedule(0, disturbances % COUNTERS, mask - 1500 * (disturbances % 5), events);
    }
}

/* When enough was seen, however slow the machine; or after twenty seconds, for the assertions to tell. */
static void *stop_when_seen(void *arg)
{
    struct cs_loop *loop = arg;
    for (unsigned ms = 0; ms < 20000 && __atomic_load_n(&disturbances, __ATOMIC_RELAXED) < 600; ms++)
        usleep(1000); /* sleeps: between two looks */
    __atomic_store_n(&loop->stop, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* A descheduled counter comes back when the next sample starts: there is no rdpmc to hook, so a tag word is
 * watched. */
static void *bring_back(void *arg)
{
    while (!__atomic_load_n(&((struct cs_loop *)arg)->stop, __ATOMIC_RELAXED)) {
        usleep(500); /* sleeps: between two looks */
        bool at_rest = __atomic_load_n(&pages[0].lock, __ATOMIC_ACQUIRE) % 2 == 0;
        if (at_rest && __atomic_load_n(&pages[0].index, __ATOMIC_RELAXED) == 0)
            schedule(0, 2, 12345, 1u << 20);
    }
    return NULL;
}

TEST(no_interval_of_the_loop_has_a_wrong_rate)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* signals come late, and a reading is a signal here */
#endif
    if (!emulated())
        skip();
    static struct cs_loop loop;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_shape shape = {.hardware = 1, .sink = CS_SINK_AGGREGATE};
    struct cs_sink *sink;
    struct cs_error err;
    pthread_t stopper, back;
    pmu.width = 48;
    pmu.step = 1000; /* each reading sees 1000 more */
    rule.band_q32 = CS_DTE_NO_BAND;
    schedule(0, 0, 1000, 1000);
    pmu.meanwhile = disturb;
    reads = disturbances = 0;
    assert_int_equal(cs_sink_open(0, 1, NULL, 0, &rule, &sink, &err), 0);
    loop = (struct cs_loop){.sink = sink, .hardware = {{.page = &pages[0], .width = 48}}};
    pthread_create(&stopper, NULL, stop_when_seen, &loop);
    pthread_create(&back, NULL, bring_back, &loop);
    cs_loop_variant (&shape)(&loop);
    pthread_join(stopper, NULL);
    pthread_join(back, NULL);
    cs_sink_total(sink);
    assert_true(disturbances > 100);
    assert_true(sink->tally.intervals[CS_DTE_UNREAD] > 100);
    assert_true(sink->whole_run.kept > 100);
    /* Every kept interval counted 1000 events exactly: none was read across a change of the page. */
    assert_int_equal(sink->whole_run.events[0], 1000 * sink->whole_run.kept);
    cs_sink_close(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_what_was_counted, fresh_machine),
        cmocka_unit_test_setup(counter_wraps_at_40_bits, fresh_machine),
        cmocka_unit_test_setup(counter_wraps_at_48_bits, fresh_machine),
        cmocka_unit_test_setup(descheduled_counter_is_unread_and_not_touched, fresh_machine),
        cmocka_unit_test_setup(page_that_changes_in_mid_read_is_unread, fresh_machine),
        cmocka_unit_test_setup(page_that_is_being_written_is_unread, fresh_machine),
        cmocka_unit_test_setup(swapped_counters_keep_their_events, fresh_machine),
        cmocka_unit_test_setup(own_part_is_taken_off, fresh_machine),
        cmocka_unit_test_setup(no_interval_of_the_loop_has_a_wrong_rate, fresh_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
