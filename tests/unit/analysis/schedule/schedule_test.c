/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/schedule.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* imul rax,rax; add rcx,rax; add rdx,1; cmp rdx,rsi; jne -> a chain of 4 cycles a turn */
static const uint8_t multiply_chain[] = {0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x01, 0xc8, 0x48,
                                         0x83, 0xc2, 0x01, 0x48, 0x39, 0xf2, 0x75, 0xf0};
/* mov rdi,[rdi]; test rdi,rdi; jne -> load to use a turn */
static const uint8_t pointer_chase[] = {0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8};
/* divsd xmm0,xmm1; dec ecx; jne */
static const uint8_t divide_chain[] = {0xf2, 0x0f, 0x5e, 0xc1, 0xff, 0xc9, 0x75, 0xf8};

static size_t decode(const uint8_t *bytes, size_t size, struct cs_isa_op *ops)
{
    size_t n = 0;
    for (size_t at = 0; at < size; at += ops[n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, size - at, 0x1000 + at, &ops[n]);
    return n;
}

static double sum_m(const struct cs_schedule_step *steps, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += steps[i].m;
    return sum;
}

static void assert_parts_make_up_m(const struct cs_schedule_step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct cs_schedule_step *s = &steps[i];
        double parts = s->execution + s->dependency + s->port + s->divider + s->front;
        assert_true(s->m >= 0 && fabs(parts - s->m) < 1e-6);
    }
}

static struct cs_scheduler *open_scheduler(bool generic, const char *cache)
{
    static const char *const cpus[] = {"znver3", "skylake", NULL};
    struct cs_error err = {0};
    struct cs_scheduler *s = NULL;
    assert_int_equal(cs_scheduler_open(CS_ISA_X86_64, cpus, cache, generic, &s, &err), 0);
    return s;
}

static void run_one(struct cs_scheduler *s, const struct cs_schedule_path *path,
                    struct cs_schedule_step *steps, size_t *generic)
{
    struct cs_error err = {0};
    struct cs_schedule_step *const into[] = {steps};
    assert_int_equal(cs_scheduler_run(s, path, 1, into, generic, &err), 0);
    assert_parts_make_up_m(steps, path->n);
}

static void check_known_paths(bool generic)
{
    struct cs_scheduler *s = open_scheduler(generic, NULL);
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_path path = {ops, decode(multiply_chain, sizeof multiply_chain, ops), true, false};
    assert_int_equal(path.n, 5);
    run_one(s, &path, steps, NULL);
    assert_true(fabs(sum_m(steps, path.n) - 4) < 0.3); /* multiply 3, add 1 */
    assert_true(steps[0].dependency > 1.5);
    assert_int_equal(steps[0].producer, 1); /* the add of the turn before */
    assert_true(steps[4].fused && steps[4].m == 0);

    path = (struct cs_schedule_path){ops, decode(pointer_chase, sizeof pointer_chase, ops), true, false};
    run_one(s, &path, steps, NULL);
    assert_true(sum_m(steps, path.n) >= 3.5 && sum_m(steps, path.n) <= 6.5); /* first-level load to use */

    path = (struct cs_schedule_path){ops, decode(divide_chain, sizeof divide_chain, ops), true, false};
    run_one(s, &path, steps, NULL);
    assert_true(steps[0].divider > 8);
    assert_true(steps[0].divider > 0.7 * sum_m(steps, path.n));
    cs_scheduler_close(s);
}

static void the_generic_core_knows_chains(void **state)
{
    (void)state;
    check_known_paths(true);
}

static void llvm_mca_knows_chains(void **state)
{
    (void)state;
    struct cs_scheduler *s = open_scheduler(false, NULL);
    bool absent = strncmp(cs_scheduler_name(s), "llvm-mca", 8) != 0;
    cs_scheduler_close(s);
    if (absent)
        skip();
    check_known_paths(false);
}

/* A loop of three cycles a turn whose additions wait for the port of loads, six cycles each. The sums are read late. */
static void sums_of_loads_are_no_chain_of_their_loads(void **state)
{
    (void)state;
    /* add rax,[rdi]; add rcx,[rsi]; add rdx,[rbx]; dec r8; jne */
    static const uint8_t bytes[] = {0x48, 0x03, 0x07, 0x48, 0x03, 0x0e, 0x48,
                                    0x03, 0x13, 0x49, 0xff, 0xc8, 0x75, 0xf2};
    enum { TURNS = 40 };
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_timeline lines[TURNS * 5];
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    double dependency = 0, port = 0;
    assert_int_equal(path.n, 5);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < 5; i++) {
            int begun = 3 * turn, done = begun + (i < 3 ? 6 + i : 6);
            int retired = begun + (i < 3 ? 7 + i : 9);
            lines[turn * 5 + i] = (struct cs_schedule_timeline){begun, done - 1, done - 1, done, retired};
            if (i < 3)
                lines[turn * 5 + i].issued = done - 6;
        }
    cs_schedule_steps(&path, lines, TURNS, 6, steps);
    for (size_t i = 0; i < path.n; i++) {
        dependency += steps[i].dependency;
        port += steps[i].port;
    }
    assert_true(sum_m(steps, path.n) > 2.9 && dependency < 0.01 && port > 1.5);
}

/* A loop of five cycles a turn: divisions that depend on nothing queue, and a multiplication waits for each. */
static void the_port_that_divisions_queue_for_is_the_divider(void **state)
{
    (void)state;
    /* movapd xmm0,xmm2; divsd xmm0,xmm1; mulsd xmm0,xmm0; dec ecx; jne */
    static const uint8_t bytes[] = {0x66, 0x0f, 0x28, 0xc2, 0xf2, 0x0f, 0x5e, 0xc1,
                                    0xf2, 0x0f, 0x59, 0xc0, 0xff, 0xc9, 0x75, 0xf0};
    enum { TURNS = 40, N = 5 };
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_timeline lines[TURNS * N];
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    assert_int_equal(path.n, N);
    for (int queues = 0; queues < 2; queues++) {
        double divider = 0, port = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            const int issued = 5 * turn, quotient = issued + 13, end = quotient + 4;
            struct cs_schedule_timeline *t = &lines[turn * N];
            t[0] = (struct cs_schedule_timeline){turn, turn, turn, turn + 1, quotient};
            t[1] = (struct cs_schedule_timeline){turn, queues ? turn : issued, issued, quotient, quotient};
            t[2] = (struct cs_schedule_timeline){turn, quotient, quotient, quotient + 3, end};
            t[3] = (struct cs_schedule_timeline){turn, turn, turn, turn + 1, end};
            t[4] = t[3];
        }
        cs_schedule_steps(&path, lines, TURNS, 6, steps);
        assert_parts_make_up_m(steps, path.n);
        for (size_t i = 0; i < path.n; i++) {
            divider += steps[i].divider;
            port += steps[i].port;
        }
        assert_true(sum_m(steps, path.n) > 4.9);
        assert_true(queues ? divider > 3.5 && port == 0 : port > 3.5);
    }
}

/* llvm-mca lets a load of %al wait for the one before it, five cycles each. */
static void a_chain_of_merged_bytes_is_a_chain(void **state)
{
    (void)state;
    /* rol rax,8; mov al,[rdi]; dec r8; jne */
    static const uint8_t bytes[] = {0x48, 0xc1, 0xc0, 0x08, 0x8a, 0x07, 0x49, 0xff, 0xc8, 0x75, 0xf5};
    enum { TURNS = 40, N = 4 };
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_timeline lines[TURNS * N];
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    double dependency = 0, port = 0;
    assert_int_equal(path.n, N);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < N; i++) {
            const int begun = 5 * turn, done = begun + (i == 1 ? 5 : 1);
            lines[turn * N + i] =
                (struct cs_schedule_timeline){turn, begun, begun, done, begun + (i == 0 ? 2 : 6)};
        }
    cs_schedule_steps(&path, lines, TURNS, 6, steps);
    for (size_t i = 0; i < path.n; i++) {
        dependency += steps[i].dependency;
        port += steps[i].port;
    }
    assert_true(sum_m(steps, path.n) > 4.9 && dependency > 3.5 && port < 0.01);
}

static void a_byte_register_is_merged_into_the_whole(void **state)
{
    (void)state;
    static const uint8_t load[] = {0x8a, 0x07}, zero[] = {0x31, 0xc0}, whole[] = {0x8b, 0x07};
    struct cs_isa_op op;
    decode(load, sizeof load, &op); /* mov al,[rdi] */
    assert_true((op.reads & 1) && (op.writes & 1));
    decode(whole, sizeof whole, &op); /* mov eax,[rdi] */
    assert_false(op.reads & 1);
    decode(zero, sizeof zero, &op); /* xor eax,eax */
    assert_false(op.reads & 1);
}

/* Cores have a stack engine: four of them take two cycles, not four. */
static void pushes_and_pops_are_no_chain(void **state)
{
    (void)state;
    /* push rax; pop rcx; push rdx; pop rsi; dec r8; jne */
    static const uint8_t bytes[] = {0x50, 0x59, 0x52, 0x5e, 0x49, 0xff, 0xc8, 0x75, 0xf7};
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    size_t generic = 0;
    struct cs_scheduler *s = open_scheduler(false, NULL);
    bool absent = strncmp(cs_scheduler_name(s), "llvm-mca", 8) != 0;
    if (!absent)
        run_one(s, &path, steps, &generic);
    cs_scheduler_close(s);
    if (absent)
        skip();
    assert_int_equal(path.n, 6);
    assert_true(generic == 0 && sum_m(steps, path.n) < 2.5);
}

static void a_path_that_does_not_close_has_no_chain_through_its_end(void **state)
{
    (void)state;
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_path path = {ops, decode(multiply_chain, sizeof multiply_chain, ops), false, false};
    struct cs_scheduler *s = open_scheduler(true, NULL);
    run_one(s, &path, steps, NULL);
    assert_int_equal(steps[0].producer, -1);
    cs_scheduler_close(s);
}

/* fld with a register operand is text that llvm's assembler refuses. */
static void what_the_assembler_refuses_costs_one_line_and_not_the_path(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xd9, 0xc0, 0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x01, 0xc8, 0x75, 0xf6};
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    size_t generic = 99;
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    struct cs_scheduler *s = open_scheduler(false, NULL);
    bool absent = strncmp(cs_scheduler_name(s), "llvm-mca", 8) != 0;
    run_one(s, &path, steps, &generic);
    assert_int_equal(generic, absent);
    assert_true(fabs(sum_m(steps, path.n) - 4) < 0.5);
    cs_scheduler_close(s);
}

/* A program of a name that is asked before any other counts its calls and starts the real one. */
struct counted {
    char folder[64];
    char path[3072]; /* before */
};

static bool count_calls(struct counted *c)
{
    char text[4096];
    struct cs_scheduler *s = open_scheduler(false, NULL);
    bool absent = strncmp(cs_scheduler_name(s), "llvm-mca", 8) != 0;
    cs_scheduler_close(s);
    snprintf(c->folder, sizeof c->folder, "/tmp/schedule_test.XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    snprintf(text, sizeof text, "%s/llvm-mca-30", c->folder);
    FILE *f = fopen(text, "w");
    assert_non_null(f);
    fprintf(
        f,
        "#!/bin/sh\necho >> %s/calls\nfor p in 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11; do\n"
        "command -v llvm-mca-$p >/dev/null && exec llvm-mca-$p \"$@\"\ndone\nexec llvm-mca \"$@\"\n",
        c->folder);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(text, 0755), 0);
    snprintf(c->path, sizeof c->path, "%s", getenv("PATH"));
    snprintf(text, sizeof text, "%s:%s", c->folder, c->path);
    setenv("PATH", text, 1);
    return absent;
}

static long calls_of(const struct counted *c)
{
    char name[128];
    struct stat st = {0};
    snprintf(name, sizeof name, "%s/calls", c->folder);
    return stat(name, &st) ? 0 : (long)st.st_size;
}

static void stop_counting(struct counted *c)
{
    char name[128];
    setenv("PATH", c->path, 1);
    snprintf(name, sizeof name, "%s/calls", c->folder);
    unlink(name);
    snprintf(name, sizeof name, "%s/llvm-mca-30", c->folder);
    unlink(name);
    assert_int_equal(rmdir(c->folder), 0);
}

/* nop dword ptr [rax+rax*1]; imul rax,rax; add rcx,rax; jne */
static void padding_does_not_cost_a_second_call(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x0f, 0x1f, 0x04, 0x00, 0x48, 0x0f, 0xaf,
                                    0xc0, 0x48, 0x01, 0xc8, 0x75, 0xf3};
    struct counted counted;
    struct cs_isa_op ops[8];
    struct cs_schedule_step steps[8];
    struct cs_schedule_path path = {ops, decode(bytes, sizeof bytes, ops), true, false};
    assert_int_equal(path.n, 4);
    bool absent = count_calls(&counted);
    struct cs_scheduler *s = open_scheduler(false, NULL);
    long opened = calls_of(&counted);
    size_t generic = 99;
    run_one(s, &path, steps, &generic);
    long calls = calls_of(&counted) - opened;
    cs_scheduler_close(s);
    stop_counting(&counted);
    assert_int_equal(calls, !absent);
    assert_int_equal(generic, absent);
}

static void the_cache_answers_the_same_and_survives_damage(void **state)
{
    (void)state;
    char name[] = "/tmp/schedule-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    struct cs_isa_op ops[8];
    struct cs_schedule_step first[8], second[8], third[8];
    struct cs_schedule_path path = {ops, decode(multiply_chain, sizeof multiply_chain, ops), true, false};
    struct cs_scheduler *s = open_scheduler(false, name);
    run_one(s, &path, first, NULL);
    cs_scheduler_close(s);
    s = open_scheduler(false, name);
    run_one(s, &path, second, NULL);
    cs_scheduler_close(s);
    assert_memory_equal(first, second, path.n * sizeof *first);
    assert_int_equal(pwrite(fd, "damaged", 7, 40), 7);
    s = open_scheduler(false, name);
    run_one(s, &path, third, NULL);
    cs_scheduler_close(s);
    assert_memory_equal(first, third, path.n * sizeof *first);
    close(fd);
    unlink(name);
}

static void what_was_told_ahead_is_not_asked_again_and_has_the_same_answer(void **state)
{
    (void)state;
    enum { N = 40 };
    struct counted counted;
    struct cs_error err = {0};
    struct cs_isa_op ops[8];
    struct cs_schedule_step alone[2][8], ahead[2][8];
    struct cs_schedule_path paths[2] = {
        {ops, decode(multiply_chain, sizeof multiply_chain, ops), true, false},
        {ops, 3, false, false},
    };
    bool absent = count_calls(&counted);
    struct cs_scheduler *s = open_scheduler(false, NULL);
    run_one(s, &paths[0], alone[0], NULL);
    run_one(s, &paths[1], alone[1], NULL);
    cs_scheduler_close(s);
    long before = calls_of(&counted);
    s = open_scheduler(false, NULL);
    long opened = calls_of(&counted) - before;
    assert_int_equal(cs_scheduler_ahead(s, paths, 2, &err), 0);
    cs_scheduler_ahead_run(s);
    for (int k = 0; k < N; k++) {
        size_t generic = 99;
        run_one(s, &paths[k % 2], ahead[k % 2], &generic);
        assert_int_equal(generic, absent);
        assert_memory_equal(alone[k % 2], ahead[k % 2], paths[k % 2].n * sizeof *alone[k % 2]);
    }
    cs_scheduler_close(s);
    long calls = calls_of(&counted) - before - opened;
    stop_counting(&counted);
    assert_int_equal(calls, absent ? 0 : 2); /* one for each number of turns */
}

static void a_rough_path_has_the_generic_cores_answer_whoever_asked_before(void **state)
{
    (void)state;
    struct cs_isa_op ops[8];
    struct cs_schedule_step generic[8], model[8], rough[8];
    struct cs_schedule_path path = {ops, decode(divide_chain, sizeof divide_chain, ops), true, false};
    struct cs_scheduler *s = open_scheduler(true, NULL);
    run_one(s, &path, generic, NULL);
    cs_scheduler_close(s);
    s = open_scheduler(false, NULL);
    run_one(s, &path, model, NULL);
    path.rough = true;
    run_one(s, &path, rough, NULL);
    cs_scheduler_close(s);
    assert_memory_equal(generic, rough, path.n * sizeof *rough);
    if (!memcmp(generic, model, path.n * sizeof *model))
        skip();
}

static void joined_schedulers_share_calls_and_keep_their_answers(void **state)
{
    (void)state;
    struct counted counted;
    struct cs_error err = {0};
    struct cs_isa_op ops[2][8];
    struct cs_schedule_step alone[2][8], steps[8];
    struct cs_schedule_path paths[2] = {
        {ops[0], decode(multiply_chain, sizeof multiply_chain, ops[0]), true, false},
        {ops[1], decode(divide_chain, sizeof divide_chain, ops[1]), true, false},
    };
    struct cs_scheduler *s[3];
    for (int k = 0; k < 2; k++) {
        s[k] = open_scheduler(false, NULL);
        run_one(s[k], &paths[k], alone[k], NULL);
        cs_scheduler_close(s[k]);
    }
    bool absent = count_calls(&counted);
    for (int k = 0; k < 3; k++)
        s[k] = open_scheduler(false, NULL);
    cs_scheduler_join(s[1], s[0]);
    cs_scheduler_join(s[2], s[1]);
    long opened = calls_of(&counted);
    for (int k = 0; k < 3; k++)
        assert_int_equal(cs_scheduler_ahead(s[k], &paths[k % 2], 1, &err), 0);
    cs_scheduler_close(s[2]); /* before its answer came */
    cs_scheduler_ahead_run(s[1]);
    for (int k = 0; k < 2; k++) {
        run_one(s[k], &paths[k], steps, NULL);
        assert_memory_equal(alone[k], steps, paths[k].n * sizeof *steps);
    }
    long calls = calls_of(&counted) - opened;
    cs_scheduler_close(s[0]);
    run_one(s[1], &paths[1], steps, NULL);
    assert_memory_equal(alone[1], steps, paths[1].n * sizeof *steps);
    cs_scheduler_close(s[1]);
    stop_counting(&counted);
    assert_int_equal(calls, absent ? 0 : 1);
}

struct asker {
    struct cs_scheduler *scheduler;
    const struct cs_schedule_path *paths;
    const struct cs_schedule_step (*expected)[8];
    unsigned wrong;
};

static void *ask_often(void *argument)
{
    struct asker *a = argument;
    for (unsigned k = 0; k < 40; k++) {
        struct cs_error err = {0};
        struct cs_schedule_step steps[8], *into = steps;
        const struct cs_schedule_path *path = &a->paths[k % 3];
        bool good = cs_scheduler_run(a->scheduler, path, 1, &into, NULL, &err) == 0;
        a->wrong += !good || memcmp(steps, a->expected[k % 3], path->n * sizeof *steps);
    }
    return NULL;
}

static void threads_may_ask_the_same_scheduler(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_isa_op ops[2][8];
    struct cs_schedule_step alone[3][8];
    struct cs_schedule_path paths[3] = {
        {ops[0], decode(multiply_chain, sizeof multiply_chain, ops[0]), true, false},
        {ops[1], decode(divide_chain, sizeof divide_chain, ops[1]), true, false},
        {ops[1], 2, false, true},
    };
    struct cs_scheduler *s = open_scheduler(false, NULL);
    for (unsigned k = 0; k < 3; k++)
        run_one(s, &paths[k], alone[k], NULL);
    cs_scheduler_close(s);
    s = open_scheduler(false, NULL);
    assert_int_equal(cs_scheduler_ahead(s, paths, 1, &err), 0); /* the second is asked by whoever is first */
    cs_scheduler_ahead_run(s);
    pthread_t thread[4];
    struct asker asker[4];
    for (unsigned t = 0; t < 4; t++) {
        asker[t] = (struct asker){s, paths, (const struct cs_schedule_step(*)[8])alone, 0};
        assert_int_equal(pthread_create(&thread[t], NULL, ask_often, &asker[t]), 0);
    }
    for (unsigned t = 0; t < 4; t++) {
        assert_int_equal(pthread_join(thread[t], NULL), 0);
        assert_int_equal(asker[t].wrong, 0);
    }
    cs_scheduler_close(s);
}

static void paths_asked_together_have_the_answers_that_they_have_alone(void **state)
{
    (void)state;
    enum { N = 4 };
    /* fld is refused: the line that is said is to be found among those of all paths */
    static const uint8_t bytes[] = {0xd9, 0xc0, 0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x01, 0xc8, 0x75, 0xf6};
    struct counted counted;
    struct cs_error err = {0};
    struct cs_isa_op ops[8];
    struct cs_schedule_step alone[N][8], together[N][8];
    struct cs_schedule_step *into[N];
    struct cs_schedule_path paths[N];
    assert_int_equal(decode(bytes, sizeof bytes, ops), N);
    for (size_t k = 0; k < N; k++) {
        paths[k] = (struct cs_schedule_path){ops, k + 1, true, false};
        into[k] = together[k];
        struct cs_scheduler *s = open_scheduler(false, NULL);
        run_one(s, &paths[k], alone[k], NULL);
        cs_scheduler_close(s);
    }
    bool absent = count_calls(&counted);
    struct cs_scheduler *s = open_scheduler(false, NULL);
    long opened = calls_of(&counted);
    assert_int_equal(cs_scheduler_run(s, paths, N, into, NULL, &err), 0);
    long calls = calls_of(&counted) - opened;
    cs_scheduler_close(s);
    stop_counting(&counted);
    assert_int_equal(calls, absent ? 0 : 2); /* to learn what is refused, and without it */
    for (size_t k = 0; k < N; k++)
        assert_memory_equal(alone[k], together[k], paths[k].n * sizeof *alone[k]);
}

static void a_scheduler_may_be_closed_before_its_answers_came(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_isa_op ops[8];
    struct cs_schedule_path path = {ops, decode(multiply_chain, sizeof multiply_chain, ops), true, false};
    for (int started = 0; started < 2; started++) {
        struct cs_scheduler *s = open_scheduler(false, NULL);
        for (int i = 0; i < 400; i++) /* 400 * 5 * 40 steps: a call, and some that wait for one */
            assert_int_equal(cs_scheduler_ahead(s, &path, 1, &err), 0);
        if (started)
            cs_scheduler_ahead_run(s);
        cs_scheduler_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generic_core_knows_chains),
        cmocka_unit_test(llvm_mca_knows_chains),
        cmocka_unit_test(the_port_that_divisions_queue_for_is_the_divider),
        cmocka_unit_test(sums_of_loads_are_no_chain_of_their_loads),
        cmocka_unit_test(a_chain_of_merged_bytes_is_a_chain),
        cmocka_unit_test(a_byte_register_is_merged_into_the_whole),
        cmocka_unit_test(pushes_and_pops_are_no_chain),
        cmocka_unit_test(a_path_that_does_not_close_has_no_chain_through_its_end),
        cmocka_unit_test(what_the_assembler_refuses_costs_one_line_and_not_the_path),
        cmocka_unit_test(padding_does_not_cost_a_second_call),
        cmocka_unit_test(the_cache_answers_the_same_and_survives_damage),
        cmocka_unit_test(what_was_told_ahead_is_not_asked_again_and_has_the_same_answer),
        cmocka_unit_test(a_rough_path_has_the_generic_cores_answer_whoever_asked_before),
        cmocka_unit_test(joined_schedulers_share_calls_and_keep_their_answers),
        cmocka_unit_test(threads_may_ask_the_same_scheduler),
        cmocka_unit_test(paths_asked_together_have_the_answers_that_they_have_alone),
        cmocka_unit_test(a_scheduler_may_be_closed_before_its_answers_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
