/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sample log: what is written is read, and gaps are where chunks meet. A log that is cut or damaged
 * loses no more than it must, and no byte of it can hurt the reader. */
#include "observer/log/log.h"
#include "observer/log/replay.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#include "tests/fuzz/log_fuzz.c"

#define SAMPLES 1000u
#define CHUNK 128u /* samples a chunk */
static char path[64];

static struct cs_sample nth(uint64_t i)
{
    return (struct cs_sample){.start = 1000000 + i * 300,
                              .end = 1000000 + i * 300 + 40 + i % 7,
                              .counters = {i * i, UINT64_MAX - i},
                              .thread_id = i << 32 | (i % 3),
                              .tags = {i % 5, i % 11 == 0 ? UINT64_MAX : i},
                              .complete = i % 13 != 0,
                              .descheduled = i % 17 == 0};
}

static int write_log(void **state)
{
    struct cs_observe_log_head head = {
        .n_tags = 2, .n_software = 1, .n_hardware = 1, .follow = 1, .cycles_per_second = 1000000000};
    struct cs_observe_log *log;
    struct cs_error err;
    (void)state;
    snprintf(path, sizeof path, "/tmp/cyclescope-log.XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0 || cs_observe_log_create(path, &head, CHUNK * 7 * 8, &log, &err) < 0)
        return -1;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct cs_sample s = nth(i);
        cs_observe_log_add(log, 2, 2, true, &s);
    }
    int rc = cs_observe_log_name(log, 1, 77, "seventy-six", &err);
    if (rc == 0)
        rc = cs_observe_log_name(log, 1, 77, "seventy-seven", &err);
    if (rc == 0)
        rc = cs_observe_log_finish(log, &err);
    cs_observe_log_close(log);
    return rc;
}

static int remove_log(void **state)
{
    (void)state;
    return unlink(path);
}

static struct cs_observe_log_reader *open_log(void)
{
    struct cs_observe_log_reader *r = NULL;
    struct cs_error err;
    assert_int_equal(cs_observe_log_open(path, &r, &err), 0);
    return r;
}

TEST(every_sample_comes_back)
{
    struct cs_observe_log_reader *r = open_log();
    struct cs_sample s;
    struct cs_error err;
    bool gap;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct cs_sample wanted = nth(i);
        assert_int_equal(cs_observe_log_next(r, &s, &gap, &err), 1);
        assert_int_equal(s.start, wanted.start);
        assert_int_equal(s.end, wanted.end);
        assert_int_equal(s.thread_id, wanted.thread_id);
        assert_memory_equal(s.counters, wanted.counters, 2 * sizeof s.counters[0]);
        assert_memory_equal(s.tags, wanted.tags, sizeof s.tags);
        assert_true(s.complete == wanted.complete && s.descheduled == wanted.descheduled);
        assert_int_equal(gap, i % CHUNK == 0); /* between chunks the observer was writing */
    }
    assert_int_equal(cs_observe_log_next(r, &s, &gap, &err), 0);
    assert_false(cs_observe_log_cut_short(r));
    unsigned tag;
    uint64_t value;
    assert_int_equal(cs_observe_log_reader_names(r), 2);
    assert_string_equal(cs_observe_log_reader_name(r, 1, &tag, &value), "seventy-seven");
    assert_true(tag == 1 && value == 77);
    assert_string_equal(cs_observe_log_reader_name_of(r, 1, 77), "seventy-seven"); /* a later name holds */
    assert_null(cs_observe_log_reader_name_of(r, 0, 77));
    cs_observe_log_reader_close(r);
}

struct replayed {
    uint64_t intervals, cycles;
    uint64_t last_start;
};

static void see_interval(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                         enum cs_dte_verdict verdict)
{
    struct replayed *r = arg;
    (void)verdict;
    assert_true(from->start >= r->last_start);
    r->last_start = from->start;
    r->intervals++;
    r->cycles += to->start - from->start;
}

TEST(a_replay_judges_each_interval_within_a_chunk_once)
{
    const unsigned chunks = (SAMPLES + CHUNK - 1) / CHUNK, last = SAMPLES - (chunks - 1) * CHUNK;
    for (unsigned every = 1; every <= 3; every++) {
        struct replayed seen = {0};
        struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(),
                                                    .paper = true,
                                                    .subsample = every,
                                                    .visit = see_interval,
                                                    .arg = &seen};
        struct cs_sink *sink;
        struct cs_error err;
        assert_int_equal(cs_observe_replay(path, &options, &sink, NULL, &err), 0);
        /* Of n samples of a chunk the first, and then each `every`th, is kept: (n - 1) / every intervals. */
        const uint64_t expected = (chunks - 1) * ((CHUNK - 1) / every) + (last - 1) / every;
        assert_int_equal(seen.intervals, expected);
        assert_int_equal(seen.cycles, expected * every * 300); /* samples are 300 cycles apart */
        assert_int_equal(cs_dte_tally_intervals(&sink->tally), expected);
        assert_int_equal(cs_dte_tally_cycles(&sink->tally), seen.cycles);
        cs_sink_close(sink);
    }
}

/* Tag 1 alternates between two points of `method`; tag 0 stays. */
TEST(points_of_one_name_are_one_value_when_intervals_are_judged)
{
    const struct cs_observe_log_head head = {.n_tags = 2, .n_software = 1, .cycles_per_second = 1000000000};
    struct cs_observe_log *log;
    struct cs_error err;
    assert_int_equal(cs_observe_log_create(path, &head, 0, &log, &err), 0);
    struct cs_sample s = {.complete = true};
    for (unsigned i = 0; i < 1001; i++) {
        s.start = 1000 + 300ULL * i;
        s.end = s.start + 50;
        s.counters[0] = i;
        s.tags[0] = i % 2 ? 7 : 9;
        cs_observe_log_add(log, 2, 1, false, &s);
    }
    assert_int_equal(cs_observe_log_name(log, 0, 7, "method", &err), 0);
    assert_int_equal(cs_observe_log_name(log, 0, 9, "method", &err), 0);
    assert_int_equal(cs_observe_log_finish(log, &err), 0);
    cs_observe_log_close(log);
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .paper = true};
    options.rule.same_tag = true;
    for (unsigned raw = 0; raw < 2; raw++) {
        struct cs_sink *sink;
        options.raw_values = raw;
        assert_int_equal(cs_observe_replay(path, &options, &sink, NULL, &err), 0);
        assert_int_equal(sink->tally.intervals[raw ? CS_DTE_TAG : CS_DTE_KEPT], 1000);
        const struct cs_tag_row *row = cs_tags_find(sink->tags[0], 7);
        assert_int_equal(row->kept, raw ? 0 : 1000);
        assert_int_equal(row->visits, raw ? 500 : 1);
        cs_sink_close(sink);
    }
}

/* Samples that can be read of the first `bytes` bytes; -1 = refused. */
static int64_t readable(off_t bytes, bool *cut)
{
    struct cs_observe_log_reader *r;
    struct cs_sample s;
    struct cs_error err;
    bool gap;
    int64_t n = 0;
    int rc;
    if (truncate(path, bytes) < 0 || cs_observe_log_open(path, &r, &err) < 0)
        return -1;
    while ((rc = cs_observe_log_next(r, &s, &gap, &err)) > 0)
        n++;
    *cut = cs_observe_log_cut_short(r);
    cs_observe_log_reader_close(r);
    return rc < 0 ? -1 : n;
}

TEST(a_log_cut_anywhere_is_readable_up_to_its_last_whole_chunk)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    int64_t before = SAMPLES;
    for (off_t bytes = st.st_size - 1; bytes >= (off_t)sizeof(struct cs_observe_log_head); bytes -= 97) {
        bool cut = false;
        int64_t n = readable(bytes, &cut);
        assert_true(cut);
        assert_true(n >= 0 && n <= before && (n % CHUNK == 0 || n == SAMPLES));
        before = n;
    }
    assert_int_equal(before, 0);
}

TEST(no_mutation_hurts_the_reader)
{
    static uint8_t good[1 << 20], bad[1 << 20];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(good, 1, sizeof good, f);
    fclose(f);
    assert_true(n > sizeof(struct cs_observe_log_head) && n < sizeof good);
    uint64_t random = 88172645463325252ull;
    for (int round = 0; round < 3000; round++) {
        memcpy(bad, good, n);
        for (int k = 0; k <= round % 4; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bad[random % n] = (uint8_t)(random >> 40);
        }
        LLVMFuzzerTestOneInput(bad, round % 9 == 0 ? random % n : n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_sample_comes_back, write_log, remove_log),
        cmocka_unit_test_setup_teardown(a_replay_judges_each_interval_within_a_chunk_once, write_log,
                                        remove_log),
        cmocka_unit_test_setup_teardown(points_of_one_name_are_one_value_when_intervals_are_judged, NULL,
                                        remove_log),
        cmocka_unit_test_setup_teardown(a_log_cut_anywhere_is_readable_up_to_its_last_whole_chunk, write_log,
                                        remove_log),
        cmocka_unit_test_setup_teardown(no_mutation_hurts_the_reader, write_log, remove_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
