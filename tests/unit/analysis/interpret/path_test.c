/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each instruction that the interpreter of paths knows against the processor, with all known before and with
 * some bits not. (Whole paths: tests/programs/path_driver.c.) */
#include "analysis/interpret/abstract_run_internal.h"
#include "tests/unit/test.h"

#include <string.h>

/* On rax, rcx and rdx alone. What it leaves undefined of the flags isn't compared. */
struct instruction {
    const char *name;
    const uint8_t *code;
    uint64_t defined;
};
#define ALL FLAGS_ALL
#define LOGIC FLAGS_ALL
#define NONE 0
#define CARRY FLAG_CARRY
#define SHIFTED (FLAGS_ALL & ~FLAG_OVERFLOW)
#define INSTRUCTIONS                                                                                         \
    X(add64, "add %rcx, %rax", ALL)                                                                          \
    X(add32, "add %ecx, %eax", ALL)                                                                          \
    X(add16, "add %cx, %ax", ALL)                                                                            \
    X(add8, "add %cl, %al", ALL)                                                                             \
    X(addh, "add %ch, %al", ALL)                                                                             \
    X(addi, "add $-3, %rax", ALL)                                                                            \
    X(adc64, "adc %rcx, %rax", ALL)                                                                          \
    X(adc8, "adc %cl, %ah", ALL)                                                                             \
    X(sub64, "sub %rcx, %rax", ALL)                                                                          \
    X(sub32, "sub %ecx, %eax", ALL)                                                                          \
    X(sub8i, "sub $0x81, %al", ALL)                                                                          \
    X(subsame, "sub %eax, %eax", ALL)                                                                        \
    X(sbb64, "sbb %rcx, %rax", ALL)                                                                          \
    X(sbb32, "sbb %ecx, %eax", ALL)                                                                          \
    X(sbbsame, "sbb %rax, %rax", ALL)                                                                        \
    X(cmp64, "cmp %rcx, %rax", ALL)                                                                          \
    X(cmp16, "cmp %cx, %ax", ALL)                                                                            \
    X(cmp32i, "cmp $-7, %eax", ALL)                                                                          \
    X(and64, "and %rcx, %rax", LOGIC)                                                                        \
    X(and32i, "and $0x7f00, %eax", LOGIC)                                                                    \
    X(or32, "or %ecx, %eax", LOGIC)                                                                          \
    X(or64i, "or $-1, %rax", LOGIC)                                                                          \
    X(xor64, "xor %rcx, %rax", LOGIC)                                                                        \
    X(xorsame, "xor %eax, %eax", LOGIC)                                                                      \
    X(test64, "test %rcx, %rax", LOGIC)                                                                      \
    X(test8i, "test $4, %al", LOGIC)                                                                         \
    X(not32, "not %eax", ALL)                                                                                \
    X(neg64, "neg %rax", ALL)                                                                                \
    X(neg8, "neg %al", ALL)                                                                                  \
    X(inc32, "inc %eax", ALL)                                                                                \
    X(inc8, "inc %ah", ALL)                                                                                  \
    X(dec64, "dec %rax", ALL)                                                                                \
    X(dec16, "dec %ax", ALL)                                                                                 \
    X(shl32, "shl $3, %eax", SHIFTED)                                                                        \
    X(shl64c, "shl %cl, %rax", SHIFTED)                                                                      \
    X(shl1, "shl %rax", SHIFTED)                                                                             \
    X(shr64, "shr $17, %rax", SHIFTED)                                                                       \
    X(shr32c, "shr %cl, %eax", SHIFTED)                                                                      \
    X(shr8, "shr $2, %al", SHIFTED)                                                                          \
    X(sar64, "sar $5, %rax", SHIFTED)                                                                        \
    X(sar32c, "sar %cl, %eax", SHIFTED)                                                                      \
    X(sar16, "sar $9, %ax", SHIFTED)                                                                         \
    X(imul64, "imul %rcx, %rax", NONE)                                                                       \
    X(imul32i, "imul $-77, %ecx, %eax", NONE)                                                                \
    X(imul1, "imul %rcx", NONE)                                                                              \
    X(mul1, "mul %ecx", NONE)                                                                                \
    X(bt32, "bt %ecx, %eax", CARRY)                                                                          \
    X(bt64i, "bt $41, %rax", CARRY)                                                                          \
    X(bts, "bts %rcx, %rax", NONE)                                                                           \
    X(bswap32, "bswap %eax", ALL)                                                                            \
    X(bswap64, "bswap %rax", ALL)                                                                            \
    X(tzcnt64, "rep bsf %rcx, %rax", FLAG_CARRY | FLAG_ZERO)                                                 \
    X(bsr32, "bsr %ecx, %edx", NONE)                                                                         \
    X(mov8, "mov %ch, %al", ALL)                                                                             \
    X(mov16, "mov %cx, %ax", ALL)                                                                            \
    X(mov32, "mov %ecx, %eax", ALL)                                                                          \
    X(mov64i, "movabs $0x123456789abcdef0, %rax", ALL)                                                       \
    X(movzx8, "movzbl %ch, %eax", ALL)                                                                       \
    X(movzx16, "movzwl %cx, %eax", ALL)                                                                      \
    X(movsx8, "movsbq %cl, %rax", ALL)                                                                       \
    X(movsx16, "movswl %cx, %eax", ALL)                                                                      \
    X(movsxd, "movslq %ecx, %rax", ALL)                                                                      \
    X(lea64, "lea 0x11(%rax, %rcx, 4), %rdx", ALL)                                                           \
    X(lea32, "lea -8(%rcx, %rcx), %eax", ALL)                                                                \
    X(cbw, "cbtw", ALL)                                                                                      \
    X(cwde, "cwtl", ALL)                                                                                     \
    X(cdqe, "cltq", ALL)                                                                                     \
    X(cwd, "cwtd", ALL)                                                                                      \
    X(cdq, "cltd", ALL)                                                                                      \
    X(cqo, "cqto", ALL)                                                                                      \
    X(sete, "sete %al", ALL)                                                                                 \
    X(setg, "setg %ah", ALL)                                                                                 \
    X(seta, "seta %cl", ALL)                                                                                 \
    X(cmovl32, "cmovl %ecx, %eax", ALL)                                                                      \
    X(cmovbe, "cmovbe %rcx, %rax", ALL)                                                                      \
    X(cmovs, "cmovs %cx, %ax", ALL)                                                                          \
    X(cmovnp, "cmovnp %rcx, %rax", ALL)                                                                      \
    X(xchg, "xchg %rcx, %rax", ALL)                                                                          \
    X(xadd, "xadd %ecx, %eax", NONE)                                                                         \
    X(popcnt, "popcnt %rcx, %rax", NONE)

#define X(name, text, flags)                                                                                 \
    __asm__(".pushsection .text\ncode_" #name ": " text "\n ret\n.popsection");                              \
    extern const uint8_t code_##name[];
INSTRUCTIONS
#undef X
#define X(name, text, flags) {#name, code_##name, flags},
static const struct instruction instructions[] = {INSTRUCTIONS};
#undef X

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Small numbers, edges and any. */
static uint64_t random_value(void)
{
    uint64_t r = random_bits() >> 8;
    switch (random_bits() >> 60) {
    case 0:
        return 0;
    case 1:
        return ~UINT64_C(0) << r % 64;
    case 2:
        return UINT64_C(1) << r % 64;
    case 3:
    case 4:
    case 5:
        return r % 70;
    case 6:
        return (UINT64_C(1) << r % 64) - 1;
    default:
        return random_bits();
    }
}

static void run_natively(const uint8_t *code, uint64_t reg[3], uint64_t *flags)
{
    uint64_t f = *flags;
    __asm__ volatile(
        "sub $128, %%rsp\n push %[f]\n popfq\n call *%[code]\n pushfq\n pop %[f]\n add $128, %%rsp"
        : "+a"(reg[0]), "+c"(reg[1]), "+d"(reg[2]), [f] "+r"(f)
        : [code] "r"(code)
        : "cc", "memory");
    *flags = f;
}

static void interpret(const struct path_op *op, const uint64_t reg[3], const uint64_t mask[3], uint64_t flags,
                      uint64_t flags_mask, struct path_state *state)
{
    memset(state, 0, sizeof *state);
    for (unsigned i = 0; i < 3; i++)
        state->reg[i] = (struct path_value){reg[i] & mask[i], mask[i]};
    state->flags = (struct path_value){flags & flags_mask & FLAGS_ALL, flags_mask & FLAGS_ALL};
    path_execute(state, op, 0);
}

TEST(instructions_do_what_the_processor_does)
{
    static struct path_state state;
    unsigned known = 0, all = 0;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        const struct instruction *one = &instructions[i];
        struct path_op op;
        assert_true(path_decode(one->code, 15, 0, &op));
        for (unsigned round = 0; round < 3000; round++) {
            uint64_t before[3] = {random_value(), random_value(), random_value()}, after[3], flags = 0x202,
                     mask[3];
            uint64_t flags_mask = round % 3 ? ~UINT64_C(0) : random_bits();
            flags |= random_bits() & FLAGS_ALL;
            for (unsigned k = 0; k < 3; k++)
                mask[k] = round % 2 ? ~UINT64_C(0)
                                    : random_bits() | random_bits() | (round % 4 ? random_value() : 0);
            memcpy(after, before, sizeof after);
            uint64_t flags_after = flags;
            run_natively(one->code, after, &flags_after);
            interpret(&op, before, mask, flags, flags_mask, &state);
            for (unsigned k = 0; k < 3; k++) {
                if ((after[k] & state.reg[k].mask) != state.reg[k].bits)
                    fail_msg("%s: register %u is %#lx, not %#lx (known: %#lx); from %#lx %#lx %#lx",
                             one->name, k, after[k], state.reg[k].bits, state.reg[k].mask, before[0],
                             before[1], before[2]);
            }
            uint64_t told = state.flags.mask & one->defined;
            if ((flags_after & told) != (state.flags.bits & told))
                fail_msg("%s: flags are %#lx, not %#lx (known: %#lx); from %#lx %#lx %#lx", one->name,
                         flags_after & told, state.flags.bits, told, before[0], before[1], before[2]);
            if (round % 6 == 5) {
                all++;
                known += state.reg[0].mask == ~UINT64_C(0);
            }
        }
    }
    print_message("of %u results with all known before, %u are known\n", all, known);
    assert_true(known * 10 > all * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_do_what_the_processor_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
