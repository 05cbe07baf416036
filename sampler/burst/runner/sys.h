/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of the burst runner, which has no libc: its address space must be empty but for itself. */
#pragma once

#include "store/base/raw_calls.h"

#include <stdint.h>

static inline uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
