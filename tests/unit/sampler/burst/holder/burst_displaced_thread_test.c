/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads the runner's CPU is taken from, by threads that are put where they should be. */
#include "sampler/burst/holder/displaced_thread.h"
#include "sampler/burst/runner/thread.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int gate[2]; /* a byte ends the thread's sleep */
static _Atomic int spins, over;
static _Atomic uint32_t number;

static void *spin_then_sleep(void *nothing)
{
    number = (uint32_t)gettid();
    while (!over)
        spins++;
    char byte;
    assert_int_equal(read(gate[0], &byte, 1), 1);
    return nothing;
}

static void put(uint32_t tid, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    assert_int_equal(sched_setaffinity((pid_t)tid, sizeof set, &set), 0);
}

/* It has run where it was put. */
static void let_spin(void)
{
    for (int before = spins; spins == before;)
        usleep(1000); /* sleeps: between two looks */
}

static int other_cpu(const cpu_set_t *allowed, int own)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (cpu != own && CPU_ISSET((size_t)cpu, allowed))
            return cpu;
    return -1;
}

TEST(a_thread_that_could_run_on_our_cpu_is_displaced)
{
    cpu_set_t allowed;
    pthread_t thread;
    uint32_t own = (uint32_t)gettid();
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(pipe(gate), 0);
    assert_false(thread_is_displaced(own)); /* there is no other one */
    int cpu = sched_getcpu(), elsewhere = other_cpu(&allowed, cpu);
    put(own, cpu);
    assert_int_equal(pthread_create(&thread, NULL, spin_then_sleep, NULL), 0);
    let_spin();
    assert_true(thread_is_displaced(own));
    if (elsewhere >= 0) {
        put(number, elsewhere);
        let_spin();
        assert_false(thread_is_displaced(own));
        put(number, cpu);
        let_spin();
        assert_true(thread_is_displaced(own));
    }
    over = 1;
    struct thread_place place;
    do
        usleep(1000); /* sleeps: between two looks */
    while (thread_place(number, &place) && !place.asleep);
    assert_false(thread_is_displaced(own));
    assert_int_equal(write(gate[1], "", 1), 1);
    pthread_join(thread, NULL);
}

TEST(of_a_thread_that_is_gone_none_is_displaced)
{
    assert_false(thread_is_displaced(INT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_could_run_on_our_cpu_is_displaced),
        cmocka_unit_test(of_a_thread_that_is_gone_none_is_displaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
