/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is to blame for a wait: the parts of it, by the last waits of those who ended it. */
#include "sampler/waits/blame.h"
#include "sampler/waits/wait_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { VICTIM = 10, HOLDER, FAR };

struct sums {
    uint64_t running, sleeping, queued, unknown, whole, far_running;
};

static void add(void *arg, const struct cs_blame_part *part)
{
    struct sums *s = arg;
    s->whole += part->ns;
    s->running += part->reason == -1 ? part->ns : 0;
    s->sleeping += part->reason == CS_WAIT_SLEEP ? part->ns : 0;
    s->queued += part->reason == CS_WAIT_RUN_QUEUE ? part->ns : 0;
    s->unknown += part->reason == -2 ? part->ns : 0;
    s->far_running += part->reason == -1 && strcmp(part->thread, "far") == 0 ? part->ns : 0;
}

static struct sums blame(struct cs_blame *b, uint64_t waker_context)
{
    struct sums s = {0};
    struct cs_blame_wait wait = {VICTIM, HOLDER, 1000, 2000, 2010, CS_WAIT_LOCK, 1, waker_context, "victim"};
    cs_blame_each(b, &wait, "holder", add, &s);
    return s;
}

static void a_holder_that_slept_is_blamed_for_its_sleep(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    cs_blame_note(b, &(struct cs_blame_wait){HOLDER, 0, 1100, 1800, 1850, CS_WAIT_SLEEP, 2, 0, "holder"});
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
    cs_blame_note(b, &(struct cs_blame_wait){FAR, 0, 100, 200, 200, CS_WAIT_SLEEP, 3, 0, "far"});
    cs_blame_note(b, &(struct cs_blame_wait){HOLDER, FAR, 900, 1900, 1900, CS_WAIT_LOCK, 2, 6, "holder"});
    struct sums s = blame(b, 5);
    assert_int_equal(s.far_running, 900); /* from 1000, not from 900 */
    assert_int_equal(s.running, 1000);
    assert_int_equal(s.whole, 1000);
    cs_blame_close(b);
}

static void two_that_wait_for_each_other_end(void **state)
{
    struct cs_blame *b = cs_blame_open();
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        cs_blame_note(b, &(struct cs_blame_wait){FAR, HOLDER, 1000, 1990, 2000, CS_WAIT_LOCK, 3, 6, "far"});
        cs_blame_note(b,
                      &(struct cs_blame_wait){HOLDER, FAR, 1000, 1990, 2000, CS_WAIT_LOCK, 2, 6, "holder"});
    }
    assert_int_equal(blame(b, 5).whole, 1000);
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
        cmocka_unit_test(two_that_wait_for_each_other_end),
        cmocka_unit_test(a_waker_that_isnt_followed_is_not_said_to_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
