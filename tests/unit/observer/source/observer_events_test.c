/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events in addition to signals: the kernel's page-fault counter against pages that are touched one by one,
 * which any machine can count. Refusals in a sentence where it can't. */
#include "observer/source/events.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 500u
#ifdef __SANITIZE_ADDRESS__
#define SHADOW (PAGES / 8 + 1) /* the sanitizer's own pages for those that are touched */
#else
#define SHADOW 0
#endif
#define SLACK (40 + SHADOW) /* faults of the stack, of libc's first calls */

static struct cs_observe_event software(const char *name, uint64_t config)
{
    return (struct cs_observe_event){
        .name = name,
        .attr = {.type = PERF_TYPE_SOFTWARE, .config = config, .exclude_kernel = 1, .exclude_hv = 1}};
}

static void touch_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; at != MAP_FAILED && i < PAGES; i++)
        ((volatile char *)at)[i * page] = 1;
    munmap(at, PAGES * page);
}

static void *touch_thread(void *unused)
{
    touch_pages();
    return unused;
}

/* A child that touches pages at each byte it gets, 't' in a new thread, and answers when it has. */
struct toucher {
    pid_t pid;
    int ask[2], answer[2];
};

static struct toucher start_toucher(void)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* its shadow faults three times a page */
#endif
    struct toucher t;
    assert_int_equal(pipe(t.ask), 0);
    assert_int_equal(pipe(t.answer), 0);
    t.pid = fork();
    if (t.pid == 0) {
        char c;
        close(t.ask[1]);
        while (read(t.ask[0], &c, 1) == 1) {
            pthread_t thread;
            if (c == 't' && pthread_create(&thread, NULL, touch_thread, NULL) == 0)
                pthread_join(thread, NULL);
            else
                touch_pages();
            if (write(t.answer[1], &c, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    return t;
}

static void tell(struct toucher *t, char what)
{
    char c;
    assert_int_equal(write(t->ask[1], &what, 1), 1);
    assert_int_equal(read(t->answer[0], &c, 1), 1);
}

static void end_toucher(struct toucher *t)
{
    close(t->ask[1]);
    close(t->ask[0]);
    waitpid(t->pid, NULL, 0);
    close(t->answer[0]);
    close(t->answer[1]);
}

static uint64_t faults_of(char what)
{
    struct cs_observe_event event = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
    struct toucher t = start_toucher();
    struct cs_events *e;
    struct cs_error err;
    uint64_t before[CS_COUNTERS_MAX], after[CS_COUNTERS_MAX];
    tell(&t, what); /* its first calls are behind it */
    assert_int_equal(cs_events_open(&event, 1, false, false, &e, &err), 0);
    assert_true(cs_events_by_read(e));
    assert_int_equal(cs_events_counters(e), 1);
    assert_int_equal(cs_events_open_target(e, t.pid, 0, &err), 0);
    assert_int_equal(cs_events_open_own(e, NULL, &err), 0);
    assert_true(cs_events_read(e, before));
    tell(&t, what);
    assert_true(cs_events_read(e, after));
    cs_events_close(e);
    end_toucher(&t);
    return after[0] - before[0];
}

TEST(faults_of_the_target_are_counted)
{
    assert_in_range(faults_of('p'), PAGES, PAGES + SLACK);
}

TEST(threads_that_it_starts_later_are_counted)
{
    assert_in_range(faults_of('t'), PAGES, PAGES + SLACK);
}

TEST(own_share_is_counted_apart)
{
    struct cs_observe_event event = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
    struct toucher t = start_toucher();
    struct cs_events *e;
    struct cs_error err;
    char name[64];
    uint64_t before[CS_COUNTERS_MAX], after[CS_COUNTERS_MAX];
    assert_int_equal(cs_events_open(&event, 1, false, true, &e, &err), 0);
    assert_int_equal(cs_events_counters(e), 2);
    cs_events_name(e, 0, name, sizeof name);
    assert_string_equal(name, "page-faults");
    cs_events_name(e, 1, name, sizeof name);
    assert_string_equal(name, "page-faults (observer)");
    assert_int_equal(cs_events_open_target(e, t.pid, 0, &err), 0);
    assert_int_equal(cs_events_open_own(e, NULL, &err), 0);
    cs_events_read(e, before);
    touch_pages();
    cs_events_read(e, after);
    assert_in_range(after[1] - before[1], PAGES, PAGES + SLACK);
    assert_in_range(after[0] - before[0], 0, SLACK);
    cs_events_close(e);
    end_toucher(&t);
}

TEST(absent_counter_is_a_sentence_not_a_zero)
{
    struct cs_observe_event event = {.name = "instructions",
                                     .attr = {.type = PERF_TYPE_HARDWARE,
                                              .config = PERF_COUNT_HW_INSTRUCTIONS,
                                              .exclude_kernel = 1,
                                              .exclude_hv = 1}};
    struct cs_events *e = NULL;
    struct cs_error err;
    if (cs_events_open(&event, 1, false, false, &e, &err) == 0) {
        cs_events_close(e);
        skip(); /* this machine has a PMU */
    }
    assert_non_null(strstr(err.text, "instructions cannot be counted"));
    assert_non_null(strstr(err.text, "os:thread")); /* and says what can be observed instead */
}

TEST(core_wide_event_is_refused_without_its_sibling)
{
    struct cs_observe_event event = software("cycles:t", PERF_COUNT_SW_CPU_CLOCK);
    struct cs_events *e = NULL;
    struct cs_error err;
    const char *why = NULL;
    event.any_thread = true;
    bool can = cs_events_any_thread(&why);
    assert_true(cs_events_open(&event, 1, false, false, &e, &err) < 0);
    assert_non_null(strstr(err.text, can ? "--smt" : why));
}

TEST(more_events_than_a_sample_holds_are_refused)
{
    struct cs_observe_event events[3] = {software("page-faults", PERF_COUNT_SW_PAGE_FAULTS),
                                         software("task-clock", PERF_COUNT_SW_TASK_CLOCK),
                                         software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES)};
    struct cs_events *e = NULL;
    struct cs_error err;
    assert_int_equal(cs_events_open(events, 3, false, false, &e, &err), 0);
    cs_events_close(e);
    assert_true(cs_events_open(events, 3, false, true, &e, &err) < 0);
    assert_non_null(strstr(err.text, "at most"));
}

TEST(target_that_is_gone_is_refused)
{
    struct cs_observe_event event = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
    struct cs_events *e = NULL;
    struct cs_error err;
    struct toucher t = start_toucher();
    end_toucher(&t);
    assert_int_equal(cs_events_open(&event, 1, false, false, &e, &err), 0);
    assert_true(cs_events_open_target(e, t.pid, 0, &err) < 0);
    assert_non_null(strstr(err.text, "ended"));
    cs_events_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_target_are_counted),
        cmocka_unit_test(threads_that_it_starts_later_are_counted),
        cmocka_unit_test(own_share_is_counted_apart),
        cmocka_unit_test(absent_counter_is_a_sentence_not_a_zero),
        cmocka_unit_test(core_wide_event_is_refused_without_its_sibling),
        cmocka_unit_test(more_events_than_a_sample_holds_are_refused),
        cmocka_unit_test(target_that_is_gone_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
