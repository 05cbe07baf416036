/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/replayer/trace/return_stack.h"
#include "sampler/burst/runner/libc.h"

#include <cpuid.h>

void return_stack_begin(struct return_stack *s, struct return_stack_model model)
{
    memset(s, 0, sizeof *s);
    s->model = model;
}

void return_stack_call(struct return_stack *s, uint64_t to, uint64_t after)
{
    if (!s->model.places || to == after)
        return;
    s->place[s->top] = after;
    s->top = (s->top + 1) % s->model.places;
    s->kept += s->kept < s->model.places;
}

/* A place that isn't known holds where the return went, if it was right: nothing is erased by a return. The one
 * that comes so many places later in the ring finds that. */
enum return_outcome return_stack_return(struct return_stack *s, uint64_t to, uint64_t last)
{
    if (!s->model.places)
        return RETURN_UNKNOWN;
    s->top = (s->top + s->model.places - 1) % s->model.places;
    uint64_t *place = &s->place[s->top];
    const bool known = *place != 0, right = *place == to, kept = s->kept > 0;
    s->kept -= kept;
    if (!known)
        *place = to;
    if (!known)
        return RETURN_UNKNOWN;
    if (right || (!kept && s->model.falls_back && last == to))
        return RETURN_RIGHT;
    return kept ? RETURN_ELSEWHERE : RETURN_TOO_DEEP;
}

/* Zen to Zen 4: 32 (AMD's optimisation guides; measured on Zen 4: the 33rd return costs, and only the ring
 * guesses). Zen 5: 52. Intel has 16 to Skylake and more since, and guesses by the target beyond: the larger
 * figure, because a wrong guess too many would be a wrong cause. Nothing was measured there. */
struct return_stack_model return_stack_model_of(const char vendor[12], unsigned family)
{
    const bool amd = !memcmp(vendor, "AuthenticAMD", 12) || !memcmp(vendor, "HygonGenuine", 12);
    if (amd && family >= 0x17)
        return (struct return_stack_model){family < 0x1a ? 32 : 52, false};
    if (!memcmp(vendor, "GenuineIntel", 12))
        return (struct return_stack_model){32, true};
    return (struct return_stack_model){0, false};
}

struct return_stack_model return_stack_model_here(void)
{
    unsigned most, a, b, c, d;
    char vendor[12];
    __cpuid(0, most, b, c, d);
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    __cpuid(1, a, b, c, d);
    const unsigned family = a >> 8 & 0xf;
    return return_stack_model_of(vendor, family == 0xf ? family + (a >> 20 & 0xff) : family);
}
