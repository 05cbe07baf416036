/* SPDX-License-Identifier: MIT */
/* Direct measurement against stretches of known length: the pair's own cost is taken off, a stretch that lost
 * the CPU is kept apart, also around a nested one. */
#include "signals/cyclescope_measure.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

CS_SITE(empty);
CS_SITE(known);
CS_SITE(sleeping);
CS_SITE(outer);
CS_SITE(inner);

static uint64_t median(const struct cs_site *site)
{
    uint64_t below = 0;
    for (unsigned b = 0; b < CS_SITE_BINS; b++)
        if ((below += site->bins[b]) * 2 >= site->runs)
            return cs_site_bin_least(b);
    return 0;
}

static void spin(uint64_t cycles)
{
    uint64_t begin = cs_clock_begin();
    while (cs_clock_begin() - begin < cycles)
        ;
}

static void an_empty_stretch_takes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++)
        cs_end(&empty, cs_begin());
    assert_int_equal(empty.runs + empty.switched, 10000);
    assert_true(cs_pair_cycles > 0 && cs_pair_cycles < 2000);
    assert_true(median(&empty) <= 16 + cs_pair_cycles / 4);
}

static void a_stretch_of_known_length_has_it(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct cs_measure m = cs_begin();
        spin(20000);
        cs_end(&known, m);
    }
    assert_int_equal(known.runs + known.switched, 1000);
    assert_in_range(median(&known), 19000, 22000);
}

static void a_stretch_that_lost_the_cpu_is_kept_apart(void **state)
{
    (void)state;
    if (!cs_switches_told())
        skip();
    for (int i = 0; i < 50; i++) {
        struct cs_measure m = cs_begin();
        usleep(100);
        cs_end(&sleeping, m);
    }
    assert_int_equal(sleeping.switched, 50);
    assert_int_equal(sleeping.runs, 0);
    assert_true(sleeping.switched_cycles > 0);
}

static void a_nested_pair_does_not_hide_it_from_the_outer_one(void **state)
{
    (void)state;
    if (!cs_switches_told())
        skip();
    for (int i = 0; i < 20; i++) {
        struct cs_measure m = cs_begin();
        usleep(100);
        cs_end(&inner, cs_begin()); /* itself undisturbed */
        cs_end(&outer, m);
    }
    assert_int_equal(outer.switched, 20);
    assert_true(inner.runs >= 15);
}

static void sites_are_written_with_all_their_runs(void **state)
{
    (void)state;
    char path[] = "/tmp/cyclescope-sites.XXXXXX", line[256];
    close(mkstemp(path));
    assert_int_equal(cs_sites_write(path), 0);
    FILE *file = fopen(path, "r");
    unsigned long long runs = 0, counted = 0, sites = 0;
    while (file && fgets(line, sizeof line, file)) {
        char name[64];
        unsigned long long n, least;
        if (sscanf(line, "site\t%63s\t%llu", name, &n) == 2)
            runs += n, sites++;
        else if (sscanf(line, "bin\t%llu\t%llu", &least, &n) == 2)
            counted += n;
    }
    fclose(file);
    unlink(path);
    assert_int_equal(runs, counted);
    assert_int_equal(runs, empty.runs + known.runs + sleeping.runs + outer.runs + inner.runs);
    assert_true(sites >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_stretch_takes_nothing),
        cmocka_unit_test(a_stretch_of_known_length_has_it),
        cmocka_unit_test(a_stretch_that_lost_the_cpu_is_kept_apart),
        cmocka_unit_test(a_nested_pair_does_not_hide_it_from_the_outer_one),
        cmocka_unit_test(sites_are_written_with_all_their_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
