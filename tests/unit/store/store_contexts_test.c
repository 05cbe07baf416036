/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store/contexts.h: against a model that knows nothing of trees, a list of chains with their samples. */
#include "store/contexts.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 12
#define CHAINS 3000

static uint64_t state = 88172645463325252ull;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

struct chain { /* outermost first */
    unsigned depth;
    uint32_t frame[DEPTH_MAX];
    uint64_t samples;
};

static const char *const ids[] = {"0a1b2c", "kernel", "x0123456789abcdef", "f00"};

static struct chain random_chain(void)
{
    struct chain c = {.depth = 1 + (unsigned)(draw() % DEPTH_MAX), .samples = draw() % 5};
    for (unsigned i = 0; i < c.depth; i++) /* few near the root, many near the leaf */
        c.frame[i] = (uint32_t)(draw() % (2 + 3 * i));
    return c;
}

static uint64_t offset_of(uint32_t frame)
{
    return 0x1000 + 16ull * frame;
}

static void add_chain(struct cs_contexts *tree, const struct chain *c)
{
    uint32_t node = CS_CONTEXTS_ROOT;
    for (unsigned i = 0; i < c->depth; i++) {
        int64_t image = cs_contexts_image(tree, ids[c->frame[i] % 4]);
        int64_t next = cs_contexts_child(tree, node, (uint32_t)image, offset_of(c->frame[i]));
        assert_true(image > 0 && next > 0);
        node = (uint32_t)next;
    }
    cs_contexts_add(tree, node, c->samples);
}

/* By the model: the samples of all chains that begin with the frames of `node`. */
static uint64_t total_by_model(const struct cs_contexts *tree, uint32_t node, const struct chain *chains,
                               size_t n)
{
    uint32_t frames[DEPTH_MAX];
    unsigned depth = 0;
    uint64_t total = 0;
    for (uint32_t at = node; at != CS_CONTEXTS_ROOT; at = cs_contexts_at(tree, at)->parent)
        frames[depth++] = (uint32_t)((cs_contexts_at(tree, at)->offset - 0x1000) / 16);
    for (size_t i = 0; i < n; i++) {
        unsigned same = 0;
        while (same < depth && same < chains[i].depth && chains[i].frame[same] == frames[depth - 1 - same])
            same++;
        total += same == depth ? chains[i].samples : 0;
    }
    return total;
}

static struct cs_table *table_of(const struct chain *chains, size_t n)
{
    struct cs_contexts *tree = cs_contexts_open();
    struct cs_table *table = cs_table_open(&cs_schema_contexts);
    for (size_t i = 0; i < n; i++)
        add_chain(tree, &chains[i]);
    assert_int_equal(cs_contexts_put(tree, table), 0);
    cs_contexts_close(tree);
    return table;
}

static void assert_same(struct cs_table *a, struct cs_table *b)
{
    assert_int_equal(cs_table_rows(a), cs_table_rows(b));
    for (size_t i = 0; i < cs_table_rows(a); i++) {
        const uint64_t *x = cs_table_row(a, i), *y = cs_table_row(b, i);
        assert_true(x[0] == y[0] && x[2] == y[2] && x[3] == y[3]);
        assert_string_equal(cs_table_string(a, x[1]), cs_table_string(b, y[1]));
    }
}

static struct chain chains[CHAINS];

static int draw_chains(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CHAINS; i++)
        chains[i] = random_chain();
    return 0;
}

TEST(total_of_a_context_is_the_samples_of_all_chains_that_begin_with_it)
{
    struct cs_contexts *tree = cs_contexts_open();
    for (size_t i = 0; i < CHAINS; i++)
        add_chain(tree, &chains[i]);
    cs_contexts_sum(tree);
    for (uint32_t i = 0; i < cs_contexts_count(tree); i += 1 + (uint32_t)(draw() % 7))
        assert_int_equal(cs_contexts_at(tree, i)->total, total_by_model(tree, i, chains, CHAINS));
    cs_contexts_close(tree);
}

TEST(walk_visits_each_node_of_a_subtree_once_with_its_depth)
{
    struct cs_contexts *tree = cs_contexts_open();
    for (size_t i = 0; i < CHAINS; i++)
        add_chain(tree, &chains[i]);
    uint64_t total = cs_contexts_sum(tree);
    uint64_t sum = 0;
    unsigned depth = 0;
    uint32_t n = 1;
    for (uint32_t i = cs_contexts_next(tree, 0, 0, &depth); i;
         i = cs_contexts_next(tree, 0, i, &depth), n++) {
        unsigned up = 0;
        for (uint32_t at = i; at; at = cs_contexts_at(tree, at)->parent)
            up++;
        assert_int_equal(up, depth);
        sum += cs_contexts_at(tree, i)->self;
    }
    assert_int_equal(n, cs_contexts_count(tree));
    assert_int_equal(sum, total);
    uint32_t top = cs_contexts_at(tree, 0)->first_child;
    sum = cs_contexts_at(tree, top)->self;
    for (uint32_t i = cs_contexts_next(tree, top, top, NULL); i; i = cs_contexts_next(tree, top, i, NULL))
        sum += cs_contexts_at(tree, i)->self;
    assert_int_equal(sum, cs_contexts_at(tree, top)->total);
    cs_contexts_close(tree);
}

TEST(merge_is_associative_and_commutative_and_the_same_as_all_at_once)
{
    struct cs_table *a = table_of(chains, 700), *b = table_of(chains + 700, 900);
    struct cs_table *c = table_of(chains + 1600, CHAINS - 1600), *all = table_of(chains, CHAINS);
    struct cs_table *left = cs_table_open(&cs_schema_contexts), *right = cs_table_open(&cs_schema_contexts);
    assert_int_equal(cs_table_merge(left, a) | cs_table_merge(left, b) | cs_table_merge(left, c), 0);
    assert_int_equal(cs_table_merge(b, c) | cs_table_merge(right, b) | cs_table_merge(right, a), 0);
    assert_same(left, all);
    assert_same(right, all);
    struct cs_contexts *tree = cs_contexts_open(); /* and through a tree */
    struct cs_table *back = cs_table_open(&cs_schema_contexts);
    assert_int_equal(cs_contexts_take(tree, left), 0);
    assert_int_equal(cs_contexts_put(tree, back), 0);
    assert_same(back, all);
    cs_contexts_close(tree);
    for (unsigned i = 0; i < 7; i++)
        cs_table_close((struct cs_table *[]){a, b, c, all, left, right, back}[i]);
}

TEST(folding_bounds_the_nodes_and_keeps_the_totals_of_all_that_stay)
{
    for (uint32_t most = 2; most < 2000; most = most * 3 + 1) {
        struct cs_table *table = table_of(chains, CHAINS);
        struct cs_contexts *tree = cs_contexts_open();
        uint64_t before = cs_table_sum(table, 3), least_kept = UINT64_MAX;
        assert_true(cs_table_rows(table) > most);
        assert_int_equal(cs_contexts_fold_table(table, most), 0);
        assert_in_range(cs_table_rows(table), (most - 1) / 2, most);
        assert_int_equal(cs_table_sum(table, 3), before);
        assert_int_equal(cs_contexts_take(tree, table), 0);
        assert_int_equal(cs_contexts_count(tree), cs_table_rows(table) + 1);
        cs_contexts_sum(tree);
        for (uint32_t i = 1; i < cs_contexts_count(tree); i++) {
            const struct cs_context *c = cs_contexts_at(tree, i);
            if (c->image == 0)
                continue;
            assert_int_equal(c->total, total_by_model(tree, i, chains, CHAINS));
            least_kept = c->total < least_kept ? c->total : least_kept;
        }
        /* Nothing greater than what stayed was folded. */
        struct cs_contexts *whole = cs_contexts_open();
        uint32_t greater = 0, stayed = 0;
        for (size_t i = 0; i < CHAINS; i++)
            add_chain(whole, &chains[i]);
        cs_contexts_sum(whole);
        for (uint32_t i = 1; i < cs_contexts_count(whole); i++)
            greater += cs_contexts_at(whole, i)->total > least_kept;
        for (uint32_t i = 1; i < cs_contexts_count(tree); i++)
            stayed += cs_contexts_at(tree, i)->image && cs_contexts_at(tree, i)->total > least_kept;
        assert_int_equal(stayed, greater);
        cs_contexts_close(whole);
        cs_contexts_close(tree);
        cs_table_close(table);
    }
}

TEST(folding_does_not_depend_on_the_order_in_which_the_tree_grew)
{
    struct chain turned[CHAINS];
    for (size_t i = 0; i < CHAINS; i++)
        turned[i] = chains[CHAINS - 1 - i];
    struct cs_table *a = table_of(chains, CHAINS), *b = table_of(turned, CHAINS);
    assert_int_equal(cs_contexts_fold_table(a, 500), 0);
    assert_int_equal(cs_contexts_fold_table(b, 500), 0);
    assert_same(a, b);
    assert_int_equal(cs_contexts_fold_table(a, 500), 0); /* once is enough */
    assert_same(a, b);
    cs_table_close(a);
    cs_table_close(b);
}

TEST(a_store_keeps_no_more_than_the_most_and_all_samples)
{
    char path[] = "/tmp/cs-contexts-XXXXXX";
    struct cs_error err = {0};
    struct cs_store *store = NULL;
    struct cs_store_profile_head head = {.event = "cpu-clock", .unit = "ns"}, read;
    assert_non_null(mkdtemp(path));
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    for (unsigned round = 0; round < 3; round++) { /* a root, 30,000 children, new ones each time */
        struct cs_contexts *tree = cs_contexts_open();
        struct cs_table *table = cs_table_open(&cs_schema_contexts);
        uint32_t root = (uint32_t)cs_contexts_child(tree, 0, (uint32_t)cs_contexts_image(tree, "ab"), 1);
        for (uint32_t i = 0; i < 30000; i++)
            cs_contexts_add(tree, (uint32_t)cs_contexts_child(tree, root, 1, 2 + i + 30000 * round),
                            1 + i % 3);
        assert_int_equal(cs_contexts_put(tree, table), 0);
        assert_int_equal(cs_store_merge(store, &cs_contexts_profile, &head, table, &err), 0);
        cs_table_close(table);
        cs_contexts_close(tree);
    }
    char file[400];
    struct cs_table *table = NULL;
    snprintf(file, sizeof file, "%s/%s/contexts/cpu-clock+contexts.prof", path, cs_store_epoch_name(store));
    assert_int_equal(cs_store_load_file(file, &read, &table, &err), 0);
    assert_in_range(cs_table_rows(table), CS_CONTEXTS_NODES_MAX / 2 - 1, CS_CONTEXTS_NODES_MAX);
    assert_int_equal(cs_table_sum(table, 3), 3 * 2 * 30000);
    cs_table_close(table);
    cs_store_close(store);
    remove_tree(path);
}

TEST(rows_whose_parent_is_missing_lose_no_sample)
{
    struct cs_table *table = cs_table_open(&cs_schema_contexts);
    struct cs_contexts *tree = cs_contexts_open();
    uint64_t text = (uint64_t)cs_table_text(table, "ab");
    cs_table_add(table, (uint64_t[]){0, text, 1, 5});
    for (uint64_t i = 0; i < 100; i++)
        cs_table_add(table, (uint64_t[]){draw() | 1, text, i, 2});
    assert_int_equal(cs_contexts_take(tree, table), 0);
    assert_int_equal(cs_contexts_sum(tree), 205);
    cs_table_close(table);
    cs_contexts_close(tree);
}

TEST(stacks_are_read_as_contexts_whose_callers_are_calls)
{
    struct cs_table *table = cs_table_open(&cs_schema_stacks);
    struct cs_contexts *tree = cs_contexts_open();
    uint64_t a = (uint64_t)cs_table_text(table, "ab+30;x1+8000000001000000;cd+101");
    uint64_t b = (uint64_t)cs_table_text(table, "ab+40;x1+8000000001000000;cd+101");
    cs_table_add(table, (uint64_t[]){a, 3});
    cs_table_add(table, (uint64_t[]){b, 4});
    assert_int_equal(cs_contexts_take(tree, table), 0);
    assert_int_equal(cs_contexts_sum(tree), 7);
    assert_int_equal(cs_contexts_count(tree), 5);
    uint32_t outer = cs_contexts_at(tree, 0)->first_child, method = cs_contexts_at(tree, outer)->first_child;
    assert_string_equal(cs_contexts_image_id(tree, cs_contexts_at(tree, outer)->image), "cd");
    assert_int_equal(cs_contexts_at(tree, outer)->offset, 0x100);
    assert_int_equal(cs_contexts_at(tree, method)->offset, 0x8000000001000000); /* known by its name only */
    assert_int_equal(cs_contexts_at(tree, method)->total, 7);
    assert_int_equal(cs_contexts_at(tree, outer)->next_sibling, 0);
    cs_table_close(table);
    table = cs_table_open(&cs_schema_points);
    assert_int_equal(cs_contexts_take(tree, table), -EINVAL);
    cs_table_close(table);
    cs_contexts_close(tree);
}

TEST(a_chain_of_a_million_frames_is_walked_and_folded)
{
    struct cs_contexts *tree = cs_contexts_open();
    uint32_t node = 0;
    for (uint64_t i = 0; i < 1000000; i++)
        node = (uint32_t)cs_contexts_child(tree, node, 0, i + 1);
    cs_contexts_add(tree, node, 1);
    assert_int_equal(cs_contexts_sum(tree), 1);
    assert_int_equal(cs_contexts_fold(tree, 1000), 0);
    assert_int_equal(cs_contexts_sum(tree), 1);
    assert_int_equal(cs_contexts_count(tree), 501); /* root, 499, one "other" */
    cs_contexts_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(total_of_a_context_is_the_samples_of_all_chains_that_begin_with_it),
        cmocka_unit_test(walk_visits_each_node_of_a_subtree_once_with_its_depth),
        cmocka_unit_test(merge_is_associative_and_commutative_and_the_same_as_all_at_once),
        cmocka_unit_test(folding_bounds_the_nodes_and_keeps_the_totals_of_all_that_stay),
        cmocka_unit_test(folding_does_not_depend_on_the_order_in_which_the_tree_grew),
        cmocka_unit_test(a_store_keeps_no_more_than_the_most_and_all_samples),
        cmocka_unit_test(rows_whose_parent_is_missing_lose_no_sample),
        cmocka_unit_test(stacks_are_read_as_contexts_whose_callers_are_calls),
        cmocka_unit_test(a_chain_of_a_million_frames_is_walked_and_folded),
    };
    return cmocka_run_group_tests(tests, draw_chains, NULL);
}
