/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages a thread's CPU reads before it goes on: against the addresses that a made trace consists of. */
#include "sampler/burst/runner/keep_cpu_awake.h"
#include "sampler/burst/runner/timing_model.h"
#include "sampler/burst/runner/warm_caches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RECORD = 4 + 8, RECORDS = 20000, FAR_AWAY = 1000 };

static uint8_t trace[RECORDS * RECORD];
static const struct registers registers;

static uint64_t read_pages[CACHE_WARMING_PAGES_MAX];
static unsigned n_read;
static bool nobody, stuck;

bool idle_keeper_read_begin(int32_t tid)
{
    assert_int_equal(tid, 42);
    n_read = 0;
    return !nobody;
}

void idle_keeper_read(uint64_t page)
{
    assert_true(n_read < CACHE_WARMING_PAGES_MAX);
    read_pages[n_read++] = page;
}

uint32_t idle_keeper_unread(void)
{
    return stuck ? 1 : 0;
}

static void put(unsigned record, uint64_t addr)
{
    *(loose32 *)&trace[record * RECORD] = 7;
    *(loose64 *)&trace[record * RECORD + 4] = addr;
}

/* So many that the test is never late, but where it waits in vain. */
static uint64_t ticks_a_us = 100000000;

/* Of one block of one load, whose address is its slot's value. */
static bool warm(unsigned records)
{
    blocks[7] = (struct block){.n_slots = 1, .n_ops = 1, .n_insns = 3};
    memory_ops[0] = (struct memory_op){.base = 0, .index = NO_SLOT, .size = 8, .flags = OP_READ};
    struct run run = {.start = trace, .end = trace + records * RECORD};
    cache_warming_begin(&run, &registers, 42, ticks_a_us);
    return cache_warming_end();
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
        unsigned records = 2 * (1 + (unsigned)rand() % 2000),
                 span = 1 + (unsigned)rand() % CACHE_WARMING_PAGES_MAX;
        bool touched[2 * CACHE_WARMING_PAGES_MAX] = {false};
        for (unsigned i = 0; i < records; i++) {
            bool late = i >= records / 2; /* pages of their own */
            unsigned page = (unsigned)rand() % span + (late ? CACHE_WARMING_PAGES_MAX : 0);
            touched[page] = true;
            put(i, (FAR_AWAY + page) * PAGE + (unsigned)rand() % PAGE);
        }
        assert_true(warm(records));
        for (unsigned page = 0; page < 2 * CACHE_WARMING_PAGES_MAX; page++)
            assert_int_equal(was_read((FAR_AWAY + page) * PAGE),
                             touched[page] && page < CACHE_WARMING_PAGES_MAX);
    }
}

static void reads_no_more_pages_than_a_cache_has(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    assert_true(warm(RECORDS));
    assert_int_equal(n_read, CACHE_WARMING_PAGES_MAX);
}

static void ends_where_no_more_pages_come(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORDS; i++)
        put(i, (i > CS_MODEL_WARMING_STALE + 1 ? FAR_AWAY + 1 : FAR_AWAY) * PAGE);
    assert_true(warm(RECORDS));
    assert_int_equal(n_read, 1);
}

static void says_what_could_not_be_read(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        put(i, (FAR_AWAY + i) * PAGE);
    stuck = true;
    ticks_a_us = 100000;
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
