/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler's calling-context tree against a list of all chains, and the tables that it gets to unwind
 * by. */
#define CS_TREE_HALF struct cs_tree_line *
#define CS_TREE_LINE(half, number) (&(half)[number])
#include "sampler/chains/chains.h"
#include "sampler/chains/context_tree.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252ULL;
static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- the tree ---- */

#define LINES 1024U
#define DEPTH 24U

struct chain {
    uint64_t root, frames[DEPTH]; /* outermost first; the last is the leaf */
    unsigned n, samples;
};

/* As the handler does it. False: the tree is full. */
static bool count(struct cs_tree_line *half, uint32_t *room, const struct chain *chain)
{
    uint32_t at = cs_tree_child(half, LINES, chain->root, CS_TREE_NONE, room);
    for (unsigned i = 0; i < chain->n && at != CS_TREE_NONE; i++)
        at = cs_tree_child(half, LINES, chain->frames[i], at, room);
    if (at == CS_TREE_NONE)
        return false;
    half[at / CS_TREE_WAYS].way[at % CS_TREE_WAYS].count++;
    return true;
}

static bool same(const struct chain *a, const struct chain *b)
{
    return a->root == b->root && a->n == b->n && memcmp(a->frames, b->frames, a->n * sizeof *a->frames) == 0;
}

/* Few addresses and few roots, so that chains share beginnings, ends and middles. */
static void draw_chain(struct chain *chain, unsigned addresses)
{
    /* One after the other: compilers differ in the order of arguments, and chains are the same with each. */
    uint32_t third = (uint32_t)(draw() % 2), second = (uint32_t)(draw() % 2),
             first = (uint32_t)(draw() % 3 + 1);
    *chain = (struct chain){.root = cs_tree_root(first, second, third), .n = (unsigned)(draw() % DEPTH + 1)};
    for (unsigned i = 0; i < chain->n; i++) {
        uint64_t addr = 0x400000 + draw() % addresses * 4;
        if (draw() % 4 == 0)
            addr |= 0xffffffff00000000ULL;
        chain->frames[i] =
            i + 1 < chain->n ? cs_tree_frame(addr) : cs_tree_leaf(addr, (uint32_t)(draw() % 2));
    }
}

/* What the reader finds: each counted leaf's chain, back up to its root. */
static unsigned read_back(const struct cs_tree_line *half, struct chain *known, unsigned n_known)
{
    const struct cs_tree_cell *cells = half->way;
    unsigned leaves = 0;
    for (uint32_t i = 0; i < LINES * CS_TREE_WAYS; i++) {
        struct chain found = {.n = 0};
        if (!(cells[i].key & CS_TREE_LEAF) || !cells[i].count)
            continue;
        const struct cs_tree_cell *cell = &cells[i];
        uint64_t up[DEPTH];
        unsigned n = 0;
        for (; !(cell->key & CS_TREE_ROOT); cell = &cells[cell->parent])
            up[n++] = cell->key;
        found.root = cell->key;
        found.n = n;
        for (unsigned f = 0; f < n; f++)
            found.frames[f] = up[n - 1 - f];
        unsigned k = 0;
        while (k < n_known && !same(&known[k], &found))
            k++;
        assert_true(k < n_known); /* no chain that nobody counted */
        assert_int_equal(known[k].samples, cells[i].count);
        known[k].samples = 0;
        leaves++;
    }
    return leaves;
}

TEST(every_chain_has_the_samples_that_a_list_of_all_chains_has)
{
    static struct cs_tree_line half[LINES];
    static struct chain known[4096];
    for (unsigned round = 0; round < 60; round++) {
        uint32_t room = CS_TREE_ROOM(LINES * CS_TREE_WAYS);
        unsigned n = 0, distinct = 0, addresses = round % 3 == 0 ? 2 : round % 3 == 1 ? 6 : 500;
        memset(half, 0, sizeof half);
        for (unsigned s = 0; s < 120; s++) {
            struct chain chain;
            draw_chain(&chain, addresses);
            if (n && draw() % 2)
                chain = known[draw() % n];
            unsigned k = 0;
            while (k < n && !same(&known[k], &chain))
                k++;
            if (k == n) {
                known[n] = chain;
                known[n++].samples = 0;
            }
            assert_true(count(half, &room, &chain));
            known[k].samples++;
        }
        distinct = read_back(half, known, n);
        assert_int_equal(distinct, n);
    }
}

TEST(a_full_tree_says_so_and_still_counts_what_it_has)
{
    static struct cs_tree_line half[LINES];
    static struct chain known[LINES * CS_TREE_WAYS];
    uint32_t room = CS_TREE_ROOM(LINES * CS_TREE_WAYS);
    unsigned n = 0, refused = 0;
    memset(half, 0, sizeof half);
    for (unsigned s = 0; s < 2000; s++) {
        struct chain chain;
        draw_chain(&chain, 100000);
        if (count(half, &room, &chain)) {
            known[n] = chain;
            known[n++].samples = 1;
        } else {
            refused++;
        }
    }
    assert_true(refused > 0 && n > 0);
    for (unsigned k = 0; k < n; k++) {
        assert_true(count(half, &room, &known[k]));
        known[k].samples++;
    }
    assert_int_equal(read_back(half, known, n), n);
}

TEST(a_tree_is_well_beyond_half_full_before_it_says_so)
{
    static struct cs_tree_line half[LINES];
    uint32_t room = CS_TREE_ROOM(LINES * CS_TREE_WAYS);
    for (unsigned round = 0; round < 50; round++) {
        room = CS_TREE_ROOM(LINES * CS_TREE_WAYS);
        memset(half, 0, sizeof half);
        for (struct chain chain; draw_chain(&chain, 100000), count(half, &room, &chain);)
            ;
        assert_in_range(room, 0, LINES * CS_TREE_WAYS / 4 - LINES * CS_TREE_WAYS / 16);
    }
}

TEST(a_key_gives_back_what_went_in)
{
    uint64_t leaf = cs_tree_leaf(0xffffffff81234567ULL, 15), frame = cs_tree_frame(0x7fffdeadbeefULL),
             root = cs_tree_root(4194303, 2047, 15);
    assert_int_equal(cs_tree_addr(leaf), 0xffffffff81234567ULL);
    assert_int_equal(cs_tree_event(leaf), 15);
    assert_int_equal(cs_tree_addr(frame), 0x7fffdeadbeefULL);
    assert_int_equal((uint32_t)root, 4194303);
    assert_int_equal(cs_tree_generation(root), 2047);
    assert_int_equal(cs_tree_end(root), 15);
    assert_true(root & CS_TREE_ROOT && !(leaf & CS_TREE_ROOT) && !(frame & (CS_TREE_LEAF | CS_TREE_KERNEL)));
}

/* ---- runs of numbers ---- */

TEST(runs_never_overlap_and_all_come_back)
{
    enum { N = 5000 };
    static unsigned char taken[N];
    struct cs_extents e;
    struct cs_extent held[200];
    unsigned n = 0;
    uint32_t left = N;
    assert_int_equal(cs_extents_init(&e, N), 0);
    for (unsigned step = 0; step < 20000; step++) {
        if (n < 200 && draw() % 2) {
            uint32_t want = (uint32_t)(draw() % 90 + 1), align = 1U << draw() % 4;
            int64_t at = cs_extents_take(&e, want, align);
            if (at < 0)
                continue;
            assert_int_equal(at % align, 0);
            assert_true((uint64_t)at + want <= N);
            for (uint32_t i = 0; i < want; i++)
                assert_int_equal(taken[at + i]++, 0);
            held[n++] = (struct cs_extent){(uint32_t)at, want};
            left -= want;
        } else if (n) {
            unsigned k = (unsigned)(draw() % n);
            for (uint32_t i = 0; i < held[k].n; i++)
                taken[held[k].at + i] = 0;
            left += held[k].n;
            assert_int_equal(cs_extents_give(&e, held[k]), 0);
            held[k] = held[--n];
        }
        assert_int_equal(e.left, left);
    }
    while (n)
        assert_int_equal(cs_extents_give(&e, held[--n]), 0);
    assert_int_equal(e.n_free, 1);
    assert_int_equal(cs_extents_take(&e, N, 1), 0);
    cs_extents_fini(&e);
}

/* ---- lists of mappings ---- */

struct world {
    uint64_t words[CS_CHAIN_WORDS];
    struct cs_chain_mapping mappings[400];
    struct cs_chain_lists lists;
};

static struct world *new_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_int_equal(cs_chain_lists_init(&w->lists, w->words, w->mappings, 400), 0);
    return w;
}

static void end_world(struct world *w)
{
    cs_chain_lists_fini(&w->lists);
    free(w);
}

/* The handler's way to a list. */
static uint32_t list_of(const struct world *w, uint32_t pid, uint32_t generation)
{
    for (unsigned p = 0; p < CS_CHAIN_WORD_PROBES; p++) {
        uint64_t word = w->words[(pid + p) & (CS_CHAIN_WORDS - 1)];
        if ((word & ~(uint64_t)CS_CHAIN_LIST_MASK) == cs_chain_word(pid, generation, 0))
            return (uint32_t)(word & CS_CHAIN_LIST_MASK);
    }
    return 0;
}

static bool all_live(void *arg, uint32_t pid)
{
    (void)arg;
    (void)pid;
    return true;
}
static bool none_lives(void *arg, uint32_t pid)
{
    (void)arg;
    (void)pid;
    return false;
}

TEST(a_list_is_void_after_an_exec_until_it_is_told_again)
{
    struct world *w = new_world();
    struct cs_chain_mapping one = {.start = 0x1000, .pages = 1},
                            two[2] = {{.start = 0x5000, .pages = 2}, {.start = 0x9000}};
    assert_int_equal(cs_chain_lists_put(&w->lists, 42, 1, &one, 1), 0);
    assert_int_not_equal(list_of(w, 42, 1), 0);
    assert_int_equal(list_of(w, 42, 2), 0);
    assert_true(cs_chain_lists_has(&w->lists, 42) && !cs_chain_lists_has(&w->lists, 43));
    assert_int_equal(cs_chain_lists_put(&w->lists, 42, 2, two, 2), 0);
    uint32_t list = list_of(w, 42, 2);
    assert_int_equal(list_of(w, 42, 1), 0);
    assert_int_equal(w->mappings[list].pages, 2);
    assert_int_equal(w->mappings[list + 1].start, 0x5000);
    end_world(w);
}

TEST(processes_whose_words_meet_stay_apart)
{
    struct world *w = new_world();
    uint32_t lists[CS_CHAIN_WORD_PROBES];
    for (uint32_t k = 0; k < CS_CHAIN_WORD_PROBES; k++) {
        struct cs_chain_mapping m = {.start = k};
        assert_int_equal(cs_chain_lists_put(&w->lists, 7 + k * CS_CHAIN_WORDS, 3, &m, 1), 0);
    }
    for (uint32_t k = 0; k < CS_CHAIN_WORD_PROBES; k++) {
        lists[k] = list_of(w, 7 + k * CS_CHAIN_WORDS, 3);
        assert_int_equal(w->mappings[lists[k] + 1].start, k);
    }
    struct cs_chain_mapping m = {.start = 99};
    assert_int_equal(cs_chain_lists_put(&w->lists, 7 + 8 * CS_CHAIN_WORDS, 3, &m, 1), -ENOSPC);
    assert_int_equal(w->lists.refused, 1);
    end_world(w);
}

TEST(a_list_that_any_word_names_is_never_used_again)
{
    struct world *w = new_world();
    struct cs_chain_mapping m = {.start = 1}, other = {.start = 2};
    assert_int_equal(cs_chain_lists_put(&w->lists, 1, 0, &m, 1), 0);
    uint32_t list = list_of(w, 1, 0);
    cs_chain_lists_put(&w->lists, 1, 1, &other, 1); /* an exec ... */
    cs_chain_lists_sweep(&w->lists, all_live, NULL);
    w->words[2] = cs_chain_word(2, 0, list); /* ... while a fork's handler had read the parent's word */
    for (unsigned i = 0; i < 5; i++) {
        cs_chain_lists_sweep(&w->lists, all_live, NULL);
        for (uint32_t pid = 100; pid < 150; pid++) { /* whatever takes the rest of the cells */
            struct cs_chain_mapping fill[3] = {{.start = 1000 + pid + i}};
            (void)cs_chain_lists_put(&w->lists, pid, 0, fill, 3);
        }
        assert_int_equal(w->mappings[list + 1].start, 1);
    }
    end_world(w);
}

TEST(what_ended_gives_its_cells_back)
{
    struct world *w = new_world();
    uint32_t left = w->lists.cells.left;
    for (uint32_t pid = 1; pid < 100; pid++) {
        struct cs_chain_mapping m[2] = {{.start = pid}};
        assert_int_equal(cs_chain_lists_put(&w->lists, pid, 0, m, 2), 0);
    }
    assert_int_equal(w->lists.cells.left, left - 99 * 3);
    cs_chain_lists_sweep(&w->lists, none_lives, NULL);
    cs_chain_lists_sweep(&w->lists, none_lives, NULL);
    assert_int_equal(w->lists.cells.left, left);
    assert_int_equal(list_of(w, 5, 0), 0);
    end_world(w);
}

/* ---- tables of rows ---- */

struct memory {
    struct cs_chain_segment *at[CS_CHAIN_SEGMENTS];
    unsigned made;
    bool refuse;
};

static int make(void *arg, uint32_t number)
{
    struct memory *m = arg;
    assert_null(m->at[number]);
    if (m->refuse)
        return -ENOMEM;
    m->at[number] = calloc(1, sizeof *m->at[number]);
    m->made++;
    return m->at[number] ? 0 : -ENOMEM;
}
static void drop(void *arg, uint32_t number)
{
    struct memory *m = arg;
    assert_non_null(m->at[number]);
    free(m->at[number]);
    m->at[number] = NULL;
    m->made--;
}
static struct cs_chain_segment *open_segment(void *arg, uint32_t number)
{
    return ((struct memory *)arg)->at[number];
}
static void close_segment(void *arg, struct cs_chain_segment *segment)
{
    (void)arg;
    (void)segment;
}

/* A table whose words tell where they belong. */
static struct cs_unwind_header *new_table(uint32_t blocks, uint32_t rows, uint32_t rules, uint32_t seed,
                                          size_t *n)
{
    *n = sizeof(struct cs_unwind_header) + 4 * (blocks + 1) + 4 * rows + 16 * rules;
    struct cs_unwind_header *h = malloc(*n);
    assert_non_null(h);
    *h = (struct cs_unwind_header){.base = 0x1000,
                                   .end = blocks * CS_UNWIND_BLOCK,
                                   .n_blocks = blocks,
                                   .n_rows = rows,
                                   .n_rules = rules};
    uint32_t *word = (void *)(h + 1);
    for (uint32_t i = 0; i < blocks + 1 + rows + 4 * rules; i++)
        word[i] = seed + i;
    return h;
}

static uint32_t word_at(const struct memory *m, uint32_t at)
{
    return m->at[at / CS_CHAIN_SEGMENT_WORDS]->word[at % CS_CHAIN_SEGMENT_WORDS];
}

static void check_table(const struct memory *m, const struct cs_chain_image *image, uint32_t rows,
                        uint32_t seed)
{
    assert_int_equal(image->state, CS_CHAIN_IMAGE_LOADED);
    for (uint32_t i = 0; i <= image->n_blocks; i++)
        assert_int_equal(word_at(m, image->first + i), seed + i);
    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(word_at(m, image->rows + i), seed + image->n_blocks + 1 + i);
    for (uint32_t i = 0; i < 4 * image->n_rules; i++)
        assert_int_equal(word_at(m, image->rules + i), seed + image->n_blocks + 1 + rows + i);
    assert_int_equal(image->rules % 4, 0);
}

TEST(tables_lie_whole_in_segments_and_go_when_unused)
{
    static struct memory memory;
    static struct cs_chain_image images[8];
    struct cs_chain_segments segments = {&memory, make, drop, open_segment, close_segment};
    struct cs_chain_tables t;
    static const uint32_t rows[3] = {1000, 90000, 60000}; /* the second lies in two segments */
    size_t n;
    assert_int_equal(cs_chain_tables_init(&t, images, 8, 4, &segments), 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct cs_unwind_header *h = new_table(100 + i, rows[i], 10 + i, i << 20, &n);
        t.turn = i;
        assert_int_equal(cs_chain_tables_load(&t, i, h, n), 0);
        free(h);
    }
    for (uint32_t i = 0; i < 3; i++)
        check_table(&memory, &images[i], rows[i], i << 20);
    assert_int_equal(memory.made, 3);

    struct cs_unwind_header *big = new_table(10, 200000, 4, 7, &n);
    assert_int_equal(cs_chain_tables_load(&t, 3, big, n), -ENOSPC);
    t.turn = 10;
    images[0].used = images[2].used = 10; /* the second hasn't been used since turn 1 */
    cs_chain_tables_evict(&t, 6, 200100);
    assert_int_equal(images[1].state, CS_CHAIN_IMAGE_ABSENT);
    assert_int_equal(images[0].state, CS_CHAIN_IMAGE_LOADED);
    struct cs_unwind_header *again = new_table(101, 90000, 11, 1 << 20, &n);
    assert_int_equal(cs_chain_tables_load(&t, 1, again, n),
                     -ENOSPC); /* a handler may still be in the old one */
    cs_chain_tables_sweep(&t);
    check_table(&memory, &images[0], rows[0], 0);
    check_table(&memory, &images[2], rows[2], 2 << 20);
    assert_int_equal(cs_chain_tables_load(&t, 1, again, n), 0);
    check_table(&memory, &images[1], 90000, 1 << 20);
    free(again);
    free(big);
    t.turn = 100;
    cs_chain_tables_evict(&t, 6, UINT32_MAX);
    cs_chain_tables_sweep(&t);
    assert_int_equal(memory.made, 0);
    cs_chain_tables_fini(&t);
}

TEST(a_table_that_says_more_than_it_has_is_refused)
{
    static struct memory memory;
    static struct cs_chain_image images[2];
    struct cs_chain_segments segments = {&memory, make, drop, open_segment, close_segment};
    struct cs_chain_tables t;
    size_t n;
    struct cs_unwind_header *h = new_table(4, 100, 3, 0, &n);
    assert_int_equal(cs_chain_tables_init(&t, images, 2, 4, &segments), 0);
    assert_int_equal(cs_chain_tables_load(&t, 0, h, n - 1), -EINVAL);
    assert_int_equal(cs_chain_tables_load(&t, 5, h, n), -EINVAL);
    h->end = 5 * CS_UNWIND_BLOCK;
    assert_int_equal(cs_chain_tables_load(&t, 0, h, n), -EINVAL);
    h->end = 1;
    h->n_rows = 0x40000000;
    assert_int_equal(cs_chain_tables_load(&t, 0, h, n), -EINVAL);
    h->n_rows = 100;
    memory.refuse = true;
    assert_int_equal(cs_chain_tables_load(&t, 0, h, n), -ENOMEM);
    memory.refuse = false;
    assert_int_equal(cs_chain_tables_load(&t, 0, h, n), 0);
    cs_chain_tables_none(&t, 0); /* it has some */
    cs_chain_tables_none(&t, 1);
    assert_int_equal(images[0].state, CS_CHAIN_IMAGE_LOADED);
    assert_int_equal(images[1].state, CS_CHAIN_IMAGE_NO_TABLE);
    drop(&memory, 0);
    free(h);
    cs_chain_tables_fini(&t);
}

TEST(every_end_has_a_name_of_its_own)
{
    for (unsigned e = 0; e < CS_CHAIN_ENDS; e++) {
        assert_non_null(cs_chain_end_name(e));
        assert_true(strlen(cs_chain_end_sentence(e)) > 8);
        for (unsigned other = 0; other < e; other++)
            assert_string_not_equal(cs_chain_end_name(e), cs_chain_end_name(other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chain_has_the_samples_that_a_list_of_all_chains_has),
        cmocka_unit_test(a_full_tree_says_so_and_still_counts_what_it_has),
        cmocka_unit_test(a_tree_is_well_beyond_half_full_before_it_says_so),
        cmocka_unit_test(a_key_gives_back_what_went_in),
        cmocka_unit_test(runs_never_overlap_and_all_come_back),
        cmocka_unit_test(a_list_is_void_after_an_exec_until_it_is_told_again),
        cmocka_unit_test(processes_whose_words_meet_stay_apart),
        cmocka_unit_test(a_list_that_any_word_names_is_never_used_again),
        cmocka_unit_test(what_ended_gives_its_cells_back),
        cmocka_unit_test(tables_lie_whole_in_segments_and_go_when_unused),
        cmocka_unit_test(a_table_that_says_more_than_it_has_is_refused),
        cmocka_unit_test(every_end_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
