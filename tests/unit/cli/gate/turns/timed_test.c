/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that are timed for real, and files of them. */
#include "cli/gate/turns/timed.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/timed_testXXXXXX", store[2][64];

static void write_file(unsigned side, const char *text)
{
    char path[PATH_MAX];
    gate_beside(store[side], ".times", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int read_both(struct gate_timed *timed)
{
    struct cs_error err;
    return gate_timed_read((const char *const[]){store[0], store[1]}, timed, &err);
}

static const char older[] = "1 84\n3 85\n5 84\n7 84\n9 84\n11 84\n";

TEST(files_of_both_forms_are_read)
{
    struct gate_timed t;
    write_file(0, older);
    write_file(1, "2 84 90 3\n4 84 90 3 thread 5\n6 85 91 4 machine 6\n8 84\n10 84 90 3\n12 84 90 3\n");
    assert_int_equal(read_both(&t), 0);
    assert_int_equal(t.n, 12);
    assert_true(t.run[1].value == 85 && t.run[1].began_ms == 3 && t.run[1].side == 0);
    assert_true(isnan(t.time[1].elapsed) && isnan(t.time[1].queued) && isnan(t.time[1].in_kernel));
    assert_true(t.time[6].elapsed == 90 && t.time[6].in_kernel == 3 && isnan(t.time[6].queued));
    assert_true(t.time[7].exact && t.time[7].queued == 5 && t.run[7].side == 1);
    assert_true(!t.time[8].exact && t.time[8].queued == 6 && t.run[8].value == 85);
    gate_timed_fini(&t);
}

TEST(what_is_no_run_is_refused)
{
    static const char *const bad[] = {"1\n", "word\n", "1 84 90\n", "1 84 90 3 thread\n",
                                      "1 84 90 3 fiber 5\n"};
    struct gate_timed t;
    write_file(0, older);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(1, bad[i]);
        assert_true(read_both(&t) < 0 && t.n == 0);
    }
}

TEST(five_runs_are_too_few)
{
    struct gate_timed t;
    write_file(0, older);
    write_file(1, "2 84\n4 84\n6 84\n8 84\n10 84\n");
    assert_int_equal(read_both(&t), 0);
    assert_true(t.n == 0 && t.few[0] == 6 && t.few[1] == 5);
    gate_timed_fini(&t);
}

/* Base sleeps 20 ms and head 50 ms; both at the same time, so that the shorter one ends first. */
TEST(a_run_has_its_elapsed_time_and_its_cpu_time)
{
    char *base[] = {"sleep", "0.02", NULL}, *head[] = {"sleep", "0.05", NULL};
    struct gate_turns turns = {.base = base, .head = head, .store = {store[0], store[1]}};
    struct cs_error err;
    write_file(0, "");
    write_file(1, "");
    for (unsigned together = 0; together < 2; together++) {
        struct gate_timing timing = {.one_cpu = together, .together = together};
        for (unsigned i = 0; i < GATE_TIMED_MIN; i++)
            assert_int_equal(gate_time_pairs(&turns, &timing, &err), 0);
    }
    struct gate_timed t;
    assert_int_equal(read_both(&t), 0);
    for (size_t i = 0; i < t.n; i++) {
        const double sleeps = t.run[i].side ? 5e7 : 2e7;
        assert_true(t.time[i].elapsed >= sleeps && t.time[i].elapsed - sleeps >= t.run[i].value);
        assert_true(t.time[i].in_kernel >= 0 && t.time[i].in_kernel <= t.run[i].value);
        assert_true(isnan(t.time[i].queued) || t.time[i].queued >= 0);
        assert_true(!t.time[i].exact ||
                    t.time[i].queued + t.run[i].value <= t.time[i].elapsed - sleeps + 1e6);
    }
    gate_timed_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_both_forms_are_read),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(five_runs_are_too_few),
        cmocka_unit_test(a_run_has_its_elapsed_time_and_its_cpu_time),
    };
    char path[PATH_MAX];
    if (!mkdtemp(folder))
        return 1;
    for (unsigned side = 0; side < 2; side++)
        snprintf(store[side], sizeof store[side], "%s/%s.store", folder, side ? "head" : "base");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned side = 0; side < 2; side++) {
        gate_beside(store[side], ".times", path);
        unlink(path);
    }
    rmdir(folder);
    return failed;
}
