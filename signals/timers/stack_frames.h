/* SPDX-License-Identifier: MIT */
/* Callers by frame pointers, within one thread's stack. It reads only between the stack pointer and the
 * stack's top, which are mapped, so that no value of a frame pointer can fault. Async-signal-safe. */
#ifndef CS_SIGNALS_TIMERS_STACK_FRAMES_H
#define CS_SIGNALS_TIMERS_STACK_FRAMES_H

#include <stdint.h>

/* How far below the frame pointer's place the frame begins. */
#ifdef __riscv
#define CS_FRAME_BELOW 16
#else
#define CS_FRAME_BELOW 0
#endif

/* Frames are {caller's frame pointer, return address}, each above the last. Returns how many addresses were
 * written, innermost first. */
static inline unsigned cs_stack_frames(uint64_t fp, uint64_t sp, uint64_t top, uint64_t *out, unsigned room)
{
    unsigned n = 0;
    while (n < room) {
        const uint64_t at = fp - CS_FRAME_BELOW; /* one that wraps is above the top */
        if (at < sp || at % sizeof at || top < 16 || at > top - 16)
            break;
        const uint64_t *frame = (const uint64_t *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr) */
        if (frame[1] < 4096)
            break;
        out[n++] = frame[1];
        sp = at + 16;
        fp = frame[0];
    }
    return n;
}

#endif
