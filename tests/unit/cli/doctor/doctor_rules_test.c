/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's judgement of machines that are made up. */
#include "cli/doctor/finding.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

static struct finding judged(const struct machine *m, const char *key)
{
    struct finding f = {
        .state = FINDING_GOOD, .runtime = "", .architect = "", .production = "", .enable = ""};
    for (const struct finding_rule *r = finding_rules; r->key; r++)
        if (strcmp(r->key, key) == 0) {
            r->judge(m, &f);
            return f;
        }
    fail_msg("there is no rule %s", key);
    return f;
}

/* Everything works: bare metal with two hardware threads a core. */
static struct machine perfect(void)
{
    static struct cpu_pair pairs[] = {{0, 1, "SMT sibling"}};
    struct machine m = {.root = "",
                        .vendor = "GenuineIntel",
                        .model_name = "CPU",
                        .family = 6,
                        .model = 94,
                        .flags = " rdtscp constant_tsc nonstop_tsc ",
                        .pfm_name = "skl",
                        .pfm_description = "Skylake",
                        .pfm_counters = 4,
                        .pfm_fixed = 3,
                        .clocksource = "tsc",
                        .tsc_mhz = 3000,
                        .release = "6.1",
                        .paranoid = -1,
                        .max_rate = 100000,
                        .rdpmc_file = 2,
                        .pmu_devices = "cpu",
                        .btf = true,
                        .cgroup2 = true,
                        .n_cpus = 2,
                        .n_cores = 1,
                        .n_packages = 1,
                        .n_pairs = 1,
                        .smt = true,
                        .pairs = pairs};
    m.probes[PROBE_CPUID_0A_EAX] = 0x08300404;
    return m;
}

TEST(interpreted_bpf_is_a_limit_with_its_remedy)
{
    struct machine m = perfect();
    assert_int_equal(judged(&m, "bpf").state, FINDING_GOOD);
    m.bpf_interpreted = true;
    struct finding f = judged(&m, "bpf");
    assert_int_equal(f.state, FINDING_LIMITED);
    assert_non_null(strstr(f.enable, "bpf_jit_enable=1"));
}

TEST(a_perfect_machine_has_nothing_absent)
{
    struct machine m = perfect();
    for (const struct finding_rule *r = finding_rules; r->key; r++) {
        struct finding f = judged(&m, r->key);
        assert_true(f.value[0] != '\0');
        assert_non_null(f.runtime);
        assert_non_null(f.architect);
        assert_non_null(f.production);
        assert_non_null(f.enable);
        if (strcmp(r->key, "anythread") != 0) /* version 4 of the PMU has it no more */
            assert_int_not_equal(f.state, FINDING_ABSENT);
    }
}

TEST(what_is_not_permitted_says_how_to_permit_it)
{
    struct machine m = perfect();
    m.probes[PROBE_PRECISE] = EACCES;
    struct finding f = judged(&m, "precise");
    assert_int_equal(f.state, FINDING_ABSENT);
    assert_non_null(strstr(f.value, "not permitted"));
    m.probes[PROBE_LBR] = EPERM;
    f = judged(&m, "lbr");
    assert_int_equal(f.state, FINDING_ABSENT);
    assert_non_null(strstr(f.enable, "perf_event_paranoid"));
}

TEST(what_the_hardware_lacks_can_not_be_enabled)
{
    struct machine m = perfect();
    m.probes[PROBE_LBR] = EOPNOTSUPP;
    struct finding f = judged(&m, "lbr");
    assert_int_equal(f.state, FINDING_ABSENT);
    assert_string_equal(f.enable, "");
    assert_null(strstr(f.value, "permitted"));
}

TEST(a_breakpoint_that_does_not_open_is_a_limit)
{
    struct machine m = perfect();
    assert_int_equal(judged(&m, "breakpoints").state, FINDING_GOOD);
    m.probes[PROBE_BREAKPOINT] = ENOSYS;
    assert_int_equal(judged(&m, "breakpoints").state, FINDING_LIMITED);
}

TEST(one_cpu_has_nobody_to_observe_from)
{
    struct machine m = perfect();
    m.n_cpus = 1;
    m.n_pairs = 0;
    m.smt = false;
    assert_int_equal(judged(&m, "pairs").state, FINDING_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpreted_bpf_is_a_limit_with_its_remedy),
        cmocka_unit_test(a_perfect_machine_has_nothing_absent),
        cmocka_unit_test(what_is_not_permitted_says_how_to_permit_it),
        cmocka_unit_test(what_the_hardware_lacks_can_not_be_enabled),
        cmocka_unit_test(a_breakpoint_that_does_not_open_is_a_limit),
        cmocka_unit_test(one_cpu_has_nobody_to_observe_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
