/* SPDX-License-Identifier: MIT */
/* Signals that the compiler plugin's code writes. Each object file that it made has, among its
 * initialisers, one pointer to each of these that it needs (signals/plugin/point.c). So a program defines
 * what its code writes, whichever of its libraries were built with the plugin. */
#include "signals/runtime.h"

CS_API void cs_compiled_code(void);
CS_API void cs_compiled_iterations(void);
CS_API void cs_compiled_calls(void);
CS_API void cs_compiled_allocations(void);
CS_API void cs_compiled_points(void);

void cs_compiled_code(void)
{
    cs_define(CS_WORD_CODE, "code", CS_TAG | CS_ADDRESS);
}
void cs_compiled_iterations(void)
{
    cs_define(CS_WORD_ITERATIONS, "iterations", CS_COUNTER);
}
void cs_compiled_calls(void)
{
    cs_define(CS_WORD_CALLS, "calls", CS_COUNTER);
}
void cs_compiled_allocations(void)
{
    cs_define(CS_WORD_ALLOCATIONS, "allocations", CS_COUNTER);
}
void cs_compiled_points(void)
{
    cs_define(14, "points", CS_COUNTER);
}
