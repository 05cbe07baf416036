/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of chains that the kernel can't unwind yet: when that is so, and the top of the stack for later (placing/stack_copies.c). */
#pragma once

#include "sampler/chains/unwind.bpf.h"

#define COPY_HEAD __builtin_offsetof(struct cs_chain_copy, stack)

/* What the kernel lacks now and may have soon: not so rows of code without a file, which end there whenever they are asked. */
static __always_inline int is_early(const struct chain_scratch *s)
{
#ifdef CS_OLD_KERNEL
    return 1;
#endif
    return s->end == CS_UNWIND_END_NOT_LOADED || s->end == CS_CHAIN_END_NO_PROCESS ||
           (s->end == CS_UNWIND_END_NO_IMAGE && s->unmapped);
}

/* Else the chain is the kernel's alone, or there is no way to unwind it. */
static __always_inline int has_user_part(const struct chain_scratch *s)
{
    return s->end != CS_UNWIND_END_COMPLETE && s->end != CS_UNWIND_END_UNSUPPORTED;
}

#ifdef __TARGET_ARCH_x86
#define BELOW_SP CS_UNWIND_X86_RED_ZONE
#else
#define BELOW_SP 0
#endif

#define CROWDED_BYTES 8192U /* most chains end within */

/* What a copy may have where `held` bytes of a ring are in use: less and less, but never nothing. */
static __always_inline __u32 copy_most(__u64 held, __u64 ring)
{
    __u64 most = (ring - held) / 32;
    return most < CROWDED_BYTES ? CROWDED_BYTES : most < CS_CHAIN_COPY_STACK ? most : CS_CHAIN_COPY_STACK;
}

#define ABOVE_BYTES 64 /* unwinders may read beyond the outermost frame */

/* Up to what lies above all frames: the program's arguments, or what the C library knows of the thread (pthread_self()).
 * 0: neither is near. */
static __always_inline __u32 stack_bytes(__u64 from)
{
    struct mm_struct *mm = OF(CURRENT_TASK(), mm);
    __u64 arguments = OF(mm, start_stack) + ABOVE_BYTES - from, above = ABOVE_STACK + ABOVE_BYTES - from;
    return arguments < CS_CHAIN_COPY_STACK ? arguments : above < CS_CHAIN_COPY_STACK ? above : 0;
}

/* The whole stack where its end can be told; pages of it that aren't there are zeros. Else up to the first byte that can't be read, the
 * top of the stack's memory or a page that isn't there, or to `most` and a page: there may be other memory behind it at once. */
static __always_inline __u32 copy_stack(struct cs_chain_copy *copy, __u64 sp, __u32 most)
{
    __u32 n = 0;
    copy->cut = 0;
    __u64 from = sp - BELOW_SP;
    if ((from ^ sp) >> 12 && bpf_probe_read_user(copy->stack, 1, (const void *)from))
        from = sp; /* the stack's first page, and no other is below it */
    copy->from = from;
    __u64 whole = stack_bytes(from);
    asm volatile("" : "+r"(whole)); /* else the compiler leaves the mask out, which old verifiers need */
    whole &= CS_CHAIN_COPY_STACK - 1;
    if (whole) {
        copy->cut = 1;
        if (!bpf_probe_read_user(copy->stack, whole, (const void *)from))
            return whole;
        most = whole;
    }
    for (int i = 0; i <= CS_CHAIN_COPY_PAGES; i++) {
        __u32 part = 4096 - ((from + n) & 4095);
        if (n >= most || n >= CS_CHAIN_COPY_STACK) {
            copy->cut = 1;
            break;
        }
        if (bpf_probe_read_user(&copy->stack[n & (CS_CHAIN_COPY_STACK - 1)], part,
                                (const void *)(from + n)) &&
            !whole)
            break;
        n += part;
    }
    return n < CS_CHAIN_COPY_STACK ? n : CS_CHAIN_COPY_STACK;
}
