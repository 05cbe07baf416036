/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler's part of call chains: one frame after the other by rows and frame pointers (image/unwind/rows.h says
 * how). Only sample_chain.bpf.h and waits.bpf.h include it, for aggregate.bpf.c.
 *
 * Everything read from the stack is hostile. It is an address to look up or to read at by a helper that may fail, never
 * an index. The loops have fixed bounds: 127 frames, 13 steps to a mapping, 13 to a row. */
#pragma once

#include "sampler/chains/kernel_age.bpf.h"
#include "sampler/chains/kernel_tables.h"
#include "sampler/chains/maps.bpf.h"

#define WINDOW 512U      /* bytes of stack read at once: some eight frames */
#define WINDOW_BELOW 64U /* of them below the return address that is looked for: registers are saved there */
#define MAPPING_STEPS 13
#define ROW_STEPS 13

struct chain_scratch {
    __u64 pc, sp, fp, bx;
    __u64 start, bytes, bias; /* the mapping found last */
    __u64 window_at, word;
    __u32 image, list, n, end;
    __u32 leaf, fp_lost, bx_lost, registers; /* the last: `reg` is this frame's */
    __u32 runs, interpreter, n_own,
        n_joined; /* frames in an interpreter's loop; which; its own frames; both joined */
    __u64 run_at; /* one of the first */
    /* Of a run, innermost first: its caller's stack pointer (0: unknown), the number of its frame, what runs in it, and how many
     * runs from here on outwards are that one's. */
    __u64 run_sp[CS_CHAIN_RUNS], run_state[CS_CHAIN_RUNS];
    __u32 run_frame[CS_CHAIN_RUNS], run_same[CS_CHAIN_RUNS];
    __u64 reg[32];       /* by DWARF number */
    __u64 first_pc;      /* the user's own */
    __u32 cpu, unmapped; /* 1: an address was in no mapping that is known yet */
    __u32 row, unused;   /* what the sample is counted by */
    /* The last chain's cells, outermost first: most chains begin as the one before did. */
    __u64 known_root;
    __u32 known_turn, known_half, n_known, known_at;
    __u64 known_key[CS_CHAIN_FRAMES];
    __u32 known_cell[CS_CHAIN_FRAMES];
    __u64 window[WINDOW / 8];
    __u64 frames[CS_CHAIN_FRAMES]; /* innermost first: the kernel's, then the user's */
    __u64 own[CS_CHAIN_OWN_FRAMES], own_frame[16];
    __u64 joined[CS_CHAIN_FRAMES]; /* outermost first */
};

struct chain_walk {
    struct chain_scratch *s;
    struct cs_chain_cpu *cpu;
};

/* Rules found lately, by place. */
#define RULES 1024U /* of a CPU: 32 KB */
struct chain_rule {
    __u64 at;
    __u32 list, turn;
    __u64 rule[2]; /* as find_rule has it; in an interpreter's loop, bits 8 … 15 are 1 + its number */
};

ARRAY(chain_rules, struct chain_rule, 0);
ARRAY(chain_scratch, struct chain_scratch, 0);
ARRAY(chain_cpus, struct cs_chain_cpu, BPF_F_MMAPABLE);
ARRAY(chain_words, __u64, BPF_F_MMAPABLE);
ARRAY(chain_mappings, struct cs_chain_mapping, BPF_F_MMAPABLE);
ARRAY(chain_images, struct cs_chain_image, BPF_F_MMAPABLE);

ARRAY_OF(CS_CHAIN_INTERPRETERS, chain_interpreters, struct cs_chain_interpreter, BPF_F_MMAPABLE);
ARRAY_OF(CS_CHAIN_CODES, chain_codes, __u64, 0);

struct chain_segment_map {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct cs_chain_segment)); /* no type: the maps made later have none */
    __uint(max_entries, 1);
};
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __type(key, __u32);
    __uint(max_entries, CS_CHAIN_SEGMENTS);
    __array(values, struct chain_segment_map);
} chain_segments SEC(".maps");

RING(chain_wants, 65536);

ARRAY(chain_copy, struct cs_chain_copy, 0); /* of a CPU: the one in the making */
RING(chain_copies, 4096);                   /* set before loading */

/* ---- asking ---- */

static __always_inline void want(__u32 pid, __u32 image)
{
    struct cs_chain_want message = {pid, image, 0, 0, 0};
    bpf_ringbuf_output(&chain_wants, &message, sizeof message, 0);
}

static __always_inline void want_process(struct cs_chain_cpu *cpu, __u32 pid)
{
    __u32 *asked = &cpu->asked[pid & (CS_CHAIN_ASKED - 1)];
    if (*asked != pid) {
        *asked = pid;
        want(pid, CS_CHAIN_NO_IMAGE);
    }
}

/* ---- where an address lies ---- */

/* Of this program of the process; 0: not known. */
static __always_inline __u64 list_of(__u32 pid, __u32 generation)
{
#ifdef CS_OLD_KERNEL
    return 0; /* nothing is unwound here */
#endif
    __u64 wanted = cs_chain_word(pid, generation, 0);
    for (__u32 probe = 0; probe < CS_CHAIN_WORD_PROBES; probe++) {
        __u32 at = (pid + probe) & (CS_CHAIN_WORDS - 1);
        __u64 *word = bpf_map_lookup_elem(&chain_words, &at);
        if (!word)
            break;
        __u64 is = *word;
        if ((is & ~(__u64)CS_CHAIN_LIST_MASK) == wanted)
            return is & CS_CHAIN_LIST_MASK;
    }
    return 0;
}

#ifndef CS_OLD_KERNEL
/* A child has what its parent has, until it asks for more. */
static __always_inline void inherit_list(__u32 parent, __u32 parents, __u32 child, __u32 generation)
{
    __u64 list = list_of(parent, parents);
    for (__u32 probe = 0; list && probe < CS_CHAIN_WORD_PROBES; probe++) {
        __u32 at = (child + probe) & (CS_CHAIN_WORDS - 1);
        __u64 *word = bpf_map_lookup_elem(&chain_words, &at);
        if (!word)
            break;
        __u64 is = *word, fresh = cs_chain_word(child, generation, list);
        if ((!is || is >> CS_CHAIN_PID_SHIFT == child) && __sync_val_compare_and_swap(word, is, fresh) == is)
            break;
    }
}

/* Makes the mapping at `addr` the scratch's. Not static, as others here: verified once, not at each call. */
__noinline int chain_find_mapping(struct chain_scratch *s, __u64 addr)
{
    __u32 list = s ? s->list : 0, at = list, low = 0, high;
    struct cs_chain_mapping *m = bpf_map_lookup_elem(&chain_mappings, &at);
    if (!s || !m || !list)
        return 0;
    high = m->pages;
    for (int i = 0; i < MAPPING_STEPS; i++) { /* the first that begins behind it */
        if (low >= high)
            break;
        __u32 middle = (low + high) / 2;
        at = list + 1 + middle;
        m = bpf_map_lookup_elem(&chain_mappings, &at);
        if (!m)
            return 0;
        if (m->start > addr)
            high = middle;
        else
            low = middle + 1;
    }
    at = list + low; /* the one before: index low - 1 */
    m = bpf_map_lookup_elem(&chain_mappings, &at);
    if (!low || !m)
        return 0;
    __u64 start = m->start, bytes = (__u64)m->pages << CS_CHAIN_PAGE_SHIFT;
    if (addr - start >= bytes)
        return 0;
    s->start = start;
    s->bytes = bytes;
    s->bias = m->bias;
    s->image = m->image;
    return 1;
}

static __always_inline int is_mapped(struct chain_scratch *s, __u64 addr)
{
    return addr - s->start < s->bytes || chain_find_mapping(s, addr);
}

/* ---- which rule holds there ---- */

static __always_inline struct cs_chain_segment *segment_of(__u32 word)
{
    __u32 number = word / CS_CHAIN_SEGMENT_WORDS, zero = 0;
    void *segment = bpf_map_lookup_elem(&chain_segments, &number);
    return segment ? bpf_map_lookup_elem(segment, &zero) : 0;
}

static __always_inline __u32 word_of(const struct cs_chain_segment *segment, __u32 word)
{
    return segment->word[word & (CS_CHAIN_SEGMENT_WORDS - 1)];
}

/* The rule at a virtual address, 16 bytes as two words; 0 all over: none. */
static __always_inline int find_rule(const struct cs_chain_image *image, __u64 vaddr, __u64 rule[2])
{
    __u64 offset = vaddr - image->base;
    rule[0] = rule[1] = 0;
    if (offset >= image->end)
        return 0;
    __u32 block = image->first + (__u32)(offset >> CS_UNWIND_BLOCK_BITS);
    struct cs_chain_segment *segment = segment_of(block);
    if (!segment)
        return -1;
    __u32 low = word_of(segment, block);
    if ((block & (CS_CHAIN_SEGMENT_WORDS - 1)) == CS_CHAIN_SEGMENT_WORDS - 1 &&
        !(segment = segment_of(block + 1)))
        return -1;
    __u32 high = word_of(segment, block + 1), within = offset & (CS_UNWIND_BLOCK - 1);
    low += image->rows;
    high += image->rows;
    if (!(segment = segment_of(low)))
        return -1;
    if ((low ^ (high - 1)) / CS_CHAIN_SEGMENT_WORDS) { /* rows lie in two segments: in which? */
        __u32 border = high & ~(CS_CHAIN_SEGMENT_WORDS - 1);
        struct cs_chain_segment *behind = segment_of(border);
        if (!behind)
            return -1;
        if ((__u16)behind->word[0] <= within) {
            segment = behind;
            low = border;
        } else {
            high = border;
        }
    }
    for (int i = 0; i < ROW_STEPS; i++) { /* the last one at or before it: it is at `low` in the end */
        if (high - low <= 1)
            break;
        __u32 middle = low + (high - low) / 2;
        if ((__u16)word_of(segment, middle) <= within)
            low = middle;
        else
            high = middle;
    }
    __u32 number = word_of(segment, low) >> 16;
    if (number >= image->n_rules)
        return -1;
    __u32 at = image->rules + number * 4;
    if (!(segment = segment_of(at)))
        return -1;
    const __u64 *words = (const __u64 *)&segment->word[at & (CS_CHAIN_SEGMENT_WORDS - 4)];
    rule[0] = words[0];
    rule[1] = words[1];
    return 0;
}

/* ---- the stack ---- */

/* What isn't in the window: into s->word, 1; 0: can't be read. */
__noinline int chain_read_window(struct chain_scratch *s, __u64 addr)
{
    if (!s)
        return 0;
    if (addr % 8)
        return bpf_probe_read_user(&s->word, 8, (const void *)addr) == 0;
    s->window_at = addr - WINDOW_BELOW;
    if (bpf_probe_read_user(s->window, WINDOW, (const void *)s->window_at) != 0) {
        s->window_at = ~0ULL;
        return bpf_probe_read_user(&s->word, 8, (const void *)addr) == 0;
    }
    s->word = s->window[WINDOW_BELOW / 8];
    return 1;
}

static __always_inline int read_stack(struct chain_scratch *s, __u64 addr, __u64 *value)
{
    __u64 within = addr - s->window_at;
    if (within <= WINDOW - 8 && addr % 8 == 0) {
        *value = s->window[(within / 8) & (WINDOW / 8 - 1)];
        return 1;
    }
    int ok = chain_read_window(s, addr);
    *value = s->word;
    return ok;
}

/* ---- one frame ---- */

static __always_inline int end_chain(struct chain_scratch *s, __u32 end)
{
    s->end = end;
    return 1;
}

/* By frame pointer, where nothing better is known: believed if it leads to code further up. `otherwise`: the end, if not. */
static __always_inline int step_by_frame_pointer(struct chain_scratch *s, __u32 otherwise, int by_abi)
{
    __u64 fp = s->fp, next_fp, pc;
    if (s->fp_lost)
        return end_chain(s, otherwise);
    if (by_abi && !fp)
        return end_chain(s, CS_UNWIND_END_COMPLETE);
    if (fp % 8 || (fp < s->sp && !by_abi) || !read_stack(s, fp + 8, &pc) || !read_stack(s, fp, &next_fp))
        return end_chain(s, otherwise);
    if (!pc)
        return end_chain(s, CS_UNWIND_END_COMPLETE);
    if (!is_mapped(s, pc - 1))
        return end_chain(s, otherwise);
    s->pc = pc;
    s->sp = fp + 16;
    s->fp = next_fp;
    s->leaf = 0;
    return 0;
}

/* What lay on the stack when a signal came. */
static __always_inline int step_over_signal(struct chain_scratch *s)
{
    __u64 sp = s->sp, pc;
#ifdef __TARGET_ARCH_arm64
    int ok = read_stack(s, sp + CS_UNWIND_ARM_SIGNAL_PC, &pc) &&
             read_stack(s, sp + CS_UNWIND_ARM_SIGNAL_FP, &s->fp) &&
             read_stack(s, sp + CS_UNWIND_ARM_SIGNAL_LR, &s->reg[30]) &&
             read_stack(s, sp + CS_UNWIND_ARM_SIGNAL_SP, &s->sp);
#else
    int ok = read_stack(s, sp + CS_UNWIND_X86_SIGNAL_FP, &s->fp) &&
             read_stack(s, sp + CS_UNWIND_X86_SIGNAL_BX, &s->bx) &&
             read_stack(s, sp + CS_UNWIND_X86_SIGNAL_PC, &pc) &&
             read_stack(s, sp + CS_UNWIND_X86_SIGNAL_SP, &s->sp);
#endif
    if (!ok)
        return end_chain(s, CS_UNWIND_END_MEMORY);
    s->pc = pc;
    s->leaf = 1;
    s->fp_lost = s->bx_lost = 0;
#ifdef __TARGET_ARCH_arm64
    s->registers = 1; /* x30, the one that rules name */
#endif
    return 0;
}

static __always_inline int cfa_of(struct chain_scratch *s, __u32 kind, __u32 reg, __s64 offset, __s64 second,
                                  __u64 *cfa)
{
    switch (kind) {
    case CS_UNWIND_BX:
        *cfa = s->bx + offset;
        return s->bx_lost ? CS_UNWIND_END_REGISTER : 0;
    case CS_UNWIND_AT_SP:
    case CS_UNWIND_AT_FP:
        if (kind == CS_UNWIND_AT_FP && s->fp_lost)
            return CS_UNWIND_END_REGISTER;
        if (!read_stack(s, (kind == CS_UNWIND_AT_SP ? s->sp : s->fp) + offset, cfa))
            return CS_UNWIND_END_MEMORY;
        *cfa += second;
        return 0;
    case CS_UNWIND_PLT:
        *cfa = s->sp + offset + ((s->pc & 15) >= (__u64)second ? 8 : 0);
        return 0;
    case CS_UNWIND_REGISTER:
        *cfa = s->reg[reg & 31] + offset;
        return s->registers ? 0 : CS_UNWIND_END_REGISTER;
    default:
        return CS_UNWIND_END_UNSUPPORTED;
    }
}

/* To the caller's registers: 0; 1 at the chain's end. */
static __always_inline int step_by_rule(struct chain_scratch *s, const __u64 rule[2])
{
    __u32 kind = rule[0] & 0xff, ra = (rule[0] >> 16) & 0x7f, fp_rule = (rule[0] >> 24) & 0xff;
    __s64 offset = (__s64)rule[0] >> 32;
    __s64 second = (__s16)rule[1], ra_at = (__s16)(rule[1] >> 16), fp_at = (__s16)(rule[1] >> 32),
          bx_at = (__s16)(rule[1] >> 48);
    __u64 cfa, pc;
    if (kind == CS_UNWIND_SP) {
        cfa = s->sp + offset;
    } else if (kind == CS_UNWIND_FP) {
        if (s->fp_lost)
            return end_chain(s, CS_UNWIND_END_REGISTER);
        cfa = s->fp + offset;
    } else if (kind == CS_UNWIND_NONE) { /* a table's own such rule is zero */
        return step_by_frame_pointer(s, rule[1] ? (__u32)rule[1] & 15 : CS_UNWIND_END_NO_ROWS, 0);
    } else if (kind == CS_UNWIND_FRAME_POINTER) {
        return step_by_frame_pointer(s, CS_UNWIND_END_NO_ROWS, 1);
    } else if (kind == CS_UNWIND_SIGNAL) {
        return step_over_signal(s);
    } else if (kind == CS_UNWIND_OUTERMOST) {
        return end_chain(s, CS_UNWIND_END_COMPLETE);
    } else {
        int end = cfa_of(s, kind, (rule[0] >> 8) & 0xff, offset, second, &cfa);
        if (end)
            return end_chain(s, end);
    }
    if (cfa < s->sp || (cfa == s->sp && !s->leaf))
        return end_chain(s, CS_UNWIND_END_STUCK);

    if (ra == CS_UNWIND_SAVED) {
        if (!read_stack(s, cfa + ra_at, &pc))
            return end_chain(s, CS_UNWIND_END_MEMORY);
    } else {
        if (!s->registers)
            return end_chain(s, CS_UNWIND_END_REGISTER);
        pc = s->reg[ra_at & 31];
    }
#ifdef __TARGET_ARCH_arm64
    pc &= CS_TREE_ADDR_MASK; /* what authentication signs with */
#endif
    if (!pc)
        return end_chain(s, CS_UNWIND_END_COMPLETE);

    if (fp_rule != CS_UNWIND_KEPT) {
        __u64 fp_from = (fp_rule == CS_UNWIND_SAVED_AT_FP ? s->fp : cfa) + fp_at;
        s->fp_lost = fp_rule == CS_UNWIND_LOST || (fp_rule == CS_UNWIND_SAVED_AT_FP && s->fp_lost);
        if (!s->fp_lost && !read_stack(s, fp_from, &s->fp))
            s->fp_lost = 1;
    }
    if (bx_at) {
        s->bx_lost = bx_at == CS_UNWIND_BX_LOST;
        if (!s->bx_lost && !read_stack(s, cfa + bx_at, &s->bx))
            s->bx_lost = 1;
    }
    s->pc = pc;
    s->sp = cfa;
    s->leaf = s->registers = 0;
    return 0;
}

#include "sampler/chains/interpreted.bpf.h"

/* The rule at `at` into `found`, by the tables: 0; 1 at the chain's end. */
__noinline int chain_look_up_rule(struct chain_scratch *s, struct chain_rule *found, __u64 at)
{
    __u32 zero = s ? s->cpu : 0;
    struct cs_chain_cpu *cpu = bpf_map_lookup_elem(&chain_cpus, &zero);
    if (!s || !found || !cpu)
        return 1;
    found->at = 0;
    if (!is_mapped(s, at)) {
        want_process(cpu, bpf_get_current_pid_tgid() >> 32);
        s->unmapped = 1;
        if (!s->leaf)
            return end_chain(s, CS_UNWIND_END_NO_IMAGE);
        found->rule[0] = CS_UNWIND_NONE;
        found->rule[1] = CS_UNWIND_END_NO_IMAGE;
        return 0;
    }
    __u32 number = s->image;
    struct cs_chain_image *image = bpf_map_lookup_elem(&chain_images, &number);
    if (number == CS_CHAIN_NO_IMAGE || (image && image->state == CS_CHAIN_IMAGE_NO_TABLE)) {
        found->rule[0] = CS_UNWIND_NONE;
        found->rule[1] = number == CS_CHAIN_NO_IMAGE ? CS_UNWIND_END_NO_IMAGE : CS_CHAIN_END_NO_TABLE;
    } else if (!image || image->state != CS_CHAIN_IMAGE_LOADED) {
        if (image && !image->asked) {
            image->asked = 1;
            want(bpf_get_current_pid_tgid() >> 32, number);
        }
        return end_chain(s, CS_UNWIND_END_NOT_LOADED);
    } else {
        image->used = cpu->turn;
        if (find_rule(image, at - s->bias, found->rule) < 0)
            return end_chain(s, CS_UNWIND_END_NO_ROWS);
        if (image->interpreter && is_run(image, at - s->bias) &&
            (found->rule[0] & 0xff) != CS_UNWIND_REGISTER)
            found->rule[0] |= (__u64)(image->interpreter & 0xff) << 8;
    }
    found->list = s->list;
    found->turn = cpu->turn;
    found->at = at;
    return 0;
}

/* Notes the frame at hand and goes to its caller. bpf_loop's: 1 ends it. */
static long unwind_frame(__u32 i, void *context)
{
    struct chain_walk *walk = context;
    struct chain_scratch *s = walk->s;
    __u64 at = s->leaf ? s->pc : s->pc - 1;
    (void)i;
    s->frames[s->n & (CS_CHAIN_FRAMES - 1)] = at;
    s->n++;
    __u32 place = s->cpu * RULES + (__u32)((at * 0x9E3779B97F4A7C15ULL) >> 54);
    struct chain_rule *found = bpf_map_lookup_elem(&chain_rules, &place);
    if (!found)
        return 1;
    if ((found->at != at || found->list != s->list || found->turn != walk->cpu->turn) &&
        chain_look_up_rule(s, found, at))
        return 1;
    __u32 interpreter = (found->rule[0] >> 8) & 0xff;
    /* Of two interpreters in one chain the innermost one's runs are told. */
    if (interpreter && (!s->runs || s->interpreter == interpreter - 1) &&
        (found->rule[0] & 0xff) != CS_UNWIND_REGISTER) {
        s->frames[(s->n - 1) & (CS_CHAIN_FRAMES - 1)] |= CS_TREE_RUN;
        s->interpreter = interpreter - 1;
        s->run_at = at;
        __u32 run = s->runs++ & (CS_CHAIN_RUNS - 1);
        s->run_frame[run] = s->n - 1;
        int ends = step_by_rule(s, found->rule);
        s->run_sp[run] = ends ? 0 : s->sp;
        return ends;
    }
    return step_by_rule(s, found->rule);
}

#endif

/* ---- where a thread stands ---- */

#include "sampler/chains/registers.bpf.h"

/* A task's user registers; an old kernel's verifier wants them in `room` (REGISTERS_BYTES). */
static __always_inline struct pt_regs *registers_of(void *room, struct task_struct *task)
{
#ifdef CS_OLD_KERNEL
    bpf_probe_read_kernel(room, REGISTERS_BYTES, USER_REGISTERS(task, struct pt_regs));
    return room;
#else
    return USER_REGISTERS(task, struct pt_regs);
#endif
}

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000 /* linux/sched.h */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000

/* A chain of no frames yet; the registers are still to be taken. */
static __always_inline void begin_chain(struct chain_scratch *s, __u32 cpu)
{
    s->n = 0;
    s->cpu = cpu;
    s->end = CS_UNWIND_END_DEPTH;
    s->leaf = s->registers = 1;
    s->fp_lost = s->bx_lost = 0;
    s->runs = s->n_joined = s->unmapped = 0;
    s->bytes = 0;
    s->window_at = ~0ULL;
}
