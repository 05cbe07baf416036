/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers, counters, overflow and turns of the emulated PMU (cs_pmu.h). Intel: architectural performance monitoring 3 and 5.
 * AMD: six counters of family 17h, and with PerfMonV2 their common registers. */
#include "qemu/osdep.h"

#include "cpu.h"
#include "exec/cs_pmu.h"
#include "exec/exec-all.h"
#include "hw/i386/apic.h"
#include "qemu/main-loop.h"
#include "sysemu/cpu-timers.h"

enum {
    WIDTH = 48,
    ENABLE = 1u << 22,
    INTERRUPT = 1u << 20,
    CYCLES_A_TICK = 2, /* an instruction's time: with -icount shift=1 the core's clock is 1 GHz */
    ANY = 1u << 21,
    OF_KERNEL = 1u << 17,
    OF_USER = 1u << 16,
};
#define MASK ((UINT64_C(1) << WIDTH) - 1)

struct counter {
    uint64_t value, from; /* its value when the sum of its events was `from` */
    uint64_t kinds;       /* 0: it stands still */
    bool modes[CS_MODES], any, interrupt;
};

static struct pmu {
    cs_env *env;
    struct counter counters[CS_MAX_GENERIC + CS_MAX_FIXED]; /* the fixed ones last */
    uint64_t selectors[CS_MAX_GENERIC], fixed_control, global_control, status;
    bool interrupt;  /* to be delivered after the turn */
    int64_t stalled; /* ticks since the last account that were no instructions */
    uint64_t counts[CS_MODES][CS_KINDS];
    uint64_t of_region[CS_REGIONS][CS_KINDS], region_cr3; /* user mode of one address space */
    unsigned region;
} pmus[CS_MAX_CPUS];
static unsigned n_cpus, threads_a_core = 1;
/* The least distance of any counter to its end, or less: in ticks, and in events of other kinds. */
static int64_t ticks_to_overflow = INT64_MAX, events_to_overflow = INT64_MAX;
static uint64_t armed;  /* kinds that move the latter */
static bool overflowed; /* an event reached it in the middle of a turn */
static bool counters_on;
static int64_t slice;

extern void cs_apic_overflow(DeviceState *apic, bool then_mask);

static enum cs_mode mode_of(const cs_env *env)
{
    return (env->hflags & HF_CPL_MASK) == 3 ? CS_USER : CS_KERNEL;
}

static struct pmu *pmu_of(cs_env *env)
{
    CPUState *cpu = env_cpu(env);
    struct pmu *p = &pmus[cpu->cpu_index % CS_MAX_CPUS];
    if (!p->env) {
        p->env = env;
        p->global_control = (1u << cs_model->generic) - 1;
        threads_a_core = cpu->nr_threads;
        if ((unsigned)cpu->cpu_index >= n_cpus)
            n_cpus = cpu->cpu_index + 1;
    }
    return p;
}

/* ------------------------------------------------------------------------------------------ what happened */
static void add(struct pmu *p, enum cs_kind kind, uint64_t n)
{
    enum cs_mode mode = mode_of(p->env);
    p->counts[mode][kind] += n;
    if (mode == CS_USER && p->env->cr[3] == p->region_cr3)
        p->of_region[p->region][kind] += n;
}

static void end_turn(CPUState *cpu)
{
    cpu->exit_request = 1;
    qatomic_set(&cpu_neg(cpu)->icount_decr.u16.high, -1);
}

void cs_count(cs_env *env, enum cs_kind kind, uint64_t n)
{
    add(pmu_of(env), kind, n);
    if (!(armed & CS_BIT(kind)) || (events_to_overflow -= n) > 0)
        return;
    overflowed = true; /* perhaps: the turn ends with this block, and the counters are looked at */
    end_turn(env_cpu(env));
}

/* Called where the instruction clock is brought up to date: all that ran since was in one mode. */
void cs_pmu_executed(CPUState *cpu, int64_t ticks)
{
    struct pmu *p = pmu_of(cpu->env_ptr);
    if (ticks == 0)
        return;
    add(p, CS_INSTRUCTIONS, ticks - p->stalled);
    p->stalled = 0;
    for (unsigned i = 0; i < n_cpus; i++)
        if (pmus[i].env && (&pmus[i] == p || !env_cpu(pmus[i].env)->halted))
            add(&pmus[i], CS_CYCLES, CYCLES_A_TICK * ticks);
    ticks_to_overflow -= ticks;
}

/* From here on other counters count: the turn's bound is no longer right. */
void cs_pmu_mode_changes(cs_env *env)
{
    CPUState *cpu = env_cpu(env);
    if (!icount_enabled() || cpu != current_cpu || !cpu->running)
        return;
    icount_update(cpu);
    if (counters_on) {
        ticks_to_overflow = 0;
        end_turn(cpu);
    }
}

static int64_t ticks_left(CPUState *cpu)
{
    return cpu_neg(cpu)->icount_decr.u16.low + cpu->icount_extra;
}

int64_t cs_cycles_left(cs_env *env)
{
    return CYCLES_A_TICK * ticks_left(env_cpu(env));
}

/* The clock runs on while nothing is executed. */
void cs_stall(cs_env *env, enum cs_kind kind, int64_t cycles)
{
    CPUState *cpu = env_cpu(env);
    int64_t ticks = cycles / CYCLES_A_TICK, of_turn = MIN(ticks, ticks_left(cpu)),
            of_extra = MIN(of_turn, cpu->icount_extra);
    cpu->icount_extra -= of_extra;
    cpu_neg(cpu)->icount_decr.u16.low -= of_turn - of_extra;
    cpu->icount_budget += ticks - of_turn;
    pmu_of(env)->stalled += ticks;
    cs_count(env, kind, cycles);
}

/* ------------------------------------------------------------------------------------------ counters */
static unsigned n_counters(void)
{
    return cs_model->generic + cs_model->fixed;
}

static uint64_t sum(const struct pmu *p, const struct counter *c)
{
    uint64_t total = 0;
    unsigned own = p - pmus, first = c->any ? own - own % threads_a_core : own;
    unsigned n = c->any ? threads_a_core : 1;
    for (unsigned cpu = first; cpu < first + n; cpu++)
        for (unsigned mode = 0; mode < CS_MODES; mode++)
            for (uint64_t kinds = c->modes[mode] ? c->kinds : 0; kinds; kinds &= kinds - 1)
                total += pmus[cpu].counts[mode][ctz64(kinds)];
    return total;
}

static unsigned status_bit(unsigned counter)
{
    return counter < cs_model->generic ? counter : 32 + counter - cs_model->generic;
}

static void settle(struct pmu *p)
{
    for (unsigned i = 0; i < n_counters(); i++) {
        struct counter *c = &p->counters[i];
        if (!c->kinds)
            continue;
        uint64_t now = sum(p, c);
        c->value += now - c->from;
        c->from = now;
        if (c->value <= MASK)
            continue;
        c->value &= MASK;
        p->status |= UINT64_C(1) << status_bit(i);
        p->interrupt |= c->interrupt;
    }
}

static void find_distances(void)
{
    ticks_to_overflow = events_to_overflow = INT64_MAX;
    armed = counters_on = 0;
    for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
        for (unsigned i = 0; pmus[cpu].env && i < n_counters(); i++) {
            const struct counter *c = &pmus[cpu].counters[i];
            counters_on |= c->kinds != 0;
            if (!c->any && !c->modes[mode_of(pmus[cpu].env)])
                continue; /* when the mode changes, this is asked again */
            armed |= c->kinds;
            const uint64_t ticks = CS_BIT(CS_INSTRUCTIONS) | CS_BIT(CS_CYCLES);
            int64_t distance = MASK + 1 - c->value;
            if (c->kinds & CS_BIT(CS_CYCLES))
                distance = (distance + CYCLES_A_TICK - 1) / CYCLES_A_TICK;
            if (c->kinds & ticks)
                ticks_to_overflow = MIN(ticks_to_overflow, distance);
            if (c->kinds & ~ticks)
                events_to_overflow = MIN(events_to_overflow, distance);
        }
    }
}

/* A loop that counts towards the end of a counter asks this at each event: exact when it matters. */
bool cs_near_overflow(uint64_t n)
{
    if (events_to_overflow > (int64_t)n)
        return false;
    for (unsigned i = 0; i < n_cpus; i++)
        if (pmus[i].env)
            settle(&pmus[i]);
    find_distances();
    overflowed |= events_to_overflow <= 0;
    return events_to_overflow <= (int64_t)n;
}

/* A counter's meaning is put together anew from all registers. */
static void configure(struct pmu *p)
{
    settle(p);
    for (unsigned i = 0; i < n_counters(); i++) {
        struct counter *c = &p->counters[i];
        bool on = !cs_model->global || (p->global_control >> status_bit(i) & 1);
        if (i < cs_model->generic) {
            uint64_t s = p->selectors[i];
            c->kinds = on && (s & ENABLE) ? cs_kinds_of_selector(s) : 0;
            c->modes[CS_USER] = s & OF_USER;
            c->modes[CS_KERNEL] = s & OF_KERNEL;
            c->any = cs_model->any_thread && (s & ANY);
            c->interrupt = s & INTERRUPT;
        } else {
            unsigned fixed = i - cs_model->generic, s = p->fixed_control >> (4 * fixed) & 15;
            c->kinds = on && (s & 3) ? CS_BIT(fixed == 0 ? CS_INSTRUCTIONS : CS_CYCLES) : 0;
            c->modes[CS_KERNEL] = s & 1;
            c->modes[CS_USER] = s & 2;
            c->any = cs_model->any_thread && (s & 4);
            c->interrupt = s & 8;
        }
        c->from = sum(p, c);
    }
    /* The turn was bounded by what counted before: end it. */
    ticks_to_overflow = 0;
    end_turn(env_cpu(p->env));
}

/* ------------------------------------------------------------------------------------------ turns */
int64_t cs_pmu_turn(CPUState *cpu, int64_t budget)
{
    unsigned busy = 0;
    pmu_of(cpu->env_ptr);
    if (slice == 0)
        slice = getenv("CS_PMU_SLICE") ? MAX(atoi(getenv("CS_PMU_SLICE")), 1) : 200;
    for (unsigned i = 0; i < n_cpus; i++)
        busy += pmus[i].env && (env_cpu(pmus[i].env) == cpu || !env_cpu(pmus[i].env)->halted);
    if (busy > 1)
        budget = MIN(budget, slice);
    return MIN(budget, MAX(ticks_to_overflow, 1));
}

void cs_pmu_after_turn(CPUState *cpu)
{
    if (ticks_to_overflow > 0 && !overflowed)
        return;
    overflowed = false;
    for (unsigned i = 0; i < n_cpus; i++)
        if (pmus[i].env)
            settle(&pmus[i]);
    find_distances();
    for (unsigned i = 0; i < n_cpus; i++) {
        if (!pmus[i].interrupt)
            continue;
        pmus[i].interrupt = false;
        qemu_mutex_lock_iothread();
        cs_apic_overflow(env_archcpu(pmus[i].env)->apic_state, cs_model->intel);
        qemu_mutex_unlock_iothread();
    }
}

/* ------------------------------------------------------------------------------------------ registers */
static void up_to_date(struct pmu *p)
{
    icount_update(env_cpu(p->env));
    settle(p);
}

/* The counter of a register that holds one; how it is written. */
static struct counter *counter_of(struct pmu *p, uint32_t msr, bool *sign_extended)
{
    *sign_extended = false;
    if (cs_model->intel) {
        if (msr - 0xc1 < cs_model->generic) {
            *sign_extended = true; /* the legacy registers take 32 bits */
            return &p->counters[msr - 0xc1];
        }
        if (msr - 0x4c1 < cs_model->generic)
            return &p->counters[msr - 0x4c1];
        if (msr - 0x309 < cs_model->fixed)
            return &p->counters[cs_model->generic + msr - 0x309];
        return NULL;
    }
    if (msr - 0xc0010004 < 4)
        return &p->counters[msr - 0xc0010004];
    if (msr - 0xc0010200 < 2 * cs_model->generic && (msr & 1))
        return &p->counters[(msr - 0xc0010200) / 2];
    return NULL;
}

/* A register of control; *is_status for the two that clear bits of the status. */
static uint64_t *control_of(struct pmu *p, uint32_t msr, bool *clears)
{
    *clears = false;
    if (cs_model->intel) {
        *clears = msr == 0x390;
        return msr - 0x186 < cs_model->generic ? &p->selectors[msr - 0x186]
               : msr == 0x38d                  ? &p->fixed_control
               : msr == 0x38e || msr == 0x390  ? &p->status
               : msr == 0x38f                  ? &p->global_control
                                               : NULL;
    }
    *clears = msr == 0xc0000302;
    if (cs_model->global && msr >= 0xc0000300 && msr <= 0xc0000302)
        return msr == 0xc0000301 ? &p->global_control : &p->status;
    if (msr - 0xc0010000 < 4)
        return &p->selectors[msr - 0xc0010000];
    if (msr - 0xc0010200 < 2 * cs_model->generic && !(msr & 1))
        return &p->selectors[(msr - 0xc0010200) / 2];
    return NULL;
}

bool cs_pmu_rdmsr(cs_env *env, uint32_t msr, uint64_t *value)
{
    struct pmu *p = pmu_of(env);
    bool clears, sign_extended;
    const struct counter *c = counter_of(p, msr, &sign_extended);
    const uint64_t *control = c ? NULL : control_of(p, msr, &clears);
    if (cs_model->intel && msr == 0x345) {
        *value = 1 << 13; /* full-width writes */
        return true;
    }
    if (!c && !control)
        return false;
    up_to_date(p);
    *value = c ? c->value : *control;
    return true;
}

bool cs_pmu_wrmsr(cs_env *env, uint32_t msr, uint64_t value)
{
    struct pmu *p = pmu_of(env);
    bool clears, sign_extended;
    struct counter *c = counter_of(p, msr, &sign_extended);
    uint64_t *control = c ? NULL : control_of(p, msr, &clears);
    if (!c && !control)
        return false;
    up_to_date(p);
    if (c)
        c->value = (sign_extended ? (uint64_t)(int32_t)value : value) & MASK;
    else if (clears)
        *control &= ~value;
    else if (control != &p->status)
        *control = value;
    configure(p);
    return true;
}

/* ------------------------------------------------------------------------------------------ truth
 * `rdpmc` with these indices answers at any privilege, whatever the PMU is told, on the CPU that executes it:
 *   0x4353'00KK  events of kind KK in user mode         0x4353'01KK  the same in kernel mode
 *   0x4353'02KK  both modes, all threads of the core    0x4353'03RR  from here on region RR of this address space
 *   0x4353'1RKK  events of kind KK in region R, all CPUs    0x4353'0400  forget what was counted in regions
 */
bool cs_pmu_is_truth(uint32_t index)
{
    return index >> 16 == 0x4353;
}

static uint64_t truth(struct pmu *p, uint32_t index)
{
    unsigned what = index >> 8 & 0xff, kind = index & 0xff;
    uint64_t total = 0;
    if (what == 3) {
        p->region = kind % CS_REGIONS;
        p->region_cr3 = p->env->cr[3];
        return p->region;
    }
    if (what == 4)
        for (unsigned i = 0; i < n_cpus; i++)
            memset(pmus[i].of_region, 0, sizeof pmus[i].of_region);
    if (what == 4 || kind >= CS_KINDS)
        return 0;
    if (what < CS_MODES)
        return p->counts[what][kind];
    if (what == 2) {
        const struct counter core = {.kinds = CS_BIT(kind), .modes = {true, true}, .any = true};
        return sum(p, &core);
    }
    for (unsigned i = 0; what >= 0x10 && what < 0x10 + CS_REGIONS && i < n_cpus; i++)
        total += pmus[i].of_region[what - 0x10][kind];
    return total;
}

bool cs_pmu_rdpmc(cs_env *env, uint32_t index, uint64_t *value)
{
    struct pmu *p = pmu_of(env);
    unsigned counter = index;
    up_to_date(p);
    if (cs_pmu_is_truth(index)) {
        *value = truth(p, index);
        return true;
    }
    if (index >> 30 == 1 && (index & 0x3fffffff) < cs_model->fixed)
        counter = cs_model->generic + (index & 0x3fffffff);
    else if (index >= cs_model->generic)
        return false;
    *value = p->counters[counter].value;
    return true;
}
