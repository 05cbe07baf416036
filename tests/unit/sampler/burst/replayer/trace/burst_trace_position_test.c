/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what polled words held to how far a thread was: against threads whose way is known. */
#include "sampler/burst/replayer/trace/trace_position.h"
#include "sampler/burst/runner/timing_model.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 500000, CHANGES = 300 };
static struct change changes[POLLED_WORDS_MAX][CHANGES];
static struct history words[POLLED_WORDS_MAX];
static uint64_t held[POLLED_WORDS_MAX][CHANGES + 1]; /* also where the history doesn't say */
static struct polled_words seen;
static uint64_t truth[POLLS_MAX];

static int ascending(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->position > y->position) - (x->position < y->position);
}

/* Word i changes n times, to counts, or to one of few values; `some`: the history knows only its ends. */
static void make_word(unsigned i, uint32_t n, bool counts, bool some)
{
    for (uint32_t k = 0; k < n; k++)
        changes[i][k].position = (uint32_t)(rand() % (LENGTH - BLOCK_INSNS_MAX));
    qsort(changes[i], n, sizeof changes[i][0], ascending);
    for (uint32_t k = 0; k <= n; k++)
        held[i][k] = counts ? 1000 + k : (uint64_t)(rand() % 3);
    if (some) {
        held[i][0] = 7; /* the end may be what it was written before, too */
        held[i][n] = rand() % 2 ? 8 : held[i][1];
    }
    for (uint32_t k = 0; k < n; k++)
        changes[i][k].value = some && k ? 0 : held[i][k];
    words[i] = (struct history){
        .change = changes[i], .n = n, .before = held[i][0], .after = held[i][n], .known = true, .some = some};
}

/* What word i holds when the thread has run so many instructions. */
static uint64_t held_at(unsigned i, uint64_t position)
{
    uint32_t k = 0;
    while (k < words[i].n && changes[i][k].position < position)
        k++;
    return held[i][k];
}

/* A thread that goes `step` instructions from poll to poll, from `from` on, and is read word by word. */
static void run_thread(unsigned n_words, unsigned n_polls, uint64_t from, uint64_t step)
{
    seen = (struct polled_words){.n_words = n_words, .n_polls = n_polls};
    for (unsigned p = 0; p < n_polls; p++) {
        truth[p] = from + p * step;
        seen.poll[p].begin_ns = 50000 + 10000 * p;
        seen.poll[p].end_ns = 50000 + 10000 * p + 4000;
        for (unsigned i = 0; i < n_words; i++)
            seen.poll[p].value[i] = held_at(i, truth[p] + i);
    }
}

TEST(a_thread_was_where_its_words_say)
{
    unsigned within = 0, narrow = 0;
    for (int round = 0; round < 2000; round++) {
        srand((unsigned)round);
        unsigned n_words = 1 + (unsigned)rand() % POLLED_WORDS_MAX;
        for (unsigned i = 0; i < n_words; i++) {
            bool some = rand() % 3 == 0;
            make_word(i, some ? 2 + (uint32_t)rand() % 6 : 1 + (uint32_t)rand() % CHANGES, rand() % 2, some);
        }
        run_thread(n_words, 10, (uint64_t)(rand() % 100000), (uint64_t)(rand() % 30000));
        struct trace_positions known = trace_positions(&seen, words, LENGTH);
        for (unsigned p = 0; p < known.within; p++) {
            assert_true(known.least[p] <= truth[p] + POLLED_WORDS_MAX);
            assert_true(known.most[p] + BLOCK_INSNS_MAX >= truth[p]);
            within++;
            narrow += known.most[p] - known.least[p] < LENGTH / 10;
            assert_true(!p || (known.least[p] >= known.least[p - 1] && known.most[p] >= known.most[p - 1]));
        }
    }
    assert_true(within > 10000 && narrow > within / 2); /* of 20,000: it does tell something */
}

TEST(a_word_that_counts_tells_nearly_all)
{
    srand(1);
    make_word(0, CHANGES, true, false);
    run_thread(1, 10, 20000, 40000);
    struct trace_positions known = trace_positions(&seen, words, LENGTH);
    assert_int_equal(known.within, 10);
    for (unsigned p = 0; p < 10; p++)
        assert_true(known.most[p] - known.least[p] < 20000);
}

TEST(past_the_trace_and_off_it_nothing_is_known)
{
    srand(2);
    make_word(0, CHANGES, true, false);
    make_word(1, CHANGES, true, false);
    run_thread(2, 20, 250000, 50000); /* over after the fifth */
    assert_int_equal(trace_positions(&seen, words, LENGTH).within, 5);
    run_thread(2, 10, 0, 10000);
    seen.poll[4].value[1] = 5; /* never holds that */
    assert_int_equal(trace_positions(&seen, words, LENGTH).within, 4);
    seen.poll[4].value[1] = 1000; /* did once */
    assert_true(trace_positions(&seen, words, LENGTH).within <= 4);
}

TEST(an_interval_is_as_long_as_the_thread_took_for_it)
{
    struct position_interval early, late;
    srand(3);
    make_word(0, CHANGES, true, false);
    run_thread(1, 20, 5000, 20000); /* two instructions a nanosecond */
    struct trace_positions known = trace_positions(&seen, words, LENGTH);
    position_intervals(&seen, &known, &early, &late);
    assert_true(late.off < 200 && late.from_ns >= 50000 + CS_MODEL_WARM_NS);
    double rate = (double)(late.to - late.from) / (double)(late.to_ns - late.from_ns);
    assert_true(rate > 1.8 && rate < 2.2);
    assert_true(early.from_ns < 50000 + 20000 && early.to_ns <= late.from_ns &&
                early.to_ns < 50000 + 20000 + CS_MODEL_EARLY_NS);
    uint64_t over_ns = 50000 + LENGTH / 2; /* the second half of what the trace takes is the warmest */
    assert_true(late.from_ns >= 50000 + (over_ns - 50000 - 20000) / 2 - 20000);
}

TEST(a_change_late_in_the_trace_is_of_a_warm_thread)
{
    struct position_interval early, late;
    make_word(0, 1, true, false);
    changes[0][0].position = 200000;
    make_word(1, 1, true, false);
    changes[1][0].position = 320000;
    run_thread(2, 20, 5000, 20000);
    struct trace_positions known = trace_positions(&seen, words, LENGTH);
    position_intervals(&seen, &known, &early, &late);
    assert_true(early.off > 1000 && late.off < 1000);
    double rate = (double)(late.to - late.from) / (double)(late.to_ns - late.from_ns);
    assert_true(rate > 1.4 && rate < 2.8);
}

TEST(words_that_never_change_make_no_interval)
{
    struct position_interval early, late;
    make_word(0, 1, true, false);
    changes[0][0].position = LENGTH - 100;
    run_thread(1, 10, 0, 10000);
    struct trace_positions known = trace_positions(&seen, words, LENGTH);
    position_intervals(&seen, &known, &early, &late);
    assert_true(early.off > 1000 && late.off > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_was_where_its_words_say),
        cmocka_unit_test(a_word_that_counts_tells_nearly_all),
        cmocka_unit_test(past_the_trace_and_off_it_nothing_is_known),
        cmocka_unit_test(an_interval_is_as_long_as_the_thread_took_for_it),
        cmocka_unit_test(a_change_late_in_the_trace_is_of_a_warm_thread),
        cmocka_unit_test(words_that_never_change_make_no_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
