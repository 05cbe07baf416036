/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods of a process: against truths worked out by hand. */
#include "sampler/dynamic/jit_methods.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void add(struct cs_jit_methods *m, struct cs_jit_kept *kept, uint64_t start, uint64_t size,
                const char *name)
{
    long text = cs_jit_methods_text(m, kept, name);
    assert_true(text >= 0);
    assert_true(cs_jit_methods_add(m, kept, start, size, 0, (size_t)text));
}

static const char *name_at(const struct cs_jit_methods *m, uint64_t addr)
{
    const struct cs_jit_method *found = cs_jit_methods_at(m, addr, 1);
    return found ? m->text + found->name : "";
}

TEST(of_two_methods_for_one_address_the_later_one_holds)
{
    struct cs_jit_methods m = {0};
    struct cs_jit_kept kept = {0};
    add(&m, &kept, 0x3000, 0x10, "far");
    add(&m, &kept, 0x1000, 0x100, "wide");  /* 0x1000 .. 0x10ff */
    add(&m, &kept, 0x1040, 0x10, "narrow"); /* 0x1040 .. 0x104f, later */
    add(&m, &kept, 0x1000, 0x20, "again");  /* 0x1000 .. 0x101f, later still */
    cs_jit_methods_sort(&m);
    assert_string_equal(name_at(&m, 0xfff), "");
    assert_string_equal(name_at(&m, 0x1000), "again");
    assert_string_equal(name_at(&m, 0x101f), "again");
    assert_string_equal(name_at(&m, 0x1020), "wide");
    assert_string_equal(name_at(&m, 0x1040), "narrow");
    assert_string_equal(name_at(&m, 0x1050), "wide"); /* behind a younger one that starts nearer */
    assert_string_equal(name_at(&m, 0x1100), "");
    assert_string_equal(name_at(&m, 0x300f), "far");
    add(&m, &kept, 0x1000, 0x8, "last"); /* behind what is sorted */
    cs_jit_methods_sort(&m);
    assert_string_equal(name_at(&m, 0x1000), "last");
    assert_string_equal(name_at(&m, 0x1008), "again");
    cs_jit_methods_fini(&m, &kept);
    assert_int_equal(kept.bytes, 0);
    assert_int_equal(kept.cut, 0);
}

TEST(code_has_a_life_from_a_time_to_a_time)
{
    struct cs_jit_methods m = {0};
    struct cs_jit_kept kept = {0};
    char name[16];
    for (uint64_t life = 0; life < 100; life++) { /* each as long as the one before, two by turns in length */
        snprintf(name, sizeof name, "life%u", (unsigned)life);
        const long text = cs_jit_methods_text(&m, &kept, name);
        assert_true(
            cs_jit_methods_add(&m, &kept, 0x1000, life % 2 ? 0x40 : 0x80, 1000 + 10 * life, (size_t)text));
        if (life % 7 == 0)
            cs_jit_methods_sort(&m);
    }
    cs_jit_methods_sort(&m);
    assert_int_equal(m.replaced_ns, 1990);
    for (uint64_t time = 1000; time < 2000; time++) {
        snprintf(name, sizeof name, "life%u", (unsigned)(time - 1000) / 10);
        assert_string_equal(m.text + cs_jit_methods_at(&m, 0x1010, time)->name, name);
        /* behind the shorter ones the longer one before is still there */
        snprintf(name, sizeof name, "life%u", (unsigned)(time - 1000) / 20 * 2);
        assert_string_equal(m.text + cs_jit_methods_at(&m, 0x1060, time)->name, name);
    }
    assert_string_equal(m.text + cs_jit_methods_at(&m, 0x1010, 3000)->name, "life99");
    assert_string_equal(m.text + cs_jit_methods_at(&m, 0x1010, 500)->name, "life0"); /* its name came later */
    assert_int_equal(cs_jit_methods_change(&m, 0x1010, 1005, 1500), 1010);
    assert_int_equal(cs_jit_methods_change(&m, 0x1060, 1005, 1500), 1020);
    assert_int_equal(cs_jit_methods_change(&m, 0x1010, 1005, 1010), 0);
    assert_int_equal(cs_jit_methods_change(&m, 0x1010, 1995, 9000), 0);
    assert_int_equal(cs_jit_methods_change(&m, 0x2000, 0, 9000), 0);
    cs_jit_methods_fini(&m, &kept);
}

/* By the highest water mark, which nothing lowers. */
TEST(many_methods_are_sorted_in_place)
{
    const unsigned n = 200000;
    struct cs_jit_methods m = {0};
    struct cs_jit_kept kept = {0};
    struct rusage before, after;
    for (unsigned i = 0; i < n; i++)
        assert_true(cs_jit_methods_add(&m, &kept, 0x1000 + (uint64_t)(i * 7919 % n) * 16, 16, 0, 0));
    getrusage(RUSAGE_SELF, &before);
    cs_jit_methods_sort(&m);
    getrusage(RUSAGE_SELF, &after);
    for (unsigned i = 1; i < n; i++)
        assert_true(m.at[i - 1].start < m.at[i].start);
#if !defined __SANITIZE_THREAD__ &&                                                                          \
    !defined __SANITIZE_ADDRESS__ /* their shadow grows with what is touched */
    assert_in_range((after.ru_maxrss - before.ru_maxrss) * 1024, 0, 1 << 20); /* of 4.8 MB */
#endif
    cs_jit_methods_fini(&m, &kept);
}

TEST(names_beyond_the_bound_are_left_out_and_counted_once_a_process)
{
    struct cs_jit_methods m[3] = {{0}};
    struct cs_jit_kept kept = {0};
    char *text = malloc(1 << 20);
    memset(text, 'x', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0'; /* 1 MiB with its end: 16 fit in one process, 32 in all */
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(cs_jit_methods_text(&m[0], &kept, text), (long)i << 20);
    assert_int_equal(cs_jit_methods_text(&m[0], &kept, "y"), -1);
    assert_int_equal(cs_jit_methods_text(&m[0], &kept, "y"), -1);
    assert_int_equal(kept.cut, 1);
    unsigned more = 0;
    for (unsigned k = 1; k < 3; k++)
        for (unsigned i = 0; i < 16; i++)
            more += cs_jit_methods_text(&m[k], &kept, text) >= 0;
    assert_true(more <= 16 && kept.bytes <= 32 << 20 && kept.cut >= 2);
    for (unsigned k = 0; k < 3; k++)
        cs_jit_methods_fini(&m[k], &kept);
    assert_int_equal(kept.bytes, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_has_a_life_from_a_time_to_a_time),
        cmocka_unit_test(of_two_methods_for_one_address_the_later_one_holds),
        cmocka_unit_test(many_methods_are_sorted_in_place),
        cmocka_unit_test(names_beyond_the_bound_are_left_out_and_counted_once_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
