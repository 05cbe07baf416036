/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function without a loop, all of it one chain, whose calls overlap: four multiplications in the time of one. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"

#include <math.h>

#if defined(__x86_64__)
__asm__(".text\n.globl t_open\n.type t_open, @function\n"
        "t_open: mov %edi, %eax\n"
        "   imul %esi, %eax\n"
        "   imul %esi, %eax\n"
        "   imul %esi, %eax\n"
        "   imul %esi, %eax\n"
        "   jmp 1f\n"
        "1: ret\n"
        ".size t_open, .-t_open\n");
enum { MOVE, FIRST, SECOND, THIRD, FOURTH, JUMP, RETURN, N };
#define SAMPLES 100
#define OVERLAP 4

static struct cs_image_code *code;
static const struct cs_image_procedure *procedure;
static struct cs_scheduler *scheduler;
static struct cs_counted_edge edge = {.count = 100, .squares = 1000, .bursts = 10, .flow = 100};
static uint32_t by_to[1] = {0};
static char images[1][CS_IMAGE_ID_MAX] = {"x"};
static struct cs_edge_flow flow = {.list = &edge,
                                   .by_to = by_to,
                                   .n = 1,
                                   .images = images,
                                   .n_images = 1,
                                   .n_bursts = 10,
                                   .user_ns = 1,
                                   .total_count = 100};

static int open_code(void **state)
{
    struct cs_error err = {0};
    (void)state;
    for (int i = 0; i < CS_EDGE_FLOW_REPLICATES; i++)
        edge.replicate[i] = 100;
    assert_int_equal(cs_image_open_file("/proc/self/exe", &code, &err), 0);
    procedure = cs_image_procedure_named(code, "t_open", 0, NULL);
    assert_non_null(procedure);
    return cs_scheduler_open(cs_image_isa(code), NULL, NULL, true, &scheduler, &err);
}

static int close_code(void **state)
{
    (void)state;
    cs_scheduler_close(scheduler);
    cs_image_close(code);
    return 0;
}

/* As many samples behind each multiplication, so many timed bursts, and executions of a visit by these. */
static struct cs_cycle_account *account_of(uint32_t n_timed, double executions)
{
    struct cs_error err = {0};
    struct cs_cfg *cfg;
    struct cs_cycle_account *a = NULL;
    struct cs_culprit_evidence e = {.bursts = true, .cycles_a_sample = 1000};
    struct cs_table *points = cs_table_open(&cs_schema_points);
    assert_int_equal(cs_cfg_build(code, procedure, NULL, &cfg, &err), 0);
    assert_int_equal(cfg->n_insns, N);
    for (int i = SECOND; i <= JUMP; i++) {
        const uint64_t row[2] = {cfg->insns[i].offset, SAMPLES};
        assert_int_equal(cs_table_add(points, row), 0);
    }
    edge.from = cfg->insns[JUMP].offset;
    edge.to = cfg->insns[RETURN].offset;
    flow.n_timed = n_timed;
    flow.executions_a_flow_ns = executions;
    cs_cfg_close(cfg);
    cs_machine_default(&e.machine);
    assert_int_equal(cs_frequency_evidence_init(&e.flow, points, &flow, "x", &err), 0);
    assert_int_equal(cs_cycle_account_open(code, procedure, &e, scheduler, NULL, &a, &err), 0);
    cs_frequency_evidence_fini(&e.flow);
    cs_table_close(points);
    return a;
}

TEST(an_open_chain_waits_no_longer_than_the_samples_at_the_timed_scale)
{
    struct cs_cycle_account *fitted = account_of(0, 0);
    assert_true(fitted->frequencies && fitted->scale > 0 && fitted->insns[SECOND].step.dependency > 2);
    struct cs_cycle_account *timed = account_of(10, OVERLAP * fitted->scale);
    assert_true(fabs(timed->scale / fitted->scale - OVERLAP) < 1e-6);
    double m = 0, cycles = 0;
    for (int i = MOVE; i < N; i++) {
        m += timed->insns[i].step.m;
        cycles +=
            timed->insns[i].attributed * timed->cycles_a_sample / (timed->scale * timed->insns[i].visits);
        assert_true(timed->insns[i].step.dependency >= 0);
    }
    assert_true(cycles > 1 && fabs(m - cycles) < 1e-6);
    assert_true(timed->summary.gain < 0.01 * timed->summary.total);
    assert_true(timed->summary.unexplained < 0.01 * timed->summary.total);
    assert_true(timed->blocks[0].best <= m + 1e-6);
    cs_cycle_account_close(timed);
    cs_cycle_account_close(fitted);
}

TEST(with_few_timed_bursts_a_chain_is_what_the_model_says)
{
    struct cs_cycle_account *fitted = account_of(0, 0), *few = account_of(4, OVERLAP * fitted->scale);
    assert_true(few->scale == fitted->scale);
    assert_true(few->insns[SECOND].step.m == fitted->insns[SECOND].step.m);
    cs_cycle_account_close(few);
    cs_cycle_account_close(fitted);
}

/* Then the samples are more than the chain, and M is too short rather than too long. */
TEST(a_chain_that_the_samples_allow_gives_nothing)
{
    struct cs_cycle_account *fitted = account_of(0, 0), *slow = account_of(10, fitted->scale / 4);
    assert_true(slow->scale < fitted->scale && slow->scale_sure > 0);
    assert_true(slow->insns[SECOND].step.m == fitted->insns[SECOND].step.m);
    cs_cycle_account_close(slow);
    cs_cycle_account_close(fitted);
}
#endif

TEST(only_chains_outside_loops_are_open_and_only_by_timed_bursts)
{
    struct cs_cycle_account_block blocks[2] = {{.on_path = true}, {.on_path = false}};
    const struct cs_cycle_account_insn looped = {.block = 0, .step = {.m = 3, .dependency = 2}},
                                       straight = {.block = 1, .step = {.m = 3, .dependency = 2}};
    struct cs_cycle_account a = {.blocks = blocks, .scale_timed = 1};
    assert_true(account_open_chain(&a, &looped) == 0 && account_open_chain(&a, &straight) == 2);
    a.scale_timed = 0;
    assert_true(account_open_chain(&a, &straight) == 0);
}

int main(void)
{
#if defined(__x86_64__)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_chain_waits_no_longer_than_the_samples_at_the_timed_scale),
        cmocka_unit_test(with_few_timed_bursts_a_chain_is_what_the_model_says),
        cmocka_unit_test(a_chain_that_the_samples_allow_gives_nothing),
        cmocka_unit_test(only_chains_outside_loops_are_open_and_only_by_timed_bursts),
    };
    return cmocka_run_group_tests(tests, open_code, close_code);
#else
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_chains_outside_loops_are_open_and_only_by_timed_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
