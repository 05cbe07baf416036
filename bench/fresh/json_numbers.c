/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the numbers of a JSON array. How many digits a number has can't be guessed. Variant: all have five. */
#include "../kernels/kernel.h"

#define NUMBERS 60000u

struct text {
    char *bytes;
    uint64_t sum;
};

static HOT uint64_t parse_numbers(void *argument)
{
    struct text *t = argument;
    const unsigned char *c = (const unsigned char *)t->bytes;
    uint64_t sum = 0;
    while (*c) {
        uint64_t value = 0;
        while (*c >= '0')
            value = value * 10 + *c++ - '0';
        sum += value;
        c++;
    }
    t->sum += sum;
    return NUMBERS;
}

int main(int argc, char **argv)
{
    struct text t = {malloc(NUMBERS * 11 + 1), 0};
    uint64_t seed = 4101;
    char *c = t.bytes;
    for (unsigned i = 0; i < NUMBERS; i++) {
        unsigned digits = variant(argc, argv) ? 5 : 1 + (unsigned)(next_random(&seed) >> 20) % 9;
        for (unsigned d = 0; d < digits; d++)
            *c++ = (char)('1' + (next_random(&seed) >> 30) % 9);
        *c++ = ',';
    }
    *c = 0;
    return run_kernel("json_numbers", argc, argv, parse_numbers, &t);
}
