/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A disk array checks that the fourth disk is the parity of the other three: four streams of 32 MB each on huge pages, read in
 * order, sixteen bytes at once. Variant 1: the same 4 KB of each, again and again. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

#include <emmintrin.h>

enum { DISKS = 4, DISK = 32 << 20, STRIPE = 4096, STRIPES = 256 };

struct array {
    const char *disks[DISKS];
    size_t place, step;
    uint64_t damaged;
};

HOT static uint64_t scrub(const char *const *disks, size_t place)
{
    __m128i damaged = _mm_setzero_si128();
    const char *a = disks[0] + place, *b = disks[1] + place, *c = disks[2] + place,
               *parity = disks[3] + place;
    for (size_t i = 0; i < STRIPE; i += 16) {
        __m128i x = _mm_xor_si128(_mm_load_si128((const __m128i *)(const void *)(a + i)),
                                  _mm_load_si128((const __m128i *)(const void *)(b + i)));
        __m128i y = _mm_xor_si128(_mm_load_si128((const __m128i *)(const void *)(c + i)),
                                  _mm_load_si128((const __m128i *)(const void *)(parity + i)));
        damaged = _mm_or_si128(damaged, _mm_xor_si128(x, y));
    }
    return _mm_movemask_epi8(_mm_cmpeq_epi8(damaged, _mm_setzero_si128())) != 0xffff;
}

static uint64_t turn(void *argument)
{
    struct array *a = argument;
    for (int i = 0; i < STRIPES; i++) {
        a->damaged += scrub(a->disks, a->place);
        a->place = (a->place + a->step) % DISK;
    }
    return STRIPES * STRIPE / 16;
}

int main(int argc, char **argv)
{
    static struct array a;
    uint64_t seed = 1181783497276652981u, *words[DISKS];
    for (int d = 0; d < DISKS; d++)
        a.disks[d] = memory(DISK + 4096, 1) + 1024 * d;
    for (int d = 0; d < DISKS; d++)
        words[d] = (uint64_t *)(uintptr_t)a.disks[d];
    for (size_t i = 0; i < DISK / 8; i++) {
        words[0][i] = next_random(&seed);
        words[1][i] = words[0][i] * 5;
        words[2][i] = ~words[0][i] >> 7;
        words[3][i] = words[0][i] ^ words[1][i] ^ words[2][i];
    }
    a.step = variant(argc, argv) ? 0 : STRIPE;
    int status = run_kernel("parity_scrub", argc, argv, turn, &a);
    printf("result=%llu\n", (unsigned long long)a.damaged);
    return status;
}
