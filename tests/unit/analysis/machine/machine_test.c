/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/machine/machine.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(the_model_follows_the_instruction_sets_and_not_the_stated_number)
{
    const uint32_t amx = CS_MACHINE_HAS_AMX | CS_MACHINE_HAS_AVX512F | CS_MACHINE_HAS_AVX512_VBMI2 |
                         CS_MACHINE_HAS_AVX2 | CS_MACHINE_HAS_ADX;
    assert_string_equal(cs_machine_models(CS_MACHINE_INTEL, amx)[0], "sapphirerapids");
    assert_string_equal(
        cs_machine_models(CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX2 | CS_MACHINE_HAS_CLFLUSHOPT)[0], "skylake");
    assert_string_equal(
        cs_machine_models(CS_MACHINE_AMD, CS_MACHINE_HAS_AVX2 | CS_MACHINE_HAS_VAES | CS_MACHINE_HAS_CLWB)[0],
        "znver3");
    assert_string_equal(cs_machine_models(CS_MACHINE_AMD, CS_MACHINE_HAS_AVX512F | CS_MACHINE_HAS_VAES)[0],
                        "znver4");
    assert_string_equal(cs_machine_models(CS_MACHINE_OTHER, 0)[0], "x86-64-v2");
}

TEST(a_recorded_machine_is_what_it_stated)
{
    struct cs_machine m;
    assert_int_equal(
        cs_machine_from_stated("GenuineIntel,6,60,3", "Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz", &m), 0);
    assert_string_equal(m.cpu, "haswell");
    assert_true(fabs(m.core_hz - 3.6e9) < 1);
    assert_int_equal(m.l2.bytes, 256 * 1024);
    assert_int_equal(cs_machine_from_stated("AuthenticAMD,25,33,0", "AMD Ryzen 9 5950X", &m), 0);
    assert_string_equal(m.cpu, "znver3");
    assert_int_equal(cs_machine_from_stated("AuthenticAMD,25,17,1", "", &m), 0);
    assert_string_equal(m.cpu, "znver4");
    assert_int_equal(cs_machine_from_stated("GenuineIntel,6,85,4", "", &m), 0);
    assert_string_equal(m.cpu, "skylake-avx512");
    assert_int_equal(cs_machine_from_stated("GenuineIntel,6,999,1", "", &m), -ENOENT);
    assert_int_equal(cs_machine_from_stated("0x00000000410fd070", "", &m), -EINVAL);
    assert_true(m.l1d.bytes > 0);
}

TEST(every_list_of_models_ends)
{
    for (uint32_t bit = 0; bit < 18; bit++)
        for (int vendor = 0; vendor < 3; vendor++) {
            const char *const *m = cs_machine_models((enum cs_machine_vendor)vendor, UINT32_C(1) << bit);
            int n = 0;
            while (m[n])
                n++;
            assert_in_range(n, 1, 7);
        }
}

TEST(a_machine_survives_json)
{
    struct cs_machine m, back;
    char text[4096];
    cs_machine_detect(&m);
    m.core_hz = 3.25e9;
    m.l3.latency_cycles = 51.5;
    m.ladder_cycles[4] = 117.25;
    m.shared_least_cycles[1] = 3.5;
    m.shared_most_cycles[3] = 0.25;
    assert_true(cs_machine_to_json(&m, text, sizeof text) > 0);
    assert_int_equal(cs_machine_from_json(text, &back), 0);
    assert_string_equal(back.cpu, m.cpu);
    assert_string_equal(back.stated, m.stated);
    assert_true(back.core_hz == 3.25e9 && back.l3.latency_cycles == 51.5 && back.ladder_cycles[4] == 117.25);
    assert_true(back.shared_least_cycles[1] == 3.5 && back.shared_most_cycles[3] == 0.25);
    assert_int_equal(back.l2.bytes, m.l2.bytes);
    assert_int_equal(cs_machine_to_json(&m, text, 20), -ENOSPC);
}

TEST(a_field_of_a_wrong_type_keeps_its_default)
{
    struct cs_machine m, fallback;
    cs_machine_default(&fallback);
    assert_int_equal(
        cs_machine_from_json("{\"l2_bytes\":\"big\",\"line_bytes\":0,\"cpu\":7,\"l3_bytes\":-1}", &m), 0);
    assert_int_equal(m.l2.bytes, fallback.l2.bytes);
    assert_int_equal(m.l3.bytes, fallback.l3.bytes);
    assert_int_equal(m.line_bytes, 64);
    assert_string_equal(m.cpu, "");
    assert_int_equal(cs_machine_from_json("[]", &m), -EINVAL);
    assert_int_equal(cs_machine_from_json("{", &m), -EINVAL);
}

TEST(the_ladder_is_read_between_its_steps_and_beyond_them)
{
    struct cs_machine m;
    cs_machine_default(&m);
    assert_true(cs_machine_ladder(&m, 1 << 20) == 0); /* not measured */
    for (int i = 0; i < CS_MACHINE_LADDER_STEPS; i++)
        m.ladder_cycles[i] = 20 + 10 * i;
    assert_true(cs_machine_ladder(&m, 1000) == 20);
    assert_true(cs_machine_ladder(&m, 4 << 20) == 50);
    double between = cs_machine_ladder(&m, 6 << 20);
    assert_true(between > 50 && between < 60);
    assert_true(cs_machine_ladder(&m, 1e12) == m.memory_cycles);
}

TEST(what_a_shared_line_costs_is_read_between_what_was_measured)
{
    struct cs_machine m;
    double least, most;
    cs_machine_default(&m);
    assert_false(cs_machine_shared(&m, 3, &least, &most)); /* not measured */
    for (int i = 0; i < CS_MACHINE_SHARED_STEPS; i++) {
        m.shared_least_cycles[i] = 4 - i;
        m.shared_most_cycles[i] = 10 - 2 * i;
    }
    assert_true(cs_machine_shared(&m, 0, &least, &most) && least == 4 && most == 10);
    assert_true(cs_machine_shared(&m, 9, &least, &most) && least == 2.5 && most == 7);
    assert_true(cs_machine_shared(&m, 1000, &least, &most) && least == 0 && most == 4);
}

/* Other programs may leave too little of the second CPU: then nothing is measured. */
TEST(counters_in_one_line_lose_something_or_nothing_is_measured)
{
    struct cs_machine m;
    cs_machine_detect(&m);
    m.core_hz = 3e9;
    cs_machine_measure_shared(&m);
    for (int i = 0; i < CS_MACHINE_SHARED_STEPS; i++)
        assert_true(m.shared_least_cycles[i] >= 0 && m.shared_least_cycles[i] <= m.shared_most_cycles[i]);
    if (m.shared_most_cycles[0] <= 0)
        skip();
    assert_true(m.shared_most_cycles[0] < 1e4);
}

TEST(a_deeper_level_is_measured_slower)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* each load is then a call */
#endif
    struct cs_machine m;
    struct cs_error err = {0};
    cs_machine_detect(&m);
    assert_int_equal(cs_machine_measure(&m, &err), 0);
    assert_in_range((uint64_t)m.l1d.latency_cycles, 2, 10);
    assert_true(m.l2.latency_cycles > m.l1d.latency_cycles);
    assert_true(m.memory_cycles > 2 * m.l2.latency_cycles);
    assert_true(m.ladder_cycles[0] >= m.l1d.latency_cycles);
    for (int i = 1; i < CS_MACHINE_LADDER_STEPS; i++)
        assert_true(m.ladder_cycles[i] >= m.ladder_cycles[i - 1]);
}

static char folder[64], file[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/machine_test.%d", (int)getpid());
    snprintf(file, sizeof file, "%s/machine.json", folder);
    return setenv("CYCLESCOPE_CACHE", folder, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static double recalled_age(struct cs_machine *m)
{
    struct cs_error err = {0};
    double age_s = -1;
    cs_machine_detect(m);
    assert_int_equal(cs_machine_recall(m, &age_s, &err), 0);
    assert_true(m->core_hz > 0 && m->memory_cycles > 0);
    return age_s;
}

/* Writes what is kept with one member changed. */
static void change(const char *member, json_t *value)
{
    json_t *kept = json_load_file(file, 0, NULL);
    assert_non_null(json_object_get(kept, member));
    json_object_set_new(kept, member, value);
    assert_int_equal(json_dump_file(kept, file, 0), 0);
    json_decref(kept);
}

TEST(a_machine_is_measured_once_an_hour_and_boot)
{
    struct cs_machine first, second;
    assert_true(recalled_age(&first) == 0);
    assert_true(recalled_age(&second) > 0);
    assert_true(fabs(first.core_hz / second.core_hz - 1) < 1e-8);
    assert_true(fabs(first.memory_cycles / second.memory_cycles - 1) < 1e-8);
    assert_true(fabs(first.ladder_cycles[3] / second.ladder_cycles[3] - 1) < 1e-8);
    assert_true(fabs(first.forward_cycles / second.forward_cycles - 1) < 1e-8);
    assert_true(first.update_cycles > 0 && fabs(first.update_cycles / second.update_cycles - 1) < 1e-8);
    assert_true(fabs(first.divide_cycles / second.divide_cycles - 1) < 1e-8);
    assert_true(fabs(first.divide_each_cycles / second.divide_each_cycles - 1) < 1e-8);
    change("boot_id", json_string("another"));
    assert_true(recalled_age(&second) == 0);
    change("measured_s", json_real(-4000));
    assert_true(recalled_age(&second) == 0);
    assert_int_equal(truncate(file, 100), 0);
    assert_true(recalled_age(&second) == 0);
    assert_true(recalled_age(&second) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_follows_the_instruction_sets_and_not_the_stated_number),
        cmocka_unit_test(every_list_of_models_ends),
        cmocka_unit_test(a_machine_survives_json),
        cmocka_unit_test(a_field_of_a_wrong_type_keeps_its_default),
        cmocka_unit_test(a_recorded_machine_is_what_it_stated),
        cmocka_unit_test(the_ladder_is_read_between_its_steps_and_beyond_them),
        cmocka_unit_test(what_a_shared_line_costs_is_read_between_what_was_measured),
        cmocka_unit_test(counters_in_one_line_lose_something_or_nothing_is_measured),
        cmocka_unit_test(a_deeper_level_is_measured_slower),
        cmocka_unit_test_setup_teardown(a_machine_is_measured_once_an_hour_and_boot, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
