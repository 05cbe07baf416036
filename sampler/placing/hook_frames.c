/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/hook_frames.h"

#include "sampler/images/kernel_symbol.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES 64 /* remembered, power of two: chains of waits begin at a few places */

struct cs_hook_frames {
    struct cs_kernel_symbols *symbols; /* NULL: not opened yet, or not permitted */
    bool asked;
    struct {
        uint64_t addr;
        bool hook;
    } known[ADDRESSES];
};

struct cs_hook_frames *cs_hook_frames_open(void)
{
    return calloc(1, sizeof(struct cs_hook_frames));
}

void cs_hook_frames_close(struct cs_hook_frames *hook)
{
    if (hook && hook->symbols)
        cs_kernel_symbols_close(hook->symbols);
    free(hook);
}

static bool is_hook(struct cs_hook_frames *hook, uint64_t addr)
{
    static const char *const names[] = {"__traceiter_", "__bpf_trace_", "bpf_trace_run"};
    unsigned slot = (unsigned)((addr ^ addr >> 6) & (ADDRESSES - 1));
    if (hook->known[slot].addr == addr)
        return hook->known[slot].hook;
    if (!hook->asked) {
        hook->asked = true;
        hook->symbols = cs_kernel_symbols_open();
    }
    uint64_t start, end;
    char name[128];
    bool is = false;
    if (hook->symbols && cs_kernel_symbol_at(hook->symbols, addr, &start, &end, name, sizeof name))
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            is |= strncmp(name, names[i], strlen(names[i])) == 0;
    hook->known[slot].addr = addr;
    hook->known[slot].hook = is;
    return is;
}

unsigned cs_hook_frames_count(struct cs_hook_frames *hook, const uint64_t *frames, unsigned n)
{
    unsigned count = 0;
    while (count < n && is_hook(hook, frames[count]))
        count++;
    return count;
}
