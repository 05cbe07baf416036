/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of events against the encodings that Intel's manual gives them (SDM volume 3, chapter on performance
 * monitoring). The machine is a Skylake that libpfm4 is made to see. The kernel's generic events in their
 * core's form. */
#include "observer/source/arch.h"
#include "observer/source/core_events.h"
#include "sampler/perf/event_names.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

static struct perf_event_attr encoded(const char *name, bool *any)
{
    struct perf_event_attr attr;
    if (cs_event_encode(name, &attr, any) != 0)
        fail_msg("%s isn't known", name);
    return attr;
}

static void is_raw(const char *name, __u64 config, bool any_thread)
{
    bool any;
    struct perf_event_attr attr = encoded(name, &any);
    assert_int_equal(attr.type, PERF_TYPE_RAW);
    assert_int_equal(attr.config, config);
    assert_int_equal(any, any_thread);
}

TEST(every_spelling_of_an_event_is_the_same_event)
{
    is_raw("INST_RETIRED:ANY_P", 0xc0, false);
    is_raw("inst_retired.any_p", 0xc0, false);
    is_raw("skl::INST_RETIRED:ANY_P", 0xc0, false);
    is_raw("INST_RETIRED:ANY", 0xc0, false); /* the fixed counter's name */
    is_raw("inst_retired.any", 0xc0, false);
    is_raw("INST_RETIRED:ANY:t", 0xc0, true);
    is_raw("inst_retired:any_p:t", 0xc0, true);
    is_raw("skl::INST_RETIRED:t", 0xc0, true);
    is_raw("CPU_CLK_UNHALTED.THREAD", 0x3c, false);
    is_raw("mem_load_retired.l3_miss", 0x20d1, false);
    is_raw("MEM_LOAD_RETIRED:L3_MISS:t", 0x20d1, true);
}

TEST(modifiers_in_one_word_or_several_say_who_is_counted)
{
    bool any;
    struct perf_event_attr attr = encoded("INST_RETIRED:ANY_P:u", &any);
    assert_int_equal(attr.exclude_user, 0);
    assert_int_equal(attr.exclude_kernel, 1);
    attr = encoded("INST_RETIRED:ANY_P:kt", &any);
    assert_true(any);
    assert_int_equal(attr.exclude_user, 1);
    assert_int_equal(attr.exclude_kernel, 0);
    attr = encoded("inst_retired.any_p:u:k", &any);
    assert_int_equal(attr.exclude_user | attr.exclude_kernel, 0);
    attr = encoded("INST_RETIRED:PREC_DIST:upp", &any);
    assert_int_equal(attr.precise_ip, 2);
}

TEST(an_unknown_name_is_refused)
{
    struct perf_event_attr attr;
    bool any;
    assert_int_not_equal(cs_event_encode("INST_REHIRED:ANY", &attr, &any), 0);
    assert_int_not_equal(cs_event_encode(":t", &attr, &any), 0);
    assert_int_not_equal(cs_event_encode("", &attr, &any), 0);
    assert_int_not_equal(cs_event_encode("t", &attr, &any), 0);
}

struct looking {
    bool found;
    unsigned n;
};

static int look(void *arg, const char *name, const char *meaning)
{
    struct looking *l = arg;
    l->n++;
    if (strcmp(name, "skl::MEM_LOAD_RETIRED:L3_MISS") == 0)
        l->found = strstr(meaning, "L3") != NULL;
    return 0;
}

TEST(all_events_are_listed_with_their_meaning)
{
    struct looking l = {false, 0};
    assert_int_equal(cs_event_names_each(look, &l), 0);
    assert_true(l.found);
    assert_true(l.n > 200);
}

TEST(generic_events_have_a_form_of_the_core)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS};
    if (!CS_PMC_ANY_THREAD) {
        assert_false(cs_core_event(&attr));
        return;
    }
    assert_true(cs_core_event(&attr));
    assert_int_equal(attr.type, PERF_TYPE_RAW);
    assert_int_equal(attr.config, 0x2000c0);
    assert_true(cs_core_event_is_sum(&attr));
    attr = (struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
    assert_true(cs_core_event(&attr));
    assert_int_equal(attr.config, 0x20003c);
    assert_false(cs_core_event_is_sum(&attr)); /* a cycle of two threads is one of the core */
    attr = (struct perf_event_attr){.type = PERF_TYPE_RAW, .config = 0x10001c2}; /* with a threshold */
    assert_true(cs_core_event(&attr));
    assert_false(cs_core_event_is_sum(&attr));
    attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK};
    assert_false(cs_core_event(&attr));
    attr = (struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_REF_CPU_CYCLES};
    assert_false(cs_core_event(&attr));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_an_event_is_the_same_event),
        cmocka_unit_test(modifiers_in_one_word_or_several_say_who_is_counted),
        cmocka_unit_test(an_unknown_name_is_refused),
        cmocka_unit_test(all_events_are_listed_with_their_meaning),
        cmocka_unit_test(generic_events_have_a_form_of_the_core),
    };
    setenv("LIBPFM_FORCE_PMU", "skl", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
