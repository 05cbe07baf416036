/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of the burst runner, which has no libc: its address space must be empty but for itself. */
#pragma once

#include "store/base/raw_calls.h"

#include <stdint.h>

/* A number of a map in /proc; *text is behind it then. */
static inline uint64_t hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

static inline uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
