/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose growth has no cause of its own: what another row of the function, or waits that grew, may have made. */
#include "cli/gate/causes/cause.h"
#include "cli/gate/guilty.h"
#include "tests/unit/test.h"

#include <string.h>

static char work[] = "work", image[] = "app";

/* The pace and `waits` are judged; there are no recordings, so who is asked for a cause gets another text. */
static void judged(struct gate *gate, enum gate_verdict waits)
{
    *gate = (struct gate){.base = "/none/base.store", .head = "/none/head.store"};
    struct gate_check *pace = gate_add(gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = GATE_SLOWER;
    struct gate_check *check = gate_add(gate, "waits", "", "s");
    assert_non_null(check);
    check->verdict = waits;
}

static void add(struct gate *gate, const char *kind, char *function, double share, bool candidate)
{
    struct gate_guilty one = {.function = function,
                              .image = image,
                              .base = 0.1,
                              .head = 0.1 + share / 100,
                              .share = share,
                              .candidate = candidate};
    strcpy(one.kind, kind);
    if (gate_is_wait(&one))
        strcpy(one.cause, kind);
    assert_int_equal(gate_guilty_keep(gate, &one), 0);
}

static const char *text_of(const struct gate *gate, const char *kind)
{
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (strcmp(gate->guilty[i].kind, kind) == 0)
            return gate->guilty[i].cause_text;
    fail_msg("there is no %s", kind);
    return NULL;
}

static bool is_asked(const struct gate *gate)
{
    return strstr(text_of(gate, "function"), "no recording with bursts") != NULL;
}

/* Threads that wait longer for one another find colder caches, and take each other's lines. */
TEST(what_may_be_chance_has_no_cause_where_waits_grew)
{
    struct gate gate;
    judged(&gate, GATE_SLOWER);
    add(&gate, "function", work, 3, true);
    assert_false(gate_wants_causes(&gate));
    gate_find_causes(&gate);
    assert_string_equal(gate.guilty[0].cause, "");
    assert_string_equal(gate.guilty[0].cause_text, "no cause: waits grew, so this may be an effect");
    gate_fini(&gate);
}

/* Page faults, system calls, and the kernel's time for another function leave the caches cold, too. */
TEST(what_may_be_chance_has_no_cause_where_the_kernel_works_more)
{
    static const char *const checks[] = {"page faults", "system calls", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct gate gate;
        judged(&gate, GATE_SAME);
        add(&gate, "function", work, 3, true);
        if (checks[i]) {
            struct gate_check *more = gate_add(&gate, checks[i], "", "");
            assert_non_null(more);
            more->verdict = GATE_SAME;
            assert_true(gate_wants_causes(&gate));
            gate_find(&gate, checks[i])->verdict = GATE_SLOWER;
        } else {
            add(&gate, GATE_IN_KERNEL, image, 2, false);
            strcpy(gate.guilty[1].cause, "system-call");
        }
        assert_false(gate_wants_causes(&gate));
        gate_find_causes(&gate);
        assert_non_null(strstr(text_of(&gate, "function"), "grew, so this may be an effect"));
        gate_fini(&gate);
    }
}

TEST(what_may_be_chance_is_asked_where_waits_did_not_grow)
{
    struct gate gate;
    judged(&gate, GATE_SAME);
    add(&gate, "function", work, 3, true);
    assert_true(gate_wants_causes(&gate));
    gate_find_causes(&gate);
    assert_true(is_asked(&gate));
    gate_fini(&gate);
}

TEST(what_surely_grew_is_asked_unless_its_own_waits_grew_more)
{
    struct gate gate;
    judged(&gate, GATE_SLOWER);
    add(&gate, "function", work, 3, false);
    add(&gate, "mutex", image, 5, false); /* of another function */
    add(&gate, "sleep", work, 2, false);
    assert_true(gate_wants_causes(&gate));
    gate_find_causes(&gate);
    assert_true(is_asked(&gate));
    add(&gate, "mutex", work, 5, false);
    assert_false(gate_wants_causes(&gate));
    gate_find_causes(&gate);
    assert_string_equal(text_of(&gate, "function"), "no cause: its waits grew more");
    gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_chance_has_no_cause_where_waits_grew),
        cmocka_unit_test(what_may_be_chance_has_no_cause_where_the_kernel_works_more),
        cmocka_unit_test(what_may_be_chance_is_asked_where_waits_did_not_grow),
        cmocka_unit_test(what_surely_grew_is_asked_unless_its_own_waits_grew_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
