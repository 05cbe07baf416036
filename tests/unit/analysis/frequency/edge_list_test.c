/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges of bursts are found in the list, whatever number of them is looked up together. */
#include "analysis/frequency/edge_flow_internal.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

/* Images 0 and 1; many share a source, a target or both offsets with others. */
static struct cs_counted_edge edge(uint32_t i)
{
    return (struct cs_counted_edge){
        .image = i & 1, .to_image = (i >> 1) & 1, .from = 0x1000 + 16 * (i / 8), .to = 0x1000 + (i >> 2) % 3};
}

TEST(each_edge_is_found_and_no_other)
{
    struct cs_edge_flow flow = {.list = calloc(N, sizeof *flow.list)};
    struct edge_finder finder;
    struct cs_counted_edge *keys = calloc(N, sizeof *keys);
    uint32_t found[N];
    assert_true(flow.list && keys);
    for (uint32_t i = 0; i < N; i++) {
        keys[i] = edge(i);
        if (i % 5) /* each fifth isn't in the list */
            flow.list[flow.n++] = keys[i];
    }
    edge_list_merge(&flow);
    assert_int_equal(edge_finder_init(&finder, &flow), 0);
    for (size_t together = 0; together < N; together += 1 + together / 2) {
        memset(found, 0, sizeof found);
        edge_finder_find(&finder, keys, together, found);
        for (uint32_t i = 0; i < together; i++) {
            if (i % 5 == 0) {
                assert_int_equal(found[i], UINT32_MAX);
                continue;
            }
            assert_true(found[i] < flow.n);
            const struct cs_counted_edge *one = &flow.list[found[i]];
            assert_true(one->image == keys[i].image && one->to_image == keys[i].to_image &&
                        one->from == keys[i].from && one->to == keys[i].to);
        }
    }
    edge_finder_fini(&finder);
    free(flow.list);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_edge_is_found_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
