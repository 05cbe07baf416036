/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples put on the instructions of a small loop by hand: who is said to have taken the time? */
#include "analysis/culprit/account/cycle_account.h"
#include "store/table/burst_schemas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)
__asm__(".text\n.globl t_chain\n.type t_chain, @function\n"
        "t_chain: xor %eax, %eax\n"
        "1: imul %esi, %eax\n"
        "   add $3, %eax\n"
        "   dec %edi\n"
        "   jne 1b\n"
        "   ret\n"
        ".size t_chain, .-t_chain\n"
        ".globl t_seldom\n.type t_seldom, @function\n"
        "t_seldom: xor %eax, %eax\n"
        "1: imul %esi, %eax\n"
        "   test %eax, %eax\n"
        "   je 2f\n"
        "   dec %edi\n"
        "   jne 1b\n"
        "   ret\n"
        "2: mov (%rsp), %rcx\n" /* nobody saw it run */
        "   imul %ecx, %eax\n"
        "   jmp 1b\n"
        ".size t_seldom, .-t_seldom\n");
enum { S_XOR, S_IMUL, S_TEST, S_JE, S_DEC, S_JNE, S_RET, S_MOV, S_MUL, S_JMP, S_N };
enum { XOR, IMUL, ADD, DEC, JNE, RET, N_INSNS };
#define AT_IMUL 100
#define AT_ADD 300
#define AT_DEC 60
#define AT_JNE 7
#define EXECUTIONS 10000.0
#define CYCLES_A_SAMPLE 1000.0

static struct cs_image_code *code;
static struct cs_culprit_evidence evidence;
static struct cs_scheduler *scheduler;
static struct cs_cycle_account *account;

static void put(struct cs_table *points, uint64_t offset, uint64_t samples)
{
    const uint64_t row[2] = {offset, samples};
    assert_int_equal(cs_table_add(points, row), 0);
}

static int make_account(void **state)
{
    struct cs_error err = {0};
    struct cs_cfg *cfg;
    (void)state;
    assert_int_equal(cs_image_open_file("/proc/self/exe", &code, &err), 0);
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "t_chain", 0, NULL);
    assert_non_null(p);
    assert_int_equal(cs_cfg_build(code, p, NULL, &cfg, &err), 0);
    assert_int_equal(cfg->n_insns, N_INSNS);
    struct cs_table *points = cs_table_open(&cs_schema_points);
    put(points, cfg->insns[IMUL].offset, AT_IMUL);
    put(points, cfg->insns[ADD].offset, AT_ADD);
    put(points, cfg->insns[DEC].offset, AT_DEC);
    put(points, cfg->insns[JNE].offset, AT_JNE);
    assert_int_equal(cs_frequency_evidence_init(&evidence.flow, points, NULL, "x", &err), 0);
    cs_table_close(points);
    const struct cs_cycle_account_count counted = {cfg->insns[IMUL].offset, EXECUTIONS};
    cs_cfg_close(cfg);
    cs_machine_default(&evidence.machine);
    evidence.machine.core_hz = 1e9;
    evidence.cycles_a_sample = CYCLES_A_SAMPLE;
    assert_int_equal(cs_scheduler_open(cs_image_isa(code), NULL, NULL, true, &scheduler, &err), 0);
    return cs_cycle_account_open(code, p, &evidence, scheduler, &counted, &account, &err);
}

static int close_account(void **state)
{
    (void)state;
    cs_cycle_account_close(account);
    cs_scheduler_close(scheduler);
    cs_frequency_evidence_fini(&evidence.flow);
    cs_image_close(code);
    return 0;
}

static void a_sample_is_attributed_to_the_instruction_before_it(void **state)
{
    (void)state;
    assert_true(fabs(account->insns[IMUL].attributed - AT_ADD) < 1e-9);
    assert_true(fabs(account->insns[ADD].attributed - AT_DEC) < 1e-9);
}

static void samples_at_the_head_of_a_loop_go_to_its_back_edge_for_the_most_part(void **state)
{
    (void)state;
    assert_true(account->insns[JNE].fused);
    assert_true(account->insns[JNE].attributed == 0); /* its pair answers for it */
    assert_true(account->insns[DEC].attributed > AT_JNE);
    double head = account->insns[XOR].attributed + account->insns[DEC].attributed - AT_JNE;
    assert_true(fabs(head - AT_IMUL) < 1e-9);
}

static void nothing_is_lost_or_invented(void **state)
{
    (void)state;
    double sum = 0, blocks = 0;
    for (unsigned i = 0; i < N_INSNS; i++)
        sum += account->insns[i].attributed;
    for (uint32_t b = 0; b < account->cfg->n_blocks; b++)
        blocks += account->blocks[b].attributed;
    assert_int_equal(account->samples, AT_IMUL + AT_ADD + AT_DEC + AT_JNE);
    assert_true(fabs(sum - (double)account->samples) < 1e-6);
    assert_true(fabs(blocks - sum) < 1e-6);
    assert_true(fabs(account->summary.total - sum) < 1e-6);
}

static void where_somebody_counted_cycles_an_execution_are_known(void **state)
{
    (void)state;
    assert_false(account->scale_fitted);
    assert_true(fabs(account->insns[IMUL].cycles - AT_ADD * CYCLES_A_SAMPLE / EXECUTIONS) < 1e-6);
}

/* Cycles of an execution, the multiplication's and the addition's, of so many samples behind each. */
static void chain_of(enum cs_machine_vendor vendor, uint64_t behind_multiply, uint64_t behind_add,
                     double *multiply, double *add, double *m_multiply, double *m_add)
{
    struct cs_error err = {0};
    struct cs_culprit_evidence e = evidence;
    struct cs_cycle_account *a;
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "t_chain", 0, NULL);
    struct cs_table *points = cs_table_open(&cs_schema_points);
    put(points, account->insns[IMUL].op.offset, 100);
    put(points, account->insns[ADD].op.offset, behind_multiply);
    put(points, account->insns[DEC].op.offset, behind_add);
    memset(&e.flow, 0, sizeof e.flow);
    assert_int_equal(cs_frequency_evidence_init(&e.flow, points, NULL, "x", &err), 0);
    cs_table_close(points);
    e.machine.vendor = vendor;
    const struct cs_cycle_account_count counted = {account->insns[IMUL].op.offset, 6 * EXECUTIONS};
    assert_int_equal(cs_cycle_account_open(code, p, &e, scheduler, &counted, &a, &err), 0);
    *multiply = a->insns[IMUL].cycles;
    *add = a->insns[ADD].cycles;
    *m_multiply = a->insns[IMUL].step.m;
    *m_add = a->insns[ADD].step.m;
    cs_cycle_account_close(a);
    cs_frequency_evidence_fini(&e.flow);
}

static void amd_shows_a_pair_s_time_at_its_second_instruction(void **state)
{
    (void)state;
    double multiply, add, m_multiply, m_add, multiply_amd, add_amd;
    chain_of(CS_MACHINE_INTEL, 30, 300, &multiply, &add, &m_multiply, &m_add);
    assert_true(fabs(multiply - 0.5) < 1e-6 && fabs(add - 5) < 1e-6 && m_multiply > 2.9);
    chain_of(CS_MACHINE_AMD, 30, 300, &multiply_amd, &add_amd, &m_multiply, &m_add);
    assert_true(fabs(multiply_amd + add_amd - multiply - add) < 1e-9);
    assert_true(fabs(multiply_amd / add_amd - m_multiply / m_add) < 0.1); /* both stretched alike */
}

static void amd_doesn_t_share_what_no_model_explains(void **state)
{
    (void)state;
    double multiply, add, m_multiply, m_add;
    chain_of(CS_MACHINE_AMD, 30, 6000, &multiply, &add, &m_multiply, &m_add);
    assert_true(fabs(multiply - m_multiply) < 1e-6 && add > 50); /* a stall stays where it was seen */
}

static void amd_shows_arithmetic_at_the_beginning_of_its_group(void **state)
{
    (void)state;
    double multiply, add, m_multiply, m_add, multiply_amd, add_amd;
    chain_of(CS_MACHINE_INTEL, 300, 30, &multiply, &add, &m_multiply, &m_add);
    assert_true(fabs(multiply - 5) < 1e-6 && fabs(add - 0.5) < 1e-6 && m_add > 0.9);
    chain_of(CS_MACHINE_AMD, 300, 30, &multiply_amd, &add_amd, &m_multiply, &m_add);
    assert_true(add_amd > add + 0.2);
    assert_true(fabs(multiply_amd / add_amd - m_multiply / m_add) < 0.1);
    assert_true(fabs(multiply_amd + add_amd - multiply - add) < 1e-9);
}

static void adds_up(const struct cs_cycle_account_summary *s)
{
    double sum = s->execution + s->unexplained + s->unattributed;
    assert_true(s->execution >= 0 && s->unexplained >= 0 && s->unattributed >= 0 && s->gain >= 0);
    for (int c = 0; c < CS_N_CAUSES; c++) {
        sum += s->share[c] + s->statics[c];
        assert_true(s->share[c] >= 0 && s->statics[c] >= 0);
        assert_true(s->low[c] <= s->share[c] + 1e-9 && s->share[c] <= s->high[c] + 1e-9);
    }
    assert_true(fabs(sum - s->total) < 1e-6 * s->total);
}

/* The scale of the same samples with a flow that saw the loop close, and with that many executions timed. */
static struct cs_cycle_account *account_by_flow(struct cs_culprit_evidence *e, struct cs_edge_flow *flow,
                                                double executions_a_visit)
{
    struct cs_error err = {0};
    struct cs_cycle_account *a = NULL;
    flow->executions_a_flow_ns = executions_a_visit;
    flow->user_ns = 1;
    e->flow.input.flow = flow;
    e->flow.input.image = 0;
    assert_int_equal(cs_cycle_account_open(code, account->procedure, e, scheduler, NULL, &a, &err), 0);
    return a;
}

static void timed_intervals_bound_a_fitted_scale_and_lift_it_as_far_as_the_model_fits(void **state)
{
    (void)state;
    char images[1][CS_IMAGE_ID_MAX] = {"x"};
    uint32_t by_to[1] = {0};
    struct cs_counted_edge edge = {.from = account->insns[JNE].op.offset,
                                   .to = account->insns[IMUL].op.offset,
                                   .count = 100,
                                   .squares = 1000,
                                   .bursts = 10,
                                   .flow = 100};
    for (int i = 0; i < CS_EDGE_FLOW_REPLICATES; i++)
        edge.replicate[i] = 100;
    struct cs_edge_flow flow = {.list = &edge,
                                .by_to = by_to,
                                .n = 1,
                                .images = images,
                                .n_images = 1,
                                .n_bursts = 10,
                                .n_timed = 10,
                                .total_count = 100};
    struct cs_culprit_evidence e = evidence;
    struct cs_cycle_account *fitted = account_by_flow(&e, &flow, 0);
    assert_true(fitted->frequencies && fitted->scale_fitted && fitted->scale > 0);
    assert_true(fitted->scale_timed == 0 && fitted->scale_model == fitted->scale);

    struct cs_cycle_account *slower = account_by_flow(&e, &flow, fitted->scale / 4);
    assert_true(slower->scale_sure > 0 && slower->scale > 2 * slower->scale_timed);
    assert_true(fabs(slower->scale_timed / fitted->scale - 0.25) < 1e-6);
    assert_true(slower->scale_low <= slower->scale && slower->scale <= slower->scale_high);
    assert_true(slower->scale < fitted->scale && slower->scale == slower->scale_high);
    assert_true(fabs(slower->insns[IMUL].cycles / fitted->insns[IMUL].cycles * slower->scale / fitted->scale -
                     1) < 1e-6);
    assert_true(slower->scale_model == fitted->scale);

    struct cs_cycle_account *little = account_by_flow(&e, &flow, fitted->scale / 2);
    /* All timed bursts may be off by so much, so that it is as near to them as fits. */
    assert_true(little->scale > 1.3 * little->scale_timed && little->scale <= fitted->scale);
    assert_true(little->scale_sure == 0);
    cs_cycle_account_close(little);
    struct cs_cycle_account *other = account_by_flow(&e, &flow, fitted->scale / 20);
    assert_true(other->scale == other->scale_timed &&
                other->scale_sure == 0); /* the model isn't of this code */
    cs_cycle_account_close(other);

    struct cs_cycle_account *faster = account_by_flow(&e, &flow, fitted->scale * 4);
    assert_true(faster->scale >= fitted->scale && faster->scale_timed > 2 * faster->scale);
    assert_true(faster->scale_model == fitted->scale_model && faster->scale_high >= faster->scale);
    assert_true(faster->summary.gain <= fitted->summary.gain + 0.02 * faster->summary.total);
    flow.n_timed = 1;
    struct cs_cycle_account *one_alone = account_by_flow(&e, &flow, fitted->scale / 4);
    assert_true(one_alone->scale == fitted->scale && one_alone->scale_timed == 0);
    cs_cycle_account_close(one_alone);
    cs_cycle_account_close(fitted);
    cs_cycle_account_close(slower);
    cs_cycle_account_close(faster);
}

static void the_rows_of_the_summary_add_up(void **state)
{
    (void)state;
    adds_up(&account->summary);
    assert_true(account->summary.unattributed < 0.5 * account->summary.total);
}

/* A hundred times as many executions share the same samples: every instruction takes less than M. */
static void code_that_runs_faster_than_the_model_has_no_negative_rows(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_cycle_account *fast;
    const struct cs_cycle_account_count counted = {account->insns[IMUL].op.offset, 100 * EXECUTIONS};
    assert_int_equal(
        cs_cycle_account_open(code, account->procedure, &evidence, scheduler, &counted, &fast, &err), 0);
    assert_true(fast->summary.gain > 0);
    adds_up(&fast->summary);
    assert_true(fast->summary.best_cycles <= fast->summary.actual_cycles + 1e-6);
    cs_cycle_account_close(fast);
}

static void what_was_begun_ends_as_what_is_opened(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_cycle_account *opened, *finished;
    struct cs_cycle_account_begun *begun, *dropped;
    const struct cs_image_procedure *p = account->procedure;
    assert_int_equal(cs_cycle_account_open(code, p, &evidence, scheduler, NULL, &opened, &err), 0);
    assert_int_equal(cs_cycle_account_begin(code, p, &evidence, scheduler, &begun, &err), 0);
    assert_int_equal(cs_cycle_account_begin(code, p, &evidence, scheduler, &dropped, &err), 0);
    assert_int_equal(cs_cycle_account_begin(code, p, &evidence, scheduler, NULL, &err), 0);
    assert_true(cs_cycle_account_begun_bytes(begun) > N_INSNS * sizeof *opened->insns);
    cs_cycle_account_drop(dropped);
    assert_int_equal(cs_cycle_account_finish(begun, &finished, &err), 0);
    assert_memory_equal(&finished->summary, &opened->summary, sizeof opened->summary);
    for (size_t i = 0; i < N_INSNS; i++)
        assert_true(finished->insns[i].attributed == opened->insns[i].attributed &&
                    finished->insns[i].step.m == opened->insns[i].step.m);
    cs_cycle_account_close(finished);
    cs_cycle_account_close(opened);
}

/* One loop as bursts saw it, the way out of it but for its end never taken, and samples in the loop and `elsewhere`. */
static void seldom(uint64_t elsewhere, struct cs_cycle_account **opened, struct cs_cycle_account **finished)
{
    struct cs_error err = {0};
    struct cs_cfg *cfg;
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "t_seldom", 0, NULL);
    assert_non_null(p);
    assert_int_equal(cs_cfg_build(code, p, NULL, &cfg, &err), 0);
    assert_int_equal(cfg->n_insns, S_N);
    const struct cs_cfg_instruction *at = cfg->insns;
    struct cs_counted_edge list[] = {
        {.from = at[S_JE].offset, .to = at[S_DEC].offset, .count = 1000, .flow = 1000, .bursts = 5},
        {.from = at[S_JNE].offset, .to = at[S_IMUL].offset, .count = 990, .flow = 990, .bursts = 5},
        {.from = at[S_JNE].offset, .to = at[S_RET].offset, .count = 10, .flow = 10, .bursts = 5}};
    uint32_t by_to[] = {1, 0, 2};
    char images[1][CS_IMAGE_ID_MAX] = {"x"};
    const struct cs_edge_flow flow = {
        .list = list, .by_to = by_to, .n = 3, .images = images, .n_images = 1, .total_count = 2000};
    struct cs_table *points = cs_table_open(&cs_schema_points);
    put(points, at[S_IMUL].offset, 40);
    put(points, at[S_TEST].offset, 300);
    put(points, at[S_DEC].offset, 20);
    if (elsewhere)
        put(points, at[elsewhere].offset, 50);
    struct cs_culprit_evidence e = {
        .machine = evidence.machine, .bursts = true, .cycles_a_sample = CYCLES_A_SAMPLE};
    struct cs_cycle_account_begun *begun;
    assert_int_equal(cs_frequency_evidence_init(&e.flow, points, &flow, "x", &err), 0);
    assert_int_equal(cs_cycle_account_open(code, p, &e, scheduler, NULL, opened, &err), 0);
    assert_int_equal(cs_cycle_account_begin(code, p, &e, scheduler, &begun, &err), 0);
    assert_int_equal(cs_cycle_account_finish(begun, finished, &err), 0);
    cs_frequency_evidence_fini(&e.flow);
    cs_table_close(points);
    cs_cfg_close(cfg);
}

static void same_account(const struct cs_cycle_account *opened, const struct cs_cycle_account *finished)
{
    assert_true(opened->frequencies);
    assert_int_equal(finished->samples, opened->samples);
    assert_memory_equal(&finished->summary, &opened->summary, sizeof opened->summary);
    for (size_t i = 0; i < S_N; i++)
        assert_true(finished->insns[i].attributed == opened->insns[i].attributed &&
                    finished->insns[i].op.offset == opened->insns[i].op.offset &&
                    finished->insns[i].op.length == opened->insns[i].op.length &&
                    finished->insns[i].step.m == opened->insns[i].step.m);
}

static void what_never_ran_is_not_decoded_and_changes_nothing(void **state)
{
    (void)state;
    struct cs_cycle_account *opened, *finished;
    seldom(0, &opened, &finished);
    same_account(opened, finished);
    assert_true(opened->insns[S_MOV].op.flags & CS_ISA_OP_LOAD);
    assert_int_equal(finished->insns[S_MOV].op.flags, 0);
    assert_true(finished->insns[S_IMUL].op.flags & CS_ISA_OP_MULTIPLY);
    cs_cycle_account_close(opened);
    cs_cycle_account_close(finished);
}

static void what_was_sampled_is_decoded_though_no_burst_saw_it(void **state)
{
    (void)state;
    struct cs_cycle_account *opened, *finished;
    seldom(S_MUL, &opened, &finished);
    same_account(opened, finished);
    assert_true(finished->insns[S_MOV].op.flags & CS_ISA_OP_LOAD);
    assert_true(finished->insns[S_MOV].attributed > 0);
    cs_cycle_account_close(opened);
    cs_cycle_account_close(finished);
}

/* Best CPI is to CPI as what the table has without dynamic stalls is to all: of a path, too, one of whose blocks has no M. */
static void the_cpi_is_that_of_the_rows(void **state)
{
    (void)state;
    struct cs_cycle_account *opened, *finished;
    seldom(0, &opened, &finished);
    const struct cs_cycle_account_summary *s = &opened->summary;
    const double m = s->instruction_best * s->actual_cycles / s->instruction_cycles;
    assert_true(m > 0 && fabs(m - (s->best_cycles + s->gain)) < 1e-6 * m);
    cs_cycle_account_close(opened);
    cs_cycle_account_close(finished);
}

/* The largest share first; with what is unexplained they are the stall. */
static void divides(const struct cs_culprit_classification *c)
{
    double sum = c->unexplained;
    for (unsigned k = 0; k < c->n; k++) {
        sum += c->suspects[k].share;
        assert_true(k == 0 || c->suspects[k].share <= c->suspects[k - 1].share);
    }
    assert_true(fabs(sum - c->stall) < 1e-6 * (1 + c->stall));
}

static const struct cs_culprit_suspect *misprediction_at(const struct cs_cycle_account *a, unsigned i)
{
    for (unsigned k = 0; k < a->insns[i].classification->n; k++)
        if (a->insns[i].classification->suspects[k].cause == CS_CAUSE_MISPREDICT)
            return &a->insns[i].classification->suspects[k];
    return NULL;
}

/* The branch goes either way by chance, and all that is sampled of that is at the second instruction behind it. */
static void the_time_of_a_misprediction_is_its_branch_s(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_cfg *cfg;
    struct cs_cycle_account *a;
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "t_seldom", 0, NULL);
    assert_int_equal(cs_cfg_build(code, p, NULL, &cfg, &err), 0);
    const struct cs_cfg_instruction *at = cfg->insns;
    struct cs_counted_edge list[] = {
        {.from = at[S_JE].offset, .to = at[S_DEC].offset, .count = 500, .flow = 500, .bursts = 10},
        {.from = at[S_JE].offset, .to = at[S_MOV].offset, .count = 500, .flow = 500, .bursts = 10},
        {.from = at[S_JNE].offset, .to = at[S_IMUL].offset, .count = 490, .flow = 490, .bursts = 10},
        {.from = at[S_JNE].offset, .to = at[S_RET].offset, .count = 10, .flow = 10, .bursts = 10},
        {.from = at[S_JMP].offset, .to = at[S_IMUL].offset, .count = 500, .flow = 500, .bursts = 10}};
    uint32_t by_to[] = {2, 4, 0, 3, 1};
    char images[1][CS_IMAGE_ID_MAX] = {"x"};
    const struct cs_edge_flow flow = {
        .list = list, .by_to = by_to, .n = 5, .images = images, .n_images = 1, .total_count = 2000};
    const uint64_t branches[2][CS_BRANCH_N] = {{at[S_JE].offset, 10000, 10, 5000, 5000, 5000, 5000, 5000, 0},
                                               {at[S_JNE].offset, 5000, 10, 4900, 20, 10, 10, 10, 0}};
    struct cs_table *points = cs_table_open(&cs_schema_points);
    put(points, at[S_TEST].offset, 30);
    put(points, at[S_JNE].offset, 60);
    struct cs_culprit_evidence e = {.machine = evidence.machine,
                                    .bursts = true,
                                    .cycles_a_sample = CYCLES_A_SAMPLE,
                                    .branches = cs_table_open(&cs_schema_branches)};
    for (int i = 0; i < 2; i++)
        assert_int_equal(cs_table_add(e.branches, branches[i]), 0);
    cs_table_sort(e.branches);
    assert_int_equal(cs_frequency_evidence_init(&e.flow, points, &flow, "x", &err), 0);
    const struct cs_cycle_account_count counted = {at[S_IMUL].offset, EXECUTIONS};
    assert_int_equal(cs_cycle_account_open(code, p, &e, scheduler, &counted, &a, &err), 0);
    const struct cs_culprit_suspect *found = misprediction_at(a, S_TEST);
    assert_true(a->insns[S_TEST].attributed == 0 && a->insns[S_DEC].attributed == 60);
    assert_true(found && found->observed && found->responsible == at[S_JE].offset && found->share > 3);
    assert_true(a->insns[S_TEST].cycles > 3 && a->insns[S_DEC].cycles < 4);
    assert_null(misprediction_at(a, S_DEC));
    adds_up(&a->summary);
    double samples = 0;
    for (unsigned i = 0; i < S_N; i++)
        divides(a->insns[i].classification);
    for (unsigned i = 0; i < S_N; i++)
        samples += isfinite(a->insns[i].cycles) && !a->insns[i].fused
                       ? a->insns[i].cycles * a->insns[i].visits * a->scale / CYCLES_A_SAMPLE
                       : 0;
    assert_true(fabs(samples - 90) < 1e-6);
    cs_cycle_account_close(a);
    cs_frequency_evidence_fini(&e.flow);
    cs_table_close(points);
    cs_table_close(e.branches);
    cs_cfg_close(cfg);
}

static void nothing_stalls_where_nobody_sampled(void **state)
{
    (void)state;
    unsigned silent = 0;
    for (unsigned i = 0; i < N_INSNS; i++) {
        const struct cs_cycle_account_insn *insn = &account->insns[i];
        silent += insn->attributed <= 0;
        assert_true(insn->attributed > 0 || insn->classification->stall <= 1e-9);
    }
    assert_true(silent > 0);
}

static void no_block_takes_less_than_the_core_needs_to_retire_it(void **state)
{
    (void)state;
    for (uint32_t b = 0; b < account->cfg->n_blocks; b++)
        assert_true(!(account->blocks[b].best < account->blocks[b].operations / CS_SCHEDULE_WIDTH_MAX));
}

static void a_classification_divides_its_stall(void **state)
{
    (void)state;
    assert_true(account->insns[IMUL].classification->stall > 1);
    for (unsigned i = 0; i < N_INSNS; i++)
        divides(account->insns[i].classification);
}
#endif

int main(void)
{
#if defined(__x86_64__)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_attributed_to_the_instruction_before_it),
        cmocka_unit_test(samples_at_the_head_of_a_loop_go_to_its_back_edge_for_the_most_part),
        cmocka_unit_test(nothing_is_lost_or_invented),
        cmocka_unit_test(where_somebody_counted_cycles_an_execution_are_known),
        cmocka_unit_test(amd_shows_a_pair_s_time_at_its_second_instruction),
        cmocka_unit_test(amd_doesn_t_share_what_no_model_explains),
        cmocka_unit_test(amd_shows_arithmetic_at_the_beginning_of_its_group),
        cmocka_unit_test(timed_intervals_bound_a_fitted_scale_and_lift_it_as_far_as_the_model_fits),
        cmocka_unit_test(the_rows_of_the_summary_add_up),
        cmocka_unit_test(code_that_runs_faster_than_the_model_has_no_negative_rows),
        cmocka_unit_test(what_was_begun_ends_as_what_is_opened),
        cmocka_unit_test(what_never_ran_is_not_decoded_and_changes_nothing),
        cmocka_unit_test(what_was_sampled_is_decoded_though_no_burst_saw_it),
        cmocka_unit_test(the_cpi_is_that_of_the_rows),
        cmocka_unit_test(the_time_of_a_misprediction_is_its_branch_s),
        cmocka_unit_test(nothing_stalls_where_nobody_sampled),
        cmocka_unit_test(no_block_takes_less_than_the_core_needs_to_retire_it),
        cmocka_unit_test(a_classification_divides_its_stall),
    };
    return cmocka_run_group_tests(tests, make_account, close_account);
#else
    return 77; /* the loop is written in x86-64's assembler */
#endif
}
