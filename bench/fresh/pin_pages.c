/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads pin a buffer of their own, read it, and let it go. The counts of pins lie in one line. Variant: on lines of
 * their own. */
#include "pair.h"

enum { WORDS = 4 };

struct reader {
    int *pins;
    uint64_t sum, words[WORDS];
};

static HOT uint64_t read_pinned(void *argument)
{
    struct reader *r = argument;
    uint64_t sum = 0;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        __atomic_fetch_add(r->pins, 1, __ATOMIC_ACQUIRE);
        for (unsigned k = 0; k < WORDS; k++)
            sum += r->words[k] ^ i;
        __atomic_fetch_sub(r->pins, 1, __ATOMIC_RELEASE);
    }
    r->sum += sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) int pins[128];
    static struct {
        _Alignas(256) struct reader r;
    } readers[2];
    for (unsigned t = 0; t < 2; t++)
        readers[t].r.pins = &pins[t * (variant(argc, argv) ? 64 : 1)];
    return run_pair("pin_pages", argc, argv, read_pinned, &readers[0].r, &readers[1].r);
}
