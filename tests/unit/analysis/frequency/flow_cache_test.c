/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests analysis/frequency/flow_cache.h through cs_edge_flow_load. A kept answer is the solver's, and is asked
 * for only where the store holds what it was solved from. */
#include "analysis/frequency/edge_flow.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[64], kept[128];
static struct cs_error err;

static int remove_place(void **unused)
{
    (void)unused;
    return remove_tree(place);
}

static const struct cs_store_image program = {.id = "0123456789abcdef",
                                              .kind = CS_IMAGE_ELF,
                                              .path = "/nowhere/program",
                                              .build_id = "0123456789abcdef"};

static struct cs_store *opened(enum cs_store_mode mode)
{
    struct cs_store *store;
    if (cs_store_open(place, mode, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static void add_edge(struct cs_store *store, uint64_t from, uint64_t to, uint64_t count)
{
    static const struct cs_store_profile_head head = {.event = "burst-edges"};
    struct cs_table *table = cs_table_open(&cs_schema_edges);
    uint64_t same = (uint64_t)cs_table_text(table, "");
    assert_int_equal(cs_table_add(table, (uint64_t[]){from, same, to, count, 1, count * count}), 0);
    assert_int_equal(cs_store_merge(store, &program, &head, table, &err), 0);
    cs_table_close(table);
}

static void add_window(struct cs_store *store, uint64_t burst, uint64_t from, uint64_t to, uint64_t count)
{
    static const struct cs_store_profile_head head = {.event = "burst-windows"};
    struct cs_table *table = cs_table_open(&cs_schema_per_burst_edges);
    uint64_t same = (uint64_t)cs_table_text(table, "");
    assert_int_equal(cs_table_add(table, (uint64_t[]){burst, from, same, to, count}), 0);
    assert_int_equal(cs_store_merge(store, &program, &head, table, &err), 0);
    cs_table_close(table);
}

/* A loop of two branches: 0x110 falls through to 0x120 or goes back, 0x120 goes back. */
static int make_place(void **unused)
{
    (void)unused;
    strcpy(place, "/tmp/flows-test-XXXXXX");
    if (!mkdtemp(place))
        return -1;
    snprintf(kept, sizeof kept, "%s/.flows", place);
    struct cs_store *store = opened(CS_STORE_WRITE);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    add_edge(store, 0x110, 0x100, 70);
    add_edge(store, 0x110, 0x112, 30);
    add_edge(store, 0x120, 0x100, 30);
    for (uint64_t burst = 1; burst <= 5; burst++) {
        add_window(store, burst, 0x110, 0x100, 10 + burst);
        add_window(store, burst, 0x110, 0x112, 6);
        add_window(store, burst, 0x120, 0x100, 6);
    }
    cs_store_close(store);
    return 0;
}

static struct cs_edge_flow *loaded(void)
{
    struct cs_store *store = opened(CS_STORE_READ);
    struct cs_edge_flow *t;
    if (cs_edge_flow_load(store, CS_EDGE_FLOW_CHAIN, &t, &err) < 0)
        fail_msg("%s", err.text);
    cs_store_close(store);
    return t;
}

static void assert_same(const struct cs_edge_flow *a, const struct cs_edge_flow *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_bursts, b->n_bursts);
    for (size_t i = 0; i < a->n; i++) {
        assert_true(a->list[i].from == b->list[i].from && a->list[i].to == b->list[i].to);
        assert_memory_equal(&a->list[i].flow, &b->list[i].flow, sizeof a->list[i].flow);
        assert_memory_equal(a->list[i].replicate, b->list[i].replicate, sizeof a->list[i].replicate);
    }
}

/* Adds `by` to the byte at `at`. */
static void damage(off_t at, int by)
{
    unsigned char byte;
    int fd = open(kept, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (unsigned char)(byte + by);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static ino_t kept_inode(void)
{
    struct stat st;
    assert_int_equal(stat(kept, &st), 0);
    return st.st_ino;
}

TEST(kept_flows_equal_solved_ones)
{
    struct cs_edge_flow *solved = loaded();
    ino_t first = kept_inode();
    struct cs_edge_flow *recalled = loaded();
    assert_same(solved, recalled);
    assert_int_equal(kept_inode(), first); /* it was read, not written again */
    assert_true(recalled->list[0].flow > 0 && recalled->n_bursts == 5);
    cs_edge_flow_close(solved);
    cs_edge_flow_close(recalled);
}

TEST(damaged_kept_flows_are_solved_anew)
{
    struct cs_edge_flow *solved = loaded();
    struct stat st;
    assert_int_equal(stat(kept, &st), 0);
    for (off_t at = 0; at < st.st_size; at += at < 40 ? 1 : 13) {
        damage(at, 1);
        struct cs_edge_flow *again = loaded();
        assert_same(solved, again);
        cs_edge_flow_close(again);
    }
    for (off_t size = 0; size < st.st_size; size += 17) {
        assert_int_equal(truncate(kept, size), 0);
        struct cs_edge_flow *again = loaded();
        assert_same(solved, again);
        cs_edge_flow_close(again);
    }
    cs_edge_flow_close(solved);
}

TEST(more_edges_are_solved_anew)
{
    struct cs_edge_flow *before = loaded();
    struct cs_store *store = opened(CS_STORE_WRITE);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    add_edge(store, 0x110, 0x112, 1000);
    cs_store_close(store);
    struct cs_edge_flow *after = loaded();
    assert_true(after->list[1].count > before->list[1].count);
    assert_true(after->list[1].flow > 2 * before->list[1].flow);
    cs_edge_flow_close(before);
    cs_edge_flow_close(after);
}

TEST(other_windows_are_solved_anew)
{
    struct cs_edge_flow *before = loaded();
    struct cs_store *store = opened(CS_STORE_WRITE);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    add_window(store, 9, 0x110, 0x100, 60);
    cs_store_close(store);
    struct cs_edge_flow *after = loaded();
    assert_int_equal(after->n_bursts, 6);
    assert_memory_not_equal(before->list[0].replicate, after->list[0].replicate,
                            sizeof before->list[0].replicate);
    cs_edge_flow_close(before);
    cs_edge_flow_close(after);
}

TEST(raw_counts_neither_keep_nor_recall)
{
    struct cs_store *store = opened(CS_STORE_READ);
    struct cs_edge_flow *t;
    struct stat st;
    assert_int_equal(cs_edge_flow_load(store, CS_EDGE_FLOW_RAW, &t, &err), 0);
    assert_true(t->list[0].flow == t->list[0].count);
    assert_int_equal(stat(kept, &st), -1);
    cs_edge_flow_close(t);
    cs_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kept_flows_equal_solved_ones, make_place, remove_place),
        cmocka_unit_test_setup_teardown(damaged_kept_flows_are_solved_anew, make_place, remove_place),
        cmocka_unit_test_setup_teardown(more_edges_are_solved_anew, make_place, remove_place),
        cmocka_unit_test_setup_teardown(other_windows_are_solved_anew, make_place, remove_place),
        cmocka_unit_test_setup_teardown(raw_counts_neither_keep_nor_recall, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
