/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ratios of counters: found by any name of their events. Summed in the sink as quotients of sums, by tag and as a
 * histogram. The same after a way through the store. */
#include "observer/log/save.h"
#include "observer/sample/sink.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(ipc_is_found_by_any_name_of_its_events)
{
    static const char *const pairs[][2] = {{"instructions", "cycles"},
                                           {"inst_retired:any_p", "cycles"},
                                           {"skl::INST_RETIRED:ANY", "CPU_CLK_UNHALTED.THREAD"},
                                           {"INST_RETIRED", "CPU_CYCLES"},
                                           {"RETIRED_INSTRUCTIONS:u", "CYCLES_NOT_IN_HALT:u"}};
    struct cs_ratio r;
    char name[64];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const char *const swapped[] = {pairs[i][1], "llc-misses", pairs[i][0]};
        assert_true(cs_ratio_parse("ipc", swapped, 3, &r));
        assert_int_equal(r.of, 2);
        assert_int_equal(r.per, 0);
        cs_ratio_name(&r, swapped, name, sizeof name);
        assert_string_equal(name, "IPC");
        assert_true(cs_ratio_parse("cycles/instructions", swapped, 3, &r));
        cs_ratio_name(&r, swapped, name, sizeof name);
        assert_string_equal(name, "CPI");
        assert_true(cs_ratio_parse("LLC_misses/instructions", swapped, 3, &r));
        assert_int_equal(r.of, 1);
        assert_int_equal(r.per, 2);
    }
    const char *const own[] = {"instructions (observer)", "cycles"};
    assert_false(cs_ratio_parse("ipc", own, 2, &r));
    assert_false(cs_ratio_parse("cycles/cycles", own, 2, &r));
    assert_false(cs_ratio_parse("bytes/cycles", own, 2, &r));
    assert_false(cs_ratio_parse("/", own, 2, &r));
}

/* Two tags, of which one has an IPC of 2 in long intervals and 1/2 in short ones, the other 1. */
static struct cs_sink *observed(void)
{
    static const struct cs_ratio ipc = {0, 1};
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_sink *sink;
    struct cs_error err;
    struct cs_sample from = {.start = 1000, .end = 1100, .complete = true, .tags = {1}}, to;
    rule.same_tag = true;
    rule.gap_cycles = 100000;
    assert_int_equal(cs_sink_open(1, 2, &ipc, 1, &rule, &sink, &err), 0);
    cs_sink_first(sink, 1, &from);
    for (unsigned i = 0; i < 400; i++, from = to) {
        uint64_t cycles = i >= 200 ? 500 : i % 2 ? 3000 : 1000;
        double ipc_here = i >= 200 ? 1 : i % 2 ? 2 : 0.5;
        to = from;
        to.start += 2 * cycles; /* the clock isn't the core's */
        to.end += 2 * cycles;
        to.counters[1] += cycles;
        to.counters[0] += (uint64_t)(ipc_here * (double)cycles);
        to.tags[0] = i >= 200 ? 2 : 1;
        cs_sink_add(sink, 1, 0, 2, false, &from, &to);
    }
    cs_sink_total(sink);
    return sink;
}

static void check(const struct cs_sink *sink)
{
    struct cs_tag_row *one = cs_tags_find(sink->tags[0], 1), *two = cs_tags_find(sink->tags[0], 2);
    struct cs_dte_moments m = cs_sink_rate(sink, one, 2);
    assert_int_equal(cs_sink_series(sink), 3);
    assert_true(m.mean > 1.624 && m.mean < 1.626); /* (3000 × 2 + 1000 / 2) / 4000 */
    assert_true(cs_dte_moments_deviation(&m) > 0.648 && cs_dte_moments_deviation(&m) < 0.651);
    assert_int_equal(one->bins[2 * CS_DTE_RATE_BINS + cs_dte_rate_bin(2)], 100);
    assert_int_equal(one->bins[2 * CS_DTE_RATE_BINS + cs_dte_rate_bin(0.5)], 100);
    assert_true(cs_sink_rate(sink, two, 2).mean == 1);
    assert_int_equal(sink->rates[2][cs_dte_rate_bin(1)],
                     200); /* with the interval in which the tag changed */
    assert_int_equal(sink->rates[2][cs_dte_rate_bin(2)], 100);
}

TEST(a_ratio_is_the_quotient_of_sums)
{
    struct cs_sink *sink = observed();
    check(sink);
    cs_sink_close(sink);
}

TEST(a_ratio_comes_back_out_of_the_store)
{
    char path[] = "/tmp/cyclescope-ratio.XXXXXX", command[96];
    struct cs_observe_saved kept;
    struct cs_store *store;
    struct cs_error err;
    struct cs_observe_save_names names = {.program = "/bin/program",
                                          .cycles_per_second = 1e9,
                                          .tags = {"phase"},
                                          .counters = {"instructions", "cycles"}};
    struct cs_sink *sink = observed();
    assert_non_null(mkdtemp(path));
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, "{}", &err), 0);
    assert_int_equal(cs_observe_save(store, sink, &names, &err), 0);
    assert_int_equal(cs_observe_load(store, NULL, &kept, &err), 0);
    assert_int_equal(kept.sink->n_counters, 2);
    assert_int_equal(kept.sink->n_ratios, 1);
    check(kept.sink);
    cs_observe_saved_fini(&kept);
    cs_store_close(store);
    cs_sink_close(sink);
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ipc_is_found_by_any_name_of_its_events),
        cmocka_unit_test(a_ratio_is_the_quotient_of_sums),
        cmocka_unit_test(a_ratio_comes_back_out_of_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
