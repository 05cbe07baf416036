/* SPDX-License-Identifier: MIT */
/* cyclescope_measure.h: how many cycles does this stretch of code take, each time it runs?
 *
 *      #include <cyclescope_measure.h>              // nothing to link
 *
 *      CS_SITE(lookup);                             // at file scope
 *      ...
 *      struct cs_measure m = cs_begin();
 *      find(key);
 *      cs_end(&lookup, m);
 *      ...
 *      cs_sites_write("times");                     // cyclescope hist --sections times
 *
 * Cycles are ticks of the time-stamp counter (AArch64: of the virtual counter; RISC-V: of `time`), read in order with
 * the code between. What an empty pair takes on this machine is measured once and subtracted. Each site keeps a
 * histogram, sixteen bins an octave. A stretch in which the thread lost its CPU (or got a signal) is found and kept
 * separate. It took as long as others had the CPU, not as the code takes. In linux-tools-1999 section 3.1 these are
 * discarded by their length. Here the kernel reports them: it clears a pointer of the restartable-sequences area at
 * each switch. Where that area doesn't exist (glibc before 2.35, other C libraries) `unknown` is set and nothing is
 * kept separate.
 *
 * Pairs may nest, on one thread; sites may be shared by threads. Cost of a pair on the CPUs of 2020: 60 to
 * 120 cycles, of which 25 to 50 lie inside and are subtracted. Then comes the histogram. Not for code that
 * uses restartable sequences of its own between the two calls. */
#ifndef CYCLESCOPE_MEASURE_H
#define CYCLESCOPE_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#if defined(__has_include)
#if __has_include(<sys/rseq.h>) && __has_include(<linux/rseq.h>)
#include <linux/rseq.h>
#include <sys/rseq.h>
#ifdef RSEQ_SIG /* some libraries have the header without it: on RISC-V */
#define CS_RSEQ 1
#endif
#endif
#endif

#define CS_SITE_BINS 976

struct cs_site {
    const char *name;
    struct cs_site *next; /* all sites that ran; set by the first cs_end */
    int listed;
    uint64_t runs, cycles;              /* that kept the CPU */
    uint64_t switched, switched_cycles; /* that lost it */
    uint64_t bins[CS_SITE_BINS];        /* of those that kept it, by cycles */
};
#define CS_SITE(site) static struct cs_site site = {.name = #site}

struct cs_measure {
    uint64_t begin;
    uint64_t before; /* the area's pointer */
};

#define CS_MEASURE_FN static inline __attribute__((always_inline, unused))
#define CS_MEASURE_COLD static __attribute__((noinline, unused))
/* One for all files of a program. */
#define CS_MEASURE_SHARED __attribute__((weak, visibility("hidden")))

CS_MEASURE_SHARED struct cs_site *cs_sites;
CS_MEASURE_SHARED uint64_t cs_pair_cycles = UINT64_MAX; /* of an empty pair; UINT64_MAX = not measured yet */

/* ---- did the thread keep its CPU? ---- */
#ifdef CS_RSEQ
/* A critical section that never runs: the kernel clears the pointer to it when it interrupts anything else.
 */
struct cs_never {
    struct rseq_cs section;
    uint32_t signature; /* four bytes before the abort handler, or the kernel ends the program */
    uint32_t handler, section_text;
};
CS_MEASURE_SHARED struct cs_never cs_never __attribute__((aligned(32)));

CS_MEASURE_FN volatile uint64_t *cs_area(void)
{
    if (__rseq_size == 0)
        return 0;
    char *self = (char *)__builtin_thread_pointer();
    return (volatile uint64_t *)(void *)&((struct rseq *)(void *)(self + __rseq_offset))->rseq_cs;
}
#endif

CS_MEASURE_FN int cs_switches_told(void)
{
#ifdef CS_RSEQ
    return __rseq_size != 0;
#else
    return 0;
#endif
}

/* ---- the clock ---- */
CS_MEASURE_FN uint64_t cs_clock_begin(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(t) : : "memory");
    return t;
#elif defined(__riscv) && __riscv_xlen == 64
    uint64_t t;
    __asm__ volatile("fence r, i\n\trdtime %0\n\tfence i, r" : "=r"(t) : : "memory");
    return t;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

CS_MEASURE_FN uint64_t cs_clock_end(void)
{
#if defined(__x86_64__)
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(cpu) : : "memory");
    return (uint64_t)high << 32 | low;
#else
    return cs_clock_begin();
#endif
}

/* ---- a pair ---- */
CS_MEASURE_FN struct cs_measure cs_begin_raw(void)
{
    struct cs_measure m = {0, 0};
#ifdef CS_RSEQ
    volatile uint64_t *area = cs_area();
    if (area) {
        m.before = *area;
        *area = (uint64_t)(uintptr_t)&cs_never.section;
    }
#endif
    m.begin = cs_clock_begin();
    return m;
}

/* Cycles since; *kept: the thread had its CPU all the time, as far as can be told. */
CS_MEASURE_FN uint64_t cs_end_raw(struct cs_measure m, int *kept)
{
    uint64_t cycles = cs_clock_end() - m.begin;
    *kept = 1;
#ifdef CS_RSEQ
    volatile uint64_t *area = cs_area();
    if (area) {
        *kept = *area == (uint64_t)(uintptr_t)&cs_never.section;
        *area = *kept ? m.before : 0; /* a pair around this one lost the CPU as well */
    }
#endif
    return cycles;
}

CS_MEASURE_COLD void cs_measure_prepare(void)
{
    uint64_t least = UINT64_MAX;
    int kept;
#ifdef CS_RSEQ
    cs_never.signature = RSEQ_SIG;
    cs_never.section.abort_ip = (uint64_t)(uintptr_t)&cs_never.handler;
    cs_never.section.start_ip = (uint64_t)(uintptr_t)&cs_never.section_text;
    cs_never.section.post_commit_offset = 1;
#endif
    for (int i = 0; i < 2000; i++) {
        uint64_t cycles = cs_end_raw(cs_begin_raw(), &kept);
        least = kept && cycles < least ? cycles : least;
    }
    __atomic_store_n(&cs_pair_cycles, least == UINT64_MAX ? 0 : least, __ATOMIC_RELEASE);
}

CS_MEASURE_FN struct cs_measure cs_begin(void)
{
    if (__builtin_expect(__atomic_load_n(&cs_pair_cycles, __ATOMIC_ACQUIRE) == UINT64_MAX, 0))
        cs_measure_prepare();
    return cs_begin_raw();
}

CS_MEASURE_COLD void cs_site_list(struct cs_site *site)
{
    if (__atomic_exchange_n(&site->listed, 1, __ATOMIC_ACQ_REL))
        return;
    site->next = __atomic_load_n(&cs_sites, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&cs_sites, &site->next, site, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

/* Adds one run of the site. */
CS_MEASURE_FN void cs_end(struct cs_site *site, struct cs_measure m)
{
    int kept;
    uint64_t cycles = cs_end_raw(m, &kept), pair = cs_pair_cycles;
    cycles = cycles > pair ? cycles - pair : 0;
    if (__builtin_expect(!__atomic_load_n(&site->listed, __ATOMIC_RELAXED), 0))
        cs_site_list(site);
    if (__builtin_expect(!kept, 0)) {
        __atomic_fetch_add(&site->switched, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&site->switched_cycles, cycles, __ATOMIC_RELAXED);
        return;
    }
    unsigned bin = (unsigned)cycles;
    if (cycles >= 16) {
        unsigned shift = 59u - (unsigned)__builtin_clzll(cycles);
        bin = shift * 16 + (unsigned)(cycles >> shift);
    }
    __atomic_fetch_add(&site->runs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site->cycles, cycles, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site->bins[bin], 1, __ATOMIC_RELAXED);
}

/* ---- the report ---- */

/* Least cycles of a bin. */
CS_MEASURE_FN uint64_t cs_site_bin_least(unsigned bin)
{
    return bin < 16 ? bin : (uint64_t)(bin - (bin / 16 - 1) * 16) << (bin / 16 - 1);
}

/* All sites that ran, for `cyclescope hist --sections FILE`: tab-separated lines
 *      site NAME RUNS CYCLES SWITCHED SWITCHED_CYCLES PAIR_CYCLES TOLD
 *      bin LEAST COUNT            (of the site before)
 * TOLD is 0 where lost CPUs can't be told. 0, or -1 with errno. */
CS_MEASURE_COLD int cs_sites_write(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    for (struct cs_site *s = __atomic_load_n(&cs_sites, __ATOMIC_ACQUIRE); s; s = s->next) {
        fprintf(file, "site\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\n", s->name, (unsigned long long)s->runs,
                (unsigned long long)s->cycles, (unsigned long long)s->switched,
                (unsigned long long)s->switched_cycles, (unsigned long long)cs_pair_cycles,
                cs_switches_told());
        for (unsigned b = 0; b < CS_SITE_BINS; b++)
            if (s->bins[b])
                fprintf(file, "bin\t%llu\t%llu\n", (unsigned long long)cs_site_bin_least(b),
                        (unsigned long long)s->bins[b]);
    }
    int bad = ferror(file);
    return fclose(file) == 0 && !bad ? 0 : -1;
}

#endif
