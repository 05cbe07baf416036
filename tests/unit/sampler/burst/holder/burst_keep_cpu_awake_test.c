/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* The thread on a stopped thread's CPU: what it reads, and when it stays away. */
#include "sampler/burst/holder/keep_cpu_awake.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing_model.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct warm_pages list;
static uint64_t now_ns[CLOCK_THREAD_CPUTIME_ID + 1];

uint64_t clock_of(clockid_t which)
{
    return now_ns[which];
}

/* A process that does nothing in the thread's place: it can be put on a CPU. */
void start_thread(int (*entry)(void), void *top, volatile int32_t *tid)
{
    (void)entry;
    (void)top;
    *tid = fork();
    if (*tid == 0)
        for (;;)
            pause();
}

/* Pages of ours, of which some can't be read: all are answered for, in turn, and nothing waits for ever. */
TEST(a_page_that_cannot_be_read_is_passed_over)
{
    enum { PAGES = 100 };
    uint8_t *memory =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    srand(2);
    for (unsigned i = 0; i < PAGES; i += 1 + (unsigned)rand() % 9)
        munmap(memory + i * PAGE, PAGE);
    int own = open("/proc/self/mem", O_RDONLY);
    assert_int_equal(dup2(own, CS_BURST_FD_MEMORY), CS_BURST_FD_MEMORY);
    idle_keeper.turning = true;
    assert_true(warming_begin());
    for (unsigned i = 0; i < PAGES; i++)
        list.page[i] = (uint64_t)memory + i * PAGE;
    list.asked = PAGES;
    assert_false(warming_end(0)); /* there was no time */
    for (unsigned calls = 0; !warming_end(0); calls++) {
        assert_true(calls < PAGES);
        idle_keeper_read_some();
        if (idle_keeper.answered == PAGES)
            break;
    }
    assert_true(warming_end(UINT64_MAX));
    assert_int_equal(idle_keeper.answered, PAGES);
    idle_keeper_read_some(); /* nothing is left to read, */
    assert_int_equal(idle_keeper.answered, PAGES);
    list.asked = 3; /* and less is asked for by a burst that has begun meanwhile */
    idle_keeper_read_some();
    assert_int_equal(idle_keeper.answered, PAGES);
    idle_keeper.answered = 0;
    list.asked = UINT32_MAX; /* and more than there can be, by whoever isn't trusted */
    for (unsigned calls = 0; calls < 2 * WARM_PAGES_MAX; calls++)
        idle_keeper_read_some();
    assert_int_equal(idle_keeper.answered, WARM_PAGES_MAX);
    idle_keeper.turning = false;
    assert_false(warming_begin());
    assert_false(warming_end(UINT64_MAX)); /* nobody reads */
    munmap(memory, PAGES * PAGE);
}

/* One burst; how many times it is displaced, and for how long, is ours to say. True: the CPU was kept awake.
 */
static bool one_burst(uint64_t lost_ns)
{
    idle_keeper.placed = true;
    idle_keeper_begin();
    bool turned = idle_keeper.turning;
    now_ns[CLOCK_MONOTONIC] += 1000000 + lost_ns;
    now_ns[CLOCK_THREAD_CPUTIME_ID] += 1000000;
    if (lost_ns)
        idle_keeper.displaced--; /* one switch more than when it began */
    idle_keeper_end();
    idle_keeper_end(); /* whoever ends a burst that went wrong may say so again */
    return turned;
}

/* Bursts up to the next one whose CPU is kept awake, which loses so much. */
static unsigned left_alone(uint64_t lost_ns)
{
    unsigned n = 0;
    while (!one_burst(lost_ns))
        n++;
    return n;
}

TEST(who_wants_our_cpu_gets_the_stopped_threads)
{
    assert_int_equal(left_alone(0), 0);
    assert_int_equal(left_alone(CS_MODEL_DISPLACED_NS / 2), 0); /* the kernel's own work */
    assert_int_equal(left_alone(2 * CS_MODEL_DISPLACED_NS), 0);
    assert_int_equal(left_alone(0), 2);
    assert_int_equal(left_alone(0), 0);
    static const unsigned longer_and_longer[] = {0, 2, 8, 32, 64, 64};
    for (unsigned i = 0; i < sizeof longer_and_longer / sizeof(unsigned); i++)
        assert_int_equal(left_alone(10 * CS_MODEL_DISPLACED_NS), longer_and_longer[i]);
    assert_int_equal(left_alone(0), 64);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(left_alone(0), 0);
    assert_int_equal(left_alone(2 * CS_MODEL_DISPLACED_NS), 0);
    assert_int_equal(left_alone(0), 2); /* they were gone for long: as at first */
}

static bool may_run_on(unsigned cpu)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_ISSET(cpu, &set);
}

static unsigned own_cpu(void)
{
    unsigned cpu;
    assert_int_equal(getcpu(&cpu, NULL), 0);
    return cpu;
}

TEST(the_runner_keeps_off_the_stopped_threads_cpu)
{
    cpu_set_t before_it;
    assert_int_equal(sched_getaffinity(0, sizeof before_it, &before_it), 0);
    if (CPU_COUNT(&before_it) < 2)
        skip();
    unsigned stopped = own_cpu();
    idle_keeper.alone = 0;
    idle_keeper_place(stopped, true);
    assert_false(may_run_on(stopped));
    assert_true(idle_keeper_elsewhere());
    idle_keeper.alone = 1; /* others want the CPUs that are left */
    idle_keeper_place(stopped, true);
    assert_true(may_run_on(stopped));
    idle_keeper.alone = 0;
    idle_keeper_place(stopped, true);
    idle_keeper_place(stopped, false); /* in a daemon */
    assert_true(may_run_on(stopped));
    idle_keeper_place(UINT32_MAX, true);
    assert_true(idle_keeper_elsewhere());

    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(stopped, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    idle_keeper_place(stopped, false);
    assert_false(idle_keeper_elsewhere());
    assert_int_equal(sched_setaffinity(0, sizeof before_it, &before_it), 0);
    kill(idle_keeper.tid, SIGKILL);
}

int main(void)
{
    idle_keeper_pages = &list;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_that_cannot_be_read_is_passed_over),
        cmocka_unit_test(who_wants_our_cpu_gets_the_stopped_threads),
        cmocka_unit_test(the_runner_keeps_off_the_stopped_threads_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
