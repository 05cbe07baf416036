/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of the front end and of the core, and those that have no evidence of their own. Each says in its
 * comment why its cause can be cleared; rates are per execution. */
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/classify/rules_internal.h"

#include <math.h>

/* ---- the front end ---- */

/* AMD's cores take no interrupt before the first instruction of a line that they wait for has retired: all samples of
 * page_handlers are at the second (docs/lab/culprits.md). So the stall is at the one that begins the line. */
static bool waits_for_line(const struct cs_culprit_stall *s, const struct cs_machine *m)
{
    return s->begins_line || (s->begun_line && m->vendor == CS_MACHINE_AMD);
}

/* Cleared when the next instruction lies in the same line (dcpi-1997 section 6.3), when the line was fetched
 * less than 512 lines ago, or when all code that ran fits. */
bool rule_i_cache(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out)
{
    double near = m->l2.latency_cycles;
    const bool begins = waits_for_line(s, m);
    if (s->code_bytes > 0 && s->code_bytes <= (double)m->l1i_bytes)
        return false;
    if (!begins && !(s->fetch.seen && s->fetch.new_lines > CS_MODEL_FETCH_MIN))
        return false;
    if (!s->fetch.seen) {
        if (s->bursts || !s->begins_line)
            return false;
        out->high = rule_rest(s);
        out->expected = CS_MODEL_FETCH_UNSEEN * out->high;
        rule_report(out, "a cache line of code begins here; no evidence rules it out");
        return true;
    }
    if (s->fetch.new_lines < CS_MODEL_RATE_NEGLIGIBLE)
        return false;
    double far = s->code_bytes > (double)m->l2.bytes ? m->l3.latency_cycles : near;
    char size[32];
    rule_say_bytes(size, sizeof size, s->code_bytes);
    out->observed = true;
    out->expected = s->fetch.new_lines * far * (begins ? CS_MODEL_FETCH_LINE : CS_MODEL_FETCH_INSIDE);
    out->high = s->fetch.new_lines * far * (begins ? CS_MODEL_FETCH_LINE_MAX : CS_MODEL_FETCH_INSIDE_MAX);
    rule_report(out, "%.0f %% of executions fetch a new line of code; %s of code ran",
                s->fetch.new_lines * 100, size);
    return true;
}

/* Cleared when control stays in its page, when the page was fetched less than 64 pages ago, or when all pages
 * of code that ran fit the first level. Pages that the last level holds cost its hit, some 7 cycles, of which
 * fetching ahead hides most (SDM, SOG); only more than that are walked for. */
bool rule_i_tlb(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out)
{
    const bool begins = s->begins_page || (s->begun_page && m->vendor == CS_MACHINE_AMD);
    if (!begins || (s->code_pages > 0 && s->code_pages <= m->itlb_entries))
        return false;
    bool walks = s->code_pages <= 0 || s->code_pages > m->stlb_entries;
    double cost = walks ? m->walk_cycles : CS_MODEL_STLB_HIT;
    if (!s->fetch.seen) {
        if (s->bursts || !s->begins_page)
            return false;
        out->high = rule_rest(s) < cost ? rule_rest(s) : cost;
        out->expected = CS_MODEL_CODE_PAGE_UNSEEN * out->high;
        rule_report(out, "control may come from another page; no evidence rules it out");
        return true;
    }
    if (s->fetch.new_pages < CS_MODEL_RATE_NEGLIGIBLE)
        return false;
    out->observed = true;
    out->expected = s->fetch.new_pages * cost * CS_MODEL_CODE_PAGE;
    out->high = s->fetch.new_pages * cost;
    rule_report(out, "%.0f %% of executions fetch from a new page of code, of %.0f pages that ran%s",
                s->fetch.new_pages * 100, s->code_pages, walks ? ", more than the TLBs hold" : "");
    return true;
}

/* A real predictor learns patterns that simple ones can't: a few percent of simulated misses may be none. */
static double unlearnable(double missed)
{
    const double full = CS_MODEL_LEARNABLE * (1 / (1 - CS_MODEL_LEARNABLE_MIN));
    return missed >= CS_MODEL_LEARNABLE ? missed : missed * (CS_MODEL_LEARNABLE_MIN + missed / full);
}

static double most_missed(const struct cs_culprit_branch *f)
{
    return f->missed_most > f->missed ? f->missed_most : f->missed;
}

/* A branch that three simple predictors guess can't be mispredicted by a real one. The time is lost between
 * the branch and the second instruction of the right path; the latencies that the new path exposes come soon
 * after, and are no more than what shows there. */
bool rule_mispredict(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out)
{
    const uint32_t guessed = CS_ISA_OP_BRANCH | CS_ISA_OP_INDIRECT | CS_ISA_OP_RETURN;
    const struct cs_culprit_branch *f = &s->branch;
    bool near = true;
    if (!rule_is(s->op, guessed) || (f->seen && most_missed(f) < CS_MODEL_MISSED_MIN)) {
        f = &s->before;
        if (!rule_is(s->branch_before, guessed) && s->entry &&
            s->event_likely[CS_COUNTED_MISPREDICT] > CS_MODEL_MISSED_MIN) {
            out->high = rule_rest(s);
            out->responsible = s->caller;
            rule_report(out, "the call that leads here: %.1f %% of executions were counted as mispredicted",
                        fmin(1, s->event_likely[CS_COUNTED_MISPREDICT]) * 100);
            return true;
        }
        if (!rule_is(s->branch_before, guessed) && s->entry && s->called_by.seen &&
            most_missed(&s->called_by) >= CS_MODEL_MISSED_MIN) {
            const double most = most_missed(&s->called_by);
            out->observed = true;
            out->responsible = s->caller;
            out->high = most * CS_MODEL_MISPREDICT_MAX * m->mispredict_cycles[1];
            out->expected = unlearnable((s->called_by.missed + most) / 2) * CS_MODEL_MISPREDICT_AT;
            rule_report(out, "the call that leads here: %.1f %% of its targets are unpredictable",
                        most * 100);
            return true;
        }
        if (!rule_is(s->branch_before, guessed))
            return false;
        near = s->branch_distance <= 2;
        out->responsible = s->branch_before->offset;
    }
    if (!f->seen) {
        const bool counted = near && s->event_likely[CS_COUNTED_MISPREDICT] > CS_MODEL_MISSED_MIN;
        if (!counted && (s->bursts || !near || out->responsible))
            return false;
        out->high = rule_rest(s) < m->mispredict_cycles[1] ? rule_rest(s) : m->mispredict_cycles[1];
        out->expected = CS_MODEL_BRANCH_UNSEEN * out->high;
        if (counted)
            rule_report(out, "%.1f %% of executions were counted as mispredicted",
                        fmin(1, s->event_likely[CS_COUNTED_MISPREDICT]) * 100);
        else
            rule_report(out, "a branch; no evidence rules it out");
        return true;
    }
    double missed = f->here > f->missed ? f->here : f->missed;
    double most = most_missed(f) > missed ? most_missed(f) : missed;
    if (most < CS_MODEL_MISSED_MIN)
        return false;
    out->observed = true;
    out->high = most * CS_MODEL_MISPREDICT_MAX * m->mispredict_cycles[1];
    out->expected = unlearnable((missed + most) / 2) *
                    (near ? (out->responsible ? CS_MODEL_MISPREDICT_AFTER : CS_MODEL_MISPREDICT_AT)
                          : CS_MODEL_MISPREDICT_FAR);
    out->shown_near = near;
    if (!near) {
        double shadow = s->branch_shadow;
        out->high = shadow < out->high ? shadow : out->high;
    }
    if (f->here > f->missed)
        rule_report(out,
                    "the branch rarely goes this way; up to %.0f %% of these executions are mispredicted",
                    missed * 100);
    else if (most > missed)
        rule_report(out, "%.1f to %.1f %% of its executions are unpredictable", missed * 100, most * 100);
    else
        rule_report(out, "%.1f %% of its executions are unpredictable", f->missed * 100);
    return true;
}

/* A return from deeper than the processor's return stack is guessed wrong, which bursts saw by replaying calls and
 * returns. It costs what a branch does, and its time shows where it leads: behind a call. AMD's cores take no interrupt
 * before the first instruction there has retired. */
bool rule_return(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out)
{
    const struct cs_culprit_branch *f = &s->returned;
    if (!f->seen || f->too_deep < CS_MODEL_MISSED_MIN)
        return false;
    const unsigned first = m->vendor == CS_MACHINE_AMD ? 1 : 0;
    out->observed = true;
    out->responsible = s->returned_from;
    out->high = f->too_deep * CS_MODEL_MISPREDICT_MAX * m->mispredict_cycles[1];
    out->expected = f->too_deep * (s->return_distance == first  ? CS_MODEL_MISPREDICT_AT
                                   : s->return_distance < first ? CS_MODEL_MISPREDICT_FAR
                                   : s->return_distance <= 2    ? CS_MODEL_MISPREDICT_AFTER
                                                                : CS_MODEL_MISPREDICT_FAR);
    if (s->return_distance > 2)
        out->high = fmin(out->high, f->too_deep * m->mispredict_cycles[0]);
    rule_report(out, "%.0f %% of the returns to here lie deeper than the processor's return stack",
                fmin(1, f->too_deep) * 100);
    return true;
}

/* ---- the core ---- */

/* A locked instruction waits for the stores before it and holds up the loads after it: 5 to 40 cycles with
 * its line at hand (SDM, SOG, measured). Fences and their like drain more. */
bool rule_lock(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out)
{
    double cost = m->lock_cycles > 0 ? m->lock_cycles : CS_MODEL_LOCK;
    const uint32_t kinds = CS_ISA_OP_LOCK | CS_ISA_OP_SERIALISE;
    const struct cs_isa_op *op = rule_is(s->op, kinds)     ? s->op
                                 : rule_is(s->next, kinds) ? s->next
                                                           : s->lock_before;
    if (!rule_is(op, kinds))
        return false;
    out->responsible = op->offset;
    out->observed = true; /* the text itself shows it */
    out->expected = cost * (op == s->op ? 1 : op == s->next ? CS_MODEL_LOCK_NEXT : CS_MODEL_LOCK_AFTER);
    out->high = op->flags & CS_ISA_OP_SERIALISE ? CS_MODEL_SERIALISE_MAX
                : op == s->lock_before          ? CS_MODEL_LOCK_AFTER_MAX
                                                : CS_MODEL_LOCK_MAX;
    rule_report(out, op->flags & CS_ISA_OP_LOCK ? "a locked instruction drains all earlier stores"
                                                : "it waits for all earlier instructions");
    return true;
}

/* Divisions take longer for larger operands; the model has one figure, which what was measured here bounds
 * (dynamic_paths.c). */
bool rule_divider(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out)
{
    if (!rule_is(s->op, CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE))
        return false;
    out->observed = true;
    out->expected = m->divide_cycles > 0               ? CS_MODEL_DIVIDE_MEASURED
                    : rule_is(s->op, CS_ISA_OP_DIVIDE) ? CS_MODEL_DIVIDE
                                                       : CS_MODEL_FDIVIDE;
    out->high = rule_is(s->op, CS_ISA_OP_DIVIDE) ? CS_MODEL_DIVIDE_MAX : CS_MODEL_FDIVIDE_MAX;
    rule_report(out, "a division, whose time depends on the size of its operands");
    return true;
}

bool rule_system_call(const struct cs_culprit_stall *s, const struct cs_machine *m,
                      struct cs_culprit_suspect *out)
{
    (void)m;
    if (!rule_is(s->op, CS_ISA_OP_SYSCALL))
        return false;
    out->observed = true;
    out->high = out->expected = rule_rest(s);
    rule_report(out, "the entry into the kernel and the return");
    return true;
}

/* Own stores that wait for their line keep a load waiting once they fill the store buffer. Two threads that count in one line
 * lose nothing to nine tenths of their time by that (docs/lab/culprits.md). */
static bool in_taken_line(const struct cs_culprit_memory *f)
{
    return f->false_sharing.taken >= CS_MODEL_RATE_NEGLIGIBLE ||
           f->true_sharing.taken >= CS_MODEL_RATE_NEGLIGIBLE;
}

/* The model knows registers only. A value that is stored and loaded again soon passes through the store
 * buffer, which takes longer than a hit, and the load waits for whoever makes it: chains through memory, as
 * an interpreter's through the variables of its program. Cleared where bursts saw no load take its bytes from
 * one of the 48 youngest stores. */
bool rule_memory_chain(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out)
{
    double cost = m->forward_cycles > 0 ? m->forward_cycles : CS_MODEL_FORWARD;
    double own = rule_is(s->op, CS_ISA_OP_LOAD) && s->memory.seen ? s->memory.forwarded : 0;
    double rate = own > s->forwarded_before ? own : s->forwarded_before;
    out->contended = in_taken_line(&s->memory) || (s->load_before && in_taken_line(&s->load_before_memory));
    if (s->carried > 0) {
        out->observed = out->carried = true;
        out->expected = s->carried;
        out->high = s->carried * CS_MODEL_FORWARD_OWN_MAX;
        rule_report(out, "through memory: each turn of the loop loads what the turn before has stored");
        return true;
    }
    if (rate < CS_MODEL_FORWARDED_MIN)
        return false;
    out->observed = true;
    out->expected = rate * CS_MODEL_FORWARD_SHARE * cost;
    out->high =
        rate * cost * (own >= s->forwarded_before ? CS_MODEL_FORWARD_OWN_MAX : CS_MODEL_FORWARD_OPERAND_MAX);
    rule_report(out, "%.0f %% of its %s read what a store has just written", rate * 100,
                own >= s->forwarded_before ? "loads" : "operands");
    return true;
}

/* Scheduling models are within 30 % of measured chains (the kernels at the first level); what an instruction
 * of a chain needs beyond M by less than that is the chain's. */
static bool schedule_off(const struct cs_culprit_stall *s, bool by_chain, struct cs_culprit_suspect *out)
{
    if (s->m <= 0 || (s->static_chain >= CS_MODEL_CHAIN_SHARE * s->m) != by_chain)
        return false;
    out->high = CS_MODEL_SCHEDULE_OFF_MAX * s->m;
    out->expected = CS_MODEL_SCHEDULE_OFF * s->m;
    rule_report(out, "within the error of the scheduling model (30 %%)");
    return true;
}

bool rule_chain_slack(const struct cs_culprit_stall *s, const struct cs_machine *m,
                      struct cs_culprit_suspect *out)
{
    (void)m;
    return schedule_off(s, true, out);
}

bool rule_port_slack(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out)
{
    (void)m;
    return schedule_off(s, false, out);
}

/* ---- residual: no evidence of their own ---- */

/* A denormal operand or result takes a slow path of up to 160 cycles (SDM). Which instruction met one isn't observed: named
 * only for floating-point arithmetic that is slow for no other reason, and for what others don't explain of it. */
bool rule_denormal(const struct cs_culprit_stall *s, const struct cs_machine *m,
                   struct cs_culprit_suspect *out)
{
    (void)m;
    const struct cs_culprit_memory *f = &s->load_before_memory;
    if (s->no_denormals || !rule_is(s->op, CS_ISA_OP_FLOAT) || rule_rest(s) < CS_MODEL_DENORMAL_MIN)
        return false;
    if (s->load_before && f->seen && f->new_lines >= CS_MODEL_RATE_NEGLIGIBLE &&
        f->new_lines * rule_level(m, f).cycles > rule_rest(s))
        return false;
    out->high = CS_MODEL_DENORMAL_MAX;
    out->expected = CS_MODEL_DENORMAL_WEIGHT * rule_rest(s);
    rule_report(out, "floating-point arithmetic, and nothing else explains the time");
    return true;
}

/* Chains that scheduling models leave out: llvm-mca knows no x87 stack, and takes a written %al for a new %rax. An instruction
 * that takes its latency and no more, and that nothing else explains, waits for its operand. */
bool rule_merged_chain(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out)
{
    (void)m;
    const bool stack = s->op && s->op->writes & CS_ISA_OP_REG_X87;
    if (!rule_is(s->op, CS_ISA_OP_MERGES) || rule_rest(s) < CS_MODEL_MERGE_LEAST)
        return false;
    out->high = stack ? CS_MODEL_X87_LATENCY : CS_MODEL_MERGE_LATENCY;
    out->expected = out->high;
    rule_report(out, "%s", stack ? "values on the x87 stack" : "a part of a register is written");
    return true;
}

/* The way to the kernel and back, where page faults were counted at this instruction. */
bool rule_page_fault(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out)
{
    (void)m;
    if (!rule_is(s->op, CS_ISA_OP_LOAD | CS_ISA_OP_STORE) || !(s->event_rate[CS_COUNTED_PAGE_FAULT] > 0))
        return false;
    out->high = 1e9; /* the count bounds it */
    out->expected = s->event_rate[CS_COUNTED_PAGE_FAULT] * CS_MODEL_PAGE_FAULT;
    rule_report(out, "%.4f page faults per execution", s->event_rate[CS_COUNTED_PAGE_FAULT]);
    return true;
}
