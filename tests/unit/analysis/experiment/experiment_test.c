/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that runs in the process of experiments: its figure where the processor's is known, and code that attacks. Skipped (77,
 * or test by test) where the process can't be started, or other work takes the core in all of many tries. */
#include "analysis/experiment/experiment.h"
#include "analysis/experiment/piece.h"

#include "tests/unit/test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPS = 64, TRIES = 50, SKIPPED = 77 };
#define CODE(...)                                                                                            \
    (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[])                                                  \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define IMUL_RAX 0x48, 0x0f, 0xaf, 0xc0
#define JNZ_TO(length) 0x75, (uint8_t)(-(length)-2)

static enum cs_experiment_why ask_once(int what, const uint8_t *bytes, size_t size,
                                       struct cs_experiment_result *r)
{
    struct cs_isa_op ops[OPS];
    size_t n = 0;
    for (size_t at = 0; at < size && n < OPS; at += ops[n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, size - at, 0x1000 + at, &ops[n]);
    struct cs_experiments *e = cs_experiments_open(NULL, 1);
    const enum cs_experiment_why why =
        what < 0 ? cs_experiments_run(e, ops, n, r)
                 : cs_experiments_without(e, (enum cs_experiment_variant)what, ops, n, r);
    cs_experiments_close(e);
    return why;
}

static enum cs_experiment_why ask_without(int what, const uint8_t *bytes, size_t size,
                                          struct cs_experiment_result *r)
{
    enum cs_experiment_why why = CS_EXPERIMENT_NOISY;
    for (int k = 0; k < TRIES && why == CS_EXPERIMENT_NOISY; k++)
        why = ask_once(what, bytes, size, r);
    if (why == CS_EXPERIMENT_NOISY)
        skip();
    for (int k = 0; k < 2 && why == CS_EXPERIMENT_DONE;
         k++) { /* another thread of the core may slow one down */
        struct cs_experiment_result again;
        if (ask_once(what, bytes, size, &again) == CS_EXPERIMENT_DONE && again.cycles < r->cycles)
            *r = again;
    }
    return why;
}

static enum cs_experiment_why ask(const uint8_t *bytes, size_t size, struct cs_experiment_result *r)
{
    return ask_without(-1, bytes, size, r);
}

static void takes(double cycles, const uint8_t *bytes, size_t size)
{
    struct cs_experiment_result r;
    assert_int_equal(ask(bytes, size, &r), CS_EXPERIMENT_DONE);
    if (fabs(r.cycles / cycles - 1) > 0.03)
        fail_msg("%.3f cycles, not %.1f", r.cycles, cycles);
}

/* A multiplication takes 3 cycles on all cores of the last ten years. */
TEST(seven_multiplications_in_a_chain_take_21_cycles)
{
    takes(21, CODE(IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, JNZ_TO(28)));
}

/* One begins in each cycle, on the same cores. */
TEST(seven_multiplications_without_the_chain_of_turns_take_7_cycles)
{
    struct cs_experiment_result r;
    assert_int_equal(
        ask_without(CS_EXPERIMENT_NO_CHAIN,
                    CODE(IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, IMUL_RAX, JNZ_TO(28)),
                    &r),
        CS_EXPERIMENT_DONE);
    assert_true(fabs(r.cycles / 7 - 1) < 0.03);
}

/* lock incq (%rdi); div %rcx: of both, something goes with the thing that is removed. */
TEST(locks_and_divisions_cost_more_than_what_stands_in_their_place)
{
    static const uint8_t lock[] = {0xf0, 0x48, 0xff, 0x07, JNZ_TO(4)},
                         divide[] = {0x31, 0xd2, 0x48, 0xf7, 0xf1, JNZ_TO(5)};
    struct cs_experiment_result with, without;
    assert_int_equal(ask(lock, sizeof lock, &with), CS_EXPERIMENT_DONE);
    assert_int_equal(ask_without(CS_EXPERIMENT_NO_LOCK, lock, sizeof lock, &without), CS_EXPERIMENT_DONE);
    assert_true(without.cycles < 0.7 * with.cycles);
    assert_int_equal(ask_without(CS_EXPERIMENT_NO_DIVISION, lock, sizeof lock, &without),
                     CS_EXPERIMENT_ABSENT);
    assert_int_equal(ask(divide, sizeof divide, &with), CS_EXPERIMENT_DONE);
    assert_int_equal(ask_without(CS_EXPERIMENT_NO_DIVISION, divide, sizeof divide, &without),
                     CS_EXPERIMENT_DONE);
    assert_true(without.cycles < 0.8 * with.cycles);
}

/* Several processes run it, and it is one of those that may be made. */
TEST(what_runs_in_several_processes_counts_once)
{
    struct cs_isa_op op;
    struct cs_experiment_result r;
    struct cs_experiments *e = cs_experiments_open(NULL, TRIES);
    unsigned n = 0;
    cs_isa_op_decode(CS_ISA_X86_64, CODE(IMUL_RAX), 0x1000, &op);
    while (n <= TRIES && cs_experiments_run(e, &op, 1, &r) != CS_EXPERIMENT_OFF)
        n++;
    cs_experiments_close(e);
    assert_int_equal(n, TRIES);
}

TEST(two_chains_beside_each_other_take_as_long_as_one)
{
    takes(6, CODE(IMUL_RAX, 0x48, 0x0f, 0xaf, 0xdb, IMUL_RAX, 0x48, 0x0f, 0xaf, 0xdb, JNZ_TO(16)));
}

/* mov (%rax), %rax: four or five cycles by the core, and memory leads on to memory. */
TEST(a_chase_through_memory_hits_the_first_level)
{
    struct cs_experiment_result r;
    assert_int_equal(ask(CODE(0x48, 0x8b, 0x00, JNZ_TO(3)), &r), CS_EXPERIMENT_DONE);
    assert_true(r.cycles > 2.9 && r.cycles < 5.2);
    assert_in_range(r.pages, 1, 12);
}

/* mov %esi, %eax; xor %edx, %edx; divl 0x3c(%rdi); mov 0x40(%rdi), %rax; mov (%rax,%rdx,8), %rax: a table of hashes, whose
 * size is the upper half of what may be an address. */
#define HASH_TABLE                                                                                           \
    0x89, 0xf0, 0x31, 0xd2, 0xf7, 0x77, 0x3c, 0x48, 0x8b, 0x47, 0x40, 0x48, 0x8b, 0x04, 0xd0, JNZ_TO(15)
TEST(a_size_next_to_an_address_is_not_0)
{
    struct cs_experiment_result r;
    assert_int_equal(ask(CODE(HASH_TABLE), &r), CS_EXPERIMENT_DONE);
    assert_true(r.cycles > 2 &&
                r.cycles < 40); /* a division by 32 bits, on all cores of the last ten years */
}

/* A later look, at memory with addresses in it, is refused for what other work did, not for what the first met. */
TEST(a_division_on_a_busy_core_is_none_that_fails)
{
    pid_t busy[8];
    for (unsigned i = 0; i < 8; i++)
        if ((busy[i] = fork()) == 0) {
            alarm(60);
            for (;;)
                ;
        }
    for (int k = 0; k < 3; k++) {
        struct cs_experiment_result r;
        const enum cs_experiment_why why = ask_once(-1, CODE(HASH_TABLE), &r);
        if (why != CS_EXPERIMENT_DONE && why != CS_EXPERIMENT_FAILED)
            assert_int_equal(why, CS_EXPERIMENT_NOISY);
    }
    for (unsigned i = 0; i < 8; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
}

/* mov %rax, 0x100(%rdi); mov 0x100(%rsi), %rax: different registers are different places, so nothing waits. */
TEST(addresses_of_two_registers_do_not_meet)
{
    struct cs_experiment_result r;
    assert_int_equal(ask(CODE(0x48, 0x89, 0x87, 0, 1, 0, 0, 0x48, 0x8b, 0x86, 0, 1, 0, 0, JNZ_TO(14)), &r),
                     CS_EXPERIMENT_DONE);
    assert_true(r.cycles < 2);
}

TEST(what_is_not_calculation_is_never_run)
{
    struct cs_experiment_result r;
    static const struct {
        uint8_t bytes[5], n;
    } all[] = {
        {{0x0f, 0x05}, 2},                   /* syscall */
        {{0x0f, 0x34}, 2},                   /* sysenter */
        {{0xcd, 0x80}, 2},                   /* int */
        {{0xcc}, 1},                         /* int3 */
        {{0x0f, 0x0b}, 2},                   /* ud2 */
        {{0xf4}, 1},                         /* hlt */
        {{0xec}, 1},                         /* in */
        {{0x0f, 0x31}, 2},                   /* rdtsc */
        {{0x0f, 0x01, 0xf9}, 3},             /* rdtscp */
        {{0x0f, 0xa2}, 2},                   /* cpuid */
        {{0x0f, 0x01, 0xef}, 3},             /* wrpkru */
        {{0x0f, 0x01, 0xd0}, 3},             /* xgetbv */
        {{0xf3, 0x48, 0x0f, 0xae, 0xd0}, 5}, /* wrfsbase */
        {{0x0f, 0xae, 0x2f}, 3},             /* xrstor */
        {{0x48, 0x0f, 0xc7, 0xf0}, 4},       /* rdrand */
        {{0xf3, 0xa4}, 2},                   /* rep movsb */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(ask(all[i].bytes, all[i].n, &r), CS_EXPERIMENT_SYSTEM);
}

/* The decoder is passed by: what such code could come to has no rights. A turn ends wherever the code goes. */
static enum cs_experiment_why attack(const uint8_t *bytes, size_t size)
{
    static struct piece p;
    struct cs_isa_op nop;
    struct cs_experiment_result r;
    cs_isa_op_decode(CS_ISA_X86_64, CODE(0x0f, 0x1f, 0x00), 0x1000, &nop);
    assert_int_equal(piece_make(&nop, 1, &p), CS_EXPERIMENT_DONE);
    memmove(p.code + p.head + size, p.code + p.head, p.n - p.head);
    memcpy(p.code + p.head, bytes, size);
    p.n += size;
    p.exit_at += size;
    struct cs_experiments *e = cs_experiments_open(NULL, 1);
    const enum cs_experiment_why why = piece_run(e, &p, &r);
    cs_experiments_close(e);
    return why;
}

/* mov $number, %eax; syscall. A number that is allowed says that it is the filter that ends it. */
#define CALL(number) CODE(0xb8, (uint8_t)(number), (uint8_t)((number) >> 8), 0, 0, 0x0f, 0x05)

TEST(a_system_call_ends_the_process)
{
    static const int numbers[] = {0 /* read */,
                                  1 /* write */,
                                  2 /* open */,
                                  9 /* mmap, of other arguments */,
                                  10 /* mprotect */,
                                  39 /* getpid */,
                                  41 /* socket */,
                                  57 /* fork */,
                                  59 /* execve */,
                                  62 /* kill */,
                                  101 /* ptrace */,
                                  257 /* openat */,
                                  310 /* process_vm_readv */};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(attack(CALL(numbers[i])), CS_EXPERIMENT_FAILED);
}

/* exit_group with nothing measured: the order still says that nothing is known. */
TEST(code_that_ends_the_process_has_no_figure)
{
    assert_int_equal(attack(CODE(0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05)), CS_EXPERIMENT_FAILED);
}

TEST(code_without_end_is_ended)
{
    assert_int_equal(attack(CODE(0xeb, 0xfe)), CS_EXPERIMENT_FAILED); /* jmp to itself */
}

TEST(an_undefined_instruction_is_no_figure)
{
    assert_int_equal(attack(CODE(0x0f, 0x0b)), CS_EXPERIMENT_SIGNAL);
}

/* mov %rax, (%rip): a store to the code, which is not to be written. */
TEST(code_does_not_change_itself)
{
    assert_int_equal(attack(CODE(0x48, 0x89, 0x05, 0, 0, 0, 0)), CS_EXPERIMENT_WILD);
}

/* No page comes where address 0 is. */
TEST(a_store_to_no_address_is_wild)
{
    assert_int_equal(attack(CODE(0x31, 0xc0, 0x48, 0x89, 0x00)),
                     CS_EXPERIMENT_WILD); /* xor eax, eax; mov [rax], rax */
}

/* movabs $-1, %rsp: the handler has a stack of its own. */
TEST(a_wild_stack_is_wild)
{
    assert_int_equal(attack(CODE(0x48, 0xc7, 0xc4, 0xff, 0xff, 0xff, 0xff, 0x50)), CS_EXPERIMENT_WILD);
}

/* What the process answers is judged as if an attacker had written it. */
TEST(an_answer_that_cannot_be_is_refused)
{
    static struct order o;
    struct cs_experiment_result r;
    const struct bare_time good = {.cycles = 5, .spread = 0.1, .reference = 100, .turns = 64};
    o = (struct order){.trouble = ORDER_DONE, .time = good};
    assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_DONE);
    const double bad[] = {(double)NAN, (double)INFINITY, -1, 0, 1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.time = good;
        o.time.cycles = bad[i];
        assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_FAILED);
    }
    o.time = good;
    o.time.spread = (double)NAN;
    assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_FAILED);
    o.time = good;
    o.time.reference = 190; /* half of the core is another's */
    assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_NOISY);
    o.time = good;
    o.time.spread = 30;
    assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_NOISY);
    o.time = good;
    o.trouble = 12345;
    assert_int_equal(piece_judge(&o, &r), CS_EXPERIMENT_FAILED);
}

TEST(trouble_has_a_name_and_no_figure)
{
    static const enum cs_experiment_why names[] = {
        [ORDER_WILD] = CS_EXPERIMENT_WILD,     [ORDER_DIVISION] = CS_EXPERIMENT_DIVISION,
        [ORDER_PAGES] = CS_EXPERIMENT_PAGES,   [ORDER_SIGNAL] = CS_EXPERIMENT_SIGNAL,
        [ORDER_RIGHTS] = CS_EXPERIMENT_RIGHTS, [ORDER_UNKNOWN] = CS_EXPERIMENT_FAILED};
    static struct order o = {.time = {.cycles = 5, .spread = 0.1, .reference = 100}};
    for (uint32_t trouble = ORDER_WILD; trouble <= ORDER_UNKNOWN; trouble++) {
        struct cs_experiment_result r = {0};
        o.trouble = trouble;
        assert_int_equal(piece_judge(&o, &r), names[trouble]);
        assert_true(r.cycles <= 0);
    }
}

int main(void)
{
    struct cs_experiment_result r;
    enum cs_experiment_why why = CS_EXPERIMENT_NOISY;
    for (int k = 0; k < TRIES && why == CS_EXPERIMENT_NOISY; k++)
        why = ask_once(-1, CODE(IMUL_RAX, JNZ_TO(4)), &r);
    if (why != CS_EXPERIMENT_DONE) {
        printf("no experiment can be made here: %s\n", cs_experiment_why_names[why]);
        return why == CS_EXPERIMENT_NOISY || why == CS_EXPERIMENT_FAILED || why == CS_EXPERIMENT_RIGHTS
                   ? SKIPPED
                   : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seven_multiplications_in_a_chain_take_21_cycles),
        cmocka_unit_test(seven_multiplications_without_the_chain_of_turns_take_7_cycles),
        cmocka_unit_test(locks_and_divisions_cost_more_than_what_stands_in_their_place),
        cmocka_unit_test(what_runs_in_several_processes_counts_once),
        cmocka_unit_test(two_chains_beside_each_other_take_as_long_as_one),
        cmocka_unit_test(a_chase_through_memory_hits_the_first_level),
        cmocka_unit_test(a_size_next_to_an_address_is_not_0),
        cmocka_unit_test(a_division_on_a_busy_core_is_none_that_fails),
        cmocka_unit_test(addresses_of_two_registers_do_not_meet),
        cmocka_unit_test(what_is_not_calculation_is_never_run),
        cmocka_unit_test(a_system_call_ends_the_process),
        cmocka_unit_test(code_that_ends_the_process_has_no_figure),
        cmocka_unit_test(code_without_end_is_ended),
        cmocka_unit_test(an_undefined_instruction_is_no_figure),
        cmocka_unit_test(code_does_not_change_itself),
        cmocka_unit_test(a_store_to_no_address_is_wild),
        cmocka_unit_test(a_wild_stack_is_wild),
        cmocka_unit_test(an_answer_that_cannot_be_is_refused),
        cmocka_unit_test(trouble_has_a_name_and_no_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
