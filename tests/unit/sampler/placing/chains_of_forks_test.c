/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A forked child's mappings go to the handler unasked. The child may wait for long, and asks only when that has ended. */
#include "sampler/placing/chains.h"
#include "tests/unit/test.h"

#include <stdlib.h>

enum { PARENT = 10, CHILD };
#define CELLS 1000

static struct cs_session_places places;
static struct cs_image_tables *tables;
static struct cs_generations *generations;
static struct cs_chain_kernel kernel;
static uint64_t *words;
static struct cs_chain_mapping *mappings;
static struct cs_session_chains *chains;

static int begin(void **state)
{
    (void)state;
    words = calloc(CS_CHAIN_WORDS, sizeof *words);
    mappings = calloc(CELLS, sizeof *mappings);
    kernel = (struct cs_chain_kernel){0};
    places = (struct cs_session_places){.images = cs_images_open("/nowhere")};
    places.maps = cs_maps_open(places.images, "/nowhere", CS_LABEL_NONE);
    tables = cs_image_tables_open(places.images);
    generations = cs_generations_open();
    chains = words && mappings && cs_chain_lists_init(&kernel.lists, words, mappings, CELLS) == 0
                 ? cs_session_chains_open(&kernel, &places, tables, generations)
                 : NULL;
    return chains ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    cs_session_chains_close(chains);
    cs_chain_lists_fini(&kernel.lists);
    cs_generations_close(generations);
    cs_image_tables_close(tables);
    cs_maps_close(places.maps);
    cs_images_close(places.images);
    free(words);
    free(mappings);
    return 0;
}

static void map(uint64_t start, uint64_t time_ns)
{
    const struct cs_mapped_file file = {
        .pid = PARENT, .start = start, .end = start + 0x1000, .path = "/nowhere/file", .build_id = "aa"};
    assert_int_equal(cs_maps_mmap(places.maps, &file, time_ns), 0);
    cs_maps_expire(places.maps, 0); /* tells of changes */
}

/* As the kernel does when it forks. */
static void inherit(void)
{
    words[CHILD] = cs_chain_word(CHILD, 0, (uint32_t)(words[PARENT] & CS_CHAIN_LIST_MASK));
}

static uint32_t pages_known(uint32_t pid)
{
    return mappings[words[pid] & CS_CHAIN_LIST_MASK].pages;
}

/* The parent has told its first mapping. */
static void begin_parent(void)
{
    const struct cs_chain_mapping any = {.start = 0x1000, .pages = 1, .image = CS_CHAIN_NO_IMAGE};
    assert_int_equal(cs_maps_fork(places.maps, PARENT, 1, 100), 0);
    map(0x1000, 110);
    assert_int_equal(cs_chain_lists_put(&kernel.lists, PARENT, 0, &any, 1), 0);
    cs_session_chains_feed(chains, 120);
    assert_int_equal(pages_known(PARENT), 1);
}

TEST(a_fork_before_the_feed_of_its_parents_change)
{
    begin_parent();
    map(0x8000, 130);
    inherit();
    assert_int_equal(cs_maps_fork(places.maps, CHILD, PARENT, 140), 0);
    cs_session_chains_feed(chains, 150);
    assert_int_equal(pages_known(PARENT), 2);
    assert_int_equal(pages_known(CHILD), 2);
}

TEST(a_fork_before_that_feed_whose_record_is_read_after_it)
{
    begin_parent();
    map(0x8000, 130);
    inherit(); /* behind the drain's line */
    cs_session_chains_feed(chains, 135);
    assert_int_equal(pages_known(CHILD), 1);
    assert_int_equal(cs_maps_fork(places.maps, CHILD, PARENT, 140), 0);
    cs_session_chains_feed(chains, 150);
    assert_int_equal(pages_known(CHILD), 2);
}

TEST(a_fork_of_an_unchanged_parent_costs_no_list)
{
    begin_parent();
    inherit();
    const uint64_t word = words[CHILD];
    assert_int_equal(cs_maps_fork(places.maps, CHILD, PARENT, 140), 0);
    cs_session_chains_feed(chains, 150);
    assert_true(words[CHILD] == word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fork_before_the_feed_of_its_parents_change, begin, end),
        cmocka_unit_test_setup_teardown(a_fork_before_that_feed_whose_record_is_read_after_it, begin, end),
        cmocka_unit_test_setup_teardown(a_fork_of_an_unchanged_parent_costs_no_list, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
