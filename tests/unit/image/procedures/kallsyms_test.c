/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of a made-up kernel. */
#include "image/procedures/kallsyms.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <stdlib.h>

TEST(procedures_around_addresses_come_from_an_unsorted_list)
{
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(procedures_around_addresses_come_from_an_unsorted_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
