/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/chains/chains.h"

static const struct {
    const char *name, *sentence;
} ends[CS_CHAIN_ENDS] = {
    [CS_UNWIND_END_COMPLETE] = {"complete", "reached the program's or the thread's beginning"},
    [CS_UNWIND_END_DEPTH] = {"too-deep", "more frames than the limit"},
    [CS_UNWIND_END_NO_IMAGE] = {"no-mapping", "an address outside of all known code"},
    [CS_UNWIND_END_NO_ROWS] = {"no-rows", "code without unwind information or frame pointers"},
    [CS_UNWIND_END_UNSUPPORTED] = {"unsupported-rule",
                                   "an unwind rule of a kind that the tables cannot hold"},
    [CS_UNWIND_END_REGISTER] = {"no-register", "the rule needs a register whose value is unknown there"},
    [CS_UNWIND_END_MEMORY] = {"bad-read", "the stack could not be read"},
    [CS_UNWIND_END_STUCK] = {"stuck", "the caller's stack pointer did not grow"},
    [CS_UNWIND_END_NOT_LOADED] = {"not-loaded", "unwind information that was not in the kernel yet"},
    [CS_UNWIND_END_OVER_UNKNOWN] = {"unknown-frame",
                                    "a frame outside of all known code, and complete but for that"},
    [CS_CHAIN_END_NO_PROCESS] = {"new-process", "a process whose mappings were not in the kernel yet"},
    [CS_CHAIN_END_TREE_FULL] = {"tree-full", "counted without a chain: no room for it in the kernel"},
    [CS_CHAIN_END_COPY] = {"beyond-copy",
                           "beyond the copied part of the stack, in a program's first moments"},
    [CS_CHAIN_END_NO_TABLE] = {"no-table",
                               "a file whose unwind information could not be read, and no frame pointers"},
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
