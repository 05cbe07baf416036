/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/turns/turns.h"
#include "tests/unit/test.h"

#include <stdlib.h>

TEST(a_command_is_split_as_a_shell_does)
{
    char **words = gate_words(" ./a  'b c' \"d'e\"\\ f '' \"\\\"\" ");
    assert_non_null(words);
    assert_string_equal(words[0], "./a");
    assert_string_equal(words[1], "b c");
    assert_string_equal(words[2], "d'e f");
    assert_string_equal(words[3], "");
    assert_string_equal(words[4], "\"");
    assert_null(words[5]);
    free(words);
    assert_null(gate_words("a 'b"));
    assert_null(gate_words("  "));
    assert_null(gate_words(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_split_as_a_shell_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
