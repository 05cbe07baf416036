/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What usually helps against a cause, where the code doesn't do it already. */
#include "cli/procedure/calc.h"

#include <stddef.h>

/* Does the branch at `offset` take its target from a register or from memory? */
static bool is_indirect(const struct cs_cycle_account *a, uint64_t offset)
{
    uint32_t i = cs_cfg_insn(a->cfg, offset);
    return i < a->cfg->n_insns && a->insns[i].op.flags & (CS_ISA_OP_INDIRECT | CS_ISA_OP_RETURN);
}

/* Has what ran a prefetch already? */
static bool prefetches(const struct cs_cycle_account *a)
{
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        if (a->insns[i].visits > 0 && a->insns[i].op.flags & CS_ISA_OP_PREFETCH)
            return true;
    return false;
}

/* Registers that the block of `offset` adds up in, each on its own: all that write one of them read it, too, and take
 * more than a cycle. */
static int sums_in_block(const struct cs_cycle_account *a, uint64_t offset)
{
    const uint32_t slow = CS_ISA_OP_FLOAT | CS_ISA_OP_VECTOR | CS_ISA_OP_MULTIPLY;
    uint32_t b = cs_cfg_block(a->cfg, offset);
    uint64_t kept = 0, overwritten = CS_ISA_OP_REG_FLAGS | CS_ISA_OP_REG_RSP;
    for (uint32_t k = 0; b < a->cfg->n_blocks && k < a->cfg->blocks[b].n_insns; k++) {
        const struct cs_isa_op *op = &a->insns[a->cfg->blocks[b].first_insn + k].op;
        kept |= op->flags & slow ? op->writes & op->reads & ~op->address_reads : 0;
        overwritten |= op->writes & ~op->reads;
    }
    return __builtin_popcountll(kept & ~overwritten);
}

#define SUMS_SEVERAL 4
#define SPIN_INSNS 6   /* of a block that does nothing but wait */
#define SPIN_TAKEN 0.5 /* share of the tries that get the lock: fewer are a lock that is mostly taken */

bool cause_spins(const struct worst_cause *worst, const struct cs_cycle_account *a)
{
    const struct cs_cfg *cfg = a->cfg;
    const bool locks =
        worst->cause == CS_CAUSE_LOCK || worst->cause == CS_CAUSE_TRUE_SHARING; /* of its line */
    const uint32_t tried = locks ? cs_cfg_block(cfg, worst->responsible) : CS_CFG_EXIT;
    const uint32_t at = cs_cfg_insn(cfg, worst->responsible);
    bool again = false;
    double got = 0;
    if (tried >= cfg->n_blocks || at >= cfg->n_insns || !(a->insns[at].op.flags & CS_ISA_OP_LOCK) ||
        cfg->blocks[tried].n_insns > 2 * SPIN_INSNS)
        return false;
    for (uint32_t k = 0; k < cfg->blocks[tried].n_out; k++) {
        const uint32_t to = cfg->edges[cfg->blocks[tried].first_out + k].to;
        bool back = to == tried;
        for (uint32_t n = 0; to < cfg->n_blocks && !back && n < cfg->blocks[to].n_out; n++)
            back = cfg->blocks[to].n_insns <= SPIN_INSNS &&
                   cfg->edges[cfg->blocks[to].first_out + n].to == tried;
        again |= back;
        got += back || to >= cfg->n_blocks ? 0 : a->blocks[to].visits;
    }
    return again && a->frequencies && got < SPIN_TAKEN * a->blocks[tried].visits;
}

const char *cause_advice(const struct worst_cause *worst, const struct cs_cycle_account *account)
{
    enum cs_culprit_cause cause = worst->cause;
    static const char *const advice[CS_N_CAUSES] = {
        [CS_CAUSE_DCACHE] =
            "smaller or denser data, an order that follows memory, or a prefetch some iterations ahead",
        [CS_CAUSE_DTLB] = "huge pages (madvise), or data that is used together on fewer pages",
        [CS_CAUSE_ICACHE] = "less inlining and unrolling here, or hot code laid out together (PGO, BOLT)",
        [CS_CAUSE_ITLB] = "code on huge pages, or hot code laid out together",
        [CS_CAUSE_MISPREDICT] =
            "a branchless form (conditional move, table, mask), or data sorted by the condition",
        [CS_CAUSE_RETURN] = "a loop with a stack of its own in place of the recursion, or less depth",
        [CS_CAUSE_STORE_BUFFER] =
            "stores in address order, fewer lines written, or non-temporal stores of whole lines",
        [CS_CAUSE_FORWARD] =
            "loads no wider than the store that wrote the bytes, or the value kept in a register",
        [CS_CAUSE_ALIAS] = "arrays whose distance is no multiple of 4 KB",
        [CS_CAUSE_SPLIT] = "data aligned to its size, or to lines",
        [CS_CAUSE_LOCK] = "a counter for each thread, added up once, or a plain store where that is enough",
        [CS_CAUSE_FALSE_SHARING] =
            "each thread's data on lines of its own (align to 64 bytes, on some CPUs 128)",
        [CS_CAUSE_TRUE_SHARING] =
            "a copy for each thread, added up once, or fewer writes to what all of them read",
        [CS_CAUSE_DENORMAL] = "flush-to-zero (MXCSR), or a small constant added to decaying values",
        [CS_CAUSE_SYSCALL] = "fewer, larger calls",
        [CS_CAUSE_PAGE_FAULT] = "memory reused instead of given back, or populated in advance",
        [CS_CAUSE_DIVIDER] = "a multiplication by the reciprocal, a shift, or narrower operands",
        [CS_CAUSE_DEPENDENCY] = "several independent chains (partial sums), or a shorter chain",
        [CS_CAUSE_PORT] = "fewer operations of that kind, or vector ones",
        [CS_CAUSE_FRONT] = "shorter code in the loop",
    };
    if (cause == CS_CAUSE_MISPREDICT && is_indirect(account, worst->responsible))
        return "fewer targets here (test for the likeliest one and call it directly), or calls sorted by "
               "target";
    if ((cause == CS_CAUSE_DCACHE || cause == CS_CAUSE_STORE_BUFFER) && worst->conflicts)
        return "rows or objects at distances that are no multiple of 4 KB: a line or two of padding";
    if (cause_spins(worst, account))
        return "a lock that lets its waiters sleep (a mutex), and less work while it is held";
    if (cause == CS_CAUSE_DCACHE && worst->streams)
        return "smaller or denser data, or more work on each piece while it is in a cache";
    if (cause == CS_CAUSE_DCACHE && prefetches(account))
        return "smaller or denser data, or an order that follows memory";
    if (cause == CS_CAUSE_DCACHE && worst->observed && !worst->overlaps)
        return "smaller or denser data, an order that follows memory, or a prefetch if the address can be "
               "computed early";
    if (cause == CS_CAUSE_DEPENDENCY && worst->carried)
        return "a local variable in a register (-O2) in place of the value in memory, stored once after the "
               "loop";
    if (cause == CS_CAUSE_DEPENDENCY && sums_in_block(account, worst->stalled) >= SUMS_SEVERAL)
        return "a shorter chain";
    return cause < CS_N_CAUSES ? advice[cause] : NULL;
}
