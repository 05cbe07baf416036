/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains through memory: a loop loads a value, changes it, and stores it where the next turn loads it. The scheduling model
 * knows registers only, so that it lets turns overlap that can't. A turn takes what an addition in memory was measured to
 * take, or more where the way from the load to the store is longer.
 *
 * The program's text proves it. Load and store have the same address, whose registers the loop leaves as they are. The
 * stored value comes from the loaded one. Bursts confirm that the load takes its bytes from a young store. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>
#include <string.h>

enum { LOOP_INSNS = CS_MODEL_PATH_INSNS, REGISTERS = 64 };

struct turn {
    uint32_t at[LOOP_INSNS]; /* instructions on the most frequent way, from a load round to it */
    unsigned n;
    double m; /* what the model says of them */
};

/* False: the way from the load doesn't lead back to it soon, or it leaves the function. */
static bool find_turn(const struct accounting *x, uint32_t load, struct turn *turn)
{
    uint32_t at = load;
    turn->n = 0;
    turn->m = 0;
    do {
        const struct cs_cycle_account_insn *insn = &x->a->insns[at];
        if (turn->n == LOOP_INSNS || insn->op.flags & (CS_ISA_OP_CALL | CS_ISA_OP_SYSCALL | CS_ISA_OP_RETURN))
            return false;
        turn->at[turn->n++] = at;
        turn->m += insn->fused ? 0 : insn->step.m;
        at = account_after(x, at);
    } while (at != CS_CFG_EXIT && at != load);
    return at == load;
}

/* The memory operand, as text: "[rax + 8]". */
static bool operand_of(const struct accounting *x, const struct cs_isa_op *op, char text[CS_ISA_OP_TEXT])
{
    char whole[CS_ISA_OP_TEXT];
    cs_isa_op_text(x->isa, op, whole);
    const char *from = strchr(whole, '['), *to = from ? strchr(from, ']') : NULL;
    if (!to || strstr(whole, "rip"))
        return false;
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = 0;
    return true;
}

static bool same_place(const struct accounting *x, const struct cs_isa_op *load,
                       const struct cs_isa_op *store)
{
    char a[CS_ISA_OP_TEXT], b[CS_ISA_OP_TEXT];
    return load == store ||
           (load->address_reads == store->address_reads && load->access_bytes == store->access_bytes &&
            operand_of(x, load, a) && operand_of(x, store, b) && strcmp(a, b) == 0);
}

static double latency_of(const struct cs_isa_op *op)
{
    return op->flags & (CS_ISA_OP_FLOAT | CS_ISA_OP_MULTIPLY) ? CS_MODEL_CHAIN_SLOW : 1;
}

/* Cycles from the load's value to the store that the next turn loads it from; 0: there is none. `*most`: of the instructions
 * on that way, the one with most samples. */
static double way_to_store(const struct accounting *x, const struct turn *turn, uint32_t *most)
{
    const struct cs_isa_op *load = &x->a->insns[turn->at[0]].op;
    double since[REGISTERS]; /* the load, where a register's value comes from it; else negative */
    double way = 0;
    for (unsigned r = 0; r < REGISTERS; r++)
        since[r] = -1;
    *most = turn->at[0];
    for (unsigned n = 0; n < turn->n; n++) {
        const struct cs_isa_op *op = &x->a->insns[turn->at[n]].op;
        double begins = n == 0 ? 0 : -1;
        if (op->writes & load->address_reads)
            return 0;
        for (unsigned r = 0; r < REGISTERS; r++)
            if (op->reads & ~op->address_reads & UINT64_C(1) << r)
                begins = fmax(begins, since[r]);
        const double ends = begins < 0 ? -1
                            : op->flags & CS_ISA_OP_STORE && !(op->flags & CS_ISA_OP_LOAD)
                                ? begins
                                : begins + latency_of(op);
        if (begins >= 0 && x->a->insns[turn->at[n]].attributed > x->a->insns[*most].attributed)
            *most = turn->at[n];
        if (op->flags & CS_ISA_OP_STORE && same_place(x, load, op))
            way = ends; /* a later one overwrites it: -1, where its value is another */
        for (unsigned r = 0; r < REGISTERS; r++)
            if (op->writes & UINT64_C(1) << r)
                since[r] = ends;
    }
    return fmax(way, 0);
}

/* Of several chains in one loop the longest is what a turn takes, whose samples are seen at one instruction. */
static bool outdone(const struct accounting *x, const struct turn *turn, uint32_t most,
                    struct cs_culprit_stall *const *stalls)
{
    for (unsigned n = 0; n < turn->n; n++) {
        struct cs_culprit_stall *other = stalls[turn->at[n]];
        if (!other || !(other->carried > 0) || turn->at[n] == most)
            continue;
        if (x->a->insns[turn->at[n]].attributed >= x->a->insns[most].attributed)
            return true;
        other->carried = 0;
    }
    return false;
}

void account_memory_chains(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    struct turn turn;
    const double update = x->e->machine.update_cycles; /* one addition included */
    for (uint32_t i = 0; update > 0 && i < x->a->cfg->n_insns; i++) {
        uint32_t most;
        if (!stalls[i] || !(x->a->insns[i].op.flags & CS_ISA_OP_LOAD) ||
            x->a->insns[i].op.flags & CS_ISA_OP_LOCK || x->memory[i].forwarded < CS_MODEL_CHAIN_FORWARDED ||
            !find_turn(x, i, &turn))
            continue;
        const double way = way_to_store(x, &turn, &most), beyond = update - 1 + way - turn.m;
        if (way > 0 && beyond > 0 && stalls[most] && !outdone(x, &turn, most, stalls))
            stalls[most]->carried = fmax(stalls[most]->carried, beyond);
    }
}
