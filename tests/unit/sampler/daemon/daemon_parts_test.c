/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's pure parts: settings, schedule, the log's memory, retention. */
#include "sampler/daemon/account.h"
#include "sampler/daemon/due.h"
#include "sampler/daemon/log.h"
#include "sampler/daemon/settings.h"
#include "store/retention.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define S 1000000000ull

static struct cs_error err;

TEST(a_configuration_is_read_and_options_win)
{
    struct cs_daemon_settings s;
    cs_daemon_settings_init(&s);
    const char *text = "# production\n"
                       "store = /var/lib/cyclescope/store   # here\n"
                       "\n"
                       "  budget=0.2%\n"
                       "merge-interval = 5m\n"
                       "keep-age = 30d\nkeep-size = 2G\nlabel = cgroup\ndriver = ring\nbursts = on\n"
                       "events = cycles,{a,b}";
    assert_int_equal(cs_daemon_settings_parse(&s, text, "x.conf", &err), 0);
    assert_string_equal(s.store, "/var/lib/cyclescope/store");
    assert_true(s.budget > 0.00199 && s.budget < 0.00201);
    assert_true(s.merge_s == 300 && s.keep_age_s == 30 * 86400.0 && s.keep_bytes == 2e9);
    assert_int_equal(s.label, CS_LABEL_CGROUP);
    assert_int_equal(s.driver, CS_SAMPLER_DRIVER_RING);
    assert_true(s.bursts);
    assert_int_equal(cs_daemon_settings_parse(&s, "label = attribute=http.route", "x.conf", &err), 0);
    assert_int_equal(s.label, CS_LABEL_ATTRIBUTE);
    assert_string_equal(s.attribute, "http.route");
    assert_int_equal(cs_daemon_settings_set(&s, "label", "attribute=", &err), -EINVAL);
    assert_int_equal(cs_daemon_settings_set(&s, "label", "command", &err), 0);
    assert_string_equal(s.attribute, "");
    assert_int_equal(cs_daemon_settings_set(&s, "bursts", "perhaps", &err), -EINVAL);
    assert_string_equal(s.events, "cycles,{a,b}");
    assert_int_equal(cs_daemon_settings_set(&s, "merge-interval", "100ms", &err), 0);
    assert_true(s.merge_s == 0.1);
}

TEST(a_wrong_line_is_named_and_nothing_is_taken)
{
    struct cs_daemon_settings s, before;
    cs_daemon_settings_init(&s);
    before = s;
    const char *wrong[] = {"label = cgroup\nbudget = 0",
                           "label = cgroup\nbudget = 90%",
                           "label = cgroup\nbugdet = 1",
                           "label = cgroup\nstore /x",
                           "label = cgroup\nmerge-interval = 5 fortnights",
                           "label = cgroup\nlabel = x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(cs_daemon_settings_parse(&s, wrong[i], "x.conf", &err) < 0);
        assert_non_null(strstr(err.text, "x.conf line 2"));
        assert_memory_equal(&s, &before, sizeof s);
    }
}

TEST(merges_come_at_their_interval_and_failures_are_tried_again_sooner)
{
    struct cs_daemon_due t;
    cs_daemon_due_init(&t, 600, 86400, 100 * S);
    assert_int_equal(cs_daemon_due_now(&t, 699 * S, false), 0);
    assert_int_equal(cs_daemon_due_now(&t, 700 * S, false), CS_DAEMON_DUE_MERGE);
    uint64_t now = 700 * S, waits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        cs_daemon_due_merged(&t, now, false);
        assert_int_equal(cs_daemon_due_now(&t, now + waits[i] * S - 1, true), 0); /* even when pressed */
        now += waits[i] * S;
        assert_int_equal(cs_daemon_due_now(&t, now, false), CS_DAEMON_DUE_MERGE);
    }
    cs_daemon_due_merged(&t, now, true);
    assert_int_equal(cs_daemon_due_now(&t, now + 599 * S, false), 0);
    assert_int_equal(cs_daemon_due_now(&t, now + 10 * S, true), CS_DAEMON_DUE_MERGE);
}

TEST(an_epoch_begins_after_a_merge)
{
    struct cs_daemon_due t;
    cs_daemon_due_init(&t, 600, 1000, 0);
    cs_daemon_due_merged(&t, 600 * S, true);
    assert_int_equal(cs_daemon_due_now(&t, 999 * S, false), 0);
    assert_int_equal(cs_daemon_due_now(&t, 1000 * S, false), CS_DAEMON_DUE_MERGE | CS_DAEMON_DUE_EPOCH);
    cs_daemon_due_merged(&t, 1000 * S, true);
    cs_daemon_due_epoch(&t, 1000 * S);
    assert_int_equal(cs_daemon_due_now(&t, 1500 * S, false), 0);
    cs_daemon_due_init(&t, 600, 0, 0);
    assert_int_equal(cs_daemon_due_now(&t, 599 * S, false), 0);
    cs_daemon_due_merged(&t, 1ull << 60, true);
    assert_int_equal(cs_daemon_due_now(&t, (1ull << 60) + 599 * S, false), 0);
}

TEST(changed_lengths_count_from_the_last_merge_and_epoch)
{
    struct cs_daemon_due t;
    cs_daemon_due_init(&t, 600, 1000, 0);
    cs_daemon_due_change(&t, 60, 500, 30 * S);
    assert_int_equal(cs_daemon_due_now(&t, 59 * S, false), 0);
    assert_int_equal(cs_daemon_due_now(&t, 60 * S, false), CS_DAEMON_DUE_MERGE);
    cs_daemon_due_merged(&t, 490 * S, true);
    assert_int_equal(cs_daemon_due_now(&t, 500 * S, false), CS_DAEMON_DUE_MERGE | CS_DAEMON_DUE_EPOCH);
    assert_int_equal(cs_daemon_due_wait_ms(&t, 490 * S, 1000), 1000);
    assert_int_equal(cs_daemon_due_wait_ms(&t, 499 * S + S / 2, 1000), 501);
    assert_int_equal(cs_daemon_due_wait_ms(&t, 600 * S, 1000), 0);
}

TEST(a_sentence_is_written_once_an_hour_and_counted_in_between)
{
    struct cs_daemon_log_memory memory = {0};
    unsigned repeated;
    assert_true(cs_daemon_log_admits(&memory, "disk full", 10 * S, &repeated));
    assert_false(cs_daemon_log_admits(&memory, "disk full", 20 * S, &repeated));
    assert_true(cs_daemon_log_admits(&memory, "something else", 20 * S, &repeated));
    assert_false(cs_daemon_log_admits(&memory, "disk full", 3600 * S, &repeated));
    assert_true(cs_daemon_log_admits(&memory, "disk full", 3610 * S, &repeated));
    assert_int_equal(repeated, 2);
    for (unsigned i = 0; i < 100; i++) {
        char sentence[32];
        snprintf(sentence, sizeof sentence, "sentence %c%c", 'a' + i / 10, 'a' + i % 10);
        assert_true(cs_daemon_log_admits(&memory, sentence, 4000 * S + i, &repeated));
    }
}

TEST(epochs_go_by_age_then_the_oldest_by_size_but_never_the_newest)
{
    struct cs_store_epoch_extent epochs[] = {{.name = "c", .written_s = 300, .bytes = 30},
                                             {.name = "a", .written_s = 100, .bytes = 10},
                                             {.name = "d", .written_s = 400, .bytes = 40},
                                             {.name = "b", .written_s = 200, .bytes = 20}};
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){0, 0}, 1000, epochs, 4), 0);
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){750, 0}, 1000, epochs, 4), 2);
    assert_true(epochs[0].goes && epochs[1].goes && !epochs[2].goes);
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){0, 90}, 1000, epochs, 4), 1);
    assert_true(epochs[0].goes && !epochs[1].goes);
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){1, 1}, 1000, epochs, 4), 3);
    assert_false(epochs[3].goes);
    epochs[0].in_use = true;
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){1, 1}, 1000, epochs, 4), 2);
    assert_false(epochs[0].goes);
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){1, 1}, 1000, epochs, 0), 0);
}

TEST(a_clock_that_runs_backwards_removes_nothing_by_age)
{
    struct cs_store_epoch_extent epochs[] = {{.name = "a", .written_s = 1000, .bytes = 10},
                                             {.name = "b", .written_s = 2000, .bytes = 10}};
    assert_int_equal(cs_store_retention_choose(&(struct cs_store_retention){100, 0}, 500, epochs, 2), 0);
}

/* A session that uses a tenth of a CPU where a hundredth is allowed, and half a second to begin and to end. */
TEST(what_uses_more_cpu_than_its_budget_rests_until_it_is_made_up_for)
{
    struct cs_cpu_account a;
    double used = 0, resting_until = 0, active = 0;
    cs_cpu_account_init(&a, 0.005, 2, 1000, 7);
    for (double t = 1; t <= 3600; t++) {
        if (t < resting_until)
            continue;
        used += resting_until > 0 ? 0.6 : 0.1;
        resting_until = 0;
        active++;
        const double rest = cs_cpu_account_update(&a, 1000 + t, 7 + used);
        if (rest > 0) {
            used += 0.5;
            resting_until = t + rest;
        }
    }
    assert_true(used <= 0.01 * 3600);
    assert_true(used > 0.8 * 0.01 * 3600); /* it uses what it may */
    assert_true(active > 60);
    assert_true(a.rested_s > 3000);
}

/* A session begins with 7 MB and grows; names of programs' code come all at once, when it has come near its bound. */
TEST(memory_stays_within_its_bound_whenever_a_program_names_all_of_its_code)
{
    const double bound = 32e6;
    const uint64_t begin = 7000000, names_max = cs_memory_jit_bytes(bound);
    for (unsigned when = 0; when < 60; when++) {
        uint64_t own = begin, names = 0, peak = 0;
        unsigned sessions = 1, merges = 0;
        for (unsigned drain = 0; drain < 120; drain++) {
            own += 500000;
            if (drain % 60 == when) {
                own += names_max - names;
                names = names_max;
            }
            peak = own > peak ? own : peak;
            const enum cs_memory_state state = cs_memory_state(bound, own, names_max - names, begin);
            merges += state == CS_MEMORY_PRESSED;
            if (state == CS_MEMORY_NEAR) {
                own = begin;
                names = 0;
                sessions++;
            }
        }
        assert_true(peak <= 32000000);
        assert_true(peak >= 20000000);
        assert_true(sessions > 1 && merges > 1);
    }
    /* One that begins near the bound isn't begun again and again. */
    assert_int_equal(cs_memory_state(bound, 31000000, 0, 30500000), CS_MEMORY_PRESSED);
}

TEST(a_session_that_left_something_out_ends_after_a_minute)
{
    const uint64_t minute = 60000000000ull;
    assert_false(cs_session_is_full(100 * minute, 0, 0));
    assert_false(cs_session_is_full(minute - 1, 7, 7));
    assert_true(cs_session_is_full(minute, 1, 0));
    assert_true(cs_session_is_full(minute, 0, 1));
}

TEST(what_keeps_its_budget_never_rests_and_saves_for_a_merge)
{
    struct cs_cpu_account a;
    cs_cpu_account_init(&a, 0.005, 2, 0, 0);
    for (double t = 1; t <= 600; t++)
        assert_true(cs_cpu_account_update(&a, t, 0.004 * t) == 0);
    assert_true(cs_cpu_account_update(&a, 601, 2.4 + 1.5) == 0);
    assert_true(cs_cpu_account_update(&a, 601.1, 2.4 + 10) > 100);
    cs_cpu_account_init(&a, 0, 2, 0, 0); /* a fixed rate has no budget */
    assert_true(cs_cpu_account_update(&a, 1, 1000) == 0);
}

TEST(a_day_on_disk_is_bounded_over_all_its_epochs)
{
    struct cs_disk_account a;
    cs_disk_account_init(&a, 100, 50);
    assert_int_equal(cs_disk_account_update(&a, 60, 40), CS_DISK_ROOM);
    cs_disk_account_epoch(&a);
    assert_int_equal(cs_disk_account_update(&a, 70, 30), CS_DISK_ROOM);
    assert_int_equal(cs_disk_account_update(&a, 80, 40), CS_DISK_LEAN);
    assert_int_equal(cs_disk_account_update(&a, 90, 60), CS_DISK_FULL);
    assert_true(cs_disk_account_day_left_s(&a, 90) == 86400 - 40);
    assert_int_equal(cs_disk_account_update(&a, 50 + 86400, 60), CS_DISK_ROOM);
    assert_int_equal(cs_disk_account_update(&a, 60 + 86400, 159), CS_DISK_LEAN);
    cs_disk_account_init(&a, 0, 0);
    assert_int_equal(cs_disk_account_update(&a, 1, 1 << 30), CS_DISK_ROOM);
}

TEST(a_sentence_is_the_same_whatever_its_numbers)
{
    struct cs_daemon_log_memory memory = {0};
    unsigned repeated;
    assert_true(cs_daemon_log_admits(&memory, "12 records were lost", S, &repeated));
    assert_false(cs_daemon_log_admits(&memory, "3456 records were lost", 2 * S, &repeated));
    assert_true(cs_daemon_log_admits(&memory, "12 records were found", 3 * S, &repeated));
    assert_true(cs_daemon_log_admits(&memory, "7 records were lost", 4000 * S, &repeated));
    assert_int_equal(repeated, 1);
}

TEST(waits_may_take_less_when_there_is_less_credit)
{
    struct cs_cpu_account a;
    cs_cpu_account_init(&a, 0.005, 2, 0, 0);
    const double rate = a.rate;
    assert_true(cs_cpu_account_waits(&a) <= 0.5 * rate);
    double before = cs_cpu_account_waits(&a);
    for (double cpu = 0.5; cpu < 3.5; cpu += 0.5) {
        (void)cs_cpu_account_update(&a, 1, cpu);
        assert_true(cs_cpu_account_waits(&a) <= before);
        before = cs_cpu_account_waits(&a);
        assert_true(before >= 0.05 * rate - 1e-12);
        assert_true(cs_cpu_account_tables(&a) <= before);
    }
    assert_true(before < 0.06 * rate && cs_cpu_account_tables(&a) >= 0.05 * rate - 1e-12);
    cs_cpu_account_init(&a, 0, 2, 0, 0); /* a fixed rate: no budget */
    assert_true(cs_cpu_account_waits(&a) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_may_take_less_when_there_is_less_credit),
        cmocka_unit_test(a_configuration_is_read_and_options_win),
        cmocka_unit_test(a_wrong_line_is_named_and_nothing_is_taken),
        cmocka_unit_test(merges_come_at_their_interval_and_failures_are_tried_again_sooner),
        cmocka_unit_test(an_epoch_begins_after_a_merge),
        cmocka_unit_test(changed_lengths_count_from_the_last_merge_and_epoch),
        cmocka_unit_test(a_sentence_is_written_once_an_hour_and_counted_in_between),
        cmocka_unit_test(epochs_go_by_age_then_the_oldest_by_size_but_never_the_newest),
        cmocka_unit_test(what_uses_more_cpu_than_its_budget_rests_until_it_is_made_up_for),
        cmocka_unit_test(memory_stays_within_its_bound_whenever_a_program_names_all_of_its_code),
        cmocka_unit_test(a_session_that_left_something_out_ends_after_a_minute),
        cmocka_unit_test(what_keeps_its_budget_never_rests_and_saves_for_a_merge),
        cmocka_unit_test(a_day_on_disk_is_bounded_over_all_its_epochs),
        cmocka_unit_test(a_sentence_is_the_same_whatever_its_numbers),
        cmocka_unit_test(a_clock_that_runs_backwards_removes_nothing_by_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
