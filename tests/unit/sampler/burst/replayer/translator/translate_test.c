/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random sequences of instructions, run as they are and run translated: registers, flags, vectors and memory are the same after
 * both. The processor is the truth. Instructions are those of forms.S,
 * copied one behind the other. CS_SEED=N repeats one program. */
#include "sampler/burst/replayer/translator/code_memory.h"
#include "sampler/burst/replayer/translator/code_pages.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/signal_entry.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/thread.h"
#include "tests/unit/test.h"

#include <asm/prctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what the translator asks of the replayer: here the target is this process ---- */

struct decoder_calls decoder = {
    ZydisDecoderInit, ZydisDecoderDecodeFull, ZydisRegisterGetLargestEnclosing, {0}};
uint8_t code_cache[CODE_CACHE_BYTES] __attribute__((aligned(4096)));
int64_t code_writable_at;

void code_memory_touch(const uint8_t *from)
{
    (void)from;
}

unsigned code_bytes(uint64_t addr, uint8_t bytes[15], unsigned most)
{
    memcpy(bytes, (const void *)addr, most); // NOLINT(performance-no-int-to-ptr)
    return most;
}

enum cs_burst_cause page_in(uint64_t addr, bool write)
{
    (void)addr, (void)write;
    return CS_BURST_FAULT; /* all is there */
}

/* ---- forms.S ---- */

#define STACK_TOP 3840 /* of the buffer; forms write below 2,100 and push little */
struct memory {
    uint8_t buffer[4096], beyond[64];
    uint64_t registers[16], flags, end;
    uint8_t vectors[16][16];
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct memory, registers) == 4160, "as in forms.S");
_Static_assert(offsetof(struct memory, vectors) == 4304, "as in forms.S");
struct start {
    uint64_t registers[16], flags; /* in the processor's order: rax, rcx, rdx, rbx, rsp, ... */
};
extern const uint8_t *const forms_begin[], *const forms_end[];
extern const uint8_t form_tail[], form_tail_end[], stops_here[], was_run[];
void run_as_it_is(const struct start *start, const void *vectors, const void *code);

/* ---- both ways ---- */

#define PROGRAMS 3000
#define FORMS_MAX 60
static struct memory memory, before;
static uint8_t program[1 << 16] __attribute__((aligned(4096)));
static uint64_t random_state;
static unsigned long long seed;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return random_state >> 32 ^ random_state << 32;
}

static size_t append(size_t n, const uint8_t *from, const uint8_t *to)
{
    memcpy(program + n, from, (size_t)(to - from));
    return n + (size_t)(to - from);
}

static void write_program(void)
{
    const size_t n_forms = (size_t)(forms_end - forms_begin) / 2;
    size_t n = next_random() % 16; /* blocks begin anywhere */
    memset(program, 0x90, n);
    for (unsigned i = (unsigned)(next_random() % FORMS_MAX) + 1; i > 0; i--) {
        const uint8_t *const *form = &forms_begin[2 * (next_random() % n_forms)];
        n = append(n, form[0], form[1]);
    }
    append(n, form_tail, form_tail_end);
}

static void agree(const char *what, const void *translated, const void *as_it_is, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)translated)[i] != ((const uint8_t *)as_it_is)[i])
            fail_msg("%s differ from byte %zu on; again with CS_SEED=%llu", what, i, seed);
}

static void is_the_same(const struct start *start, const uint8_t vectors[512])
{
    struct memory as_it_is;
    memory = before;
    memory.end = (uint64_t)was_run;
    run_as_it_is(start, vectors, program);
    as_it_is = memory;

    const uint64_t *s = start->registers;
    struct registers registers = {.rax = s[0],
                                  .rcx = s[1],
                                  .rdx = s[2],
                                  .rbx = s[3],
                                  .rsp = s[4],
                                  .rbp = s[5],
                                  .rsi = s[6],
                                  .rdi = s[7],
                                  .r8 = s[8],
                                  .r9 = s[9],
                                  .r10 = s[10],
                                  .r11 = s[11],
                                  .r12 = s[12],
                                  .r13 = s[13],
                                  .r14 = s[14],
                                  .r15 = s[15],
                                  .rip = (uint64_t)program,
                                  .eflags = start->flags,
                                  .fs_base = (uint64_t)own_fs};
    struct run run = {0};
    memory = before;
    memory.end = (uint64_t)stops_here;
    translations_flush();
    run_burst(&registers, vectors, 512, 1 << 20, UINT64_MAX, &run);
    assert_int_equal(run.cause, CS_BURST_SYSCALL);
    assert_false(run.last_partial);
    memory.end = as_it_is.end;
    agree("registers", memory.registers, as_it_is.registers, sizeof memory.registers);
    agree("flags", &memory.flags, &as_it_is.flags, sizeof memory.flags);
    agree("vectors", memory.vectors, as_it_is.vectors, sizeof memory.vectors);
    agree("memory", memory.buffer, as_it_is.buffer, sizeof memory.buffer);
    /* The record of the run leads to where it stopped. */
    const uint8_t *record = run.start, *last = NULL;
    for (; record < run.end; record = record_next(record))
        last = record;
    assert_ptr_equal(record, run.end);
    assert_non_null(last);
    assert_ptr_equal(record_block(last)->pc, stops_here);
}

TEST(translated_code_does_what_the_code_does)
{
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    skip(); /* their handlers and their shadow are in the way */
#endif
    signals_install(); /* here: cmocka has handlers of its own around each test */
    static uint8_t vectors[512] __attribute__((aligned(64)));
    const char *one = getenv("CS_SEED");
    for (unsigned i = 1; i <= (one ? 1 : PROGRAMS); i++) {
        random_state = seed = one ? strtoull(one, NULL, 0) : i;
        struct start start;
        for (unsigned r = 0; r < 16; r++)
            start.registers[r] = next_random() % 5 ? next_random() : next_random() % 64;
        start.registers[RDI] = (uint64_t)memory.buffer;
        start.registers[RSP] = (uint64_t)memory.buffer + STACK_TOP;
        start.flags = 0x202 | (next_random() & 0x8d5);
        for (size_t b = 0; b < sizeof before; b++)
            ((uint8_t *)&before)[b] = (uint8_t)next_random();
        __asm__ volatile("fxsave %0" : "=m"(vectors));
        for (size_t b = 160; b < 416; b++)
            vectors[b] = (uint8_t)next_random();
        write_program();
        is_the_same(&start, vectors);
    }
}

static int prepare(void **state)
{
    (void)state;
    if (!ZYAN_SUCCESS(decoder.init(&decoder.state, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        mprotect(code_cache, sizeof code_cache, PROT_READ | PROT_WRITE | PROT_EXEC) < 0 ||
        mprotect(program, sizeof program, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return -1;
    if (syscall(SYS_arch_prctl, ARCH_GET_FS, &own_fs) < 0)
        return -1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translated_code_does_what_the_code_does),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
