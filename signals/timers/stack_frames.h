/* SPDX-License-Identifier: MIT */
/* Callers by frame pointers, within one thread's stack: it reads between the stack pointer and the stack's top
 * alone, which are mapped, so that no value of a frame pointer can fault. Async-signal-safe. */
#ifndef CS_SIGNALS_TIMERS_STACK_FRAMES_H
#define CS_SIGNALS_TIMERS_STACK_FRAMES_H

#include <stdint.h>

/* Frames are {caller's frame pointer, return address}, each above the last. Returns how many addresses were
 * written, innermost first. */
static inline unsigned cs_stack_frames(uint64_t fp, uint64_t sp, uint64_t top, uint64_t *out, unsigned room)
{
    unsigned n = 0;
    while (n < room && fp >= sp && fp % sizeof fp == 0 && top >= 16 && fp <= top - 16) {
        const uint64_t *frame = (const uint64_t *)(uintptr_t)fp; /* NOLINT(performance-no-int-to-ptr) */
        if (frame[1] < 4096)
            break;
        out[n++] = frame[1];
        sp = fp + 16;
        fp = frame[0];
    }
    return n;
}

#endif
