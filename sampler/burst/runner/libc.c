/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memcpy, memset, memcmp and strlen, which the compiler and libZydis call by themselves. Small rather than
 * fast: `rep` is the processor's own loop. */
#include "sampler/burst/runner/libc.h"

#include <stdint.h>

void *memcpy(void *to, const void *from, size_t n)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return result;
}

void *memset(void *to, int byte, size_t n)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
    return result;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    size_t i = 0;
    for (; i + 8 <= n && *(const uint64_t *)(x + i) == *(const uint64_t *)(y + i); i += 8)
        ;
    for (; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}
