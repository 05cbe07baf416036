/* SPDX-License-Identifier: MIT */
/* The line as a page of the thread's own static storage. Code of an executable stores to it with one
 * instruction and no load (`movq $tag, %fs:constant`). Attaching maps the line's page of the segment over it.
 * Before and after, it is the thread's private memory, so such a store is always harmless. Costs 8 KiB of
 * each thread's stack. Only in the static library, and there only in programs that use it. */
#include "signals/cyclescope_otel.h"
#include "signals/runtime.h"

CS_API __thread struct cs_page cs_page __attribute__((aligned(4096)));

void *cs_page_of_thread(void)
{
    return &cs_page;
}

_Static_assert(CS_LINE_IN_PAGE == 1664 && CS_WORD_CONTEXT == 13, "the assembler's numbers below");
/* OpenTelemetry's thread-local pointer is word CS_WORD_CONTEXT of the line: one store for readers of either. */
__asm__(".globl otel_thread_ctx_v1\n\t.set otel_thread_ctx_v1, cs_page + 1664 + 8 * 13\n\t.size "
        "otel_thread_ctx_v1, 8");
