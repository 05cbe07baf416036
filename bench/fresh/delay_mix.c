/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixes seven voices of a choir effect, 32 bytes at once: each is the same recording, a few milliseconds later, which is
 * no multiple of 32 bytes. Variant 1: the delays are rounded to one. */
#include "../kernels/kernel.h"

#include <immintrin.h>

enum { SAMPLES = 4096, DELAY = 1024 };

struct choir {
    int16_t *voice, *mix;
    size_t delays[7];
};

#define VOICE(AT) _mm256_loadu_si256((const __m256i *)(AT))

__attribute__((target("avx2"))) HOT static void mix(int16_t *to, const int16_t *voice, const size_t *d)
{
    const int16_t *a = voice + d[0], *b = voice + d[1], *c = voice + d[2], *e = voice + d[3],
                  *f = voice + d[4], *g = voice + d[5], *h = voice + d[6];
    for (size_t i = 0; i < SAMPLES; i += 16) {
        __m256i sum = _mm256_adds_epi16(VOICE(a + i), VOICE(b + i));
        sum = _mm256_adds_epi16(sum, _mm256_adds_epi16(VOICE(c + i), VOICE(e + i)));
        sum = _mm256_adds_epi16(sum, _mm256_adds_epi16(VOICE(f + i), VOICE(g + i)));
        sum = _mm256_adds_epi16(sum, VOICE(h + i));
        _mm256_store_si256((__m256i *)(to + i), sum);
    }
}

static uint64_t turn(void *argument)
{
    struct choir *c = argument;
    for (int i = 0; i < 50; i++)
        mix(c->mix, c->voice, c->delays);
    return 50 * SAMPLES / 16;
}

int main(int argc, char **argv)
{
    static struct choir c;
    uint64_t sum = 0;
    c.voice = memory((SAMPLES + DELAY) * sizeof *c.voice, 1);
    c.mix = memory(SAMPLES * sizeof *c.mix, 1);
    for (size_t i = 0; i < SAMPLES + DELAY; i++)
        c.voice[i] = 77;
    for (size_t i = 0; i < 7; i++)
        c.delays[i] = variant(argc, argv) ? i * 96 : i * 96 + 1 + i * 2 % 15;
    int status = run_kernel("delay_mix", argc, argv, turn, &c);
    for (size_t i = 0; i < SAMPLES; i++)
        sum += (uint64_t)c.mix[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
