/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library that is preloaded, carried in our program: a container's image needs no other file. */
#include "sampler/timers/timers.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "cs_timers_bytes: .incbin \"" CS_TIMERS_LIBRARY "\"\n"
        "cs_timers_end:\n"
        ".popsection\n");

extern const unsigned char cs_timers_bytes[], cs_timers_end[];

const unsigned char *cs_timers_preloaded(size_t *size)
{
    *size = (size_t)(cs_timers_end - cs_timers_bytes);
    return cs_timers_bytes;
}
