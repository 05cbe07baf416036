/* SPDX-License-Identifier: MIT */
/* For programs built with -fsanitize-coverage=trace-pc (GCC, clang) and no plugin. Each basic block calls
 * this, and the tag is the caller's address. It takes a few ns a block, where the plugin's point costs a
 * store. Link libcyclescope-trace.a in addition to libcyclescope. This file must not be instrumented
 * itself. */
#include "signals/cyclescope.h"

CS_API void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    cs_set(CS_WORD_CODE, (uint64_t)(uintptr_t)__builtin_return_address(0));
}

/* clang's trace-pc-guard: the same, and no guard is ever armed. */
CS_API void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    (void)guard;
    cs_set(CS_WORD_CODE, (uint64_t)(uintptr_t)__builtin_return_address(0));
}
CS_API void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    (void)start;
    (void)stop;
}

__attribute__((constructor(102))) static void define(void)
{
    cs_define(CS_WORD_CODE, "code", CS_TAG | CS_ADDRESS);
}
