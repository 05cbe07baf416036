/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules. Each says in its comment why its cause can be cleared, and where the figures come from: "SDM" is
 * Intel's optimisation manual, "SOG" AMD's software optimisation guide for family 19h, "measured"
 * cs_machine_measure on the profiled machine. Rates are per execution. */
#include "analysis/culprit/rules.h"

#include <stdarg.h>
#include <stdio.h>

/* Rates below this are the noise of burst starts: a thousandth of a miss to memory is a third of a cycle. */
#define NEGLIGIBLE 0.001
#define WALKERS 4 /* page walks at a time (SDM: 2 to 4, SOG: 6, fewer where they are nested) */

__attribute__((format(printf, 2, 3))) static void say(struct cs_suspect *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out->reason, sizeof out->reason, format, args);
    va_end(args);
}

static double rest_of(const struct cs_stall *s)
{
    return s->cycles > s->m ? s->cycles - s->m : 0;
}

static bool is(const struct cs_op *op, uint32_t flags)
{
    return op && (op->flags & flags);
}

/* ---- the data side ---- */

struct level {
    const char *name;
    double cycles; /* beyond the first level's latency, which M holds */
};

/* Which level answers a miss of the first, when `bytes` are visited over and over: as a chase of that size
 * was measured, else the share that no smaller level can hold comes from further away. A footprint of which
 * only a lower bound is known (had it been smaller, two bursts would have met) may lie anywhere beyond. */
static struct level level_of(const struct cs_machine *m, double bytes, bool least)
{
    double l1 = m->l1d.latency_cycles, l2 = m->l2.latency_cycles, l3 = m->l3.latency_cycles;
    double memory = m->memory_cycles - l1;
    if (bytes <= 0) /* seldom run: likely near, as most data is */
        return (struct level){"some level", l2 - l1};
    if (least) {
        struct level nearest = level_of(m, bytes * 8, false);
        bool sure = bytes * 8 <= (double)m->l2.bytes || nearest.cycles >= memory;
        return sure ? nearest : (struct level){"beyond L2", (nearest.cycles + memory) / 2};
    }
    if (bytes <= (double)m->l1d.bytes)
        return (struct level){"L1", 0};
    if (bytes <= (double)m->l2.bytes)
        return (struct level){"L2", l2 - l1};
    bool third = m->l3.bytes && bytes <= (double)m->l3.bytes;
    double in_l2 = (double)m->l2.bytes / bytes, in_l3 = m->l3.bytes ? (double)m->l3.bytes / bytes : in_l2;
    double cycles = third ? in_l2 * (l2 - l1) + (1 - in_l2) * (l3 - l1)
                          : in_l3 * ((m->l3.bytes ? l3 : l2) - l1) + (1 - in_l3) * memory;
    double felt = cs_machine_ladder(m, bytes) - l1;
    return (struct level){third ? "L3" : "memory", felt > cycles ? felt : cycles};
}

/* The same for what a load touches: the lines it often comes back to, and those it seldom does. */
static struct level level_of_lines(const struct cs_machine *m, const struct cs_memory_facts *f)
{
    struct level often = level_of(m, f->footprint_bytes, f->footprint_least);
    if (f->cold_bytes <= 0)
        return often;
    struct level seldom = level_of(m, f->cold_bytes, false);
    return (struct level){seldom.name, f->cold * seldom.cycles + (1 - f->cold) * often.cycles};
}

/* A footprint that isn't known or of which only a bound is, and the lines seldom used, may lie further out.
 */
static bool may_be_further(const struct cs_memory_facts *f)
{
    return f->footprint_least || f->cold_bytes > 0 || f->footprint_bytes <= 0;
}

static void say_bytes(char *text, size_t size, double bytes)
{
    if (bytes >= 1 << 20)
        snprintf(text, size, "%.1f MB", bytes / (1 << 20));
    else
        snprintf(text, size, "%.0f KB", bytes / 1024);
}

/* How much of its addresses comes out of loads that are of the same kind: a list. Where the loads that give
 * the addresses step evenly (an array of indices, keys to be hashed) the core runs ahead. */
static double chased(const struct cs_memory_facts *f, const struct cs_memory_facts *from)
{
    return from && from->seen && from->pointer < 0.5 ? 0 : f->pointer;
}

/* How much of a miss the core can't hide: a chase hides nothing, a prefetcher follows equal strides,
 * independent misses share the wait with those that are in flight with them. */
static double exposed(const struct cs_stall *s, const struct cs_memory_facts *f,
                      const struct cs_memory_facts *from)
{
    double chase = chased(f, from), alone = s->in_flight > 0 ? 1 / s->in_flight : 0.4;
    double stepping = alone < 0.15 ? alone : 0.15;
    return chase + (1 - chase) * (f->steady * stepping + (1 - f->steady) * alone);
}

/* The same of stores: their lines are asked for as soon as they have retired, so many at a time as elsewhere.
 */
static double stores_wait(const struct cs_stall *s)
{
    return s->in_flight > 2 ? 2 / s->in_flight : 1;
}

static const char *pattern(const struct cs_memory_facts *f, const struct cs_memory_facts *from)
{
    return chased(f, from) > 0.5 ? "chases pointers"
           : f->pointer > 0.5    ? "goes where indices point"
           : f->steady > 0.8     ? "steps evenly"
                                 : "jumps";
}

/* A load that stays in lines used less than 256 other lines ago hits a first level of 512; so does one whose
 * lines, all together, fit it. A software prefetch, which bursts don't follow, is never cleared. */
static bool d_cache(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    const struct cs_op *op = is(s->op, CS_OP_LOAD | CS_OP_GATHER) ? s->op : NULL;
    const struct cs_memory_facts *f = &s->memory, *from = s->load_before ? &s->load_before_memory : NULL;
    double weight = 1;
    if (is(s->op, CS_OP_PREFETCH)) {
        out->high = m->memory_cycles + m->walk_cycles;
        out->expected = 0.3 * rest_of(s);
        say(out, "a prefetch waits for a free line buffer and for its page's translation");
        return true;
    }
    if (!op || (f->seen && f->new_lines < NEGLIGIBLE)) { /* its operand's load may be the guilty one */
        op = s->load_before;
        f = &s->load_before_memory;
        from = NULL;
        weight = 0.1; /* a load retires with its result: only what is left over reaches its user */
        if (!op)
            return false;
        out->guilty = op->offset;
    }
    if (!f->seen) {
        if (s->bursts && weight < 1)
            return false;
        out->high = rest_of(s);
        out->expected = (s->bursts ? 0.02 : 0.5) * out->high * weight;
        say(out, "a load; nothing observed clears it");
        return weight == 1;
    }
    struct level level = level_of_lines(m, f);
    double cost = f->new_lines * level.cycles;
    if (f->new_lines < NEGLIGIBLE || cost <= 0.05)
        return false;
    char size[32];
    say_bytes(size, sizeof size, f->cold_bytes > 0 ? f->cold_bytes : f->footprint_bytes);
    out->observed = true;
    out->expected = cost * exposed(s, f, from) * weight;
    out->overlaps = chased(f, from) <= 0.5;
    out->high = cost * 1.5;
    if (may_be_further(f) && f->new_lines * m->memory_cycles > out->high)
        out->high = f->new_lines * m->memory_cycles;
    if (f->footprint_bytes > 0)
        say(out, "%s through %s%s (%s), %.2f new lines each time", pattern(f, from),
            f->footprint_least ? "more than " : "", size, level.name, f->new_lines);
    else
        say(out, "%s, %.2f new lines each time", pattern(f, from), f->new_lines);
    return true;
}

/* Pages used less than 64 other pages ago are in a first-level TLB of 64 entries; a footprint that the last
 * level holds costs its hit, some 7 cycles (SDM, SOG), not a walk. */
static bool d_tlb(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    const struct cs_memory_facts *f = &s->memory;
    if (!is(s->op, CS_OP_LOAD | CS_OP_STORE | CS_OP_GATHER))
        return false;
    if (!f->seen) {
        out->high = rest_of(s);
        out->expected = (s->bursts ? 0.005 : 0.1) * out->high;
        say(out, "accesses memory; nothing observed clears it");
        return !s->bursts;
    }
    bool walks = f->footprint_pages == 0 || f->footprint_pages > m->stlb_entries;
    if (f->new_pages < NEGLIGIBLE || (f->footprint_pages > 0 && f->footprint_pages <= m->dtlb_entries))
        return false;
    double resident = f->footprint_pages > 0 && walks ? m->stlb_entries / f->footprint_pages : 0;
    double cost = f->new_pages * (walks ? (1 - resident) * m->walk_cycles + resident * 7 : 7);
    out->observed = true;
    /* One load a page misses the TLB and little else; many loads a page share the walk with the lines'
     * misses, as stores do. */
    const struct cs_memory_facts *from = s->load_before ? &s->load_before_memory : NULL;
    double together = exposed(s, f, from);
    if (together < 1.0 / WALKERS)
        together = 1.0 / WALKERS;
    out->expected = cost * (is(s->op, CS_OP_LOAD) ? 0.5 * together : 0.05 * stores_wait(s));
    out->high = cost * 1.5;
    say(out, "%.2f new pages each time%s", f->new_pages, walks ? ", more than the TLBs hold" : "");
    return true;
}

/* Stores leave the core in order; a line that isn't there keeps those behind it waiting. It shows where a
 * store can't be dispatched: at the store, or at what comes before it. */
static bool store_buffer(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    const struct cs_op *store = s->missing_store;
    const struct cs_memory_facts *f = &s->missing_store_memory;
    if (!is(s->op, CS_OP_STORE) && !is(s->next, CS_OP_STORE) && !(store && f->seen))
        return false;
    if (!s->bursts && !(store && f->seen)) {
        if (!is(s->op, CS_OP_STORE))
            return false;
        out->high = rest_of(s);
        out->expected = 0.2 * out->high;
        say(out, "a store; nothing observed clears it");
        return true;
    }
    if (!store || !f->seen || f->new_lines < NEGLIGIBLE)
        return false;
    struct level level = level_of_lines(m, f);
    double cost = f->new_lines * level.cycles;
    if (cost <= 0.05)
        return false;
    char size[32];
    say_bytes(size, sizeof size, f->footprint_bytes);
    bool near = is(s->op, CS_OP_STORE) || is(s->next, CS_OP_STORE);
    out->guilty = store->offset;
    out->observed = true;
    out->expected = cost * stores_wait(s) * (near ? 0.1 : 0.01) * (1 - 0.7 * f->steady);
    out->high = may_be_further(f) ? f->new_lines * m->memory_cycles : cost;
    say(out, "stores to %s (%s), %.2f new lines each time", f->footprint_bytes > 0 ? size : "new lines",
        level.name, f->new_lines);
    return true;
}

/* A load that takes its bytes from two young stores, or from one and the cache, waits until they have left:
 * 12 to 20 cycles (SDM, SOG), plus what hangs on it. */
static bool store_forward(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    if (!is(s->op, CS_OP_LOAD) || !s->memory.seen || s->memory.blocked < 0.005)
        return false;
    out->observed = true;
    out->expected = s->memory.blocked * 14;
    out->high = s->memory.blocked * 30;
    say(out, "%.0f %% of its loads are covered in part only by a young store", s->memory.blocked * 100);
    return true;
}

/* A load whose low twelve bits equal a young store's is taken for its reader: some 5 cycles on Intel (SDM);
 * AMD's cores compare more bits (none was measured on a Zen 3). */
static bool alias_4k(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    if (!is(s->op, CS_OP_LOAD) || !s->memory.seen || s->memory.aliased < 0.05 || m->vendor == CS_VENDOR_AMD)
        return false;
    out->observed = true;
    out->expected = s->memory.aliased * 4;
    out->high = s->memory.aliased * 12;
    say(out, "%.0f %% of its loads meet a young store a multiple of 4 KB away", s->memory.aliased * 100);
    return true;
}

/* Twice the accesses, and for stores twice the store buffer's slots; a split page is far dearer on old cores.
 */
static bool split_line(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    const struct cs_memory_facts *f = &s->memory;
    const struct cs_op *op = s->op;
    if (!is(op, CS_OP_LOAD | CS_OP_STORE) || !f->seen || f->split < 0.005) {
        f = &s->next_memory;
        op = s->next;
        if (!is(op, CS_OP_STORE) || !f->seen || f->split < 0.005)
            return false;
        out->guilty = op->offset;
    }
    out->observed = true;
    out->expected = f->split * 2 + f->page_split * 20;
    out->high = f->split * (is(op, CS_OP_STORE) ? 6 : 12) + f->page_split * 100;
    say(out, "%.0f %% of its accesses cross a line", f->split * 100);
    return true;
}

/* ---- the front end ---- */

/* Cleared when the next instruction lies in the same line (dcpi-1997 section 6.3), when the line was fetched
 * less than 512 lines ago, or when all code that ran fits. */
static bool i_cache(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    double near = m->l2.latency_cycles;
    if (s->code_bytes > 0 && s->code_bytes <= (double)m->l1i_bytes)
        return false;
    if (!s->begins_line && !(s->fetch.seen && s->fetch.new_lines > 0.1))
        return false;
    if (!s->fetch.seen) {
        if (s->bursts)
            return false;
        out->high = rest_of(s);
        out->expected = 0.1 * out->high;
        say(out, "a line of code begins here; nothing observed clears it");
        return true;
    }
    if (s->fetch.new_lines < NEGLIGIBLE)
        return false;
    double far = s->code_bytes > (double)m->l2.bytes ? m->l3.latency_cycles : near;
    char size[32];
    say_bytes(size, sizeof size, s->code_bytes);
    out->observed = true;
    out->expected = s->fetch.new_lines * far * (s->begins_line ? 0.3 : 0.05);
    out->high = s->fetch.new_lines * far * (s->begins_line ? 1.5 : 0.3);
    say(out, "%.0f %% of visits bring a new line of code; %s of code ran", s->fetch.new_lines * 100, size);
    return true;
}

/* Cleared when control stays in its page, when the page was fetched less than 64 pages ago, or when all pages
 * of code that ran fit the first level. Pages that the last level holds cost its hit, some 7 cycles, of which
 * fetching ahead hides most (SDM, SOG); only more than that are walked for. */
static bool i_tlb(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    if (!s->begins_page || (s->code_pages > 0 && s->code_pages <= m->itlb_entries))
        return false;
    bool walks = s->code_pages <= 0 || s->code_pages > m->stlb_entries;
    double cost = walks ? m->walk_cycles : 7;
    if (!s->fetch.seen) {
        if (s->bursts)
            return false;
        out->high = rest_of(s) < cost ? rest_of(s) : cost;
        out->expected = 0.02 * out->high;
        say(out, "control may come from another page; nothing observed clears it");
        return true;
    }
    if (s->fetch.new_pages < NEGLIGIBLE)
        return false;
    out->observed = true;
    out->expected = s->fetch.new_pages * cost * 0.3;
    out->high = s->fetch.new_pages * cost;
    say(out, "%.0f %% of visits bring a new page of code, of %.0f that ran%s", s->fetch.new_pages * 100,
        s->code_pages, walks ? ", more than the TLBs hold" : "");
    return true;
}

/* A real predictor learns patterns that simple ones can't: a few percent of simulated misses may be none. */
static double unlearnable(double missed)
{
    return missed >= 0.15 ? missed : missed * (0.2 + missed / 0.1875);
}

static double most_missed(const struct cs_branch_facts *f)
{
    return f->missed_most > f->missed ? f->missed_most : f->missed;
}

/* A branch that three simple predictors guess can't be mispredicted by a real one. The time is lost between
 * the branch and the second instruction of the right path; the latencies that the new path exposes come soon
 * after, and are no more than what shows there. */
static bool mispredict(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    const uint32_t guessed = CS_OP_BRANCH | CS_OP_INDIRECT | CS_OP_RETURN;
    const struct cs_branch_facts *f = &s->branch;
    bool near = true;
    if (!is(s->op, guessed) || (f->seen && most_missed(f) < 0.002)) {
        f = &s->before;
        if (!is(s->branch_before, guessed))
            return false;
        near = s->branch_distance <= 2;
        out->guilty = s->branch_before->offset;
    }
    if (!f->seen) {
        if (s->bursts || !near || out->guilty)
            return false;
        out->high = rest_of(s) < m->mispredict_cycles[1] ? rest_of(s) : m->mispredict_cycles[1];
        out->expected = 0.3 * out->high;
        say(out, "a branch; nothing observed clears it");
        return true;
    }
    double missed = f->here > f->missed ? f->here : f->missed;
    double most = most_missed(f) > missed ? most_missed(f) : missed;
    if (most < 0.002)
        return false;
    out->observed = true;
    out->high = most * 1.7 * m->mispredict_cycles[1];
    out->expected = unlearnable((missed + most) / 2) * (near ? (out->guilty ? 5 : 10) : 1);
    if (!near) {
        double shadow = s->branch_shadow;
        out->high = shadow < out->high ? shadow : out->high;
    }
    if (f->here > f->missed)
        say(out, "control came the way that it seldom takes, up to %.0f %% of it by a wrong guess",
            missed * 100);
    else if (most > missed)
        say(out, "%.1f to %.1f %% of its executions are unpredictable", missed * 100, most * 100);
    else
        say(out, "%.1f %% of its executions are unpredictable", f->missed * 100);
    return true;
}

/* ---- the core ---- */

/* A locked instruction waits for the stores before it and holds up the loads after it: 5 to 40 cycles with
 * its line at hand (SDM, SOG, measured). Fences and their like drain more. */
static bool lock(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    double cost = m->lock_cycles > 0 ? m->lock_cycles : 18;
    const uint32_t kinds = CS_OP_LOCK | CS_OP_SERIALISE;
    const struct cs_op *op = is(s->op, kinds) ? s->op : is(s->next, kinds) ? s->next : s->lock_before;
    if (!is(op, kinds))
        return false;
    out->guilty = op->offset;
    out->observed = true; /* the text itself convicts */
    out->expected = cost * (op == s->op ? 1 : op == s->next ? 0.3 : 0.1);
    out->high = op->flags & CS_OP_SERIALISE ? 200 : op == s->lock_before ? 20 : 60;
    say(out, op->flags & CS_OP_LOCK ? "a locked instruction drains the stores before it"
                                    : "waits for all before it");
    return true;
}

/* Divisions take longer for larger operands; the model has one figure, which what was measured here bounds
 * (account_paths.c). */
static bool divider(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    if (!is(s->op, CS_OP_DIVIDE | CS_OP_FDIVIDE))
        return false;
    out->observed = true;
    out->expected = m->divide_cycles > 0 ? 0.5 : is(s->op, CS_OP_DIVIDE) ? 10 : 4;
    out->high = is(s->op, CS_OP_DIVIDE) ? 90 : 20;
    say(out, "a division, which depends on its operands' size");
    return true;
}

static bool system_call(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    if (!is(s->op, CS_OP_SYSCALL))
        return false;
    out->observed = true;
    out->high = out->expected = rest_of(s);
    say(out, "the way into the kernel and back");
    return true;
}

/* The model knows registers only. A value that is stored and loaded again soon passes through the store
 * buffer, which takes longer than a hit, and the load waits for whoever makes it: chains through memory, as
 * an interpreter's through the variables of its program. Cleared where bursts saw no load take its bytes from
 * one of the 48 youngest stores. */
static bool memory_chain(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    double cost = m->forward_cycles > 0 ? m->forward_cycles : 7;
    double own = is(s->op, CS_OP_LOAD) && s->memory.seen ? s->memory.forwarded : 0;
    double rate = own > s->forwarded_before ? own : s->forwarded_before;
    if (rate < 0.05)
        return false;
    out->observed = true;
    out->expected = rate * 0.1 * cost;
    out->high = rate * cost * (own >= s->forwarded_before ? 1.5 : 0.75);
    say(out, "%.0f %% of its %s pass through memory from a store just before", rate * 100,
        own >= s->forwarded_before ? "loads" : "operands");
    return true;
}

/* Scheduling models are within 30 % of measured chains (the kernels at the first level); what an instruction
 * of a chain needs beyond M by less than that is the chain's. */
static bool chain_slack(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    if (s->m <= 0 || s->static_chain < 0.3 * s->m)
        return false;
    out->high = 0.3 * s->m;
    out->expected = 0.1 * s->m;
    say(out, "the scheduling model may be off by 30 %%");
    return true;
}

static bool port_slack(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    if (s->m <= 0 || s->static_chain >= 0.3 * s->m)
        return false;
    out->high = 0.3 * s->m;
    out->expected = 0.1 * s->m;
    say(out, "the scheduling model may be off by 30 %%");
    return true;
}

/* ---- residual: no evidence of their own ---- */

/* A denormal operand or result takes a slow path of up to 160 cycles (SDM). Nothing observes values: named
 * only for floating-point arithmetic that is slow for no other reason. */
static bool denormal(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    const struct cs_memory_facts *f = &s->load_before_memory;
    if (!is(s->op, CS_OP_FLOAT) || rest_of(s) < 8)
        return false;
    if (s->load_before && f->seen && f->new_lines >= NEGLIGIBLE &&
        f->new_lines * level_of_lines(m, f).cycles > rest_of(s))
        return false;
    out->high = 160;
    out->expected = rest_of(s);
    say(out, "floating-point arithmetic, slow for no other reason");
    return true;
}

/* The way to the kernel and back, where page faults were counted at this instruction. */
static bool page_fault(const struct cs_stall *s, const struct cs_machine *m, struct cs_suspect *out)
{
    (void)m;
    if (!is(s->op, CS_OP_LOAD | CS_OP_STORE) || !(s->event_rate[CS_CAUSE_PAGE_FAULT] > 0))
        return false;
    out->high = 1e9; /* the count bounds it */
    out->expected = s->event_rate[CS_CAUSE_PAGE_FAULT] * 1000;
    say(out, "%.4f page faults each time", s->event_rate[CS_CAUSE_PAGE_FAULT]);
    return true;
}

const struct culprit_rule culprit_rules[] = {
    {CS_CAUSE_DCACHE, d_cache, false},
    {CS_CAUSE_DTLB, d_tlb, false},
    {CS_CAUSE_STORE_BUFFER, store_buffer, false},
    {CS_CAUSE_FORWARD, store_forward, false},
    {CS_CAUSE_ALIAS, alias_4k, false},
    {CS_CAUSE_SPLIT, split_line, false},
    {CS_CAUSE_ICACHE, i_cache, false},
    {CS_CAUSE_ITLB, i_tlb, false},
    {CS_CAUSE_MISPREDICT, mispredict, false},
    {CS_CAUSE_LOCK, lock, false},
    {CS_CAUSE_DIVIDER, divider, false},
    {CS_CAUSE_SYSCALL, system_call, false},
    {CS_CAUSE_DEPENDENCY, memory_chain, false},
    {CS_CAUSE_DEPENDENCY, chain_slack, false},
    {CS_CAUSE_PORT, port_slack, false},
    {CS_CAUSE_DENORMAL, denormal, true},
    {CS_CAUSE_PAGE_FAULT, page_fault, false},
};
const size_t n_culprit_rules = sizeof culprit_rules / sizeof culprit_rules[0];
