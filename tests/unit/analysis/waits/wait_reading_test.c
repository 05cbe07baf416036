/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a descriptor makes of a wait, and what is idleness: each case is one that docs/waits.md states ("Wait or idle"). */
#include "analysis/waits/wait_peers.h"
#include "analysis/waits/wait_reading.h"
#include "analysis/waits/wait_rounds.h"
#include "sampler/waits/reasons.h"
#include "tests/unit/test.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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

TEST(a_poll_is_for_what_its_descriptors_are)
{
    assert_string_equal(name_of(polled(CS_WAIT_LISTENS, 0)), "poll:accept");
    assert_string_equal(name_of(polled(CS_WAIT_SERVES, 0)), "poll:client");
    assert_string_equal(name_of(polled(CS_WAIT_EVENTS, 0)), "poll:events");
    assert_string_equal(name_of(polled(CS_WAIT_PIPES, 0)), "poll:pipe");
    assert_string_equal(name_of(polled(CS_WAIT_ASKS, 0)), "poll:socket");
    assert_string_equal(name_of(polled(CS_WAIT_NOTHING, 0)), "poll");
}

TEST(a_request_under_way_counts_beside_a_listening_socket_but_a_pipe_does_not)
{
    assert_string_equal(name_of(polled(CS_WAIT_ASKS, 1U << CS_WAIT_LISTENS)), "poll:socket");
    assert_string_equal(name_of(polled(CS_WAIT_PIPES, 1U << CS_WAIT_LISTENS)), "poll:events");
    assert_string_equal(name_of(polled(CS_WAIT_PAIR, 1U << CS_WAIT_SERVES)), "poll:events");
}

TEST(a_kept_connection_without_a_request_is_no_wait)
{
    struct cs_wait_record r = polled(CS_WAIT_ASKS, 0);
    r.has_ticks = 1;
    r.sent_ticks = 2000, r.received_ticks = 1000; /* answered four seconds ago, before this wait of one */
    assert_string_equal(name_of(r), "poll:events");
    r.received_ticks = 0; /* the reply ended it */
    assert_string_equal(name_of(r), "poll:socket");
    r.sent_ticks = 500, r.received_ticks = 1000; /* asked and not answered */
    assert_string_equal(name_of(r), "poll:socket");
}

TEST(two_sockets_without_a_name_are_a_wait_once_somebody_answered)
{
    struct cs_wait_record r = polled(CS_WAIT_PAIR, 0);
    assert_string_equal(name_of(r), "poll:socket");
    r.waker_kind = CS_WAKER_NO_END;
    assert_string_equal(name_of(r), "poll");
    r.classes |= 1U << CS_WAIT_LISTENS; /* beside a port that it serves: its parent's orders */
    assert_string_equal(name_of(r), "poll:events");
    r = polled(CS_WAIT_PAIR, 0);
    r.waker_kind = CS_WAKER_INTERRUPT;
    assert_string_equal(name_of(r), "poll:events");
}

TEST(port_53_is_a_resolver)
{
    struct cs_wait_record r = polled(CS_WAIT_ASKS, 0);
    r.peer_port = 53;
    assert_string_equal(name_of(r), "poll:resolver");
}

TEST(a_poll_or_select_of_nothing_sleeps)
{
    struct cs_wait_record r = polled(CS_WAIT_NOTHING, 0);
    r.args[1] = 0;
    assert_string_equal(name_of(r), "poll:sleep");
    r = (struct cs_wait_record){.reason = CS_WAIT_POLL, .call = __NR_pselect6};
    assert_string_equal(name_of(r), "poll:sleep");
}

TEST(reading_from_a_client_is_idle_and_writing_to_it_is_not)
{
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

TEST(who_waits_for_an_idle_thread_is_idle)
{
    struct cs_wait_facts f = {.ns = 100, .by_idle_ns = 90};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_IDLE);
    assert_int_equal(cs_wait_reading_of("pipe", &f), CS_WAIT_IS_IDLE);
    assert_int_equal(cs_wait_reading_of("mutex", &f), CS_WAIT_IS_WAIT);
    f = (struct cs_wait_facts){.ns = 100, .by_busy_ns = 90};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
    assert_int_equal(cs_wait_reading_of("pipe", &f), CS_WAIT_IS_WAIT);
}

TEST(where_nothing_tells_both_readings_are_kept)
{
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

TEST(a_timer_is_idle_unless_somebody_waits_for_it)
{
    struct cs_wait_facts f = {.ns = 100, .timer_ns = 100};
    assert_int_equal(cs_wait_reading_of("sleep", &f), CS_WAIT_IS_IDLE);
    f.blocks_ns = 50;
    assert_int_equal(cs_wait_reading_of("sleep", &f), CS_WAIT_IS_WAIT);
    f = (struct cs_wait_facts){.ns = 100, .timed_out = true, .resting_ns = 100};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_IDLE);
    f.resting_ns = 0; /* a thread that works, as one that waits for an interpreter's lock */
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
}

TEST(waits_for_anothers_end_leave_that_ones_waits_to_it)
{
    const struct cs_wait_facts f = {.ns = 100, .by_busy_ns = 90, .by_wait_ns = 70};
    assert_int_equal((int)cs_wait_own_ns("child", &f), 30);
    assert_int_equal((int)cs_wait_own_ns("join", &f), 10);
    assert_int_equal((int)cs_wait_own_ns("mutex", &f), 100);
    const struct cs_wait_facts timer = {.ns = 100, .timer_ns = 100, .blocks_ns = 40};
    assert_int_equal((int)cs_wait_own_ns("sleep", &timer), 40);
}

TEST(flock_and_fcntl_lock_files_and_a_futex_does_not)
{
    struct cs_wait_record r = {.reason = CS_WAIT_LOCK, .call = __NR_flock, .mode = S_IFREG};
    assert_string_equal(name_of(r), "lock:file-lock");
    r.call = __NR_fcntl;
    assert_string_equal(name_of(r), "lock:file-lock");
    r.call = __NR_futex;
    assert_string_equal(name_of(r), "lock");
}

TEST(who_is_kept_waiting_comes_before_the_sleep_that_keeps_it)
{
    const struct cs_wait_facts lock = {.ns = 2000, .by_wait_ns = 2000, .by_time_ns = 2000},
                               sleep = {.ns = 3000, .keeps_ns = 2000, .blocks_ns = 2000},
                               alone = {.ns = 3000, .blocks_ns = 3000};
    assert_true(cs_wait_own_ns("condition", &lock) > cs_wait_own_ns("sleep", &sleep));
    assert_true(cs_wait_own_ns("sleep", &sleep) > 1900);
    assert_int_equal((int)cs_wait_own_ns("sleep", &alone), 3000); /* only a parent waits for its end */
    assert_int_equal((int)cs_wait_own_ns("child", &lock), 0);
}

static enum cs_wait_reading read_event(bool one_function)
{
    static const struct cs_call_function functions[2] = {{.brief = "loop"}, {.brief = "other"}};
    struct cs_wait_group at[] = {
        {.kind = "events",
         .function = &functions[0],
         .facts = {.ns = 100, .by_process_ns = 100, .by_busy_ns = 40}},
        {.kind = "events", .function = &functions[!one_function], .facts = {.ns = 100}}};
    struct cs_wait_groups groups = {.at = at, .n = 2};
    const struct cs_wait_meanwhile meanwhile = {.waiter = 0, .on = 1, .ns = 60};
    assert_int_equal(cs_wait_rounds(&groups, &meanwhile, 1), 0);
    assert_int_equal(at[1].reading, CS_WAIT_IS_IDLE);
    return at[0].reading;
}

/* A holder of PostgreSQL's lock that sleeps waits where the others wait for the lock. */
TEST(an_event_of_a_process_is_a_wait_though_that_one_waits_in_the_same_function)
{
    assert_int_equal(read_event(true), CS_WAIT_IS_WAIT);
    assert_int_equal(read_event(false), CS_WAIT_IS_IDLE);
}

static uint64_t a_second(void *context, const char *name)
{
    (void)context, (void)name;
    return 1000;
}

/* `by` ends the waits of `worker`, who waits for files meanwhile if it `works`. */
static enum cs_wait_reading read_condition(const char *by, bool works)
{
    struct cs_wait_group at[] = {
        {.kind = "condition", .facts = {.ns = 600, .resting_ns = 600, .by_busy_ns = 600}}, {.kind = "file"}};
    struct cs_wait_groups groups = {.at = at, .n = 2};
    struct cs_wait_peers peers = {0};
    const struct cs_wait_peer_name worker = {.name = "worker"}, nobody = {.name = ""};
    assert_int_equal(
        cs_wait_peers_note(&peers, &at[0], 0, worker, (struct cs_wait_peer_name){.name = by}, 600), 0);
    assert_int_equal(cs_wait_peers_note(&peers, &at[1], 1, worker, nobody, works ? 300 : 3), 0);
    cs_wait_peers_tell(&peers, &groups, a_second, NULL);
    cs_wait_peers_fini(&peers);
    return cs_wait_reading_of("condition", &at[0].facts);
}

TEST(what_goes_from_one_waiter_to_the_next_is_a_lock_and_what_others_bring_is_work)
{
    assert_int_equal(read_condition("worker", true), CS_WAIT_IS_WAIT);
    assert_int_equal(read_condition("main", true), CS_WAIT_IS_EITHER);
    assert_int_equal(read_condition("worker", false), CS_WAIT_IS_EITHER); /* it does nothing else */
}

TEST(a_condition_with_a_request_under_way_is_a_wait)
{
    struct cs_wait_facts f = {.ns = 100, .resting_ns = 100, .by_busy_ns = 100};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_EITHER);
    f.serving_ns = 100;
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
    f.timed_out = true;
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
}

/* A client that asks nothing in its transaction keeps a lock: its server's thread is idle, who waits for the lock isn't. */
TEST(what_an_idle_transaction_keeps_from_a_request_is_a_wait)
{
    struct cs_wait_facts f = {.ns = 100, .resting_ns = 100, .by_idle_ns = 100};
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_IDLE);
    f.by_process_ns = 100;
    assert_int_equal(cs_wait_reading_of("events", &f), CS_WAIT_IS_IDLE);
    f.serving_ns = 100;
    assert_int_equal(cs_wait_reading_of("condition", &f), CS_WAIT_IS_WAIT);
    assert_int_equal(cs_wait_reading_of("events", &f), CS_WAIT_IS_WAIT);
    f.by_process_ns = 0; /* an event of its own program's */
    assert_int_equal(cs_wait_reading_of("events", &f), CS_WAIT_IS_IDLE);
}

/* A pool waits for what a timer hands on now and then: nobody else waits for either, so both are idle. */
TEST(a_timer_that_only_an_idle_pool_waits_for_is_idle)
{
    struct cs_wait_group at[] = {
        {.kind = "condition", .facts = {.ns = 900, .resting_ns = 900}},
        {.kind = "condition", .facts = {.ns = 100, .resting_ns = 100, .timed_out = true}}};
    struct cs_wait_groups w = {.at = at, .n = 2};
    const struct cs_wait_meanwhile pool = {0, 1, 900};
    assert_int_equal(cs_wait_rounds(&w, &pool, 1), 0);
    assert_int_equal(at[1].reading, CS_WAIT_IS_IDLE);
    assert_int_equal(at[0].reading, CS_WAIT_IS_IDLE);
    at[0] = (struct cs_wait_group){.kind = "mutex", .facts = {.ns = 900, .resting_ns = 900}};
    at[1].reading = CS_WAIT_IS_WAIT;
    at[1].facts = (struct cs_wait_facts){.ns = 100, .resting_ns = 100, .timed_out = true};
    assert_int_equal(cs_wait_rounds(&w, &pool, 1), 0);
    assert_int_equal(at[1].reading, CS_WAIT_IS_WAIT); /* it keeps a mutex from others */
}

TEST(a_first_thread_that_sleeps_while_others_wait_may_look_on)
{
    struct cs_wait_group at[] = {
        {.kind = "sleep", .ns = 400, .facts = {.ns = 400, .first_thread_ns = 400}, .thread.text = "main"},
        {.kind = "mutex", .ns = 200, .facts.ns = 200, .thread.text = "worker"}};
    struct cs_waiting_thread threads[] = {{.name = "main", .pid = 7, .tid = 7},
                                          {.name = "worker", .pid = 7, .tid = 8}};
    struct cs_wait_groups w = {.at = at, .n = 2, .threads = threads, .n_threads = 2};
    cs_wait_read_lookers(&w);
    assert_int_equal(at[0].reading, CS_WAIT_IS_EITHER);
    at[0].reading = CS_WAIT_IS_WAIT;
    threads[1].pid = 9; /* another program */
    cs_wait_read_lookers(&w);
    assert_int_equal(at[0].reading, CS_WAIT_IS_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_is_for_what_its_descriptors_are),
        cmocka_unit_test(a_request_under_way_counts_beside_a_listening_socket_but_a_pipe_does_not),
        cmocka_unit_test(a_kept_connection_without_a_request_is_no_wait),
        cmocka_unit_test(two_sockets_without_a_name_are_a_wait_once_somebody_answered),
        cmocka_unit_test(port_53_is_a_resolver),
        cmocka_unit_test(a_poll_or_select_of_nothing_sleeps),
        cmocka_unit_test(reading_from_a_client_is_idle_and_writing_to_it_is_not),
        cmocka_unit_test(who_waits_for_an_idle_thread_is_idle),
        cmocka_unit_test(where_nothing_tells_both_readings_are_kept),
        cmocka_unit_test(a_timer_is_idle_unless_somebody_waits_for_it),
        cmocka_unit_test(waits_for_anothers_end_leave_that_ones_waits_to_it),
        cmocka_unit_test(flock_and_fcntl_lock_files_and_a_futex_does_not),
        cmocka_unit_test(who_is_kept_waiting_comes_before_the_sleep_that_keeps_it),
        cmocka_unit_test(a_condition_with_a_request_under_way_is_a_wait),
        cmocka_unit_test(an_event_of_a_process_is_a_wait_though_that_one_waits_in_the_same_function),
        cmocka_unit_test(what_goes_from_one_waiter_to_the_next_is_a_lock_and_what_others_bring_is_work),
        cmocka_unit_test(what_an_idle_transaction_keeps_from_a_request_is_a_wait),
        cmocka_unit_test(a_timer_that_only_an_idle_pool_waits_for_is_idle),
        cmocka_unit_test(a_first_thread_that_sleeps_while_others_wait_may_look_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
