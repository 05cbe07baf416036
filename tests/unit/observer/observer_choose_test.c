/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which signals a run reads, as far as that needs no target; names of system calls. */

#include "observer/choose.h"
#include "observer/source/os.h"
#include "tests/unit/test.h"

#include <sys/syscall.h>

TEST(only_names_that_the_os_source_lacks_need_the_target)
{
    struct cs_observe_options options = {.n_signals = 0};
    assert_false(cs_observe_choose_needs_target(&options)); /* none named */
    assert_false(cs_observe_choose_needs_os(&options));
    options.signals[options.n_signals++] = CS_SIGNAL_OS_THREAD;
    assert_false(cs_observe_choose_needs_target(&options));
    assert_true(cs_observe_choose_needs_os(&options));
    options.signals[options.n_signals++] = "os:threads"; /* not one of ours */
    assert_true(cs_observe_choose_needs_target(&options));
    assert_true(cs_observe_choose_needs_os(&options));
}

TEST(without_names_both_os_tags_are_read_and_with_names_those)
{
    struct cs_observe_options options = {.n_signals = 0};
    struct cs_observe_choice choice;
    cs_observe_choose_os_tags(&options, &choice);
    assert_int_equal(choice.n_tags, 2);
    assert_int_equal(choice.n_counters + choice.left_out, 0);
    assert_string_equal(choice.tags[0].name, CS_SIGNAL_OS_SYSCALL);
    assert_string_equal(choice.tags[1].name, CS_SIGNAL_OS_THREAD);
    assert_true(cs_observe_choose_is_os(&choice.tags[0]) && cs_observe_choose_is_os(&choice.tags[1]));
    options.signals[options.n_signals++] = CS_SIGNAL_OS_THREAD;
    cs_observe_choose_os_tags(&options, &choice);
    assert_int_equal(choice.n_tags, 1);
    assert_string_equal(choice.tags[0].name, CS_SIGNAL_OS_THREAD);
}

TEST(signals_without_room_are_named)
{
    struct cs_observe_options options = {.signals = {CS_SIGNAL_OS_SYSCALL, CS_SIGNAL_OS_SYSCALL,
                                                     CS_SIGNAL_OS_SYSCALL, CS_SIGNAL_OS_SYSCALL,
                                                     CS_SIGNAL_OS_THREAD},
                                         .n_signals = 5};
    struct cs_observe_choice choice;
    cs_observe_choose_os_tags(&options, &choice);
    assert_int_equal(choice.n_tags, CS_TAGS_MAX);
    assert_int_equal(choice.left_out, 1);
    assert_string_equal(choice.left_names, CS_SIGNAL_OS_THREAD);
}

TEST(a_word_of_the_target_is_not_the_os_source)
{
    for (unsigned word = 0; word < CS_SIGNALS_MAX; word++)
        assert_false(cs_observe_choose_is_os(&(struct cs_seen_signal){.word = word}));
}

TEST(system_calls_have_the_names_of_this_machines_header)
{
#ifdef __x86_64__ /* the source's table is x86-64's; elsewhere it names nothing */
    assert_string_equal(cs_os_syscall_name(SYS_read), "read");
    assert_string_equal(cs_os_syscall_name(SYS_openat), "openat");
    assert_string_equal(cs_os_syscall_name(SYS_getrandom), "getrandom");
    assert_string_equal(cs_os_syscall_name(SYS_exit_group), "exit_group");
    assert_string_equal(cs_os_syscall_name(SYS_futex), "futex");
#else
    assert_null(cs_os_syscall_name(0));
    assert_null(cs_os_syscall_name(SYS_read));
#endif
    assert_null(cs_os_syscall_name(100000));
    assert_null(cs_os_syscall_name(400)); /* x86-64 leaves 335 to 423 free */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_names_that_the_os_source_lacks_need_the_target),
        cmocka_unit_test(without_names_both_os_tags_are_read_and_with_names_those),
        cmocka_unit_test(signals_without_room_are_named),
        cmocka_unit_test(a_word_of_the_target_is_not_the_os_source),
        cmocka_unit_test(system_calls_have_the_names_of_this_machines_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
