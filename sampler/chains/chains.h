/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains, from the caller's side: what a session and a driver exchange so that the handler can unwind.
 *
 * Files of this module:
 *   chains            this header, and the names of ends
 *   context_tree      the calling-context tree that a handler grows
 *   extents           which of so many numbers are taken
 *   interpreted.bpf   the handler's part of interpreted frames
 *   kernel_age.bpf    what differs for older kernels
 *   kernel_tables     what the handler unwinds by, and what it tells
 *   lua.bpf           ... Lua's
 *   mapping_lists     which process has what mapped, for the handler
 *   maps.bpf          maps that are declared alike
 *   python.bpf        ... Python's
 *   registers.bpf     the user registers of a thread, by architecture
 *   row_tables        unwind tables of images, for the handler
 *   stack_copy.bpf    the handler's part: the top of a stack, where a chain can't be had yet
 *   sample_chain.bpf  the handler's part: a sample's chain, down the tree or copied
 *   unwind.bpf        ... its frames, one by one
 *
 * The handler unwinds with what it has: what it misses it asks for (a want), and the chain ends there by name. The
 * session answers wants in its next drain (placing/chains.c). What was missed came with a copy of its stack, as
 * long as there was space, and is unwound there (placing/stack_copies.c). Nothing waits for anything. One owner.
 */
#pragma once

#include "sampler/chains/mapping_lists.h"
#include "sampler/chains/row_tables.h"

struct cs_chain_counts {
    uint64_t ends[CS_CHAIN_ENDS]; /* samples */
    uint64_t frames;              /* of users, in all */
    double seconds;               /* what a chain takes, mean; 0: not known */
};
/* The kernel's side of it, as a driver offers it. */
struct cs_chain_kernel {
    struct cs_chain_lists lists;
    struct cs_chain_tables tables;
    struct cs_chain_interpreter *interpreters; /* CS_CHAIN_INTERPRETERS; written before an image names one */
    struct cs_chain_cpu *cpus;
    unsigned n_cpus;
    struct cs_chain_counts copied; /* of samples that came as copies of stacks: the reader's */
    uint32_t turns;                /* of the trees; after each a grace period has passed */
    void *arg;
    /* Hands on what was asked for since the last call. */
    void (*wants)(void *arg, void (*each)(void *arg, const struct cs_chain_want *want), void *each_arg);
};

/* Asked for again if it is still missing, once more after this. */
void cs_chain_answered(struct cs_chain_kernel *kernel, uint32_t pid);
void cs_chain_ask_again(struct cs_chain_kernel *kernel);

void cs_chain_counts(const struct cs_chain_kernel *kernel, struct cs_chain_counts *out);

/* "complete", "no-rows", ...: stable, for files. And what it means. */
const char *cs_chain_end_name(unsigned end);
const char *cs_chain_end_sentence(unsigned end);
