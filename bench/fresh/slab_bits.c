/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An allocator keeps a word of 64 free bits for each of 16 sizes and changes it atomically, though a single
 * thread uses it. Each request takes an object and gives one back. Variant 1: plain operations. */
#include "../kernels/kernel.h"

enum { SIZES = 16, LIVE = 128, REQUESTS = 16384 };

struct live {
    uint8_t size, bit;
};

struct slab {
    uint64_t unused[SIZES];
    struct live live[LIVE];
    uint8_t wanted[REQUESTS];
    uint64_t places;
    int plain;
};

HOT static void serve(struct slab *s, int plain)
{
    uint64_t places = 0;
    for (int i = 0; i < REQUESTS; i++) {
        struct live *l = &s->live[i % LIVE];
        unsigned size = s->wanted[i];
        uint64_t back = 1ull << l->bit;
        if (plain)
            s->unused[l->size] |= back;
        else
            __atomic_fetch_or(&s->unused[l->size], back, __ATOMIC_RELEASE);
        unsigned bit = (unsigned)__builtin_ctzll(s->unused[size]);
        if (plain)
            s->unused[size] &= ~(1ull << bit);
        else
            __atomic_fetch_and(&s->unused[size], ~(1ull << bit), __ATOMIC_ACQUIRE);
        *l = (struct live){(uint8_t)size, (uint8_t)bit};
        places += bit;
    }
    s->places += places;
}

static uint64_t turn(void *argument)
{
    struct slab *s = argument;
    serve(s, s->plain);
    return REQUESTS;
}

int main(int argc, char **argv)
{
    static struct slab s;
    s.plain = variant(argc, argv);
    for (int i = 0; i < SIZES; i++)
        s.unused[i] = ~0ull << LIVE / SIZES;
    for (int i = 0; i < LIVE; i++)
        s.live[i] = (struct live){(uint8_t)(i % SIZES), (uint8_t)(i / SIZES)};
    for (int i = 0; i < REQUESTS; i++)
        s.wanted[i] = (uint8_t)((i * 5 + i / 16) % SIZES);
    int status = run_kernel("slab_bits", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.places);
    return status;
}
