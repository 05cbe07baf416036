/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line speaks one language, and understands what it once said. */
#include "cli/command/figures.h"
#include "cli/command/parsed.h"
#include "store/base/text.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct command *command_of(const char *name)
{
    for (const struct command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    fail_msg("there is no subcommand %s", name);
    return NULL;
}

/* Parses the words of `line`, the first of which is the subcommand. */
static int parse(const char *line, struct parsed *args)
{
    static char words[512];
    static char *argv[32];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    memset(args, 0, sizeof *args);
    return parse_options(command_of(argv[0]), argc, argv, args);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void compare(const struct command *c, const struct option_entry *e, const struct command *d,
                    const struct option_entry *f)
{
    if (e->letter && e->letter == f->letter && strcmp(e->name, f->name) != 0)
        fail_msg("-%c is --%s in %s and --%s in %s", e->letter, e->name, c->name, f->name, d->name);
    if (strcmp(e->name, f->name) != 0)
        return;
    if (e->letter != f->letter)
        fail_msg("--%s has two letters, in %s and %s", e->name, c->name, d->name);
    if (!same(e->argument, f->argument))
        fail_msg("--%s takes two things, in %s and %s", e->name, c->name, d->name);
    if (strcmp(e->help, f->help) != 0)
        fail_msg("--%s is told in two ways, in %s and %s", e->name, c->name, d->name);
}

TEST(an_option_means_the_same_in_every_subcommand)
{
    unsigned compared = 0;
    for (const struct command *const *c = commands; *c; c++)
        for (const struct option_entry *e = (*c)->options; e->name; e++) {
            for (const struct option_entry *f = common_options; f->name; f++)
                assert_true(strcmp(e->name, f->name) != 0 && (!e->letter || e->letter != f->letter));
            for (const struct command *const *d = c; *d; d++)
                for (const struct option_entry *f = *d == *c ? e + 1 : (*d)->options; f->name;
                     f++, compared++)
                    compare(*c, e, *d, f);
        }
    assert_true(compared > 1000);
}

TEST(every_option_is_told_in_plain_words)
{
    for (const struct command *const *c = commands; *c; c++)
        for (const struct option_entry *e = (*c)->options; e->name; e++) {
            assert_non_null(e->help);
            assert_in_range(strlen(e->help), 4, 120);
            if (e->argument)
                assert_int_equal(strspn(e->argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.="), strlen(e->argument));
        }
}

TEST(a_pair_of_switches_also_takes_on_and_off)
{
    struct parsed args;
    assert_int_equal(parse("daemon start --bursts on --paths off", &args), 0);
    assert_true(option_given(&args, "bursts"));
    assert_false(option_given(&args, "paths"));
    assert_true(option_given(&args, "no-paths"));
    assert_int_equal(operand_count(&args), 1);
    parsed_fini(&args);
    assert_int_equal(parse("record --bursts -- on", &args), 0);
    assert_string_equal(operand(&args, 0), "on");
    parsed_fini(&args);
    assert_true(parse("record --bursts=perhaps -- true", &args) < 0);
    parsed_fini(&args);
    assert_true(parse("prof --json=yes", &args) < 0);
    parsed_fini(&args);
}

TEST(options_may_follow_operands_but_not_the_command)
{
    struct parsed args;
    assert_int_equal(parse("calc main --top --json", &args) < 0, 1); /* calc has no --top */
    parsed_fini(&args);
    assert_int_equal(parse("diff a -n 3 b --json", &args), 0);
    assert_int_equal(operand_count(&args), 2);
    assert_string_equal(operand(&args, 1), "b");
    assert_null(operand(&args, 2));
    assert_string_equal(option(&args, "top"), "3");
    parsed_fini(&args);
    assert_int_equal(parse("record -F 10 -- program --json", &args), 0);
    assert_false(option_given(&args, "json"));
    assert_string_equal(operand_vector(&args)[1], "--json");
    parsed_fini(&args);
}

TEST(a_store_may_stand_where_a_function_does)
{
    struct parsed args;
    char folder[] = "/tmp/cs_optionsXXXXXX", recording[64], line[128];
    assert_non_null(mkdtemp(folder));
    snprintf(recording, sizeof recording, "%s/20261130T140051Z-vm", folder);
    snprintf(line, sizeof line, "calc %s main", folder);
    assert_int_equal(parse(line, &args), 0); /* a folder of something else is a name, like any */
    assert_int_equal(operand_count(&args), 2);
    parsed_fini(&args);
    assert_int_equal(mkdir(recording, 0700), 0);
    assert_int_equal(parse(line, &args), 0);
    assert_string_equal(store_location(&args), folder);
    assert_string_equal(operand(&args, 0), "main");
    assert_null(operand_vector(&args)[1]);
    parsed_fini(&args);
    snprintf(line, sizeof line, "calc --store other %s", folder);
    assert_int_equal(parse(line, &args), 0);
    assert_string_equal(store_location(&args), "other");
    assert_string_equal(operand(&args, 0), folder);
    parsed_fini(&args);
    snprintf(line, sizeof line, "record -- %s", folder);
    assert_int_equal(parse(line, &args), 0);
    assert_string_equal(operand(&args, 0), folder);
    parsed_fini(&args);
    assert_int_equal(rmdir(recording) | rmdir(folder), 0);
}

TEST(the_last_value_counts_and_all_can_be_joined)
{
    struct parsed args;
    char joined[8];
    assert_int_equal(parse("record -e a -e b -e c -- true", &args), 0);
    assert_string_equal(option(&args, "event"), "c");
    assert_string_equal(option_nth(&args, "event", 1), "b");
    assert_null(option_nth(&args, "event", 3));
    assert_string_equal(option_joined(&args, "event", joined, sizeof joined), "a,b,c");
    assert_null(option_joined(&args, "event", joined, 5));
    assert_null(option_joined(&args, "store", joined, sizeof joined));
    parsed_fini(&args);
}

TEST(numbers_have_suffixes_and_times_have_units)
{
    struct parsed args;
    assert_int_equal(parse("record -c 2.5M -F 1k -- true", &args), 0);
    assert_true(option_number(&args, "period", 0, 1, 1e18) == 2.5e6);
    assert_true(option_number(&args, "frequency", 0, 1, 1e5) == 1000);
    assert_true(option_number(&args, "seconds", 7, 0, 10) == 7);
    parsed_fini(&args);
    static const struct {
        const char *line;
        double seconds;
    } times[] = {{"store gc --keep-age 90", 90},      {"store gc --keep-age 10m", 600},
                 {"store gc --keep-age 24h", 86400},  {"store gc --keep-age 2d", 172800},
                 {"store gc --keep-age 1500ms", 1.5}, {"store gc", 5}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(parse(times[i].line, &args), 0);
        assert_true(option_seconds(&args, "keep-age", 5) == times[i].seconds);
        parsed_fini(&args);
    }
}

TEST(a_choice_is_one_of_its_words)
{
    static const char *const words[] = {"image", "procedure", "line", NULL};
    struct parsed args;
    assert_int_equal(parse("prof --by line", &args), 0);
    assert_int_equal(option_choice(&args, "by", words, 1), 2);
    parsed_fini(&args);
    assert_int_equal(parse("prof", &args), 0);
    assert_int_equal(option_choice(&args, "by", words, 1), 1);
    parsed_fini(&args);
}

TEST(the_store_is_the_option_s_then_the_environment_s)
{
    struct parsed args;
    setenv("CYCLESCOPE_STORE", "from-environment", 1);
    assert_int_equal(parse("prof -o here", &args), 0);
    assert_string_equal(store_location(&args), "here");
    parsed_fini(&args);
    assert_int_equal(parse("prof", &args), 0);
    assert_string_equal(store_location(&args), "from-environment");
    setenv("CYCLESCOPE_STORE", "", 1);
    assert_string_equal(store_location(&args), "cyclescope.store");
    unsetenv("CYCLESCOPE_STORE");
    parsed_fini(&args);
}

TEST(numbers_for_people_have_no_exponent)
{
    static const struct {
        double number;
        int digits;
        const char *text;
    } cases[] = {{1150, 3, "1150"},
                 {1.1549, 3, "1.15"},
                 {4194304, 6, "4194304"},
                 {0.00042, 2, "0.00042"},
                 {0, 3, "0"},
                 {-2.5, 3, "-2.5"},
                 {1e18, 6, "1000000000000000000"},
                 {0.01, 6, "0.01"},
                 {99.96, 3, "100"},
                 {1e-20, 3, "0"},
                 {1.0 / 3, 3, "0.333"},
                 {(double)INFINITY, 3, "inf"},
                 {100000, 2, "100000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[48];
        assert_string_equal(figures(cases[i].number, cases[i].digits, text), cases[i].text);
    }
}

TEST(a_word_that_is_meant_is_near)
{
    assert_int_equal(cs_word_distance("", ""), 0);
    assert_int_equal(cs_word_distance("record", "recrod"), 1);
    assert_int_equal(cs_word_distance("prof", "calc"), 4);
    assert_int_equal(cs_word_distance("abc", ""), 3);
    assert_int_equal(cs_word_distance("kitten", "sitting"), 3);
    struct cs_resembling r = {.word = "imgae"};
    cs_resembling_try(&r, "epoch");
    assert_string_equal(cs_did_you_mean(&r).text, "");
    cs_resembling_try(&r, "image");
    cs_resembling_try(&r, "images");
    assert_string_equal(cs_did_you_mean(&r).text, "; did you mean image?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_means_the_same_in_every_subcommand),
        cmocka_unit_test(every_option_is_told_in_plain_words),
        cmocka_unit_test(a_pair_of_switches_also_takes_on_and_off),
        cmocka_unit_test(options_may_follow_operands_but_not_the_command),
        cmocka_unit_test(a_store_may_stand_where_a_function_does),
        cmocka_unit_test(the_last_value_counts_and_all_can_be_joined),
        cmocka_unit_test(numbers_have_suffixes_and_times_have_units),
        cmocka_unit_test(a_choice_is_one_of_its_words),
        cmocka_unit_test(numbers_for_people_have_no_exponent),
        cmocka_unit_test(a_word_that_is_meant_is_near),
        cmocka_unit_test(the_store_is_the_option_s_then_the_environment_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
