/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages a thread's CPU reads before it goes on: against the addresses that a made trace consists of. */
#include "sampler/burst/replayer/trace/warm_caches.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD = 4 + 8, RECORDS = 20000, FAR_AWAY = 1000 };

static uint8_t trace[RECORDS * RECORD];
static const struct registers registers;

static struct warm_pages list;

static void put(unsigned record, uint64_t addr)
{
    *(loose32 *)&trace[record * RECORD] = 7;
    *(loose64 *)&trace[record * RECORD + 4] = addr;
}

/* So many that the test is never late. */
static uint64_t ticks_a_us = 100000000;

/* Of one block of one load, whose address is its slot's value. */
static void warm(unsigned records)
{
    blocks[7] = (struct block){.n_slots = 1, .n_ops = 1, .n_insns = 3};
    memory_ops[0] = (struct memory_op){.base = 0, .index = NO_SLOT, .size = 8, .flags = OP_READ};
    struct run run = {.start = trace, .end = trace + records * RECORD};
    list.asked = 0;
    uint64_t before = tsc(), began = cache_warming_list(&list, &run, &registers, ticks_a_us);
    assert_true(began >= before && began <= tsc());
    assert_true(list.asked <= WARM_PAGES_MAX);
}

static bool was_read(uint64_t page)
{
    unsigned times = 0;
    for (unsigned i = 0; i < list.asked; i++)
        times += list.page[i] == page;
    assert_true(times <= 1);
    return times == 1;
}

TEST(reads_what_the_first_half_touches_once)
{
    srand(1);
    for (unsigned round = 0; round < 50; round++) {
        unsigned records = 2 * (1 + (unsigned)rand() % 2000), span = 1 + (unsigned)rand() % WARM_PAGES_MAX;
        bool touched[2 * WARM_PAGES_MAX] = {false};
        for (unsigned i = 0; i < records; i++) {
            bool late = i >= records / 2; /* pages of their own */
            unsigned page = (unsigned)rand() % span + (late ? WARM_PAGES_MAX : 0);
            touched[page] = true;
            put(i, (FAR_AWAY + page) * PAGE + (unsigned)rand() % PAGE);
        }
        warm(records);
        for (unsigned page = 0; page < 2 * WARM_PAGES_MAX; page++)
            assert_int_equal(was_read((FAR_AWAY + page) * PAGE), touched[page] && page < WARM_PAGES_MAX);
    }
}

TEST(reads_no_more_pages_than_a_cache_has)
{
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    warm(RECORDS);
    assert_int_equal(list.asked, WARM_PAGES_MAX);
}

TEST(ends_where_no_more_pages_come)
{
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (i > CS_MODEL_WARMING_STALE + 1 ? FAR_AWAY + 1 : FAR_AWAY) * PAGE);
    warm(RECORDS);
    assert_int_equal(list.asked, 1);
}

TEST(takes_no_longer_than_it_may)
{
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    ticks_a_us = 0;
    warm(RECORDS);
    assert_true(list.asked <= 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_first_half_touches_once),
        cmocka_unit_test(reads_no_more_pages_than_a_cache_has),
        cmocka_unit_test(ends_where_no_more_pages_come),
        cmocka_unit_test(takes_no_longer_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
