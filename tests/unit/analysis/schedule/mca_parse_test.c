/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What llvm-mca answers: its time lines, and what isn't one. */
#include "analysis/schedule/schedule.h"
#include "tests/unit/test.h"

#include <string.h>

TEST(a_truncated_or_foreign_answer_is_refused)
{
    static const char text[] =
        "{\"CodeRegions\":[{\"Instructions\":[\"nop\"],\"SummaryView\":{\"DispatchWidth\":6},"
        "\"TimelineView\":{\"TimelineInfo\":[{\"CycleDispatched\":0,\"CycleReady\":0,"
        "\"CycleIssued\":1,\"CycleExecuted\":2,\"CycleRetired\":3}]}}],"
        "\"TargetInfo\":{\"Resources\":[\"Zn3FP45.\\u0000\"]}}";
    struct cs_schedule_timeline line[2];
    struct cs_schedule_timeline *const lines[] = {line};
    const size_t one = 1, two = 2;
    bool ok = false;
    assert_true(cs_schedule_mca_parse(text, sizeof text - 1, 0, 1, &one, &one, lines, &ok) == 6.0);
    assert_true(ok && line[0].retired == 3);
    assert_true(cs_schedule_mca_parse(text, sizeof text - 1, 0, 1, &one, &two, lines, &ok) == 6.0);
    assert_false(ok);
    for (size_t cut = 0; cut < sizeof text - 1; cut += 7)
        assert_true(cs_schedule_mca_parse(text, cut, 0, 1, &one, &one, lines, &ok) < 0);
}

#define ENTRY(at)                                                                                            \
    "{\"CycleDispatched\":" #at                                                                              \
    ",\"CycleExecuted\":3,\"CycleIssued\" : 2,\"CycleReady\":1, \"CycleRetired\":4}"
#define REGION(text, at)                                                                                     \
    "{\"Instructions\":[\"" text "\"],\"Name\":\"\",\"SummaryView\":{\"IPC\":1.5e-1,\"DispatchWidth\":4},"   \
    "\"TimelineView\":{\"TimelineInfo\":[" ENTRY(at) "]}}"

static double parse_one(const char *text, size_t before, struct cs_schedule_timeline *line, bool *ok)
{
    const size_t one = 1;
    return cs_schedule_mca_parse(text, strlen(text), before, 1, &one, &one,
                                 (struct cs_schedule_timeline *const[]){line}, ok);
}

TEST(regions_before_the_paths_are_passed_over)
{
    static const char two[] = "{\"CodeRegions\": [" REGION("nop", 7) ",\n" REGION(
        "a \\\" ]}[{ \\\\", 0) "], \"X\": [true, null, -1.5, {\"}\": []}]}\n";
    struct cs_schedule_timeline line = {0};
    bool ok = false;
    assert_true(parse_one(two, 1, &line, &ok) == 4.0);
    assert_true(ok);
    assert_memory_equal(&line, (&(struct cs_schedule_timeline){0, 1, 2, 3, 4}), sizeof line);
    assert_true(parse_one(two, 0, &line, &ok) < 0); /* two regions for one path */
    assert_true(parse_one(two, 2, &line, &ok) < 0);
}

TEST(what_is_no_cycle_is_refused)
{
    static const char *const wrong[] = {
        "{\"CodeRegions\":[" REGION("nop", -1) "]}",  "{\"CodeRegions\":[" REGION("nop", 100000000) "]}",
        "{\"CodeRegions\":[" REGION("nop", 1.5) "]}", "{\"CodeRegions\":[" REGION("nop", "0") "]}",
        "{\"CodeRegions\":[" REGION("nop", []) "]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cs_schedule_timeline line;
        bool ok = true;
        assert_true(parse_one(wrong[i], 0, &line, &ok) == 4.0);
        assert_false(ok);
    }
    static const char *const broken[] = {"",
                                         "[]",
                                         "{\"CodeRegions\":[]}",
                                         "{\"CodeRegions\":[1]}",
                                         "{\"CodeRegions\":[" REGION("nop", 0) "]} x",
                                         "{\"CodeRegions\":[" REGION("nop", 0) "],}",
                                         "{\"CodeRegions\":[" REGION("nop", 0) "]],\"a\":[}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct cs_schedule_timeline line;
        bool ok;
        assert_true(parse_one(broken[i], 0, &line, &ok) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_or_foreign_answer_is_refused),
        cmocka_unit_test(regions_before_the_paths_are_passed_over),
        cmocka_unit_test(what_is_no_cycle_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
