/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs of procedures written in assembler below: blocks and edges are counted by hand. */
#include "analysis/cfg/cfg.h"
#include "analysis/cfg/noreturn.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define PROCEDURE(name, body)                                                                                \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n" body ".size " name ", .-" name  \
            "\n")

PROCEDURE("t_diamond", "test %edi, %edi\n je 1f\n mov $1, %eax\n jmp 2f\n"
                       "1: mov $2, %eax\n"
                       "2: ret\n");
PROCEDURE("t_loop", "xor %eax, %eax\n"
                    "1: add %edi, %eax\n dec %edi\n jne 1b\n"
                    "ret\n");
PROCEDURE("t_switch", "cmp $2, %edi\n ja 9f\n mov %edi, %edi\n lea t_table(%rip), %rdx\n"
                      "movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
                      "10: mov $1, %eax\n ret\n"
                      "11: mov $2, %eax\n ret\n"
                      "12: mov $3, %eax\n ret\n"
                      "9: xor %eax, %eax\n ret\n"
                      ".pushsection .rodata\n .align 4\n"
                      "t_table: .long 10b - t_table, 11b - t_table, 12b - t_table\n .popsection\n");
PROCEDURE("t_never", "ud2\n");
PROCEDURE("t_calls_never", "test %edi, %edi\n je 1f\n call t_never\n"
                           "1: ret\n");
PROCEDURE("t_computed", "jmp *%rdi\n"
                        ".globl t_landing\nt_landing: mov $1, %eax\n ret\n");

static struct cs_image_code *code;

static int open_self(void **state)
{
    struct cs_error err = {0};
    (void)state;
    return cs_image_open_file("/proc/self/exe", &code, &err);
}

static int close_self(void **state)
{
    (void)state;
    cs_image_close(code);
    return 0;
}

static struct cs_cfg *graph_of(const char *name, const struct cs_edge_profile *seen)
{
    struct cs_cfg *cfg;
    struct cs_error err = {0};
    const struct cs_image_procedure *p = cs_image_procedure_named(code, name, 0, NULL);
    assert_non_null(p);
    assert_int_equal(cs_cfg_build(code, p, seen, &cfg, &err), 0);
    return cfg;
}

static unsigned edges_of_kind(const struct cs_cfg *cfg, enum cs_cfg_edge_kind kind)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < cfg->n_edges; i++)
        n += cfg->edges[i].kind == kind;
    return n;
}

static bool has_edge(const struct cs_cfg *cfg, uint32_t from, uint32_t to, enum cs_cfg_edge_kind kind)
{
    for (uint32_t i = 0; i < cfg->n_edges; i++)
        if (cfg->edges[i].from == from && cfg->edges[i].to == to && cfg->edges[i].kind == kind)
            return true;
    return false;
}

TEST(a_branch_has_a_taken_and_a_fall_through_edge)
{
    struct cs_cfg *cfg = graph_of("t_diamond", NULL);
    assert_int_equal(cfg->n_insns, 6);
    assert_int_equal(cfg->n_blocks, 4);
    assert_int_equal(cfg->n_edges, 6);
    assert_true(has_edge(cfg, CS_CFG_ENTRY, 0, CS_CFG_EDGE_ENTRY));
    assert_true(has_edge(cfg, 0, 1, CS_CFG_EDGE_FALL));
    assert_true(has_edge(cfg, 0, 2, CS_CFG_EDGE_TAKEN));
    assert_true(has_edge(cfg, 1, 3, CS_CFG_EDGE_JUMP));
    assert_true(has_edge(cfg, 2, 3, CS_CFG_EDGE_FALL));
    assert_true(has_edge(cfg, 3, CS_CFG_EXIT, CS_CFG_EDGE_RETURN));
    cs_cfg_close(cfg);
}

TEST(blocks_that_must_run_equally_often_share_a_class)
{
    struct cs_cfg *cfg = graph_of("t_diamond", NULL);
    struct cs_equivalence_classes classes;
    assert_int_equal(cs_cfg_classes(cfg, &classes), 0);
    assert_int_equal(classes.of_block[0], classes.of_block[3]);
    assert_int_not_equal(classes.of_block[0], classes.of_block[1]);
    assert_int_not_equal(classes.of_block[1], classes.of_block[2]);
    cs_cfg_classes_fini(&classes);
    cs_cfg_close(cfg);
}

TEST(a_loop_leads_back_to_its_own_block)
{
    struct cs_cfg *cfg = graph_of("t_loop", NULL);
    assert_int_equal(cfg->n_blocks, 3);
    assert_int_equal(cfg->n_edges, 5);
    assert_true(has_edge(cfg, 1, 1, CS_CFG_EDGE_TAKEN));
    assert_true(has_edge(cfg, 1, 2, CS_CFG_EDGE_FALL));
    assert_int_equal(cfg->blocks[1].n_in, 2);
    cs_cfg_close(cfg);
}

TEST(a_jump_table_gives_an_edge_for_each_entry)
{
    struct cs_cfg *cfg = graph_of("t_switch", NULL);
    assert_int_equal(cfg->n_jumps, 1);
    assert_int_equal(cfg->n_tables, 1);
    assert_false(cfg->missing);
    assert_int_equal(edges_of_kind(cfg, CS_CFG_EDGE_TABLE), 3);
    assert_int_equal(edges_of_kind(cfg, CS_CFG_EDGE_RETURN), 4);
    cs_cfg_close(cfg);
}

TEST(nothing_follows_a_call_that_never_returns)
{
    struct cs_cfg *cfg = graph_of("t_calls_never", NULL);
    assert_false(cs_cfg_returns(code, cs_image_procedure_named(code, "t_never", 0, NULL)));
    assert_true(cs_cfg_returns(code, cs_image_procedure_named(code, "t_loop", 0, NULL)));
    assert_int_equal(cfg->n_blocks, 3);
    assert_true(has_edge(cfg, 1, CS_CFG_EXIT, CS_CFG_EDGE_NO_RETURN));
    assert_int_equal(cfg->blocks[2].n_in, 1);
    cs_cfg_close(cfg);
}

TEST(a_target_that_was_only_seen_is_an_edge_of_a_graph_with_something_missing)
{
    struct cs_edge_profile *seen;
    struct cs_error err = {0};
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "t_computed", 0, NULL);
    assert_non_null(p);
    const struct cs_seen_edge jump = {.from = p->start, .to = p->start + 2, .count = 7, .bursts = 1};
    assert_int_equal(cs_edge_profile_make(&jump, 1, &seen, &err), 0);
    struct cs_cfg *cfg = graph_of("t_computed", seen);
    assert_true(cfg->missing);
    assert_true(has_edge(cfg, 0, 1, CS_CFG_EDGE_OBSERVED));
    cs_cfg_close(cfg);
    cs_edge_profile_close(seen);
    cfg = graph_of("t_computed", NULL); /* unseen, the landing is an entry of its own */
    assert_int_equal(edges_of_kind(cfg, CS_CFG_EDGE_OBSERVED), 0);
    assert_true(has_edge(cfg, CS_CFG_ENTRY, 1, CS_CFG_EDGE_ENTRY));
    cs_cfg_close(cfg);
}

TEST(every_offset_finds_its_instruction_and_block)
{
    struct cs_cfg *cfg = graph_of("t_diamond", NULL);
    for (uint32_t i = 0; i < cfg->n_insns; i++)
        for (unsigned k = 0; k < cfg->insns[i].length; k++)
            assert_int_equal(cs_cfg_insn(cfg, cfg->insns[i].offset + k), i);
    assert_int_equal(cs_cfg_block(cfg, cfg->blocks[2].start), 2);
    assert_int_equal(cs_cfg_block(cfg, cfg->blocks[0].start - 1), CS_CFG_EXIT);
    assert_int_equal(cs_cfg_block(cfg, cfg->blocks[3].end), CS_CFG_EXIT);
    cs_cfg_close(cfg);
}
#endif

TEST(seen_edges_of_equal_ends_are_summed_and_found_by_either_end)
{
    struct cs_edge_profile *p;
    struct cs_error err = {0};
    const struct cs_seen_edge edges[] = {
        {.from = 30, .to = 10, .count = 1, .bursts = 1},
        {.from = 10, .to = 20, .count = 2, .bursts = 1},
        {.from = 30, .to = 10, .count = 4, .bursts = 2},
        {.from = 5, .to = 10, .count = 8, .bursts = 1, .from_image = "other"},
        {.from = 40, .to = 99, .count = 16, .bursts = 1, .to_image = "other"},
    };
    assert_int_equal(cs_edge_profile_make(edges, 5, &p, &err), 0);
    assert_int_equal(p->n, 4);
    assert_int_equal(p->n_own, 3);
    assert_int_equal(p->n_by_to, 3);
    size_t at = cs_edge_profile_from(p, 11);
    assert_int_equal(p->by_from[at].from, 30);
    assert_true(p->by_from[at].count == 5 && p->by_from[at].bursts == 3);
    assert_int_equal(p->by_from[p->by_to[cs_edge_profile_to(p, 11)]].to, 20);
    assert_int_equal(cs_edge_profile_from(p, 41), p->n_own);
    cs_edge_profile_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seen_edges_of_equal_ends_are_summed_and_found_by_either_end),
#if defined(__x86_64__)
        cmocka_unit_test(a_branch_has_a_taken_and_a_fall_through_edge),
        cmocka_unit_test(blocks_that_must_run_equally_often_share_a_class),
        cmocka_unit_test(a_loop_leads_back_to_its_own_block),
        cmocka_unit_test(a_jump_table_gives_an_edge_for_each_entry),
        cmocka_unit_test(nothing_follows_a_call_that_never_returns),
        cmocka_unit_test(a_target_that_was_only_seen_is_an_edge_of_a_graph_with_something_missing),
        cmocka_unit_test(every_offset_finds_its_instruction_and_block),
    };
    return cmocka_run_group_tests(tests, open_self, close_self);
#else
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
