/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts here are numbers: the test has its own of the three functions that finish, drop and close one, and counts. */
#include "cli/procedure/finish_ahead.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 200, FAILS = 7, NOTHING = 11, NOTHING_LAST = N - 1 };

struct cs_cycle_account_begun {
    size_t i;
    unsigned finished, dropped;
    struct cs_cycle_account account;
    unsigned closed;
};

static struct cs_cycle_account_begun one[N];
static struct cs_cycle_account_begun *begun[N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t taken, most_ahead, n_threads, n_finishing, most_finishing, meet;
static pthread_t threads[N];

static void seen_thread(void)
{
    for (size_t i = 0; i < n_threads; i++)
        if (pthread_equal(threads[i], pthread_self()))
            return;
    threads[n_threads++] = pthread_self();
}

/* Waits until `meet` threads are here at once, for ten seconds at most. */
static void wait_for_others(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_cond_broadcast(&changed);
    while (most_finishing < meet)
        if (pthread_cond_timedwait(&changed, &lock, &end))
            meet = 0; /* they don't come, and are waited for no more */
}

int cs_cycle_account_finish(struct cs_cycle_account_begun *b, struct cs_cycle_account **out,
                            struct cs_error *err)
{
    (void)err;
    pthread_mutex_lock(&lock);
    seen_thread();
    b->finished++;
    most_finishing = ++n_finishing > most_finishing ? n_finishing : most_finishing;
    most_ahead = b->i + 1 - taken > most_ahead ? b->i + 1 - taken : most_ahead;
    wait_for_others();
    n_finishing--;
    pthread_mutex_unlock(&lock);
    if (b->i % 5 == 0)
        nanosleep(&(struct timespec){0, 200000}, NULL); /* sleeps: takes longer than those after it */
    *out = b->i == FAILS ? NULL : &b->account;
    return b->i == FAILS ? -E2BIG : 0;
}

void cs_cycle_account_drop(struct cs_cycle_account_begun *b)
{
    if (b)
        b->dropped++;
}

void cs_cycle_account_close(struct cs_cycle_account *a)
{
    if (a)
        one[(size_t)a->cycles_a_sample].closed++;
}

static int begin_all(void **state)
{
    (void)state;
    memset(one, 0, sizeof one);
    for (size_t i = 0; i < N; i++) {
        one[i].i = i;
        one[i].account.cycles_a_sample = (double)i;
        begun[i] = i == NOTHING || i == NOTHING_LAST ? NULL : &one[i];
    }
    taken = most_ahead = n_threads = n_finishing = most_finishing = meet = 0;
    return 0;
}

static struct finish_ahead *open_n(size_t n)
{
    struct finish_ahead *f;
    struct cs_error err = {0};
    assert_int_equal(finish_ahead_open(&f, begun, n, &err), 0);
    memset(begun, 0, sizeof begun); /* it has a copy */
    return f;
}

static void take(struct finish_ahead *f, size_t i)
{
    struct cs_cycle_account *a = &one[0].account;
    int rc = finish_ahead_take(f, i, &a);
    int expected = i == NOTHING || i == NOTHING_LAST ? -ENOENT : i == FAILS ? -E2BIG : 0;
    assert_int_equal(rc, expected);
    assert_ptr_equal(a, expected ? NULL : &one[i].account);
    pthread_mutex_lock(&lock);
    taken = i + 1;
    pthread_mutex_unlock(&lock);
}

static size_t cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 1 ? (size_t)n : 1;
}

TEST(each_is_finished_once_and_taken_as_its_own_account_or_its_own_error)
{
    struct finish_ahead *f = open_n(N);
    for (size_t i = 0; i < N; i++)
        take(f, i);
    finish_ahead_close(f);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(one[i].finished, i != NOTHING && i != NOTHING_LAST);
        assert_int_equal(one[i].dropped, 0);
        assert_int_equal(one[i].closed, 0); /* the taker's */
    }
}

TEST(all_cpus_finish_and_not_more)
{
    size_t most = cpus() < FINISH_AHEAD_THREADS_MAX ? cpus() : FINISH_AHEAD_THREADS_MAX;
    meet = most; /* nobody goes on before they are that many */
    struct finish_ahead *f = open_n(N);
    for (size_t i = 0; i < N; i++)
        take(f, i);
    finish_ahead_close(f);
    assert_int_equal(most_finishing, most);
    assert_int_equal(n_threads, most);
}

/* Who takes is slow: what waits for it is bounded. */
TEST(few_wait_to_be_taken)
{
    struct finish_ahead *f = open_n(N);
    for (size_t i = 0; i < 40; i++) {
        take(f, i);
        nanosleep(&(struct timespec){0, 1000000}, NULL); /* sleeps: who takes is slow */
    }
    finish_ahead_close(f);
    /* `taken` here lags by the one that is being taken */
    assert_true(most_ahead <= FINISH_AHEAD_WAITING_MAX + 1);
    assert_true(cpus() == 1 || most_ahead > FINISH_AHEAD_WAITING_MAX / 2);
}

TEST(what_nobody_took_is_dropped_or_closed)
{
    struct finish_ahead *f = open_n(N);
    for (size_t i = 0; i < 20; i++)
        take(f, i);
    finish_ahead_close(f);
    unsigned dropped = 0;
    for (size_t i = 0; i < N; i++) {
        bool any = i != NOTHING && i != NOTHING_LAST, was_taken = i < 20;
        assert_int_equal(one[i].finished + one[i].dropped, any);
        assert_int_equal(one[i].closed, any && !was_taken && one[i].finished);
        dropped += one[i].dropped;
    }
    assert_true(dropped > N / 2);
    finish_ahead_close(NULL);
}

static void one_or_none_needs_no_thread(void **state)
{
    struct finish_ahead *f = open_n(0);
    finish_ahead_close(f);
    begin_all(state);
    f = open_n(1);
    nanosleep(&(struct timespec){0, 5000000}, NULL); /* sleeps: one that there shouldn't be would be first */
    take(f, 0);
    finish_ahead_close(f);
    assert_int_equal(one[0].finished, 1);
    assert_true(n_threads == 1 && pthread_equal(threads[0], pthread_self()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_is_finished_once_and_taken_as_its_own_account_or_its_own_error,
                               begin_all),
        cmocka_unit_test_setup(all_cpus_finish_and_not_more, begin_all),
        cmocka_unit_test_setup(few_wait_to_be_taken, begin_all),
        cmocka_unit_test_setup(what_nobody_took_is_dropped_or_closed, begin_all),
        cmocka_unit_test_setup(one_or_none_needs_no_thread, begin_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
