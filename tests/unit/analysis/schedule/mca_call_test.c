/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that is called: its input and its outputs. */
#include "analysis/schedule/mca_call.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sys/wait.h>

TEST(a_called_program_gets_its_input_and_gives_both_outputs)
{
    struct mca_answer a;
    char *const args[] = {"sh", "-c", "cat; echo bad >&2; exit 3", NULL};
    assert_int_equal(mca_call("/bin/sh", args, "two\nlines\n", 10, &a), 0);
    assert_int_equal(a.out_length, 10);
    assert_string_equal(a.out, "two\nlines\n");
    assert_string_equal(a.err, "bad\n");
    assert_true(WIFEXITED(a.status) && WEXITSTATUS(a.status) == 3);
    mca_answer_free(&a);
    assert_int_equal(mca_call("/no/such/program", args, "", 0, &a), -ENOENT);
    mca_answer_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_called_program_gets_its_input_and_gives_both_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
