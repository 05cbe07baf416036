/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blame for a wait: the parts of it, by the last waits of those who ended it. */
#include "sampler/waits/blame.h"
#include "sampler/waits/wait_records.h"
#include "tests/unit/test.h"

#include <string.h>

enum { VICTIM = 10, HOLDER, FAR };

struct sums {
    uint64_t running, sleeping, queued, unknown, whole, far_running, others_running;
};

static void add(void *arg, const struct cs_blame_part *part)
{
    struct sums *s = arg;
    s->whole += part->ns;
    s->running += part->reason == -1 ? part->ns : 0;
    s->sleeping += part->reason == CS_WAIT_SLEEP ? part->ns : 0;
    s->queued += part->reason == CS_WAIT_RUN_QUEUE ? part->ns : 0;
    s->unknown += part->reason == -2 ? part->ns : 0;
    s->others_running += part->reason == -1 && strcmp(part->thread, "[others]") == 0 ? part->ns : 0;
    s->far_running += part->reason == -1 && strcmp(part->thread, "far") == 0 ? part->ns : 0;
}

static struct cs_blame_wait lock_wait(uint32_t tid, uint32_t waker, uint64_t out, uint64_t wake,
                                      uint64_t waker_context)
{
    return (struct cs_blame_wait){.tid = tid,
                                  .waker_tid = waker,
                                  .out_ns = out,
                                  .wake_ns = wake,
                                  .in_ns = wake + 10,
                                  .reason = CS_WAIT_LOCK,
                                  .context = 1,
                                  .waker_context = waker_context};
}

static struct cs_blame_wait sleep_wait(uint32_t tid, const char *name, uint64_t out, uint64_t wake,
                                       uint64_t in)
{
    struct cs_blame_wait wait = {
        .tid = tid, .out_ns = out, .wake_ns = wake, .in_ns = in, .reason = CS_WAIT_SLEEP, .context = 2};
    memcpy(wait.thread, name, strlen(name));
    return wait;
}

static struct sums blame(struct cs_blame *b, uint64_t waker_context)
{
    struct sums s = {0};
    struct cs_blame_wait wait = lock_wait(VICTIM, HOLDER, 1000, 2000, waker_context);
    cs_blame_each(b, &wait, "holder", add, &s);
    return s;
}

static void a_holder_that_slept_is_blamed_for_its_sleep(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    struct cs_blame_wait slept = sleep_wait(HOLDER, "holder", 1100, 1800, 1850);
    cs_blame_note(b, &slept);
    struct sums s = blame(b, 5);
    assert_int_equal(s.sleeping, 700);
    assert_int_equal(s.queued, 50);
    assert_int_equal(s.running, 250);
    assert_int_equal(s.whole, 1000);
    cs_blame_close(b);
}

static void a_holder_that_waited_for_another_passes_the_blame_on(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    struct cs_blame_wait slept = sleep_wait(FAR, "far", 100, 200, 200),
                         waited = lock_wait(HOLDER, FAR, 900, 1900, 6);
    waited.in_ns = 1900;
    cs_blame_note(b, &slept);
    cs_blame_note(b, &waited);
    struct sums s = blame(b, 5);
    assert_int_equal(s.far_running, 900); /* from 1000, not from 900 */
    assert_int_equal(s.running, 1000);
    assert_int_equal(s.whole, 1000);
    cs_blame_close(b);
}

static void who_ended_a_holders_wait_has_a_name_without_waits_of_its_own(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    struct cs_blame_wait waited = lock_wait(HOLDER, FAR, 900, 1900, 6);
    waited.in_ns = 1900;
    memcpy(waited.waker_name, "far", 4);
    cs_blame_note(b, &waited);
    struct sums s = blame(b, 5);
    assert_int_equal(s.far_running, 900);
    assert_int_equal(s.whole, 1000);
    cs_blame_close(b);
}

/* Priority inversion: the holder waited for a CPU that another had. */
static void who_had_the_cpu_is_blamed_for_a_holder_that_waited_for_it(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    struct cs_blame_wait queued = {
        .tid = HOLDER,
        .out_ns = 900, /* for 1000 of which 800 were another's turn; 900 lie in the wait */
        .in_ns = 1900,
        .reason = CS_WAIT_RUN_QUEUE,
        .context = 2,
        .turn_ns = 800,
        .thread = "holder",
        .turn = "far"};
    cs_blame_note(b, &queued);
    struct sums s = blame(b, 5);
    assert_int_equal(s.far_running, 720);
    assert_int_equal(s.queued, 180);
    assert_int_equal(s.running, 720 + 100);
    assert_int_equal(s.whole, 1000);
    cs_blame_close(b);
}

static void a_wait_for_a_cpu_is_blamed_on_who_had_it(void **state)
{
    struct cs_blame *b = cs_blame_open();
    struct sums queued = {0}, woken = {0}, unknown = {0};
    (void)state;
    struct cs_blame_wait wait = {.tid = VICTIM,
                                 .out_ns = 1000,
                                 .in_ns = 2000,
                                 .reason = CS_WAIT_RUN_QUEUE,
                                 .turn_ns = 900,
                                 .turn = "far"};
    cs_blame_queue(b, &wait, add, &queued);
    assert_int_equal(queued.far_running, 900);
    assert_int_equal(queued.others_running, 100);
    wait.reason = CS_WAIT_LOCK;
    wait.wake_ns = 1800;
    cs_blame_queue(b, &wait, add, &woken); /* it could run from 1800 on */
    assert_int_equal(woken.whole, 200);
    wait.turn_ns = 0;
    cs_blame_queue(b, &wait, add, &unknown);
    assert_int_equal(unknown.whole, 0);
    cs_blame_close(b);
}

static void two_that_wait_for_each_other_end(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct cs_blame_wait far = lock_wait(FAR, HOLDER, 1000, 1990, 6),
                             holder = lock_wait(HOLDER, FAR, 1000, 1990, 6);
        cs_blame_note(b, &far);
        cs_blame_note(b, &holder);
    }
    assert_int_equal(blame(b, 5).whole, 1000);
    cs_blame_close(b);
}

/* It slept a hundred times for 8 ns of each 10, and one such wait in ten was kept: it ran for a fifth of the time. */
static void waits_that_were_not_kept_are_no_running(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        struct cs_blame_wait slept =
            sleep_wait(HOLDER, "holder", 1002 + 100 * i, 1010 + 100 * i, 1010 + 100 * i);
        slept.is_short = true;
        slept.ran = (struct cs_blame_ran){500, slept.out_ns, 2 + 20 * i};
        cs_blame_note(b, &slept);
    }
    struct cs_blame_wait wait = lock_wait(VICTIM, HOLDER, 1000, 2000, 5);
    wait.waker = (struct cs_blame_ran){500, 2000, 200};
    struct sums s = {0};
    cs_blame_each(b, &wait, "holder", add, &s);
    assert_int_equal(s.whole, 1000);
    assert_in_range(s.running, 180, 220);
    assert_in_range(s.sleeping, 780, 820);
    cs_blame_close(b);
}

/* More waits than are remembered: the thread's own totals say what it did before. */
static void what_is_not_remembered_is_divided_by_totals(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        struct cs_blame_wait slept =
            sleep_wait(HOLDER, "holder", 1001 + 10 * i, 1010 + 10 * i, 1010 + 10 * i);
        slept.is_short = true;
        slept.ran = (struct cs_blame_ran){1000, slept.out_ns, 1 + i};
        cs_blame_note(b, &slept);
    }
    struct sums s = blame(b, 5);
    assert_int_equal(s.whole, 1000);
    assert_in_range(s.running, 90, 110);
    cs_blame_close(b);
}

static void a_waker_that_isnt_followed_is_not_said_to_run(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    struct sums s = blame(b, 0);
    assert_int_equal(s.unknown, 1000);
    assert_int_equal(s.running, 0);
    cs_blame_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_that_slept_is_blamed_for_its_sleep),
        cmocka_unit_test(a_holder_that_waited_for_another_passes_the_blame_on),
        cmocka_unit_test(who_ended_a_holders_wait_has_a_name_without_waits_of_its_own),
        cmocka_unit_test(who_had_the_cpu_is_blamed_for_a_holder_that_waited_for_it),
        cmocka_unit_test(a_wait_for_a_cpu_is_blamed_on_who_had_it),
        cmocka_unit_test(two_that_wait_for_each_other_end),
        cmocka_unit_test(waits_that_were_not_kept_are_no_running),
        cmocka_unit_test(what_is_not_remembered_is_divided_by_totals),
        cmocka_unit_test(a_waker_that_isnt_followed_is_not_said_to_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
