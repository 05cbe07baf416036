/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When reports may run hot loops of a recording: only on the processor that was recorded, and never where the user said no. */
#include "cli/command/parsed.h"
#include "cli/procedure/calc.h"
#include "tests/unit/test.h"

#include <string.h>
#include <unistd.h>

static bool may_run(const char *option_given, enum cs_isa isa, const struct cs_machine *machine,
                    bool recorded)
{
    struct parsed args = {.n_given = 0};
    if (option_given) {
        args.given[0].name = option_given;
        args.given[0].value = "";
        args.n_given = 1;
    }
    struct cs_experiments *e = calc_experiments(&args, isa, machine, recorded);
    const bool may = e != NULL;
    cs_experiments_close(e);
    return may;
}

TEST(loops_run_only_on_the_recorded_processor)
{
    struct cs_machine here;
    cs_machine_detect(&here);
    assert_false(may_run("no-experiments", CS_ISA_X86_64, &here, true));
    assert_false(may_run("cpu", CS_ISA_X86_64, &here, true));
    assert_false(may_run(NULL, CS_ISA_X86_64, &here, false));
    assert_false(may_run(NULL, CS_ISA_AARCH64, &here, true));
    assert_false(may_run(NULL, CS_ISA_NONE, &here, true));
    for (unsigned k = 0; k < 3; k++) {
        struct cs_machine other = here;
        other.features ^= k == 0;
        other.l1d.bytes += k == 1;
        other.stated[0] = (char)(other.stated[0] + (k == 2));
        assert_false(may_run(NULL, CS_ISA_X86_64, &other, true));
    }
    if (access("/sys/devices/cpu_atom", F_OK) != 0)
        assert_true(may_run(NULL, CS_ISA_X86_64, &here, true));
}

extern const struct command command_calc, command_explain, command_sum, command_report, command_gate;

TEST(each_report_that_runs_loops_can_be_told_not_to)
{
    static const struct command *const of[] = {&command_calc, &command_explain, &command_sum, &command_report,
                                               &command_gate};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct option_entry *o = of[i]->options;
        while (o->name && strcmp(o->name, "no-experiments") != 0)
            o++;
        assert_non_null(o->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_only_on_the_recorded_processor),
        cmocka_unit_test(each_report_that_runs_loops_can_be_told_not_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
