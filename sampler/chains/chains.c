/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/chains/chains.h"

#include <string.h>

static const struct {
    const char *name, *sentence;
} ends[CS_CHAIN_ENDS] = {
    [CS_UNWIND_END_COMPLETE] = {"complete", "reached the program's or the thread's beginning"},
    [CS_UNWIND_END_DEPTH] = {"too-deep", "more frames than are taken"},
    [CS_UNWIND_END_NO_IMAGE] = {"no-mapping", "an address in no code that is known"},
    [CS_UNWIND_END_NO_ROWS] = {"no-rows", "code without unwind information, and frame pointers lead nowhere"},
    [CS_UNWIND_END_UNSUPPORTED] = {"unsupported-rule", "unwind information of a kind that isn't held"},
    [CS_UNWIND_END_REGISTER] = {"no-register", "a register that isn't known there is needed"},
    [CS_UNWIND_END_MEMORY] = {"bad-read", "the stack can't be read there"},
    [CS_UNWIND_END_STUCK] = {"stuck", "the stack gets no shorter"},
    [CS_UNWIND_END_NOT_LOADED] = {"not-loaded", "unwind information that wasn't in the kernel yet"},
    [CS_CHAIN_END_NO_PROCESS] = {"new-process", "a process whose mappings weren't in the kernel yet"},
    [CS_CHAIN_END_TREE_FULL] = {"tree-full", "counted without a chain: the tree was full"},
    [CS_CHAIN_END_COPY] = {"beyond-copy",
                           "further up than the stack was copied, in a program's first moments"},
};

const char *cs_chain_end_name(unsigned end)
{
    return end < CS_CHAIN_ENDS ? ends[end].name : "unknown";
}

const char *cs_chain_end_sentence(unsigned end)
{
    return end < CS_CHAIN_ENDS ? ends[end].sentence : "unknown";
}

void cs_chain_counts(const struct cs_chain_kernel *kernel, struct cs_chain_counts *out)
{
    uint64_t ns = 0, timed = 0;
    *out = kernel->copied;
    for (unsigned c = 0; c < kernel->n_cpus; c++) {
        for (unsigned e = 0; e < CS_CHAIN_ENDS; e++)
            out->ends[e] += __atomic_load_n(&kernel->cpus[c].ends[e], __ATOMIC_RELAXED);
        out->frames += __atomic_load_n(&kernel->cpus[c].frames, __ATOMIC_RELAXED);
        ns += __atomic_load_n(&kernel->cpus[c].timed_ns, __ATOMIC_RELAXED);
        timed += __atomic_load_n(&kernel->cpus[c].timed, __ATOMIC_RELAXED);
    }
    out->seconds = timed ? (double)ns * 1e-9 / (double)timed : 0;
}

void cs_chain_answered(struct cs_chain_kernel *kernel, uint32_t pid)
{
    for (unsigned c = 0; c < kernel->n_cpus; c++) {
        uint32_t *asked = &kernel->cpus[c].asked[pid % CS_CHAIN_ASKED];
        if (__atomic_load_n(asked, __ATOMIC_RELAXED) == pid)
            __atomic_store_n(asked, 0, __ATOMIC_RELAXED);
    }
}

void cs_chain_ask_again(struct cs_chain_kernel *kernel)
{
    for (unsigned c = 0; c < kernel->n_cpus; c++)
        for (unsigned a = 0; a < CS_CHAIN_ASKED; a++)
            __atomic_store_n(&kernel->cpus[c].asked[a], 0, __ATOMIC_RELAXED);
}
