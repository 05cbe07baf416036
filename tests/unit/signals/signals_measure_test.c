/* SPDX-License-Identifier: MIT */
/* Direct measurement against stretches of known length. The pair's own cost is subtracted, and a stretch that
 * lost the CPU is kept separate, also around a nested one. */
#include "signals/cyclescope_measure.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

CS_SITE(empty);
CS_SITE(known);
CS_SITE(sleeping);
CS_SITE(outer);
CS_SITE(inner);
CS_SITE(around);
CS_SITE(lost_inside);
CS_SITE(calm);
CS_SITE(calm_inside);

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

/* Sleeps, and whether the CPU was lost by the kernel's own count: a thread held up between arming its timer
 * and going to sleep finds the timer expired and keeps the CPU. */
static int sleep_loses_cpu(void)
{
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    usleep(100); /* sleeps: what is measured */
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_nvcsw + after.ru_nivcsw > before.ru_nvcsw + before.ru_nivcsw;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What an empty pair takes is taken off. Pairs without that, in between, tell how fast the machine is just now. */
TEST(an_empty_stretch_takes_nothing)
{
    static uint64_t raw[10001];
    int kept;
    for (int i = 0; i < 10001; i++) {
        if (i)
            cs_end(&empty, cs_begin());
        raw[i] = cs_end_raw(cs_begin_raw(), &kept);
    }
    qsort(raw, 10001, sizeof *raw, by_size);
    assert_int_equal(empty.runs + empty.switched, 10000);
    assert_true(cs_pair_cycles > 0 && cs_pair_cycles < 2000);
    assert_true(median(&empty) + cs_pair_cycles * 3 / 4 <= raw[5000] + 16);
}

TEST(a_stretch_of_known_length_has_it)
{
    for (int i = 0; i < 1000; i++) {
        struct cs_measure m = cs_begin();
        spin(20000);
        cs_end(&known, m);
    }
    assert_int_equal(known.runs + known.switched, 1000);
    assert_in_range(median(&known), 19000, 22000);
}

TEST(a_stretch_that_lost_the_cpu_is_kept_apart)
{
    if (!cs_switches_told())
        skip();
    unsigned lost = 0;
    for (int i = 0; i < 50; i++) {
        struct cs_measure m = cs_begin();
        lost += (unsigned)sleep_loses_cpu();
        cs_end(&sleeping, m);
    }
    assert_in_range(lost, 25, 50);
    assert_in_range(sleeping.switched, lost, 50); /* it may lose it next to the counts as well */
    assert_int_equal(sleeping.runs + sleeping.switched, 50);
    assert_true(sleeping.switched_cycles > 0);
}

TEST(a_pair_after_the_loss_does_not_hide_it_from_the_outer_one)
{
    if (!cs_switches_told())
        skip();
    unsigned lost = 0;
    for (int i = 0; i < 20; i++) {
        struct cs_measure m = cs_begin();
        lost += (unsigned)sleep_loses_cpu();
        cs_end(&inner, cs_begin()); /* itself undisturbed */
        cs_end(&outer, m);
    }
    assert_in_range(lost, 10, 20);
    assert_in_range(outer.switched, lost, 20);
    assert_true(inner.runs >= 15);
}

TEST(a_nested_pair_that_lost_it_tells_the_outer_one)
{
    if (!cs_switches_told())
        skip();
    unsigned lost = 0;
    for (int i = 0; i < 20; i++) {
        struct cs_measure m = cs_begin(), nested = cs_begin();
        lost += (unsigned)sleep_loses_cpu();
        cs_end(&lost_inside, nested);
        cs_end(&around, m);
    }
    assert_in_range(lost, 10, 20);
    assert_in_range(lost_inside.switched, lost, 20);
    assert_in_range(around.switched, lost_inside.switched, 20);
}

TEST(a_nested_pair_that_kept_it_leaves_the_outer_one_alone)
{
    for (int i = 0; i < 1000; i++) {
        struct cs_measure m = cs_begin();
        cs_end(&calm_inside, cs_begin());
        cs_end(&calm, m);
    }
    assert_int_equal(calm.runs + calm.switched, 1000);
    assert_in_range(calm.runs, 900, 1000);
}

TEST(sites_are_written_with_all_their_runs)
{
    char path[] = "/tmp/cyclescope-sites.XXXXXX", line[256];
    close(mkstemp(path));
    assert_int_equal(cs_sites_write(path), 0);
    FILE *file = fopen(path, "r");
    unsigned long long runs = 0, counted = 0, sites = 0, expected = 0;
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
    for (const struct cs_site *site = cs_sites; site; site = site->next)
        expected += site->runs;
    assert_int_equal(runs, expected);
    assert_true(sites >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_stretch_takes_nothing),
        cmocka_unit_test(a_stretch_of_known_length_has_it),
        cmocka_unit_test(a_stretch_that_lost_the_cpu_is_kept_apart),
        cmocka_unit_test(a_pair_after_the_loss_does_not_hide_it_from_the_outer_one),
        cmocka_unit_test(a_nested_pair_that_lost_it_tells_the_outer_one),
        cmocka_unit_test(a_nested_pair_that_kept_it_leaves_the_outer_one_alone),
        cmocka_unit_test(sites_are_written_with_all_their_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
