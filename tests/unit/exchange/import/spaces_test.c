/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces against a model that keeps one image number a page. */
#include "exchange/import/address_spaces.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define PAGES 64
#define PIDS 8

struct model {
    unsigned image[PAGES];  /* 0 = nothing */
    uint64_t offset[PAGES]; /* file offset of the page */
};

TEST(spaces_agree_with_a_page_by_page_model)
{
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct model model[PIDS] = {0};
        struct cs_import_spaces *spaces = cs_import_spaces_open();
        assert_non_null(spaces);
        for (int step = 0; step < 60; step++) {
            uint32_t pid = (uint32_t)rand() % PIDS, other = (uint32_t)rand() % PIDS;
            int what = rand() % 12;
            if (what == 0) {
                assert_int_equal(cs_import_spaces_exec(spaces, pid), 0);
                memset(&model[pid], 0, sizeof model[pid]);
            } else if (what == 1) {
                assert_int_equal(cs_import_spaces_fork(spaces, pid, other), 0);
                model[other] = model[pid];
            } else {
                unsigned first = (unsigned)rand() % PAGES, n = 1 + (unsigned)rand() % (PAGES - first);
                struct cs_import_mapping m = {first * 4096ull, (first + n) * 4096ull, (uint64_t)rand() * 4096,
                                              1 + (unsigned)step};
                assert_int_equal(cs_import_spaces_map(spaces, pid, &m), 0);
                for (unsigned p = first; p < first + n; p++) {
                    model[pid].image[p] = m.image;
                    model[pid].offset[p] = m.page_offset + (p - first) * 4096ull;
                }
            }
            for (uint32_t k = 0; k < PIDS; k++)
                for (unsigned p = 0; p < PAGES; p++) {
                    uint64_t addr = p * 4096ull + 8;
                    const struct cs_import_mapping *m = cs_import_spaces_find(spaces, k, addr);
                    assert_int_equal(m ? m->image : 0, model[k].image[p]);
                    if (m)
                        assert_int_equal(addr - m->start + m->page_offset, model[k].offset[p] + 8);
                }
        }
        cs_import_spaces_close(spaces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spaces_agree_with_a_page_by_page_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
