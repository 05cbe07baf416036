/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 1,024 generated rules: each compares a field and jumps over what it does when it holds, which never happens.
 * Variant: the first sixteen rules, 64 times as often. */
#include "../kernels/kernel.h"

#define RULE(n)                                                                                              \
    if (__builtin_expect(f[0x##n & 31] != 0x##n##5u, 0))                                                     \
        goto next_##n;                                                                                       \
    a = (a ^ f[0]) * 0x1##n##01ull + f[1], b = (b ^ f[2]) * 0x3##n##03ull + a;                               \
    c = (c ^ f[3]) * 0x5##n##05ull + b, d = (d ^ f[4]) * 0x7##n##07ull + c;                                  \
    a += (b >> 7) * 0x9##n##09ull, c += (d >> 7) * 0xb##n##0bull;                                            \
    next_##n : __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
// clang-format off
#define R16(p) \
    RULE(p##0) RULE(p##1) RULE(p##2) RULE(p##3) RULE(p##4) RULE(p##5) RULE(p##6) RULE(p##7) \
    RULE(p##8) RULE(p##9) RULE(p##a) RULE(p##b) RULE(p##c) RULE(p##d) RULE(p##e) RULE(p##f)
#define R256(p) \
    R16(p##0) R16(p##1) R16(p##2) R16(p##3) R16(p##4) R16(p##5) R16(p##6) R16(p##7) \
    R16(p##8) R16(p##9) R16(p##a) R16(p##b) R16(p##c) R16(p##d) R16(p##e) R16(p##f)
#define R1024 R256(0) R256(1) R256(2) R256(3)
// clang-format on

struct facts {
    uint32_t field[32];
    uint64_t score[4];
};

#define RULES(name, turns, rules)                                                                            \
    static HOT uint64_t name(void *argument)                                                                 \
    {                                                                                                        \
        struct facts *facts = argument;                                                                      \
        const volatile uint32_t *f = facts->field;                                                           \
        uint64_t a = facts->score[0], b = facts->score[1], c = facts->score[2], d = facts->score[3];         \
        for (unsigned turn = 0; turn < (turns); turn++) {                                                    \
            rules                                                                                            \
        }                                                                                                    \
        facts->score[0] = a, facts->score[1] = b, facts->score[2] = c, facts->score[3] = d;                  \
        return 160 * 1024;                                                                                   \
    }
RULES(apply_rules, 160, R1024)
RULES(apply_few, 160 * 64, R16(00))

int main(int argc, char **argv)
{
    static struct facts facts;
    return run_kernel("rule_list", argc, argv, variant(argc, argv) ? apply_few : apply_rules, &facts);
}
