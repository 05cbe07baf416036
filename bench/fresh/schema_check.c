/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A validator as a generator makes it of a large schema: 4,096 checks one behind the other, each with its own
 * constants, in some 100 KB of code. Nothing fails. Variant 1: the first 128 of them, 32 times. */
#include "../kernels/kernel.h"

struct record {
    uint32_t field[16];
};

struct work {
    struct record record;
    uint64_t failures;
    int few;
};

#define CHECK(N)                                                                                             \
    if (__builtin_expect((r->field[(N) % 16] ^ (0x10000u + 257u * (unsigned)(N))) == 0x7fedcba9u, 0))        \
        failures += report(r, (N));                                                                          \
    hash[(N) % 4] += r->field[(N)*7 % 16] ^ (0x10000u + 77u * (unsigned)(N));
#define C4(N) CHECK(N) CHECK(N + 1) CHECK(N + 2) CHECK(N + 3)
#define C16(N) C4(N) C4(N + 4) C4(N + 8) C4(N + 12)
#define C64(N) C16(N) C16(N + 16) C16(N + 32) C16(N + 48)
#define C128(N) C64(N) C64(N + 64)
#define C512(N) C128(N) C128(N + 128) C128(N + 256) C128(N + 384)

__attribute__((noinline, cold)) static uint64_t report(const volatile struct record *r, int check)
{
    return r->field[check % 16] + 1;
}

HOT static uint64_t validate(const volatile struct record *r)
{
    uint64_t failures = 0;
    uint32_t hash[4] = {0};
    C512(0)
    C512(512)
    C512(1024)
    C512(1536)
    C512(2048) C512(2560) C512(3072) C512(3584) return failures + (hash[0] ^ hash[1] ^ hash[2] ^ hash[3]);
}

HOT static uint64_t validate_few(const volatile struct record *r)
{
    uint64_t failures = 0;
    uint32_t hash[4] = {0};
    C128(0)
    return failures + (hash[0] ^ hash[1] ^ hash[2] ^ hash[3]);
}

static uint64_t turn(void *argument)
{
    struct work *w = argument;
    for (int i = 0; i < 16; i++) {
        w->record.field[i]++;
        if (w->few)
            for (int k = 0; k < 32; k++)
                w->failures += validate_few(&w->record);
        else
            w->failures += validate(&w->record);
    }
    return 4096 * 16;
}

int main(int argc, char **argv)
{
    static struct work w;
    w.few = variant(argc, argv);
    for (uint32_t i = 0; i < 16; i++)
        w.record.field[i] = i * 3;
    return run_kernel("schema_check", argc, argv, turn, &w);
}
