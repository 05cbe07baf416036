/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library that is preloaded, carried in our program: a container's image needs no other file. */
#include "sampler/timers/timers.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "cs_timers_bytes: .incbin \"" CS_TIMERS_LIBRARY "\"\n"
        "cs_timers_end:\n"
        ".popsection\n");

/* Hidden, so that both are reached without the GOT: AArch64's linker has one entry there for all local symbols of a section. */
extern const unsigned char cs_timers_bytes[] __attribute__((visibility("hidden"))),
    cs_timers_end[] __attribute__((visibility("hidden")));

const unsigned char *cs_timers_preloaded(size_t *size)
{
    *size = (size_t)(cs_timers_end - cs_timers_bytes);
    return cs_timers_bytes;
}
