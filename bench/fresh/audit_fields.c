/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An audit of a record: 1,024 rules, none of which is broken. What a broken rule does is written where the rule is,
 * some 200 bytes of code each, jumped over. Variant 1: the same rules; the compiler moves this code to the end. */
#include "../kernels/kernel.h"

struct finding {
    uint32_t rule, at[16];
};

struct audit {
    volatile uint32_t field[64];
    struct finding finding;
    uint64_t findings;
    int apart;
};

enum { RULES = 1024, REPEATS = 64 };

#define NOTE(K, N) f->at[K] = 0x1000193u * (N) + K
#define NOTE4(K, N) NOTE(K, N), NOTE(K + 1, N), NOTE(K + 2, N), NOTE(K + 3, N)
#define RULE(N)                                                                                              \
    if (__builtin_expect(a->field[(N)*7 % 64] > 0x10000u + 257u * (N), likely)) {                            \
        f->rule = (N);                                                                                       \
        NOTE4(0, N), NOTE4(4, N), NOTE4(8, N), NOTE4(12, N);                                                 \
        findings++;                                                                                          \
    }
#define R4(N) RULE(N) RULE(N + 1) RULE(N + 2) RULE(N + 3)
#define R16(N) R4(N) R4(N + 4) R4(N + 8) R4(N + 12)
#define R64(N) R16(N) R16(N + 16) R16(N + 32) R16(N + 48)
#define R256(N) R64(N) R64(N + 64) R64(N + 128) R64(N + 192)
#define AUDIT R256(0u) R256(256u) R256(512u) R256(768u)

HOT static uint64_t check_rules(const struct audit *a, volatile struct finding *f)
{
    enum { likely = 1 };
    uint64_t findings = 0;
    AUDIT
    return findings;
}

HOT static uint64_t check_apart(const struct audit *a, volatile struct finding *f)
{
    enum { likely = 0 };
    uint64_t findings = 0;
    AUDIT
    return findings;
}

static uint64_t turn(void *argument)
{
    struct audit *a = argument;
    for (int i = 0; i < REPEATS; i++)
        a->findings += (a->apart ? check_apart : check_rules)(a, &a->finding);
    return RULES * REPEATS;
}

int main(int argc, char **argv)
{
    static struct audit a;
    for (uint32_t i = 0; i < 64; i++)
        a.field[i] = i;
    a.apart = variant(argc, argv);
    return run_kernel("audit_fields", argc, argv, turn, &a);
}
