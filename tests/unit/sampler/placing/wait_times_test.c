/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of waits. When there are too many, the longest are kept and the others counted. From a store they become lines
 * that say what was, and "waiting" where nobody knows. */
#include "analysis/waits/time_lines.h"
#include "sampler/placing/wait_times.h"
#include "store/table/wait_schemas.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ULL
#define assert_near(a, b, most) assert_true(fabs((double)(a) - (double)(b)) <= (double)(most))

static const char *no_label(void *arg, uint32_t label)
{
    (void)arg;
    return label ? "other" : "";
}

struct place {
    char directory[64];
    struct cs_store *store;
};

static struct place open_place(void)
{
    struct place p = {.directory = "/tmp/wait_times_XXXXXX"};
    struct cs_error err = {0};
    assert_non_null(mkdtemp(p.directory));
    assert_int_equal(cs_store_open(p.directory, CS_STORE_WRITE, &p.store, &err), 0);
    assert_int_equal(cs_store_epoch(p.store, "test", &err), 0);
    return p;
}

static void close_place(struct place *p)
{
    char command[128];
    cs_store_close(p->store);
    snprintf(command, sizeof command, "rm -rf %s", p->directory);
    assert_int_equal(system(command), 0);
}

static void merge(struct cs_session_wait_times *times, struct place *p)
{
    struct cs_session_profiles_merging with = {.label = no_label};
    struct cs_error err = {0};
    assert_int_equal(cs_session_wait_times_merge(times, p->store, &with, &err), 0);
    cs_session_wait_times_close(times);
}

static struct cs_session_wait_time at(const char *what, uint64_t begin, uint64_t wake, uint64_t end,
                                      uint64_t on)
{
    return (struct cs_session_wait_time){.pid = 1,
                                         .tid = 2,
                                         .what = what,
                                         .thread = "worker",
                                         .begin_ns = begin * MS,
                                         .wake_ns = wake * MS,
                                         .end_ns = end * MS,
                                         .on_ns = on * MS};
}

static struct cs_time_lines lines_of(struct place *p, double from, double to, unsigned buckets)
{
    struct cs_time_lines l;
    struct cs_error err = {0};
    struct cs_time_lines_wanted wanted = {
        .from_seconds = from, .to_seconds = to, .buckets = buckets, .lines = 10};
    if (cs_time_lines_open(&l, p->store, &wanted, &err) < 0)
        fail_msg("%s", err.text);
    return l;
}

static double share(const struct cs_time_lines *l, size_t line, unsigned bucket, const char *state)
{
    for (unsigned s = 0; s < l->n_states; s++)
        if (strcmp(l->states[s], state) == 0)
            return (double)l->at[line].shares[(size_t)bucket * l->n_states + s];
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void the_longest_are_kept_and_the_others_counted(void **state)
{
    enum { ALL = 5000, MOST = 700 };
    static uint64_t lengths[ALL];
    struct place p = open_place();
    struct cs_session_wait_times *times = cs_session_wait_times_open(MOST, 1);
    double kept = 0;
    (void)state;
    srandom(1);
    struct cs_session_wait_time thread = at(CS_WAIT_TIMES_THREAD, 1, 0, 3000000, 0);
    cs_session_wait_times_thread(times, &thread);
    cs_session_wait_times_thread(times, &thread);
    for (unsigned i = 0; i < ALL; i++) {
        lengths[i] = 1 + (uint64_t)random() % 500;
        struct cs_session_wait_time wait = at("sleep", 1 + 600ULL * i, 0, 1 + 600ULL * i + lengths[i], 0);
        cs_session_wait_times_wait(times, &wait);
    }
    merge(times, &p);
    qsort(lengths, ALL, sizeof *lengths, ascending);
    for (unsigned i = ALL - MOST; i < ALL; i++)
        kept += (double)(lengths[i] * MS);
    struct cs_time_lines l = lines_of(&p, 0, 0, 7);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.cut, ALL - MOST);
    assert_int_equal(l.cut_threads, 1);
    assert_int_equal(l.shortest_ns, lengths[ALL - MOST] * MS);
    assert_near(l.at[0].ns[3], kept, kept * 1e-9);
    cs_time_lines_close(&l);
    close_place(&p);
}

/* 100 ms: ran 10 of the first 20, waited for a file from 20 to 50, was woken at 40; ran 30 to 80; there is no more. */
static void lines_say_what_was_and_what_is_not_told(void **state)
{
    struct place p = open_place();
    struct cs_session_wait_times *times = cs_session_wait_times_open(10, 10);
    (void)state;
    struct cs_session_wait_time thread = at(CS_WAIT_TIMES_THREAD, 1000, 0, 1100, 50),
                                wait = at("file", 1020, 1040, 1050, 10), idle = at("poll", 1080, 0, 1100, 40),
                                late = at(CS_WAIT_TIMES_THREAD, 1050, 0, 1060, 10);
    late.tid = 3;
    late.label = 1;
    cs_session_wait_times_thread(times, &late);
    cs_session_wait_times_wait(times, &idle);
    cs_session_wait_times_wait(times, &wait);
    cs_session_wait_times_thread(times, &thread);
    merge(times, &p);
    struct cs_time_lines l = lines_of(&p, 0, 0, 10);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.at[0].tid, 2);
    assert_int_equal(l.whole_ns, 100 * MS);
    for (unsigned b = 0; b < 10; b++) {
        double sum = 0;
        for (unsigned s = 0; s < l.n_states; s++)
            sum += (double)l.at[0].shares[b * l.n_states + s];
        assert_near(sum, 1, 1e-5);
        assert_near(share(&l, 0, b, "file"), b >= 2 && b < 4 ? 1 : 0, 1e-5);
        assert_near(share(&l, 0, b, "run-queue"), b == 4 ? 1 : 0, 1e-5);
        assert_near(share(&l, 0, b, "running"), b < 2 ? 0.5 : b >= 5 && b < 8 ? 1 : 0, 1e-5);
        assert_near(share(&l, 0, b, "waiting"), b < 2 ? 0.5 : 0, 1e-5);
        assert_near(share(&l, 0, b, "poll"), b >= 8 ? 1 : 0, 1e-5);
        assert_near(share(&l, 1, b, "running"), b == 5 ? 1 : 0, 1e-5);
    }
    assert_near(l.at[0].busy_ns, 80.0 * MS, 1);
    cs_time_lines_close(&l);
    l = lines_of(&p, 0.015, 0.045, 3); /* parts of waits */
    assert_near(share(&l, 0, 0, "file"), 0.5, 1e-4);
    assert_near(share(&l, 0, 0, "running"), 0.25, 1e-4);
    assert_near(share(&l, 0, 1, "file"), 1, 1e-4);
    assert_near(share(&l, 0, 2, "run-queue"), 0.5, 1e-4);
    cs_time_lines_close(&l);
    close_place(&p);
}

/* A number that came round again is another thread; waits of nobody, wrong times and overlaps are passed over. */
/* 100 ms: waited for a file from 20 to 50, was woken at 40; ran 53 by the kernel's account, of which 3 before it was told. */
static void what_ran_before_a_switch_was_told_is_the_end_of_its_wait(void **state)
{
    struct place p = open_place();
    struct cs_session_wait_times *times = cs_session_wait_times_open(10, 10);
    (void)state;
    struct cs_session_wait_time thread = at(CS_WAIT_TIMES_THREAD, 1000, 0, 1100, 73),
                                wait = at("file", 1020, 1040, 1050, 20);
    cs_session_wait_times_wait(times, &wait);
    cs_session_wait_times_thread(times, &thread);
    merge(times, &p);
    struct cs_time_lines l = lines_of(&p, 0, 0, 100);
    for (unsigned b = 0; b < 100; b++) {
        assert_near(share(&l, 0, b, "run-queue"), b >= 40 && b < 47 ? 1 : 0, 1e-4);
        assert_near(share(&l, 0, b, "running"), b < 20 || b >= 47 ? 1 : 0, 1e-4);
    }
    cs_time_lines_close(&l);
    close_place(&p);
}

static void damaged_times_do_no_harm(void **state)
{
    struct place p = open_place();
    struct cs_table *table = cs_table_open(&cs_schema_wait_times);
    struct cs_error err = {0};
    (void)state;
    const char *const what[] = {CS_WAIT_TIMES_THREAD, "file", "sleep", "made up", ""};
    srandom(2);
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t row[CS_WAIT_TIMES_N];
        for (unsigned c = 0; c < CS_WAIT_TIMES_N; c++)
            row[c] = random() % 8 ? (uint64_t)random() % 5000 : (uint64_t)random() << 33 | 7;
        row[CS_WAIT_TIMES_TID] = (uint64_t)random() % 5;
        row[CS_WAIT_TIMES_WHAT] = (uint64_t)cs_table_text(table, what[random() % 5]);
        row[CS_WAIT_TIMES_NAME] = (uint64_t)cs_table_text(table, "x");
        assert_int_equal(cs_table_add(table, row), 0);
    }
    struct cs_store_profile_head head = {.event = CS_WAITS_EVENT, .unit = "ns"};
    assert_int_equal(cs_store_merge(p.store, &cs_contexts_profile, &head, table, &err), 0);
    cs_table_close(table);
    struct cs_time_lines l = lines_of(&p, 0, 0, 50);
    assert_int_equal(l.n, 10);
    for (size_t i = 0; i < l.n; i++)
        for (unsigned b = 0; b < l.n_buckets; b++) {
            double sum = 0;
            for (unsigned s = 0; s < l.n_states; s++)
                sum += (double)l.at[i].shares[b * l.n_states + s];
            assert_true(sum >= 0 && sum < 1.001);
        }
    cs_time_lines_close(&l);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_are_kept_and_the_others_counted),
        cmocka_unit_test(lines_say_what_was_and_what_is_not_told),
        cmocka_unit_test(what_ran_before_a_switch_was_told_is_the_end_of_its_wait),
        cmocka_unit_test(damaged_times_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
