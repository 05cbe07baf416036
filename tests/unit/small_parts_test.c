/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods of a process, symbols of a made-up kernel, and a program that is called: against truths worked out by hand. */
#include "analysis/schedule/mca_call.h"
#include "image/procedures/kallsyms.h"
#include "sampler/dynamic/jit_methods.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

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

static void of_two_methods_for_one_address_the_later_one_holds(void **state)
{
    (void)state;
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

static void code_has_a_life_from_a_time_to_a_time(void **state)
{
    (void)state;
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
static void many_methods_are_sorted_in_place(void **state)
{
    (void)state;
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

static void names_beyond_the_bound_are_left_out_and_counted_once_a_process(void **state)
{
    (void)state;
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

static void procedures_around_addresses_come_from_an_unsorted_list(void **state)
{
    (void)state;
    char top[] = "/tmp/kallsyms_test.XXXXXX", path[64];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/kallsyms", top);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("0000000000003000 T late\n"
          "0000000000001000 T first\n"
          "no symbol at all\n"
          "0000000000001800 d table\n" /* data ends no procedure */
          "0000000000002000 t second\t[some_module]\n",
          f);
    fclose(f);
    struct cs_kallsyms_wanted w[4] = {{.addr = 0x1004}, {.addr = 0x1900}, {.addr = 0x2000}, {.addr = 0x9000}};
    assert_true(cs_kallsyms_look_up(path, w, 4));
    static const struct cs_kallsyms_wanted truth[] = {{0, 0x1000, 0x2000, "first"},
                                                      {0, 0x1000, 0x2000, "first"},
                                                      {0, 0x2000, 0x3000, "second"},
                                                      {0, 0x3000, 0, "late"}};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(w[i].start, truth[i].start);
        assert_int_equal(w[i].end, truth[i].end);
        assert_string_equal(w[i].name, truth[i].name);
    }
    struct cs_kallsyms_symbol s;
    f = cs_kallsyms_open(path);
    unsigned n = 0;
    while (cs_kallsyms_next(f, &s))
        if (++n == 4) {
            assert_string_equal(s.name, "second");
            assert_string_equal(s.module, "some_module");
        }
    assert_int_equal(n, 4);
    fclose(f);
    assert_false(cs_kallsyms_look_up("/nowhere", w, 4));
    remove_tree(top);
}

static void a_called_program_gets_its_input_and_gives_both_outputs(void **state)
{
    (void)state;
    struct mca_answer a;
    char *const args[] = {"sh", "-c", "cat; echo bad >&2; exit 3", NULL};
    assert_int_equal(mca_call("/bin/sh", args, "two\nlines\n", 10, &a), 0);
    assert_int_equal(a.out_length, 10);
    assert_string_equal(a.out, "two\nlines\n");
    assert_string_equal(a.err, "bad\n");
    assert_true(WIFEXITED(a.status) && WEXITSTATUS(a.status) == 3);
    mca_answer_free(&a);
    assert_int_equal(mca_call("/no/such/program", args, "", 0, &a), -ENOENT);
    mca_answer_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_has_a_life_from_a_time_to_a_time),
        cmocka_unit_test(of_two_methods_for_one_address_the_later_one_holds),
        cmocka_unit_test(many_methods_are_sorted_in_place),
        cmocka_unit_test(names_beyond_the_bound_are_left_out_and_counted_once_a_process),
        cmocka_unit_test(procedures_around_addresses_come_from_an_unsorted_list),
        cmocka_unit_test(a_called_program_gets_its_input_and_gives_both_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
