/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges two sorted runs of 16,000 numbers; from which run the next one comes can't be guessed. Variant: from
 * each in turn. */
#include "../kernels/kernel.h"

#define LENGTH 16000u

struct runs {
    uint32_t a[LENGTH + 1], b[LENGTH + 1], to[2 * LENGTH];
};

static HOT uint64_t merge(void *argument)
{
    struct runs *r = argument;
    const uint32_t *a = r->a, *b = r->b;
    for (unsigned i = 0; i < 2 * LENGTH; i++) {
        if (*a <= *b) {
            r->to[i] = *a++;
            __asm__ volatile("" ::: "memory");
        } else {
            r->to[i] = *b++;
        }
    }
    return 2 * LENGTH;
}

int main(int argc, char **argv)
{
    static struct runs r;
    uint64_t seed = 4104;
    uint32_t *a = r.a, *b = r.b;
    for (uint32_t i = 0; a < r.a + LENGTH || b < r.b + LENGTH; i++) {
        int to_a = variant(argc, argv) ? (int)(i & 1) : (int)(next_random(&seed) >> 33 & 1);
        if ((to_a && a < r.a + LENGTH) || b == r.b + LENGTH)
            *a++ = i;
        else
            *b++ = i;
    }
    *a = *b = UINT32_MAX;
    return run_kernel("merge_runs", argc, argv, merge, &r);
}
