/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages a thread's CPU reads before it goes on: against the addresses that a made trace consists of. */
#include "sampler/burst/runner/warm_caches.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RECORD = 4 + 8, RECORDS = 20000, FAR_AWAY = 1000 };

/* One block of one load, whose address is its slot's value. */
struct block blocks[BLOCKS_MAX] = {[7] = {.n_slots = 1, .n_ops = 1, .n_insns = 3}};
struct memory_op memory_ops[] = {{.base = 0, .index = NO_SLOT, .size = 8, .flags = OP_READ}};
static uint8_t trace[RECORDS * RECORD];
static const struct registers registers;

static uint64_t read_pages[AWAKE_PAGES_MAX];
static unsigned n_read;
static bool nobody, stuck;

bool awake_read_begin(int32_t tid)
{
    assert_int_equal(tid, 42);
    n_read = 0;
    return !nobody;
}

void awake_read(uint64_t page)
{
    assert_true(n_read < AWAKE_PAGES_MAX);
    read_pages[n_read++] = page;
}

uint32_t awake_unread(void)
{
    return stuck ? 1 : 0;
}

static void put(unsigned record, uint64_t addr)
{
    *(loose32 *)&trace[record * RECORD] = 7;
    *(loose64 *)&trace[record * RECORD + 4] = addr;
}

static bool warm(unsigned records)
{
    struct run run = {.start = trace, .end = trace + records * RECORD};
    warm_begin(&run, &registers, 42, 100000); /* so many ticks a us that the test is never late */
    return warm_end();
}

static bool was_read(uint64_t page)
{
    unsigned times = 0;
    for (unsigned i = 0; i < n_read; i++)
        times += read_pages[i] == page;
    assert_true(times <= 1);
    return times == 1;
}

static void reads_what_the_first_half_touches_once(void **state)
{
    (void)state;
    srand(1);
    for (unsigned round = 0; round < 50; round++) {
        unsigned records = 2 * (1 + (unsigned)rand() % 2000), span = 1 + (unsigned)rand() % AWAKE_PAGES_MAX;
        bool touched[2 * AWAKE_PAGES_MAX] = {false};
        for (unsigned i = 0; i < records; i++) {
            bool late = i >= records / 2; /* pages of their own */
            unsigned page = (unsigned)rand() % span + (late ? AWAKE_PAGES_MAX : 0);
            touched[page] = true;
            put(i, (FAR_AWAY + page) * PAGE + (unsigned)rand() % PAGE);
        }
        assert_true(warm(records));
        for (unsigned page = 0; page < 2 * AWAKE_PAGES_MAX; page++)
            assert_int_equal(was_read((FAR_AWAY + page) * PAGE), touched[page] && page < AWAKE_PAGES_MAX);
    }
}

static void reads_no_more_pages_than_a_cache_has(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    assert_true(warm(RECORDS));
    assert_int_equal(n_read, AWAKE_PAGES_MAX);
}

static void ends_where_no_more_pages_come(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (i > STALE + 1 ? FAR_AWAY + 1 : FAR_AWAY) * PAGE);
    assert_true(warm(RECORDS));
    assert_int_equal(n_read, 1);
}

static void says_what_could_not_be_read(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    stuck = true;
    assert_false(warm(4));
    stuck = false;
    nobody = true;
    assert_false(warm(4));
    assert_int_equal(n_read, 0);
    nobody = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_first_half_touches_once),
        cmocka_unit_test(reads_no_more_pages_than_a_cache_has),
        cmocka_unit_test(ends_where_no_more_pages_come),
        cmocka_unit_test(says_what_could_not_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
