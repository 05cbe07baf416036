/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small functions whose machine code tests/integration/signals-one-store.sh looks at. */
#include "signals/cyclescope.h"

enum { PHASE = 5 };

void set_constant(void);
void set_value(uint64_t value);
void set_loop(uint64_t n);
void add_one(void);
void scoped(void);
void outside(void);

__attribute__((noinline)) void outside(void) {}
__attribute__((noinline)) void set_constant(void)
{
    cs_set(PHASE, 7);
}
__attribute__((noinline)) void set_value(uint64_t value)
{
    cs_set(PHASE, value);
}
__attribute__((noinline)) void set_loop(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        cs_set(PHASE, i);
}
__attribute__((noinline)) void add_one(void)
{
    cs_add(PHASE, 1);
}
__attribute__((noinline)) void scoped(void)
{
    CS_SCOPE(PHASE, 3);
    outside();
}

int main(void)
{
    set_constant();
    set_value(3);
    set_loop(4);
    add_one();
    scoped();
    return (int)(cs_get(PHASE) - 4);
}
