/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which cause of a function's grew, by answers that are written here. */
#include "cli/gate/causes/cause_compare.h"
#include "tests/unit/test.h"

#include <string.h>

/* A loop whose load waits for the loop's own store: of a run of 10 ms in the base and 15 ms in the head, percent. */
struct written {
    double bursts, seconds, executions;
    const char *offset, *chain;
    double dependency[3], d_cache[3], mispredict[3]; /* low, likely, high */
    double model_seconds;
    double dtlb[3], memory[3]; /* memory: d-cache and dtlb together; as d-cache where there is no dtlb */
};

static struct gate_cause_side side_of(const struct written *w)
{
    const double execution = 100 - w->dependency[1] - w->d_cache[1] - w->mispredict[1] - w->dtlb[1];
    const double *const d = w->dependency, *const c = w->d_cache, *const m = w->mispredict,
                        *const t = w->dtlb, *const u = t[2] > 0 ? w->memory : c;
    json_t *answer = json_pack(
        "{s:{s:f}, s:{s:{s:{s:f,s:f,s:f}, s:{s:f,s:f,s:f}, s:{s:f,s:f,s:f}, s:{s:f,s:f,s:f}},"
        " s:{s:f,s:f,s:f}, s:{}, s:f, s:f, s:f},"
        " s:[{s:s, s:[{s:s, s:s}]}]}",
        "evidence", "bursts", w->bursts, "summary", "dynamic", "dependency", "low", d[0], "share", d[1],
        "high", d[2], "d-cache", "low", c[0], "share", c[1], "high", c[2], "mispredict", "low", m[0], "share",
        m[1], "high", m[2], "dtlb", "low", t[0], "share", t[1], "high", t[2], "memory", "low", u[0], "share",
        u[1], "high", u[2], "static", "execution", execution, "unexplained", 0.0, "no_frequency", 0.0,
        "instructions", "instruction", w->offset, "suspects", "cause", "dependency", "reason", w->chain);
    assert_non_null(answer);
    return (struct gate_cause_side){.answer = answer,
                                    .seconds = w->seconds,
                                    .executions = w->executions,
                                    .model_seconds = w->model_seconds};
}

#define CHAIN "100 % of its loads read what a store has just written"
static const struct written usual = {8,     0.010,        1e6,         "mov 0x11b1f0, %rax",
                                     CHAIN, {30, 50, 60}, {0, 10, 34}, {0, 0, 0},
                                     0,     {0, 0, 0},    {0, 0, 0}};

static void assert_cause(struct written base, struct written head, const char *cause, const char *text)
{
    struct gate_guilty g = {.base = base.seconds, .head = head.seconds};
    struct gate_cause_side side[2] = {side_of(&base), side_of(&head)};
    gate_cause_compare(&g, side);
    assert_string_equal(g.cause, cause);
    if (!strstr(g.cause_text, text))
        fail_msg("\"%s\" isn't in \"%s\"", text, g.cause_text);
    json_decref(side[0].answer);
    json_decref(side[1].answer);
}

static void a_cause_that_surely_grew_is_named(void **state)
{
    (void)state;
    const struct written head = {8,     0.020,        1e6,          "mov 0x11b1f0, %rax",
                                 CHAIN, {20, 25, 30}, {55, 60, 70}, {0, 0, 0},
                                 0,     {0, 0, 0},    {0, 0, 0}};
    assert_cause(usual, head, "d-cache", "d-cache: 0.012 s of a run, 0.001 before");
}

/* The chain's wait grew: of the same code that is what the chain waits for. Bounds of the miss alone overlap. */
static void a_chain_of_the_same_code_grows_by_what_is_in_it(void **state)
{
    (void)state;
    struct written head = {8,     0.020,        1e6,          "mov 0x22c3a0, %rax",
                           CHAIN, {25, 50, 65}, {15, 35, 75}, {0, 0, 0},
                           0,     {0, 0, 0},    {0, 0, 0}};
    assert_cause(usual, head, "d-cache", "d-cache");
    /* Not of other code, of code that ran more often, or of a chain through memory that wasn't there. */
    head.offset = "mov 0x22c3a0, %rbx";
    assert_cause(usual, head, "", "no cause: d-cache and dependency both grew");
    head.offset = "mov 0x22c3a0, %rax";
    head.executions = 2e6;
    assert_cause(usual, head, "", "no cause");
    head.executions = 1e6;
    head.chain = "an operand of the round before";
    assert_cause(usual, head, "", "no cause");
}

/* Each may have had nothing, so neither is named; together they surely have more. */
static void misses_of_cache_or_tlb_are_named_as_one(void **state)
{
    (void)state;
    struct written head = {8,           0.020,     2e6, "mov 0x11b1f0, %rax", CHAIN,       {10, 20, 30},
                           {0, 45, 70}, {0, 0, 0}, 0,   {0, 30, 70},          {60, 75, 80}};
    assert_cause(usual, head, "memory", "misses of cache or TLB (memory): 0.015 s of a run, 0.001 before");
    /* Not as one where one of them surely grew, nor where the two may have been as much before. */
    head.d_cache[0] = 40;
    head.dtlb[1] = 10;
    head.dtlb[2] = 40;
    assert_cause(usual, head, "d-cache", "d-cache: ");
    struct written base = usual;
    head.d_cache[0] = 0;
    base.dtlb[2] = 34;
    base.memory[2] = 68;
    base.seconds = 0.019;
    head.seconds = 0.025;
    head.memory[0] = 50;
    assert_cause(base, head, "", "more bursts would tell");
}

/* A row of another program's text may have grown by that, however few of its instructions more it ran. */
static void other_instructions_are_other_code(void **state)
{
    (void)state;
    static const struct {
        const char *base, *head;
        bool other;
    } text[] = {{"mov 0x11b1f0, %rax", "mov 0x22c3a0, %rax", false},
                {"mov 0x11b1f0, %rax", "mov 0x22c3a0, %rbx", true},
                {"mov 0x11b1f0(%rip), %rax", "mov 0x22c3a0(%rip), %rax", false},
                {"jne 0x11b1f0", "jne 0x22c3a0", false},
                {"mov $0x1, %esi", "mov $0x40003, %esi", true},
                {"mov 0x18(%rdi), %rax", "mov 0x1018(%rdi), %rax", true},
                {"mov 0x18(%rdi), %rax", "mov 0x18(%rdi), %rax", false}};
    for (unsigned k = 0; k < sizeof text / sizeof text[0]; k++) {
        struct gate_guilty g = {.base = 0.010, .head = 0.020};
        struct written base = usual, head = usual;
        base.offset = text[k].base;
        head.offset = text[k].head;
        struct gate_cause_side side[2] = {side_of(&base), side_of(&head)};
        gate_cause_compare(&g, side);
        assert_int_equal(g.other_code, text[k].other);
        json_decref(side[0].answer);
        json_decref(side[1].answer);
    }
}

/* Two other causes may have what is left. */
static void what_is_left_must_be_of_one_cause(void **state)
{
    (void)state;
    const struct written head = {8,     0.020,        1e6,          "mov 0x22c3a0, %rax",
                                 CHAIN, {25, 35, 65}, {15, 36, 60}, {0, 29, 60},
                                 0,     {0, 0, 0},    {0, 0, 0}};
    assert_cause(usual, head, "", "no cause: d-cache and mispredict both grew");
}

static void too_little_evidence_is_said(void **state)
{
    (void)state;
    struct written head = {1,     0.020,        1e6,          "mov 0x22c3a0, %rax",
                           CHAIN, {20, 25, 30}, {55, 60, 70}, {0, 0, 0},
                           0,     {0, 0, 0},    {0, 0, 0}};
    assert_cause(usual, head, "", "no cause: 1 bursts of the head met it, 2 are needed");
    head.bursts = 8;
    head.d_cache[0] = 10;
    head.dependency[2] = 90;
    head.executions = 0;
    assert_cause(usual, head, "", "up to 0.0034 before; more bursts would tell");
}

/* No burst met the base: all its time may be a miss, but for what counts and the model say that its instructions take. */
static void a_base_without_bursts_has_no_more_stalls_than_time(void **state)
{
    (void)state;
    struct written base = usual, head = {8,     0.020,        1e6,          "mov 0x11b1f0, %rbx",
                                         CHAIN, {20, 25, 30}, {40, 60, 70}, {0, 0, 0},
                                         0,     {0, 0, 0},    {0, 0, 0}};
    base.bursts = 0;
    assert_cause(base, head, "", "no cause: none has half of the growth");
    base.model_seconds = 0.008;
    assert_cause(base, head, "d-cache", "d-cache");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_that_surely_grew_is_named),
        cmocka_unit_test(a_chain_of_the_same_code_grows_by_what_is_in_it),
        cmocka_unit_test(misses_of_cache_or_tlb_are_named_as_one),
        cmocka_unit_test(what_is_left_must_be_of_one_cause),
        cmocka_unit_test(other_instructions_are_other_code),
        cmocka_unit_test(too_little_evidence_is_said),
        cmocka_unit_test(a_base_without_bursts_has_no_more_stalls_than_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
