/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the culprit analysis takes out of a store that was written here row by row. */
#include "analysis/culprit/evidence/footprints.h"
#include "analysis/culprit/evidence/image_evidence.h"
#include "analysis/culprit/evidence/sharing.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];
static struct cs_store *store;
static const struct cs_store_image image = {"x1111111111111111", CS_IMAGE_ELF, "/bin/none", ""};

/* An epoch on a machine of that many cycles a second. */
static void begin_epoch(double core_hz)
{
    char machine[4096], meta[4200];
    struct cs_error err = {0};
    struct cs_machine m;
    cs_machine_default(&m);
    m.core_hz = core_hz;
    assert_true(cs_machine_to_json(&m, machine, sizeof machine) > 0);
    snprintf(meta, sizeof meta, "{\"machine\": %s}", machine);
    assert_int_equal(cs_store_epoch(store, core_hz > 0 ? meta : "{}", &err), 0);
}

static void put_samples(const char *event, const char *unit, uint64_t offset, uint64_t samples,
                        uint64_t period)
{
    struct cs_error err = {0};
    struct cs_store_profile_head head = {.period_sum = samples * period};
    snprintf(head.event, sizeof head.event, "%s", event);
    snprintf(head.unit, sizeof head.unit, "%s", unit);
    struct cs_table *t = cs_table_open(&cs_schema_points);
    const uint64_t row[2] = {offset, samples};
    assert_int_equal(cs_table_add(t, row), 0);
    assert_int_equal(cs_store_merge(store, &image, &head, t, &err), 0);
    cs_table_close(t);
}

static struct cs_culprit_evidence *evidence(const char *event)
{
    struct cs_culprit_evidence *e;
    struct cs_error err = {0};
    assert_int_equal(cs_culprit_evidence_open(store, NULL, image.id, event, &e, &err), 0);
    return e;
}

static int make_store(void **state)
{
    (void)state;
    struct cs_error err = {0};
    snprintf(directory, sizeof directory, "/tmp/image_evidence_test.%d", (int)getpid());
    return cs_store_open(directory, CS_STORE_WRITE, &store, &err);
}

static int remove_store(void **state)
{
    (void)state;
    cs_store_close(store);
    return remove_tree(directory);
}

TEST(cycles_are_preferred_whatever_event_is_met_first)
{
    begin_epoch(1e9);
    put_samples("task-clock", "ns", 0x10, 5, 1000);
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 3, 700);
    struct cs_culprit_evidence *e = evidence(NULL);
    assert_string_equal(e->event, "cycles");
    assert_int_equal(cs_culprit_evidence_samples(e, 0x20), 3);
    assert_int_equal(cs_culprit_evidence_samples(e, 0x10), 0);
    assert_true(fabs(e->cycles_a_sample - 700) < 1e-6);
    cs_culprit_evidence_close(e);
}

TEST(the_cpu_clock_is_preferred_to_the_task_clock)
{
    begin_epoch(2e9);
    put_samples("task-clock", "ns", 0x10, 5, 1000);
    begin_epoch(2e9);
    put_samples("cpu-clock", "ns", 0x20, 3, 1000);
    struct cs_culprit_evidence *e = evidence(NULL);
    assert_string_equal(e->event, "cpu-clock");
    assert_true(fabs(e->cycles_a_sample - 2000) < 1e-6); /* 1000 ns at 2 GHz */
    cs_culprit_evidence_close(e);
}

TEST(names_that_only_begin_like_a_time_event_are_none)
{
    assert_true(cs_culprit_time_event("cycles:u") > cs_culprit_time_event("cpu-clock"));
    assert_int_equal(cs_culprit_time_event("cpu-cycles"), cs_culprit_time_event("cycles"));
    assert_true(cs_culprit_time_event("task-clock:u") > 0);
    assert_int_equal(cs_culprit_time_event("cpu_core/cycles/P"), cs_culprit_time_event("cycles"));
    assert_int_equal(cs_culprit_time_event("cpu/mem-loads/pp"), 0);
    assert_int_equal(cs_culprit_time_event("cycles-ct"), 0);
    assert_int_equal(cs_culprit_time_event("cache-misses"), 0);
}

TEST(epochs_add_up)
{
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 3, 100);
    put_samples("cycles", "cycles", 0x8, 1, 100);
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 4, 100);
    struct cs_culprit_evidence *e = evidence(NULL);
    assert_int_equal(e->flow.input.n_samples, 2);
    assert_true(e->flow.samples == 8);
    assert_int_equal(e->flow.offsets[0], 0x8);
    assert_int_equal(cs_culprit_evidence_samples(e, 0x20), 7);
    assert_false(e->bursts);
    cs_culprit_evidence_close(e);
}

TEST(counted_events_are_told_by_their_period)
{
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 3, 100);
    put_samples("branch-misses", "events", 0x20, 2, 50);
    struct cs_culprit_evidence *e = evidence("cycles");
    assert_true(cs_culprit_evidence_events(e, CS_COUNTED_MISPREDICT, 0x20) == 2);
    assert_true(fabs(e->events[CS_COUNTED_MISPREDICT].period - 50) < 1e-9);
    assert_true(cs_culprit_evidence_events(e, CS_COUNTED_MISPREDICT, 0x30) == 0);
    assert_null(e->events[CS_COUNTED_DTLB].table); /* nobody counted */
    cs_culprit_evidence_close(e);
}

TEST(events_of_several_levels_are_not_added)
{
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 3, 100);
    put_samples("MEM_LOAD_RETIRED:L1_MISS", "events", 0x20, 4, 50);
    put_samples("L1-dcache-load-misses", "events", 0x20, 9, 50);
    put_samples("cache-misses", "events", 0x20, 1, 50);
    struct cs_culprit_evidence *e = evidence("cycles");
    assert_true(cs_culprit_evidence_events(e, CS_COUNTED_L1D, 0x20) == 4);
    assert_true(cs_culprit_evidence_events(e, CS_COUNTED_L3, 0x20) == 1);
    assert_null(e->events[CS_COUNTED_L2].table);
    cs_culprit_evidence_close(e);
}

TEST(events_are_of_the_recordings_that_counted_them)
{
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 30, 100);
    begin_epoch(1e9);
    put_samples("cycles", "cycles", 0x20, 10, 100);
    put_samples("LLC-load-misses", "events", 0x20, 2, 50);
    struct cs_culprit_evidence *e = evidence("cycles");
    assert_true(fabs(e->events[CS_COUNTED_L3].period - 200) < 1e-9); /* a quarter of the time */
    cs_culprit_evidence_close(e);
}

TEST(the_machine_is_that_of_the_newest_epoch_that_states_one)
{
    struct cs_machine m;
    struct cs_error err = {0};
    bool recorded = false;
    begin_epoch(1e9);
    begin_epoch(3e9);
    begin_epoch(0); /* states none */
    assert_int_equal(cs_culprit_evidence_machine(store, &m, &recorded, &err), 0);
    assert_true(recorded);
    assert_true(m.core_hz == 3e9);
}

/* Two measurements never agree to ten digits, which is what is kept. */
TEST(a_store_that_states_no_machine_is_read_with_one_measurement)
{
    struct cs_machine first, then;
    struct cs_error err = {0};
    bool recorded = true;
    setenv("CYCLESCOPE_CACHE", directory, 1);
    begin_epoch(0);
    assert_int_equal(cs_culprit_evidence_machine(store, &first, &recorded, &err), 0);
    assert_false(recorded);
    assert_true(first.core_hz > 0);
    assert_int_equal(cs_culprit_evidence_machine(store, &then, &recorded, &err), 0);
    unsetenv("CYCLESCOPE_CACHE");
    assert_true(fabs(then.core_hz / first.core_hz - 1) < 1e-8);
    assert_true(fabs(then.memory_cycles / first.memory_cycles - 1) < 1e-8);
}

TEST(epochs_are_listed_newest_first)
{
    const struct cs_store_epoch *epochs;
    size_t n;
    struct cs_error err = {0};
    begin_epoch(1e9);
    begin_epoch(1e9);
    begin_epoch(1e9);
    assert_int_equal(cs_store_epochs(store, &epochs, &n, &err), 0);
    assert_true(n >= 3);
    for (size_t i = 0; i < n; i++) {
        assert_true(*epochs[i].meta);
        assert_true(i == 0 || strverscmp(epochs[i].name, epochs[i - 1].name) < 0);
    }
}

/* 300 random draws of 200 lines hit 200 (1 - exp(-1.5)) = 155.374 different ones. */
TEST(repeats_tell_how_many_lines_there_are)
{
    assert_true(fabs(cs_culprit_evidence_population(300, 155.374) - 200) < 0.01);
    assert_true(cs_culprit_evidence_population(300, 290) == 0); /* too few repeats */
}

/* Two bursts of 100 distinct draws each out of 1000 lines meet 100 * 100 / 1000 = 10 times. */
TEST(meetings_of_bursts_tell_how_many_lines_there_are)
{
    double at_least;
    assert_true(fabs(cs_culprit_evidence_meetings(200, 2, 10, &at_least) - 1000) < 1e-6);
    assert_true(cs_culprit_evidence_meetings(200, 2, 1, &at_least) == 0);
    assert_true(at_least > 1000);
}

static void draw_page(struct cs_table *t, uint64_t offset, uint64_t page)
{
    const uint64_t row[CS_FOOTPRINT_N] = {
        [CS_FOOTPRINT_OFFSET] = offset,
        [CS_FOOTPRINT_LINE] = page * 64 + offset % 64,
        [CS_FOOTPRINT_DRAWN] = 2,
        [CS_FOOTPRINT_BURSTS] = 2,
    };
    assert_int_equal(cs_table_add(t, row), 0);
}

/* 10 and 20 access the same 50 pages, 30 another 70, 40 a single one of its own. */
static void pages_that_two_accesses_share_count_once(void **state)
{
    (void)state;
    struct cs_table *t = cs_table_open(&cs_schema_footprints);
    for (uint64_t page = 0; page < 50; page++) {
        draw_page(t, 10, page);
        draw_page(t, 20, page);
    }
    for (uint64_t page = 100; page < 170; page++)
        draw_page(t, 30, page);
    draw_page(t, 40, 1000);
    cs_table_sort(t);
    const struct culprit_pages of[] = {{10, 50}, {20, 50}, {30, 70}, {40, 1}, {50, 5}};
    assert_true(fabs(culprit_pages_together(t, of, 2) - 50) < 1e-6);
    assert_true(fabs(culprit_pages_together(t, of, 4) - 121) < 1e-6);
    assert_true(fabs(culprit_pages_together(t, of, 5) - 126) < 1e-6); /* of the last nothing was drawn */
    assert_true(fabs(culprit_pages_together(NULL, of, 1) - 50) < 1e-6);
    cs_table_close(t);
}

static void add_sharing(struct cs_table *t, uint64_t offset, uint64_t at, uint64_t other_at, uint64_t taken)
{
    uint64_t row[CS_SHARING_N] = {
        [CS_SHARING_OFFSET] = offset,
        [CS_SHARING_AT] = at,
        [CS_SHARING_SIZE] = 8,
        [CS_SHARING_OTHER_IMAGE] = (uint64_t)cs_table_text(t, ""),
        [CS_SHARING_OTHER] = 0x40,
        [CS_SHARING_OTHER_AT] = other_at,
        [CS_SHARING_OTHER_SIZE] = 8,
        [CS_SHARING_OTHER_WRITES] = 1,
        [CS_SHARING_EXECUTIONS] = 1000,
        [CS_SHARING_TAKEN] = taken,
        [CS_SHARING_INSTRUCTIONS] = 8000,
        [CS_SHARING_BURSTS] = 2,
    };
    assert_int_equal(cs_table_add(t, row), 0);
}

static void bytes_that_overlap_are_true_sharing_and_others_false(void **state)
{
    (void)state;
    struct cs_table *t = cs_table_open(&cs_schema_sharing);
    struct cs_culprit_memory f = {.executions = 4000};
    add_sharing(t, 0x10, 0, 8, 1000);
    add_sharing(t, 0x10, 12, 8, 500);
    add_sharing(t, 0x20, 0, 0, 700);
    cs_table_sort(t);
    culprit_take_sharing(t, 0x10, &f);
    assert_true(fabs(f.false_sharing.taken - 0.25) < 1e-9 && fabs(f.true_sharing.taken - 0.125) < 1e-9);
    assert_true(fabs(f.false_sharing.between - 8) < 1e-9);
    assert_true(f.false_sharing.other_here && f.false_sharing.other == 0x40 && f.false_sharing.other_at == 8);
    culprit_take_sharing(t, 0x18, &f);
    assert_true(f.false_sharing.taken <= 0 && f.true_sharing.taken <= 0);
    culprit_take_sharing(NULL, 0x10, &f); /* a store of before there were such rows */
    assert_true(f.false_sharing.taken <= 0 && f.true_sharing.taken <= 0);
    cs_table_close(t);
}

static void denormals_that_few_bursts_met_are_not_the_codes_own(void **state)
{
    (void)state;
    struct cs_culprit_values v = {.looked = 100, .denormal = 60};
    assert_true(cs_culprit_met_denormals(&v, 100));
    assert_true(cs_culprit_met_denormals(&v, 120)); /* not all of them looked */
    v.denormal = 40;
    assert_false(cs_culprit_met_denormals(&v, 100));
    assert_true(cs_culprit_met_denormals(&v, 60)); /* the code ran in few, which may be those */
    v.denormal = 0;
    assert_false(cs_culprit_met_denormals(&v, 0));
}

static void draw_line(struct cs_table *t, uint64_t offset, uint64_t line)
{
    const uint64_t row[CS_FOOTPRINT_N] = {offset, line, 1, 1};
    assert_int_equal(cs_table_add(t, row), 0);
}

static void lines_of_few_sets_are_told_from_those_of_all(void **state)
{
    (void)state;
    enum { BURSTS = 40, EACH = 16 };
    struct cs_table *t = cs_table_open(&cs_schema_footprints);
    double lines;
    uint64_t seed = 1;
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const uint64_t any = seed >> 58;
        for (uint64_t i = 0; i < EACH; i++) {
            const uint64_t page = burst * EACH + i;
            draw_line(t, 10, page * 64 + 5);                       /* always the same set */
            draw_line(t, 20, page * 64 + any);                     /* another one each burst */
            draw_line(t, 30, page * 64 + 32 * (i % 2) + any % 32); /* two of them */
            draw_line(t, 35, page * 64 + (any + i % 6) % 64);      /* a column after the other, six of them */
            draw_line(t, 36, page * 64 + i % 12);                  /* twelve, in all bursts the same */
            draw_line(t, 40, page);                                /* a walk */
            draw_line(t, 50, (burst * 7919 + i * 104729) % 50021); /* anywhere */
            draw_line(t, 55, i < 8 ? 9 : (burst * 7919 + i * 104729) % 50021); /* and one line all the time */
        }
    }
    cs_table_sort(t);
    assert_true(fabs(culprit_measure_sets(t, 10, false, &lines) - 1) < 0.1);
    assert_true(lines == BURSTS * EACH);
    assert_true(fabs(culprit_measure_sets(t, 20, false, &lines) - 1) < 0.7);
    assert_true(fabs(culprit_measure_sets(t, 30, false, &lines) - 2) < 1.6);
    assert_true(culprit_measure_sets(t, 40, false, &lines) == 0);
    assert_true(culprit_measure_sets(t, 50, false, &lines) == 0);
    assert_true(culprit_measure_sets(t, 55, false, &lines) == 0);
    assert_true(culprit_measure_sets(t, 60, false, &lines) == 0 && lines == 0);
    assert_true(culprit_measure_sets(t, 35, false, &lines) == 0);
    assert_true(fabs(culprit_measure_sets(t, 35, true, &lines) - 6) < 3);
    assert_true(culprit_measure_sets(t, 36, false, &lines) == 0);
    assert_true(fabs(culprit_measure_sets(t, 36, true, &lines) - 11) < 1);
    for (uint64_t even = 40; even < 60; even += 5)
        assert_true(culprit_measure_sets(t, even, true, &lines) == 0);
    assert_true(culprit_measure_sets(NULL, 10, false, &lines) == 0);
    cs_table_close(t);
}

/* One access that comes to a new page each time; of the places that it drew so many were asked and on huge pages. */
static struct cs_culprit_memory memory_on(uint64_t asked, uint64_t huge, double stlb_entries,
                                          double huge_walk)
{
    struct cs_culprit_evidence e = {.memory = cs_table_open(&cs_schema_memory),
                                    .page_sizes = cs_table_open(&cs_schema_page_sizes)};
    uint64_t row[CS_MEMORY_N] = {0}, sizes[CS_PAGE_SIZES_N] = {16, asked, huge};
    row[CS_MEMORY_OFFSET] = 16;
    row[CS_MEMORY_EXECUTIONS] = 100000;
    row[CS_MEMORY_BURSTS] = 1;
    row[CS_MEMORY_LOADS] = 100000;
    row[CS_MEMORY_LINES] = row[CS_MEMORY_PAGES] = 50000;
    row[CS_MEMORY_FIRST_LINES] = row[CS_MEMORY_FIRST_PAGES] = 50000;
    row[CS_MEMORY_FAR_LINES] = row[CS_MEMORY_FAR_PAGES] = 50000;
    e.machine.stlb_entries = (uint32_t)stlb_entries;
    e.machine.walk_cycles = 40;
    e.machine.huge_walk_cycles = huge_walk;
    assert_int_equal(cs_table_add(e.memory, row), 0);
    assert_int_equal(cs_table_add(e.page_sizes, sizes), 0);
    const struct cs_culprit_memory f = cs_culprit_evidence_memory(&e, 16);
    cs_table_close(e.memory);
    cs_table_close(e.page_sizes);
    return f;
}

TEST(four_kilobytes_of_a_huge_page_take_no_entry_of_the_tlbs)
{
    const struct cs_culprit_memory small = memory_on(16, 0, 1536, 0), huge = memory_on(16, 16, 1536, 0),
                                   both = memory_on(16, 8, 1536, 0), unknown = memory_on(0, 0, 1536, 0),
                                   beyond = memory_on(16, 16, 1, 0), split = memory_on(16, 16, 1536, 30),
                                   noise = memory_on(16, 16, 1536, 2);
    assert_true(small.footprint_pages > 10000 && small.huge <= 0);
    assert_true(fabs(cs_culprit_new_small(&small) - 1) < 1e-9);
    assert_true(fabs(cs_culprit_new_small(&huge)) < 1e-9);
    assert_true(fabs(huge.footprint_pages * 512 - small.footprint_pages) < 1);
    assert_true(fabs(cs_culprit_new_small(&both) - 0.5) < 1e-9);
    assert_true(fabs(cs_culprit_new_small(&unknown) - 1) < 1e-9);  /* nobody looked */
    assert_true(fabs(cs_culprit_new_small(&beyond) - 1) < 1e-9);   /* more huge pages than the TLBs hold */
    assert_true(fabs(cs_culprit_new_small(&split) - 0.75) < 1e-9); /* a hypervisor has small pages below */
    assert_true(fabs(split.footprint_pages - small.footprint_pages) < 1e-9);
    assert_true(fabs(cs_culprit_new_small(&noise)) < 1e-9);
    assert_true(fabs(huge.new_pages - 1) < 1e-9); /* prefetchers stop at 4 KB all the same */
}

/* Each burst comes to 6 of 16 lines, and to 10 that no other comes to, far away and close together. */
static void lines_drawn_once_are_a_lower_bound_where_most_are(void **state)
{
    (void)state;
    struct cs_table *t = cs_table_open(&cs_schema_footprints);
    for (uint64_t burst = 0; burst < 50; burst++)
        for (uint64_t i = 0; i < 16; i++) {
            draw_line(t, 10, i < 6 ? (burst * 6 + i) % 16 : (burst + 1) << 40 | i);
            draw_line(t, 20, i < 12 ? (burst * 6 + i) % 16 : (burst + 1) << 40 | i);
        }
    cs_table_sort(t);
    struct cs_culprit_memory most = {.new_lines = 0.6}, seldom = {.new_lines = 0.1}, few = {.new_lines = 0.6};
    culprit_measure_footprint(t, 10, 50, &most);
    assert_true(most.footprint_bytes > 0 && most.footprint_bytes < 16384);
    assert_true(most.cold_least && fabs(most.cold - 500.0 / 800) < 0.01 && most.cold_bytes > 1 << 20);
    culprit_measure_footprint(t, 10, 50, &seldom);
    assert_true(seldom.footprint_bytes > 0 && seldom.cold_bytes == 0);
    culprit_measure_footprint(t, 20, 50, &few);
    assert_true(few.footprint_bytes > 0 && few.cold_bytes == 0);
    cs_table_close(t);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, make_store, remove_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(cycles_are_preferred_whatever_event_is_met_first),
        WITH_STORE(the_cpu_clock_is_preferred_to_the_task_clock),
        cmocka_unit_test(names_that_only_begin_like_a_time_event_are_none),
        WITH_STORE(epochs_add_up),
        WITH_STORE(counted_events_are_told_by_their_period),
        WITH_STORE(events_of_several_levels_are_not_added),
        WITH_STORE(events_are_of_the_recordings_that_counted_them),
        WITH_STORE(the_machine_is_that_of_the_newest_epoch_that_states_one),
        WITH_STORE(a_store_that_states_no_machine_is_read_with_one_measurement),
        WITH_STORE(epochs_are_listed_newest_first),
        cmocka_unit_test(repeats_tell_how_many_lines_there_are),
        cmocka_unit_test(meetings_of_bursts_tell_how_many_lines_there_are),
        cmocka_unit_test(pages_that_two_accesses_share_count_once),
        cmocka_unit_test(bytes_that_overlap_are_true_sharing_and_others_false),
        cmocka_unit_test(denormals_that_few_bursts_met_are_not_the_codes_own),
        cmocka_unit_test(lines_of_few_sets_are_told_from_those_of_all),
        cmocka_unit_test(lines_drawn_once_are_a_lower_bound_where_most_are),
        cmocka_unit_test(four_kilobytes_of_a_huge_page_take_no_entry_of_the_tlbs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
