/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stated memory system and predictor of the emulated processors (cs_pmu.h), and what a miss costs:
 *   L1D 32 KiB, 8 ways, a core                       L2 256 KiB, 4 ways, a core: +10 cycles
 *   L3 2 MiB, 16 ways, all cores: +40                memory: +200
 *   TLB 64 pages of 4 KiB, 4 ways, a core: +30       mispredicted branch: +16
 * Lines of 64 bytes by physical address, least recently used goes, a miss fills all levels, stores do as loads. An access that
 * crosses a line is one of its first. Instructions' own fetches are free. A stall stops the whole core, as the next instruction
 * of either thread waits.
 * Conditional branches: a table of two-bit counters by the low 12 bits of the branch's address. Indirect jumps and calls: their
 * last target, by the same bits. Returns are always predicted. Either table is the core's. */
#include "qemu/osdep.h"

#include "cpu.h"
#include "exec/cs_pmu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"

G_NORETURN void cpu_io_recompile(CPUState *cpu,
                                 uintptr_t retaddr); /* of accel/tcg, whose header is its own */

enum { MAX_CORES = CS_MAX_CPUS, MAX_WAYS = 16, BRANCHES = 4096 };

struct cache {
    unsigned sets, ways;
    uint64_t *tags; /* sets * ways, a set's most recently used first; 0 is empty */
};

static struct core {
    struct cache l1, l2, tlb;
    uint8_t two_bits[BRANCHES]; /* 0, 1: not taken */
    uint64_t targets[BRANCHES];
} cores[MAX_CORES];
static struct cache l3;

static void open_cache(struct cache *c, unsigned sets, unsigned ways)
{
    *c = (struct cache){sets, ways, g_new0(uint64_t, sets * ways)};
}

static struct core *core_of(cs_env *env)
{
    CPUState *cpu = env_cpu(env);
    struct core *core = &cores[cpu->cpu_index / cpu->nr_threads % MAX_CORES];
    if (!core->l1.tags) {
        open_cache(&core->l1, CS_L1_SETS, CS_L1_WAYS);
        open_cache(&core->l2, CS_L2_SETS, CS_L2_WAYS);
        open_cache(&core->tlb, CS_TLB_SETS, CS_TLB_WAYS);
    }
    if (!l3.tags)
        open_cache(&l3, CS_L3_SETS, CS_L3_WAYS);
    return core;
}

static unsigned way_of(const struct cache *c, uint64_t number)
{
    const uint64_t *set = c->tags + number % c->sets * c->ways;
    unsigned way = 0;
    while (way < c->ways && set[way] != number + 1)
        way++;
    return way;
}

static bool has(const struct cache *c, uint64_t number)
{
    return way_of(c, number) < c->ways;
}

static void touch(struct cache *c, uint64_t number)
{
    uint64_t *set = c->tags + number % c->sets * c->ways;
    unsigned way = MIN(way_of(c, number), c->ways - 1);
    memmove(set + 1, set, way * sizeof *set);
    set[0] = number + 1;
}

/* Before the access. One that faults isn't counted: it happens again. Where it might end a counter or the turn it becomes the
 * last instruction of its block, so that the interrupt comes right after it. */
void helper_cs_memory(CPUX86State *env, target_ulong addr, uint32_t how)
{
    static const int cost_of_level[] = {0, 10, 40, 200};
    CPUState *cpu = env_cpu(env);
    struct core *core = core_of(env);
    bool store = how & 1;
    void *host;
    int flags =
        probe_access_flags(env, addr, store ? MMU_DATA_STORE : MMU_DATA_LOAD, how >> 1, true, &host, GETPC());
    if ((flags & TLB_INVALID_MASK) || !host)
        return;
    bool user = (env->hflags & HF_CPL_MASK) == 3;
    uint64_t page = (addr >> 12) ^ (user ? env->cr[3] << 20 : 0), line = (uintptr_t)host >> 6;
    unsigned level = has(&core->l1, line) ? 0 : has(&core->l2, line) ? 1 : has(&l3, line) ? 2 : 3;
    int walk = has(&core->tlb, page) ? 0 : 30, cost = cost_of_level[level];
    if (!cpu->can_do_io &&
        ((walk + cost && cs_cycles_left(env) <= walk + cost) || cs_near_overflow(2 + walk + cost)))
        cpu_io_recompile(cpu, GETPC());
    touch(&core->tlb, page);
    touch(&core->l1, line);
    if (level > 0)
        touch(&core->l2, line);
    if (level > 1)
        touch(&l3, line);
    if (walk) {
        cs_count(env, store ? CS_TLB_MISSES_OF_STORES : CS_TLB_MISSES_OF_LOADS, 1);
        cs_stall(env, CS_STALLS_TLB, walk);
    }
    cs_count(env, (store ? CS_STORES_L1 : CS_LOADS_L1) + level, 1);
    if (level)
        cs_stall(env, CS_STALLS_L2 + level - 1, cost);
}

static bool conditional_mispredicted(uint8_t *two_bits, bool taken)
{
    bool wrong = (*two_bits >= 2) != taken;
    *two_bits = taken ? MIN(*two_bits + 1, 3) : MAX(*two_bits - 1, 0);
    return wrong;
}

/* At the end of its block. target is 0 where it is in the instruction. */
void helper_cs_branch(CPUX86State *env, uint32_t branch, target_ulong target)
{
    struct core *core = core_of(env);
    enum cs_kind kind = branch >> 12;
    unsigned at = branch & 0xfff;
    bool wrong = false;
    cs_count(env, kind, 1);
    if (kind == CS_TAKEN || kind == CS_NOT_TAKEN) {
        wrong = conditional_mispredicted(&core->two_bits[at], kind == CS_TAKEN);
    } else if (target) {
        wrong = core->targets[at] != target;
        core->targets[at] = target;
    }
    if (!wrong)
        return;
    cs_count(env, target ? CS_MISPREDICTED_INDIRECT : CS_MISPREDICTED_CONDITIONAL, 1);
    cs_stall(env, CS_STALLS_BRANCH, 16);
}
