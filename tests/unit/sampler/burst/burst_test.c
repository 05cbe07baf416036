/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* Bursts of children that do something known. The truth for branches is the processor's own single-stepping,
 * for memory the loop that the child runs. Skipped where the machine or our rights don't allow bursts. */
#include "sampler/burst/runner_process.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/sampler/burst/burst_target.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>

/* Everything in it that is not a copied instruction: flags that live across blocks, loop, jrcxz, string
 * instructions, calls through registers and memory, returns, operands relative to the instruction pointer,
 * vectors. */
static volatile uint64_t cell = 7;
static uint64_t (*volatile through)(uint64_t);
KEPT static uint64_t twice(uint64_t x)
{
    return x * 2 + cell;
}
static uint8_t text[256], copy[256];
KEPT static void everything(void)
{
    through = twice;
    uint64_t x = 1;
    for (;;) {
        x = through(x) ^ twice(x >> 3);
        __asm__ volatile("  mov $5, %%ecx\n"
                         "1: add $3, %0\n"
                         "  stc\n"
                         "  jmp 2f\n"
                         "2: adc $0, %0\n" /* carry lives across a block's start */
                         "  seto %%al\n"
                         "  loop 1b\n"
                         "  jrcxz 3f\n"
                         "  ud2\n"
                         "3: mov $200, %%ecx\n"
                         "  lea %1, %%rsi\n"
                         "  lea %2, %%rdi\n"
                         "  rep movsb\n"
                         "  pxor %%xmm3, %%xmm3\n"
                         "  movq %0, %%xmm4\n"
                         "  paddq %%xmm4, %%xmm3\n"
                         "  movq %%xmm3, %0\n"
                         "  cmpq $0, cell(%%rip)\n"
                         "  je 4f\n"
                         "  push %0\n"
                         "  xorq %3, %0\n"
                         "  pop %0\n"
                         "4:\n"
                         : "+r"(x)
                         : "m"(text), "m"(copy), "m"(cell)
                         : "rax", "rcx", "rsi", "rdi", "xmm3", "xmm4", "cc", "memory");
        if (x & 64)
            x += strlen((const char *)text + (x & 15));
    }
}

/* Blocks most of whose registers are noted behind their start, so that a burst's trace may fill up in their
 * middle. */
KEPT static void chains(void)
{
    static void *ring[4] = {&ring[1], &ring[2], &ring[3], &ring[0]};
    void **p = ring;
    for (;;)
        __asm__ volatile(
            "mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0\n"
            "mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0; mov (%0), %0\n"
            : "+r"(p)
            :
            : "memory");
}

#define ARRAY (8 << 20)
KEPT static void strides_of_a_line(void)
{
    static uint8_t array[ARRAY];
    for (;;) {
        AS_WRITTEN
        for (size_t i = 0; i < ARRAY; i += 64)
            __asm__ volatile("movb (%0), %%al" : : "r"(array + i) : "rax");
    }
}

/* Lines of one set of the first-level cache, more than any has ways. */
KEPT static void strides_of_a_page(void)
{
    static uint8_t array[20 * 4096];
    for (;;) {
        AS_WRITTEN
        for (size_t i = 0; i < sizeof array; i += 4096)
            __asm__ volatile("movb (%0), %%al" : : "r"(array + i) : "rax");
    }
}

KEPT static void failing_to_forward(void)
{
    static uint64_t place[2];
    for (;;)
        __asm__ volatile("movb $1, (%0)\n\tmov (%0), %%rax" : : "r"(place) : "rax", "memory");
}

KEPT static void asking(void)
{
    for (;;)
        getppid();
}

/* Which way its branches go depends on memory whose map changes every few ten thousand instructions. */
#define AREA_PAGES 64
KEPT static void changing(void)
{
    const size_t page = 4096;
    uint8_t *area = mmap(NULL, AREA_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t x = 88172645463325252ULL, sum = 0, *top = sbrk(0);
    void *bottom = top;
    for (unsigned round = 0;; round++) {
        uint8_t *half = area + AREA_PAGES / 2 * page;
        switch (round % 6) {
        case 0: /* the region shrinks, and grows again with other content */
            munmap(half, AREA_PAGES / 2 * page);
            break;
        case 1:
            (void)mmap(half, AREA_PAGES / 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            break;
        case 2: /* it is two, then three */
            mprotect(half, AREA_PAGES / 2 * page, PROT_READ);
            break;
        case 3:
            mprotect(half + 8 * page, 8 * page, PROT_READ | PROT_WRITE);
            break;
        case 4: /* it starts elsewhere */
            mprotect(half, AREA_PAGES / 2 * page, PROT_READ | PROT_WRITE);
            munmap(area, page);
            break;
        default:
            (void)mmap(area, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            top = sbrk(2 * (intptr_t)page); /* this one grows for long */
            if (round % 600 == 599) {
                brk(bottom);
                top = sbrk(2 * (intptr_t)page);
            }
        }
        for (unsigned i = 0; i < 40000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            size_t pages = round % 6 ? AREA_PAGES - 1 : AREA_PAGES / 2 - 1;
            uint64_t *word = (uint64_t *)(area + (1 + x % pages) * page + (x >> 32) % page / 8 * 8);
            if (round % 6 == 5)
                word = i & 1 ? word : top + (x >> 40) % 1024;
            if ((*word ^ x) & 4)
                sum += *word;
            else if (round % 6 != 2 && round % 6 != 3)
                *word += x;
        }
        if (sum == 1)
            getppid();
    }
}

static uint8_t *locked;
static void step_over(int number, siginfo_t *signal, void *argument)
{
    (void)number;
    (void)signal;
    ((ucontext_t *)argument)->uc_mcontext.gregs[REG_RIP] += 3; /* the store */
}
KEPT static void storing_where_it_must_not(void)
{
    struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    locked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(locked, 1, 4096);
    mprotect(locked, 4096, PROT_READ);
    for (;;) {
        for (volatile unsigned i = 0; i < 1000; i++)
            i += *(volatile uint8_t *)(locked + i) - 1U;
        __asm__ volatile("movb $1, (%%rdi)" : : "D"(locked) : "memory");
    }
}

/* A memory file and memory of its own, of which it uses every 16th page. */
#define SPARSE_PAGES 8192U
static int sparse_file;
static uint8_t *sparse[2];
static void map_sparse(void)
{
    sparse_file = memfd_create("sparse", MFD_CLOEXEC);
    assert_int_equal(ftruncate(sparse_file, SPARSE_PAGES * 4096), 0);
    for (unsigned i = 0; i < 2; i++)
        sparse[i] = mmap(NULL, SPARSE_PAGES * 4096, PROT_READ | PROT_WRITE,
                         i ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, i ? -1 : sparse_file, 0);
}
KEPT static void using_few_pages(void)
{
    uint64_t x = 88172645463325252ULL;
    for (unsigned i = 0; i < SPARSE_PAGES; i += 16) /* what is touched by bursts is there already */
        sparse[0][i * 4096] = sparse[1][i * 4096] = 1;
    for (;;) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sparse[x & 1][(x >> 8) % (SPARSE_PAGES / 16) * 16 * 4096 + (x >> 40) % 4096] += 1;
    }
}

/* ---- tests ---- */
static unsigned pages_there(pid_t pid, const uint8_t *from)
{
    static uint64_t entries[SPARSE_PAGES];
    char path[64];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, entries, sizeof entries, (off_t)((uintptr_t)from / 4096 * 8)), sizeof entries);
    close(fd);
    for (unsigned i = 0; i < SPARSE_PAGES; i++)
        n += (unsigned)(entries[i] >> 63);
    return n;
}

static void memory_that_a_program_does_not_use_stays_unused(void **state)
{
    (void)state;
    map_sparse();
    pid_t pid = child(using_few_pages);
    struct cs_burst_runner *runner = runner_of(pid);
    (void)go(runner, pid, 1000, 0);
    unsigned bursts = 0;
    for (int i = 0; i < 200 && bursts < 60; i++) {
        struct cs_error err;
        struct cs_burst_command command = {.tid = (uint32_t)pid,
                                           .instructions = 16000,
                                           .lead_ns = 30000,
                                           .timeout_ms = 1000,
                                           .stopped_max_us = 20000,
                                           .timed_stopped_max_us = 20000,
                                           .timed_instructions = i % 2 ? 200000 : 0};
        const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
        assert_non_null(answer);
        bursts += answer->outcome.skip == CS_BURST_SKIP_NONE;
    }
    assert_int_equal(bursts, 60);
    struct stat file;
    assert_int_equal(fstat(sparse_file, &file), 0);
    assert_int_equal(file.st_blocks * 512, SPARSE_PAGES / 16 * 4096);
    assert_int_equal(pages_there(pid, sparse[0]), SPARSE_PAGES / 16);
    assert_int_equal(pages_there(pid, sparse[1]), SPARSE_PAGES / 16);
    cs_burst_runner_close(runner);
    end(pid);
    close(sparse_file);
    for (unsigned i = 0; i < 2; i++)
        munmap(sparse[i], SPARSE_PAGES * 4096);
}

static const struct cs_burst_edge_row *hottest(const struct cs_burst_shared *answer, unsigned kind)
{
    const struct cs_burst_edge_row *best = NULL;
    for (uint32_t i = 0; i < answer->outcome.n_edges; i++)
        if (answer->edges[i].kind == kind && (!best || answer->edges[i].count > best->count))
            best = &answer->edges[i];
    return best;
}

static void a_loop_of_ten_turns_back_nine_times(void **state)
{
    (void)state;
    pid_t pid = child(loops_of_ten);
    struct cs_burst_runner *runner = runner_of(pid);
    const struct cs_burst_shared *answer = go(runner, pid, 10000, 0);
    assert_int_equal(answer->outcome.skip, CS_BURST_SKIP_NONE);
    assert_int_equal(answer->outcome.cause, CS_BURST_FULL);
    assert_in_range(answer->outcome.instructions, 10000, 10040);
    const struct cs_burst_edge_row *back = hottest(answer, CS_BURST_COND);
    assert_non_null(back);
    uint64_t out = 0;
    for (uint32_t i = 0; i < answer->outcome.n_edges; i++)
        if (answer->edges[i].from == back->from && answer->edges[i].to != back->to)
            out = answer->edges[i].count;
    assert_in_range(back->count, out * (TEN - 1) - TEN, out * (TEN - 1) + TEN);
    assert_true(back->count_512 < back->count_4096 && back->count_4096 < back->count);
    cs_burst_runner_close(runner);
    end(pid);
}

static void branches_are_those_that_single_stepping_sees(void **state)
{
    (void)state;
    pid_t pid = child(everything);
    struct cs_burst_runner *runner = runner_of(pid);
    for (int i = 0; i < 6; i++) {
        const struct cs_burst_shared *answer = go(runner, pid, 600, 1);
        assert_int_equal(answer->outcome.skip, CS_BURST_SKIP_NONE);
        assert_int_equal(answer->outcome.cause, CS_BURST_FULL);
        if (answer->outcome.differed)
            fail_msg("block %u: at %#lx, expected %#lx", answer->outcome.verified,
                     (unsigned long)answer->outcome.differed_at,
                     (unsigned long)answer->outcome.differed_want);
        assert_int_equal(answer->outcome.verified, answer->outcome.blocks);
    }
    cs_burst_runner_close(runner);
    end(pid);
}

static void memory_whose_map_changes_is_read_as_it_is(void **state)
{
    (void)state;
    pid_t pid = child(changing);
    struct cs_burst_runner *runner = runner_of(pid);
    unsigned followed = 0;
    for (int i = 0; i < 40; i++) {
        const struct cs_burst_shared *answer = go(runner, pid, 400, 1);
        if (answer->outcome.skip != CS_BURST_SKIP_NONE)
            continue;
        if (answer->outcome.differed)
            fail_msg("block %u: at %#lx, expected %#lx", answer->outcome.verified,
                     (unsigned long)answer->outcome.differed_at,
                     (unsigned long)answer->outcome.differed_want);
        followed += answer->outcome.cause == CS_BURST_FULL;
    }
    assert_in_range(followed, 10, 40);
    cs_burst_runner_close(runner);
    end(pid);
}

static void a_store_to_what_is_read_only_ends_a_burst(void **state)
{
    (void)state;
    pid_t pid = child(storing_where_it_must_not);
    struct cs_burst_runner *runner = runner_of(pid);
    unsigned faults = 0;
    for (int i = 0; i < 60 && faults < 3; i++) {
        const struct cs_burst_shared *answer = go(runner, pid, 20000, 0);
        if (answer->outcome.skip != CS_BURST_SKIP_NONE || answer->outcome.cause == CS_BURST_SYSCALL)
            continue; /* the other way out is the return from the handler */
        assert_int_equal(answer->outcome.cause, CS_BURST_FAULT);
        faults++;
    }
    assert_int_equal(faults, 3);
    cs_burst_runner_close(runner);
    end(pid);
}

static const struct cs_burst_memory_row *busiest_row(const struct cs_burst_shared *answer)
{
    const struct cs_burst_memory_row *best = NULL;
    for (uint32_t i = 0; i < answer->outcome.n_memory; i++) {
        const uint32_t loads = answer->memory[i].column[CS_MEMORY_LOADS - 1];
        if (loads && (!best || loads > best->column[CS_MEMORY_LOADS - 1]))
            best = &answer->memory[i];
    }
    return best;
}

static const uint32_t *busiest_memory(const struct cs_burst_shared *answer)
{
    const struct cs_burst_memory_row *best = busiest_row(answer);
    return best ? best->column : NULL;
}

static void a_trace_that_ends_within_a_block_is_cut_before_it(void **state)
{
    (void)state;
    pid_t pid = child(chains);
    for (uint32_t i = 0; i < 6; i++) { /* a new runner doesn't know yet how much these blocks note */
        struct cs_burst_runner *runner = runner_of(pid);
        const struct cs_burst_shared *answer = go(runner, pid, 16000 + 7 * i, 0);
        assert_int_equal(answer->outcome.skip, CS_BURST_SKIP_NONE);
        assert_in_range(answer->outcome.instructions, 1000, 16100);
        assert_non_null(busiest_memory(answer));
        cs_burst_runner_close(runner);
    }
    end(pid);
}

static void a_walk_by_lines_touches_a_new_line_each_time(void **state)
{
    (void)state;
    pid_t pid = child(strides_of_a_line);
    struct cs_burst_runner *runner = runner_of(pid);
    const struct cs_burst_shared *answer = go(runner, pid, 4000, 0);
    const uint32_t *column = busiest_memory(answer);
    assert_int_equal(answer->outcome.cause, CS_BURST_FULL);
    assert_non_null(column);
    uint32_t loads = column[CS_MEMORY_LOADS - 1];
    assert_in_range(loads, 500, 4000);
    assert_in_range(column[CS_MEMORY_LINES - 1], loads - 2, loads);
    assert_in_range(column[CS_MEMORY_FIRST_LINES - 1], loads - 2, loads);
    assert_in_range(column[CS_MEMORY_PAGES - 1], loads / 64, loads / 64 + 2);
    assert_in_range(column[CS_MEMORY_STRIDE_SAME - 1], loads - 6, loads);
    assert_int_equal(column[CS_MEMORY_SPLIT - 1], 0);
    cs_burst_runner_close(runner);
    end(pid);
}

static void a_walk_by_pages_finds_no_room_in_its_set(void **state)
{
    (void)state;
    void (*const walks[])(void) = {strides_of_a_page, strides_of_a_line};
    for (int i = 0; i < 2; i++) {
        pid_t pid = child(walks[i]);
        struct cs_burst_runner *runner = runner_of(pid);
        const struct cs_burst_memory_row *row = busiest_row(go(runner, pid, 4000, 0));
        assert_non_null(row);
        const uint32_t loads = row->column[CS_MEMORY_LOADS - 1];
        assert_in_range(row->crowded, i ? 0 : loads - 22, i ? 0 : loads - 19);
        cs_burst_runner_close(runner);
        end(pid);
    }
}

static void a_load_wider_than_the_store_before_it_is_blocked(void **state)
{
    (void)state;
    pid_t pid = child(failing_to_forward);
    struct cs_burst_runner *runner = runner_of(pid);
    const struct cs_burst_shared *answer = go(runner, pid, 3000, 0);
    const uint32_t *column = busiest_memory(answer);
    assert_non_null(column);
    assert_in_range(column[CS_MEMORY_BLOCKED - 1], column[CS_MEMORY_LOADS - 1] - 1,
                    column[CS_MEMORY_LOADS - 1]);
    assert_int_equal(column[CS_MEMORY_FORWARDED - 1], 0);
    cs_burst_runner_close(runner);
    end(pid);
}

static void a_system_call_ends_a_burst(void **state)
{
    (void)state;
    pid_t pid = child(asking);
    struct cs_burst_runner *runner = runner_of(pid);
    const struct cs_burst_shared *answer = go(runner, pid, 4000, 0);
    if (answer->outcome.skip == CS_BURST_SKIP_NONE)
        assert_int_equal(answer->outcome.cause, CS_BURST_SYSCALL);
    cs_burst_runner_close(runner);
    end(pid);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

struct killing {
    pid_t runner;
    uint64_t at_ns;
};
static void *kill_at(void *argument)
{
    const struct killing *killing = argument;
    while (now_ns() < killing->at_ns)
        ;
    kill(killing->runner, SIGKILL);
    return NULL;
}

/* Blocks all signals for spells of two milliseconds. */
KEPT static void often_deaf(void)
{
    sigset_t all;
    sigfillset(&all);
    for (;;) {
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (uint64_t until = now_ns() + 2000000; now_ns() < until;)
            ;
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        for (volatile unsigned i = 0; i < 100000; i++)
            ;
    }
}

/* Kills a runner at a random moment of a burst, so many times: is the program alive? Of the runners that stopped threads by
 * SIGTRAP one in 20 left one behind, which ends the program: 300 in a row that don't are no luck (2e-7). */
static void kill_runners(body *run, unsigned times)
{
    pid_t pid = child(run);
    struct cs_burst_runner *runner = runner_of(pid);
    (void)go(runner, pid, 1000, 0); /* skips where bursts aren't allowed */
    cs_burst_runner_close(runner);
    srand(1);
    for (unsigned i = 0; i < times; i++) {
        struct cs_error err;
        runner = runner_of(pid);
        struct cs_burst_command command = {.tid = (uint32_t)pid,
                                           .instructions = 4000,
                                           .lead_ns = 20000 + (uint32_t)rand() % 60000,
                                           .timeout_ms = 20,
                                           .stopped_max_us = 4000};
        struct killing killing = {cs_burst_runner_pid(runner), now_ns() + 50000 + (uint64_t)rand() % 250000};
        pthread_t killer;
        assert_int_equal(pthread_create(&killer, NULL, kill_at, &killing), 0);
        (void)cs_burst_runner_go(runner, &command, &err);
        pthread_join(killer, NULL);
        cs_burst_runner_close(runner);
        usleep(3000); /* sleeps: a spell of deafness, and what comes after */
        int status = 0;
        if (waitpid(pid, &status, WNOHANG) != 0)
            fail_msg("after %u runners: status 0x%x", i + 1, (unsigned)status);
    }
    end(pid);
}

static void a_runner_that_is_killed_harms_nobody(void **state)
{
    (void)state;
    kill_runners(loops_of_ten, 300);
    kill_runners(often_deaf, 300);
}

static void a_killed_runner_is_an_error_and_leaves_the_target_running(void **state)
{
    (void)state;
    pid_t pid = child(loops_of_ten);
    struct cs_burst_runner *runner = runner_of(pid);
    struct cs_error err = {0};
    struct cs_burst_command command = {
        .tid = (uint32_t)pid, .instructions = 100, .lead_ns = 30000, .timeout_ms = 100};
    kill(cs_burst_runner_pid(runner), SIGKILL);
    assert_null(cs_burst_runner_go(runner, &command, &err));
    assert_true(err.text[0]);
    cs_burst_runner_close(runner);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    end(pid);
}

static void every_cause_has_a_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CS_BURST_CAUSE_N; i++)
        assert_true(cs_burst_cause_name(i)[0] != '?' && cs_burst_cause_sentence(i)[0]);
    for (unsigned i = 0; i < CS_BURST_SKIP_N; i++)
        assert_true(cs_burst_skip_name(i)[0] != '?' && cs_burst_skip_sentence(i)[0]);
    assert_string_equal(cs_burst_cause_name(CS_BURST_CAUSE_N), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_of_ten_turns_back_nine_times),
        cmocka_unit_test(branches_are_those_that_single_stepping_sees),
        cmocka_unit_test(memory_whose_map_changes_is_read_as_it_is),
        cmocka_unit_test(a_store_to_what_is_read_only_ends_a_burst),
        cmocka_unit_test(a_trace_that_ends_within_a_block_is_cut_before_it),
        cmocka_unit_test(a_walk_by_lines_touches_a_new_line_each_time),
        cmocka_unit_test(a_walk_by_pages_finds_no_room_in_its_set),
        cmocka_unit_test(a_load_wider_than_the_store_before_it_is_blocked),
        cmocka_unit_test(a_system_call_ends_a_burst),
        cmocka_unit_test(memory_that_a_program_does_not_use_stays_unused),
        cmocka_unit_test(a_runner_that_is_killed_harms_nobody),
        cmocka_unit_test(a_killed_runner_is_an_error_and_leaves_the_target_running),
        cmocka_unit_test(every_cause_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
