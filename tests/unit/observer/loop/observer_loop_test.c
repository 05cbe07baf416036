/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of the observer's loop without a loop: following the running thread, waiting for the next sample. */

#include "observer/loop/follow.h"
#include "observer/loop/throttle.h"
#include "observer/source/clock.h"
#include "tests/unit/test.h"

#include <string.h>

static const volatile uint64_t fixed = 42;

/* A target, process 100, that publishes nothing, and its CPU's line. */
static void begin(struct cs_loop *l, struct cs_follow *f, struct cs_os_line *os)
{
    memset(l, 0, sizeof *l);
    memset(f, 0, sizeof *f);
    f->os = os;
    f->pid = 100;
    f->n_tags = 2;
    f->n_software = 1;
    f->tags[0].word = 3;
    f->tags[1] = (struct cs_follow_word){.fixed = &fixed, .always = true};
    for (unsigned i = 0; i < CS_SIGNALS_MAX; i++)
        f->descheduled_line[i] = CS_TAG_DESCHEDULED;
    l->following = f;
}

TEST(a_thread_of_another_process_shows_every_signal_as_descheduled)
{
    struct cs_os_line os = {.process = 7};
    struct cs_loop l;
    struct cs_follow f;
    begin(&l, &f, &os);
    assert_true(cs_follow_switch(&l, 1ull << 32 | 7));
    assert_true(*l.tags[0] == CS_TAG_DESCHEDULED);
    assert_true(*l.tags[1] == 42); /* of interest all the same */
    f.tags[1].always = false;
    assert_true(cs_follow_switch(&l, 2ull << 32 | 7));
    assert_true(*l.tags[1] == CS_TAG_DESCHEDULED);
    assert_int_equal(f.switches, 2);
}

TEST(a_thread_of_the_target_without_a_line_shows_zeros)
{
    struct cs_os_line os = {.process = 100};
    struct cs_loop l;
    struct cs_follow f;
    begin(&l, &f, &os);
    assert_false(cs_follow_switch(&l, 5ull << 32 | 101));
    assert_int_equal(*l.tags[0], 0);
    assert_int_equal(*l.tags[1], 42);
    assert_int_equal(*l.software[0], 0);
}

TEST(where_one_thread_is_observed_its_siblings_are_not_the_target)
{
    struct cs_os_line os = {.process = 100};
    struct cs_loop l;
    struct cs_follow f;
    begin(&l, &f, &os);
    f.only = 101;
    assert_false(cs_follow_switch(&l, 9ull << 32 | 101));
    assert_true(cs_follow_switch(&l, 10ull << 32 | 102));
}

TEST(another_cpu_s_line_tells_who_runs_there)
{
    struct cs_os_line os[2] = {{.process = 100, .thread = 101, .thread_id = 1ull << 32 | 101},
                               {.process = 100, .thread = 102, .thread_id = 9ull << 32 | 102}};
    struct cs_loop l;
    struct cs_follow f;
    begin(&l, &f, &os[0]);
    f.n_tags = 3;
    f.tags[2].fixed = (const volatile uint64_t *)&os[0].thread;
    cs_follow_line(&l, &os[1]);
    assert_ptr_equal(l.thread_id, &os[1].thread_id);
    assert_int_equal(*l.tags[2], 102);
    assert_int_equal(*l.tags[1], 42); /* no word of a line */
    assert_int_equal(f.switches, 0);  /* the CPU didn't switch */
    os[1].process = 7;
    assert_true(cs_follow_switch(&l, 10ull << 32 | 7));
    cs_follow_line(&l, &os[0]);
    assert_int_equal(*l.tags[2], 101);
}

TEST(a_wait_is_never_shorter_than_the_period)
{
    struct cs_loop l = {.random = 1};
    const uint64_t ms = (uint64_t)(cs_clock_hz() / 1000);
    const uint64_t periods[] = {1, 1000, ms / 10, 3 * ms}; /* spinning and sleeping */
    for (unsigned i = 0; i < sizeof periods / sizeof *periods; i++) {
        l.period_cycles = periods[i];
        uint64_t from = cs_clock();
        cs_throttle(&l, from);
        assert_true(cs_clock() - from >= periods[i]);
    }
}

TEST(jitter_is_uniform_within_its_bounds)
{
    uint64_t random = 88172645463325252ull, below_half = 0;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t drawn = cs_jitter(&random, 1000);
        assert_true(drawn <= 1000);
        below_half += drawn < 500;
    }
    assert_in_range(below_half, 49000, 51000); /* 49,950 expected, standard deviation 158 */
    assert_int_equal(cs_jitter(&random, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_of_another_process_shows_every_signal_as_descheduled),
        cmocka_unit_test(a_thread_of_the_target_without_a_line_shows_zeros),
        cmocka_unit_test(where_one_thread_is_observed_its_siblings_are_not_the_target),
        cmocka_unit_test(another_cpu_s_line_tells_who_runs_there),
        cmocka_unit_test(a_wait_is_never_shorter_than_the_period),
        cmocka_unit_test(jitter_is_uniform_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
