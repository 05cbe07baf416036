/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of the data side: caches, TLBs, stores. Each says in its comment why its cause can be cleared; rates
 * are per execution. */
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/classify/rules_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Which level answers a miss of the first, when `bytes` are visited over and over: as a chase of that size
 * was measured, else the share that no smaller level can hold comes from further away. A footprint of which
 * only a lower bound is known (had it been smaller, two bursts would have met) may lie anywhere beyond. */
static struct memory_level level_of(const struct cs_machine *m, double bytes, bool least)
{
    double l1 = m->l1d.latency_cycles, l2 = m->l2.latency_cycles, l3 = m->l3.latency_cycles;
    double memory = m->memory_cycles - l1;
    if (bytes <= 0) /* seldom run: likely near, as most data is */
        return (struct memory_level){"some level", l2 - l1};
    if (least) {
        struct memory_level nearest = level_of(m, bytes * CS_MODEL_FOOTPRINT_BEYOND, false);
        bool sure = bytes * CS_MODEL_FOOTPRINT_BEYOND <= (double)m->l2.bytes || nearest.cycles >= memory;
        return sure ? nearest : (struct memory_level){"beyond L2", (nearest.cycles + memory) / 2};
    }
    if (bytes <= (double)m->l1d.bytes)
        return (struct memory_level){"L1", 0};
    if (bytes <= (double)m->l2.bytes)
        return (struct memory_level){"L2", l2 - l1};
    bool third = m->l3.bytes && bytes <= (double)m->l3.bytes;
    double in_l2 = (double)m->l2.bytes / bytes, in_l3 = m->l3.bytes ? (double)m->l3.bytes / bytes : in_l2;
    double cycles = third ? in_l2 * (l2 - l1) + (1 - in_l2) * (l3 - l1)
                          : in_l3 * ((m->l3.bytes ? l3 : l2) - l1) + (1 - in_l3) * memory;
    double felt = cs_machine_ladder(m, bytes) - l1;
    return (struct memory_level){third ? "L3" : "memory", felt > cycles ? felt : cycles};
}

/* Few sets hold few lines of the first two levels: as many bytes more need the next one. The third is hashed. */
static double crowded_bytes(const struct cs_machine *m, const struct cs_culprit_memory *f)
{
    const double most = fmax(f->footprint_bytes, 4 * (double)m->l2.bytes);
    return f->sets > 0 ? fmin(f->footprint_bytes * 64 / f->sets, most) : f->footprint_bytes;
}

/* The same for what a load touches: the lines it often comes back to, and those it seldom does. A line that its set had no
 * room for is in the second level at best, however few there are. */
struct memory_level rule_level(const struct cs_machine *m, const struct cs_culprit_memory *f)
{
    struct memory_level level = level_of(m, crowded_bytes(m, f), f->footprint_least);
    const double second = m->l2.latency_cycles - m->l1d.latency_cycles;
    if (f->cold_bytes > 0) {
        struct memory_level seldom = level_of(m, f->cold_bytes, f->cold_least);
        level.name = seldom.name;
        level.cycles = f->cold * seldom.cycles + (1 - f->cold) * level.cycles;
    }
    if (f->crowded > 0 && level.cycles < second)
        level = (struct memory_level){"L2", level.cycles +
                                                (second - level.cycles) * fmin(1, f->crowded / f->new_lines)};
    return level;
}

/* Do its lines take each other's place in few sets, so that other distances would help? Not where there are more pages than
 * the TLBs hold. */
static bool conflicts(const struct cs_machine *m, const struct cs_culprit_memory *f)
{
    return f->sets > 0 || (f->crowded >= CS_MODEL_CROWDED_SHARE * f->new_lines && f->crowded > 0 &&
                           f->footprint_pages <= m->stlb_entries);
}

/* A footprint that isn't known or of which only a bound is, and the lines seldom used, may lie further out.
 */
static bool may_be_further(const struct cs_culprit_memory *f)
{
    return f->footprint_least || f->cold_bytes > 0 || f->footprint_bytes <= 0;
}

/* How much of its addresses comes out of loads that are of the same kind: a list. Where the loads that give
 * the addresses step evenly (an array of indices, keys to be hashed) the core runs ahead. */
static double chased(const struct cs_culprit_memory *f, const struct cs_culprit_memory *from)
{
    return from && from->seen && from->pointer < CS_MODEL_POINTER_SHARE ? 0 : f->pointer;
}

/* Equal strides that a prefetcher follows: it stops where a page ends (SDM). */
static double followed(const struct cs_culprit_memory *f)
{
    return f->new_lines > 0 ? f->steady * (1 - fmin(1, f->new_pages / f->new_lines)) : f->steady;
}

/* How much of a miss the core can't hide: a chase hides nothing, a prefetcher follows equal strides,
 * independent misses share the wait with those that are in flight with them. */
static double exposed(const struct cs_culprit_stall *s, const struct cs_culprit_memory *f,
                      const struct cs_culprit_memory *from)
{
    double chase = chased(f, from), alone = s->in_flight > 0 ? 1 / s->in_flight : CS_MODEL_MISS_ALONE;
    double stepping = alone < CS_MODEL_STEADY_EXPOSED ? alone : CS_MODEL_STEADY_EXPOSED;
    return chase + (1 - chase) * (followed(f) * stepping + (1 - followed(f)) * alone);
}

/* The same of stores: their lines are asked for as soon as they have retired, so many at a time as elsewhere.
 */
static double stores_wait(const struct cs_culprit_stall *s)
{
    return s->in_flight > CS_MODEL_STORES_TOGETHER ? CS_MODEL_STORES_TOGETHER / s->in_flight : 1;
}

static const char *pattern(const struct cs_culprit_memory *f, const struct cs_culprit_memory *from)
{
    return chased(f, from) > CS_MODEL_POINTER_SHARE ? "pointer chasing"
           : f->pointer > CS_MODEL_POINTER_SHARE    ? "indexed accesses"
           : f->steady > 0.8                        ? "evenly spaced accesses"
                                                    : "scattered accesses";
}

/* Latencies are measured on huge pages. Where a hypervisor splits these, those of large sets have a walk within. Who is on huge
 * pages pays it once: it is the DTLB's. */
static double walks_within(const struct cs_machine *m, const struct cs_culprit_memory *f)
{
    const bool large = f->footprint_bytes > (double)m->stlb_entries * m->page_bytes;
    const double walk = large && cs_machine_huge_walk(m) > 0 ? m->huge_walk_cycles : 0;
    return f->huge * fmin(fmin(f->new_pages, f->new_lines) * walk, f->new_lines * m->memory_cycles / 2);
}

/* A load that stays in lines used less than 256 other lines ago hits a first level of 512; so does one whose
 * lines, all together, fit it. A software prefetch, which bursts don't follow, is never cleared. */
bool rule_d_cache(const struct cs_culprit_stall *s, const struct cs_machine *m,
                  struct cs_culprit_suspect *out)
{
    const struct cs_isa_op *op = rule_is(s->op, CS_ISA_OP_LOAD | CS_ISA_OP_GATHER) ? s->op : NULL;
    const struct cs_culprit_memory *f = &s->memory, *from = s->load_before ? &s->load_before_memory : NULL;
    double weight = 1;
    if (rule_is(s->op, CS_ISA_OP_PREFETCH)) {
        out->high = m->memory_cycles + m->walk_cycles;
        out->expected = CS_MODEL_PREFETCH_SHARE * rule_rest(s);
        rule_report(out, "a prefetch waits for a free line buffer and for the translation of its page");
        return true;
    }
    if (!op ||
        (f->seen &&
         f->new_lines < CS_MODEL_RATE_NEGLIGIBLE)) { /* its operand's load may be the responsible one */
        op = s->load_before;
        f = &s->load_before_memory;
        from = NULL;
        weight =
            CS_MODEL_OPERAND_WEIGHT; /* a load retires with its result: only what is left over reaches its user */
        if (!op)
            return false;
        out->responsible = op->offset;
    }
    if (!f->seen) {
        if (s->bursts && weight < 1)
            return false;
        out->high = rule_rest(s);
        out->expected = (s->bursts ? CS_MODEL_LOAD_NOT_RUN : CS_MODEL_LOAD_UNSEEN) * out->high * weight;
        rule_report(out, "a load; no evidence rules it out");
        return weight == 1;
    }
    struct memory_level level = rule_level(m, f);
    double cost = f->new_lines * level.cycles - walks_within(m, f);
    if (f->new_lines < CS_MODEL_RATE_NEGLIGIBLE || cost <= CS_MODEL_COST_MIN)
        return false;
    char size[32];
    rule_say_bytes(size, sizeof size, f->cold_bytes > 0 ? f->cold_bytes : f->footprint_bytes);
    out->observed = true;
    out->expected = cost * exposed(s, f, from) * weight;
    out->overlaps = chased(f, from) <= CS_MODEL_POINTER_SHARE;
    out->streams = out->overlaps && f->steady > 0.8 && f->new_pages < CS_MODEL_STREAM_PAGES;
    out->high = cost * CS_MODEL_MISS_HIGH;
    if (may_be_further(f) && f->new_lines * m->memory_cycles > out->high)
        out->high = f->new_lines * m->memory_cycles;
    out->conflicts = conflicts(m, f);
    if (f->sets > 0)
        rule_report(
            out, "lines that share %.0f of the 64 sets of the cache, %s (%s), %.2f new lines per execution",
            f->sets, size, level.name, f->new_lines);
    else if (out->conflicts)
        rule_report(out,
                    "lines that share a set of the cache, which doesn't hold them all (%s), %.2f new lines "
                    "per execution",
                    level.name, f->new_lines);
    else if (f->footprint_bytes > 0)
        rule_report(out, "%s over %s%s%s (%s), %.2f new cache lines per execution", pattern(f, from),
                    (f->cold_bytes > 0 ? f->cold_least : f->footprint_least) ? "more than " : "", size,
                    f->huge > 0.5 ? " on huge pages" : "", level.name, f->new_lines);
    else
        rule_report(out, "%s, %.2f new cache lines per execution", pattern(f, from), f->new_lines);
    return true;
}

/* Pages used less than 64 other pages ago are in a first-level TLB of 64 entries; a footprint that the last
 * level holds costs its hit, some 7 cycles (SDM, SOG), not a walk. */
bool rule_d_tlb(const struct cs_culprit_stall *s, const struct cs_machine *m, struct cs_culprit_suspect *out)
{
    const struct cs_culprit_memory *f = &s->memory;
    const double new_small = cs_culprit_new_small(f);
    if (!rule_is(s->op, CS_ISA_OP_LOAD | CS_ISA_OP_STORE | CS_ISA_OP_GATHER))
        return false;
    if (!f->seen) {
        out->high = rule_rest(s);
        out->expected = (s->bursts ? CS_MODEL_PAGE_NOT_RUN : CS_MODEL_PAGE_UNSEEN) * out->high;
        rule_report(out, "a memory access; no evidence rules it out");
        return !s->bursts || s->event_likely[CS_COUNTED_DTLB] > CS_MODEL_RATE_NEGLIGIBLE;
    }
    bool walks = f->footprint_pages == 0 || f->footprint_pages > m->stlb_entries;
    if (new_small < CS_MODEL_RATE_NEGLIGIBLE ||
        (f->footprint_pages > 0 && f->footprint_pages <= m->dtlb_entries))
        return false;
    double resident = f->footprint_pages > 0 && walks ? m->stlb_entries / f->footprint_pages : 0;
    /* A few pages more than the first level has entries: some of them stay. */
    double gone = walks ? 1 : 1 - m->dtlb_entries / f->footprint_pages;
    double cost = new_small * (walks ? (1 - resident) * m->walk_cycles + resident * CS_MODEL_STLB_HIT
                                     : CS_MODEL_STLB_HIT);
    out->observed = true;
    /* One load a page misses the TLB and little else; many loads a page share the walk with the lines'
     * misses, as stores do. */
    const struct cs_culprit_memory *from = s->load_before ? &s->load_before_memory : NULL;
    double together = exposed(s, f, from);
    if (together < 1.0 / CS_MODEL_PAGE_WALKERS)
        together = 1.0 / CS_MODEL_PAGE_WALKERS;
    out->expected = gone * cost *
                    (rule_is(s->op, CS_ISA_OP_LOAD) ? CS_MODEL_WALK_LOAD * together
                                                    : CS_MODEL_WALK_STORE * stores_wait(s));
    out->high = cost * CS_MODEL_MISS_HIGH;
    rule_report(out, "%.2f new pages per execution%s%s", f->huge > f->spared ? f->new_pages : new_small,
                f->footprint_pages > m->stlb_entries ? ", more than the TLBs hold" : "",
                f->huge > 0.5 && f->huge > f->spared ? "; the hypervisor splits their huge pages" : "");
    return true;
}

/* A load that walks pages is begun again after an interrupt, which finds the thread at the load itself. Then the time of its
 * miss is with the instruction before it: in five kernels 5 to 32 % of all samples. Asked only for what nothing else
 * explains, and weighed below everything else. */
static bool is_next(const struct cs_culprit_stall *s, const struct cs_machine *m, rule_function *rule,
                    struct cs_culprit_suspect *out)
{
    struct cs_culprit_stall next = *s;
    if (!rule_is(s->next, CS_ISA_OP_LOAD) || !s->next_memory.seen ||
        cs_culprit_new_small(&s->next_memory) < CS_MODEL_NEXT_PAGES)
        return false;
    next.op = s->next;
    next.memory = s->next_memory;
    next.load_before = NULL;
    if (!rule(&next, m, out) || !out->observed)
        return false;
    out->responsible = s->next->offset;
    out->expected *= CS_MODEL_NEXT_WEIGHT;
    return true;
}

bool rule_next_d_cache(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out)
{
    return is_next(s, m, rule_d_cache, out);
}

bool rule_next_d_tlb(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out)
{
    return is_next(s, m, rule_d_tlb, out);
}

/* Stores leave the core in order; a line that isn't there keeps those behind it waiting. It shows where a
 * store can't be dispatched: at the store, or at what comes before it. */
bool rule_store_buffer(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out)
{
    const struct cs_isa_op *store = s->missing_store;
    const struct cs_culprit_memory *f = &s->missing_store_memory;
    if (!rule_is(s->op, CS_ISA_OP_STORE) && !rule_is(s->next, CS_ISA_OP_STORE) && !(store && f->seen))
        return false;
    if (!s->bursts && !(store && f->seen)) {
        if (!rule_is(s->op, CS_ISA_OP_STORE))
            return false;
        out->high = rule_rest(s);
        out->expected = CS_MODEL_STORE_UNSEEN * out->high;
        rule_report(out, "a store; no evidence rules it out");
        return true;
    }
    if (!store || !f->seen || f->new_lines < CS_MODEL_RATE_NEGLIGIBLE)
        return false;
    struct memory_level level = rule_level(m, f);
    double cost = f->new_lines * level.cycles;
    if (cost <= CS_MODEL_COST_MIN)
        return false;
    char size[32];
    rule_say_bytes(size, sizeof size, f->footprint_bytes);
    bool near = rule_is(s->op, CS_ISA_OP_STORE) || rule_is(s->next, CS_ISA_OP_STORE);
    out->responsible = store->offset;
    out->observed = true;
    out->expected = cost * stores_wait(s) * (near ? CS_MODEL_STORE_NEAR : CS_MODEL_STORE_FAR) *
                    (1 - CS_MODEL_STORE_STEADY * followed(f));
    out->high = may_be_further(f) ? f->new_lines * m->memory_cycles : cost;
    out->conflicts = conflicts(m, f);
    if (f->sets > 0)
        rule_report(out, "stores to lines that share %.0f of the 64 sets of the cache, %s (%s)", f->sets,
                    size, level.name);
    else if (out->conflicts)
        rule_report(out, "stores to lines that share a set of the cache, which doesn't hold them all (%s)",
                    level.name);
    else
        rule_report(out, "stores to %s (%s), %.2f new cache lines per execution",
                    f->footprint_bytes > 0 ? size : "new lines", level.name, f->new_lines);
    return true;
}

/* A load that takes its bytes from two young stores, or from one and the cache, waits until they have left:
 * 12 to 20 cycles (SDM, SOG), plus what hangs on it. */
bool rule_store_forward(const struct cs_culprit_stall *s, const struct cs_machine *m,
                        struct cs_culprit_suspect *out)
{
    (void)m;
    if (!rule_is(s->op, CS_ISA_OP_LOAD) || !s->memory.seen || s->memory.blocked < CS_MODEL_BLOCKED_MIN)
        return false;
    out->observed = true;
    out->expected = s->memory.blocked * CS_MODEL_FORWARD_FAIL;
    out->high = s->memory.blocked * CS_MODEL_FORWARD_FAIL_MAX;
    rule_report(out, "%.0f %% of its loads read bytes of which a recent store wrote only a part",
                s->memory.blocked * 100);
    return true;
}

/* A load whose low twelve bits equal a young store's is taken for its reader: some 5 cycles on Intel (SDM). AMD's
 * cores compare more bits: on a Zen 4 alias_4k costs nothing. Other loops do, by up to two fifths, and what bursts
 * see of both is the same (docs/lab/culprits.md), so that there it isn't named. */
bool rule_alias_4k(const struct cs_culprit_stall *s, const struct cs_machine *m,
                   struct cs_culprit_suspect *out)
{
    if (!rule_is(s->op, CS_ISA_OP_LOAD) || !s->memory.seen || s->memory.aliased < CS_MODEL_ALIAS_MIN ||
        m->vendor == CS_MACHINE_AMD)
        return false;
    out->observed = true;
    out->expected = s->memory.aliased * CS_MODEL_ALIAS;
    out->high = s->memory.aliased * CS_MODEL_ALIAS_MAX;
    rule_report(out, "%.0f %% of its loads follow a recent store at a distance of a multiple of 4 KB",
                s->memory.aliased * 100);
    return true;
}

/* Twice the accesses, and for stores twice the store buffer's slots; a split page is far dearer on old cores.
 */
bool rule_split_line(const struct cs_culprit_stall *s, const struct cs_machine *m,
                     struct cs_culprit_suspect *out)
{
    (void)m;
    const struct cs_culprit_memory *f = &s->memory;
    const struct cs_isa_op *op = s->op;
    if (!rule_is(op, CS_ISA_OP_LOAD | CS_ISA_OP_STORE) || !f->seen || f->split < CS_MODEL_SPLIT_MIN) {
        f = &s->next_memory;
        op = s->next;
        if (!rule_is(op, CS_ISA_OP_STORE) || !f->seen || f->split < CS_MODEL_SPLIT_MIN)
            return false;
        out->responsible = op->offset;
    }
    out->observed = true;
    if (rule_is(op, CS_ISA_OP_LOCK)) {
        out->expected = f->split * CS_MODEL_SPLIT_LOCK;
        out->high = f->split * CS_MODEL_SPLIT_LOCK_MAX;
        rule_report(out,
                    "%.0f %% of its accesses cross a cache line, and a locked one stops all cores' memory",
                    f->split * 100);
        return true;
    }
    out->expected = f->split * CS_MODEL_SPLIT + f->page_split * CS_MODEL_PAGE_SPLIT;
    out->high =
        f->split * (rule_is(op, CS_ISA_OP_STORE) ? CS_MODEL_SPLIT_STORE_MAX : CS_MODEL_SPLIT_LOAD_MAX) +
        f->page_split * CS_MODEL_PAGE_SPLIT_MAX;
    rule_report(out, "%.0f %% of its accesses cross a cache line", f->split * 100);
    return true;
}

/* What a load of its own young stores loses, from the least to the most that was measured. The stores wait in the store buffer
 * for the line, and when it is full the thread waits, too: counters in a loop of few cycles lose two thirds of their time, with
 * much between them nothing (docs/lab/culprits.md). */
static double stores_queue(const struct cs_culprit_stall *s, const struct cs_machine *m,
                           const struct cs_culprit_sharing *l, struct cs_culprit_suspect *out)
{
    const double between = s->turn_m > 0 ? s->turn_m + s->carried : 2 * l->between * CS_MODEL_SHARED_CPI;
    const double waits = l->taken * s->memory.forwarded;
    double least, most;
    if (rule_is(s->op, CS_ISA_OP_LOCK) || !cs_machine_shared(m, between, &least, &most))
        return 0;
    out->high += waits * most * CS_MODEL_MISS_HIGH;
    out->in_doubt = waits * (most - least) / 2;
    return waits * (least + most) / 2;
}

/* A line that is away comes back from the other core, about as late as from memory. Two threads that both wait for it get
 * it in turns, so that each loses about its own time between two accesses. A locked operation needs the bytes now, and so
 * does a load that doesn't take them from a young store of its own. Plain stores alone wait in the store buffer, where they
 * cost nothing, and aren't named. */
static bool line_taken(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       const struct cs_culprit_sharing *l, struct cs_culprit_suspect *out)
{
    bool locked = rule_is(s->op, CS_ISA_OP_LOCK);
    double lock = m->lock_cycles > 0 ? m->lock_cycles : CS_MODEL_LOCK;
    if (!rule_is(s->op, CS_ISA_OP_LOAD) || !s->memory.seen || l->taken < CS_MODEL_RATE_NEGLIGIBLE)
        return false;
    double waits = l->taken * (locked ? 1 : fmax(0, 1 - s->memory.forwarded));
    double turn = CS_MODEL_SHARED_TURN * (l->between * CS_MODEL_SHARED_CPI + (locked ? lock : 0));
    out->high = waits * m->memory_cycles * CS_MODEL_MISS_HIGH;
    out->expected = waits * fmin(turn, m->memory_cycles) + stores_queue(s, m, l, out);
    if (out->expected < CS_MODEL_COST_MIN)
        return false;
    out->observed = true;
    out->other = l->other_here ? l->other : 0;
    rule_report(out, "bytes %u to %u of a line of which another thread %s bytes %u to %u at 0x%" PRIx64 "%s",
                l->at, l->at + l->size - 1, l->other_writes ? "writes" : "reads", l->other_at,
                l->other_at + l->other_size - 1, l->other, l->other_here ? "" : " of another image");
    return true;
}

bool rule_false_sharing(const struct cs_culprit_stall *s, const struct cs_machine *m,
                        struct cs_culprit_suspect *out)
{
    return line_taken(s, m, &s->memory.false_sharing, out);
}

bool rule_true_sharing(const struct cs_culprit_stall *s, const struct cs_machine *m,
                       struct cs_culprit_suspect *out)
{
    return line_taken(s, m, &s->memory.true_sharing, out);
}
