/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A radio correlates eight samples with each of eight Walsh codes, whose chips are 1 or -1, by a multiplication a chip. Variant 1:
 * by sums and differences only. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { CHIPS = 8, SAMPLES = 4096 };

struct radio {
    int64_t codes[CHIPS][CHIPS], samples[SAMPLES], energy[CHIPS];
    int sums;
};

HOT static void correlate(struct radio *r)
{
    for (int i = 0; i < SAMPLES; i += CHIPS) {
        const int64_t *s = r->samples + i;
        for (int c = 0; c < CHIPS; c++) {
            const int64_t *code = r->codes[c];
            r->energy[c] += ((s[0] * code[0] + s[1] * code[1]) + (s[2] * code[2] + s[3] * code[3])) +
                            ((s[4] * code[4] + s[5] * code[5]) + (s[6] * code[6] + s[7] * code[7]));
        }
    }
}

HOT static void correlate_by_sums(struct radio *r)
{
    for (int i = 0; i < SAMPLES; i += CHIPS) {
        const int64_t *s = r->samples + i;
        int64_t a0 = s[0] + s[1], a1 = s[0] - s[1], a2 = s[2] + s[3], a3 = s[2] - s[3];
        int64_t a4 = s[4] + s[5], a5 = s[4] - s[5], a6 = s[6] + s[7], a7 = s[6] - s[7];
        int64_t b0 = a0 + a2, b1 = a1 + a3, b2 = a0 - a2, b3 = a1 - a3;
        int64_t b4 = a4 + a6, b5 = a5 + a7, b6 = a4 - a6, b7 = a5 - a7;
        r->energy[0] += b0 + b4;
        r->energy[1] += b1 + b5;
        r->energy[2] += b2 + b6;
        r->energy[3] += b3 + b7;
        r->energy[4] += b0 - b4;
        r->energy[5] += b1 - b5;
        r->energy[6] += b2 - b6;
        r->energy[7] += b3 - b7;
    }
}

static uint64_t turn(void *argument)
{
    struct radio *r = argument;
    for (int i = 0; i < 10; i++)
        if (r->sums)
            correlate_by_sums(r);
        else
            correlate(r);
    return 10 * SAMPLES;
}

int main(int argc, char **argv)
{
    static struct radio r;
    uint64_t seed = 7378697629483820646u;
    int64_t sum = 0;
    r.sums = variant(argc, argv);
    for (int c = 0; c < CHIPS; c++)
        for (int k = 0; k < CHIPS; k++)
            r.codes[c][k] = __builtin_parity((unsigned)(c & k)) ? -1 : 1;
    for (int i = 0; i < SAMPLES; i++)
        r.samples[i] = (int64_t)(next_random(&seed) >> 52) - 2048;
    int status = run_kernel("walsh_codes", argc, argv, turn, &r);
    for (int c = 0; c < CHIPS; c++)
        sum += r.energy[c] * (c + 1);
    printf("result=%lld\n", (long long)sum);
    return status;
}
