/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a descriptor makes of a wait, and what is idleness: each case is one that docs/waits.md states ("Wait or idle"). */
#include "analysis/waits/wait_reading.h"
#include "sampler/waits/reasons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define TICK 4000000U
#define SECOND 1000000000ULL

static struct cs_wait_record polled(unsigned class, unsigned classes)
{
    return (struct cs_wait_record){.reason = CS_WAIT_POLL,
                                   .call = __NR_ppoll,
                                   .args = {1, 1},
                                   .class = class,
                                   .classes = classes | 1U << class,
                                   .out_ns = SECOND,
                                   .in_ns = 2 * SECOND};
}

static const char *name_of(struct cs_wait_record r)
{
    return cs_wait_reason_name(cs_wait_reason_of_record(&r, TICK));
}

static void a_poll_is_for_what_its_descriptors_are(void **state)
{
    (void)state;
    assert_string_equal(name_of(polled(CS_WAIT_LISTENS, 0)), "poll:accept");
    assert_string_equal(name_of(polled(CS_WAIT_SERVES, 0)), "poll:client");
    assert_string_equal(name_of(polled(CS_WAIT_EVENTS, 0)), "poll:events");
    assert_string_equal(name_of(polled(CS_WAIT_PIPES, 0)), "poll:pipe");
    assert_string_equal(name_of(polled(CS_WAIT_ASKS, 0)), "poll:socket");
    assert_string_equal(name_of(polled(CS_WAIT_NOTHING, 0)), "poll");
}

static void a_request_under_way_counts_beside_a_listening_socket_but_a_pipe_does_not(void **state)
{
    (void)state;
    assert_string_equal(name_of(polled(CS_WAIT_ASKS, 1U << CS_WAIT_LISTENS)), "poll:socket");
    assert_string_equal(name_of(polled(CS_WAIT_PIPES, 1U << CS_WAIT_LISTENS)), "poll:events");
    assert_string_equal(name_of(polled(CS_WAIT_PAIR, 1U << CS_WAIT_SERVES)), "poll:events");
}

static void a_kept_connection_without_a_request_is_no_wait(void **state)
{
    (void)state;
    struct cs_wait_record r = polled(CS_WAIT_ASKS, 0);
    r.has_ticks = 1;
    r.sent_ticks = 2000, r.received_ticks = 1000; /* answered four seconds ago, before this wait of one */
    assert_string_equal(name_of(r), "poll:events");
    r.received_ticks = 0; /* the reply ended it */
    assert_string_equal(name_of(r), "poll:socket");
    r.sent_ticks = 500, r.received_ticks = 1000; /* asked and not answered */
    assert_string_equal(name_of(r), "poll:socket");
}

static void port_53_is_a_resolver(void **state)
{
    (void)state;
    struct cs_wait_record r = polled(CS_WAIT_ASKS, 0);
    r.peer_port = 53;
    assert_string_equal(name_of(r), "poll:resolver");
}

static void a_poll_or_select_of_nothing_sleeps(void **state)
{
    (void)state;
    struct cs_wait_record r = polled(CS_WAIT_NOTHING, 0);
    r.args[1] = 0;
    assert_string_equal(name_of(r), "poll:sleep");
    r = (struct cs_wait_record){.reason = CS_WAIT_POLL, .call = __NR_pselect6};
    assert_string_equal(name_of(r), "poll:sleep");
}

static void reading_from_a_client_is_idle_and_writing_to_it_is_not(void **state)
{
    (void)state;
    struct cs_wait_record r = {.reason = CS_WAIT_DESCRIPTOR,
                               .call = __NR_read,
                               .class = CS_WAIT_SERVES,
                               .classes = 1U << CS_WAIT_SERVES,
                               .mode = S_IFSOCK};
    assert_string_equal(name_of(r), "read-write:client");
    r.call = __NR_write;
    assert_string_equal(name_of(r), "socket");
    r = (struct cs_wait_record){.reason = CS_WAIT_SOCKET,
                                .call = __NR_accept4,
                                .class = CS_WAIT_LISTENS,
                                .classes = 1U << CS_WAIT_LISTENS,
                                .mode = S_IFSOCK};
    assert_string_equal(name_of(r), "socket:accept");
    r.class = CS_WAIT_ASKS;
    assert_string_equal(name_of(r), "socket");
}

static void who_waits_for_an_idle_thread_is_idle(void **state)
{
    (void)state;
    struct cs_wait_facts f = {.ns = 100, .by_idle_ns = 90};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_IDLE);
    assert_int_equal(cs_wait_reading_of("pipe", &f), CS_WAIT_IS_IDLE);
    assert_int_equal(cs_wait_reading_of("mutex", &f), CS_WAIT_IS_WAIT);
    f = (struct cs_wait_facts){.ns = 100, .by_busy_ns = 90};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
    assert_int_equal(cs_wait_reading_of("pipe", &f), CS_WAIT_IS_WAIT);
}

static void where_nothing_tells_both_readings_are_kept(void **state)
{
    (void)state;
    struct cs_wait_facts f = {.ns = 100};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_EITHER);
    assert_int_equal(cs_wait_reading_of("poll", &f), CS_WAIT_IS_EITHER);
    f.first_thread_ns = 100;
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
    f.no_end_ns = 100;
    assert_int_equal(cs_wait_reading_of("child", &f), CS_WAIT_IS_EITHER);
    f.no_end_ns = 0;
    assert_int_equal(cs_wait_reading_of("child", &f), CS_WAIT_IS_WAIT);
}

static void a_timer_is_idle_unless_somebody_waits_for_it(void **state)
{
    (void)state;
    struct cs_wait_facts f = {.ns = 100, .timer_ns = 100};
    assert_int_equal(cs_wait_reading_of("sleep", &f), CS_WAIT_IS_IDLE);
    f.blocks_ns = 50;
    assert_int_equal(cs_wait_reading_of("sleep", &f), CS_WAIT_IS_WAIT);
    f = (struct cs_wait_facts){.ns = 100, .timed_out = true, .resting_ns = 100};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_IDLE);
    f.resting_ns = 0; /* a thread that works, as one that waits for an interpreter's lock */
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
}

static void waits_for_anothers_end_leave_that_ones_waits_to_it(void **state)
{
    (void)state;
    const struct cs_wait_facts f = {.ns = 100, .by_busy_ns = 90, .by_wait_ns = 70};
    assert_int_equal((int)cs_wait_own_ns("child", &f), 30);
    assert_int_equal((int)cs_wait_own_ns("join", &f), 10);
    assert_int_equal((int)cs_wait_own_ns("mutex", &f), 100);
    const struct cs_wait_facts timer = {.ns = 100, .timer_ns = 100, .blocks_ns = 40};
    assert_int_equal((int)cs_wait_own_ns("sleep", &timer), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_is_for_what_its_descriptors_are),
        cmocka_unit_test(a_request_under_way_counts_beside_a_listening_socket_but_a_pipe_does_not),
        cmocka_unit_test(a_kept_connection_without_a_request_is_no_wait),
        cmocka_unit_test(port_53_is_a_resolver),
        cmocka_unit_test(a_poll_or_select_of_nothing_sleeps),
        cmocka_unit_test(reading_from_a_client_is_idle_and_writing_to_it_is_not),
        cmocka_unit_test(who_waits_for_an_idle_thread_is_idle),
        cmocka_unit_test(where_nothing_tells_both_readings_are_kept),
        cmocka_unit_test(a_timer_is_idle_unless_somebody_waits_for_it),
        cmocka_unit_test(waits_for_anothers_end_leave_that_ones_waits_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
