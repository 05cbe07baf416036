/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler's part: the thread's record, the wanted value in it, and the slot that stands for it. Only
 * aggregate.bpf.c includes it, after the chains' part (ARRAY, THREAD_SELF).
 *
 * Everything read is hostile. The record is read to at most 640 bytes and walked in at most 306 steps, and its lengths
 * are checked against what was read. Reads that fail mean: no attribute. */
#pragma once

#include "sampler/attributes/attributes.h"

#define RECORD_HEAD 28
#define RECORD_AT_ONCE 64 /* a frugal writer's whole record: one cache line */
#define RECORD_MASK 1023
#define VALUE_PROBES 8

struct attribute_scratch {
    __u8 record[RECORD_MASK + 1 + 8];
    /* The walk's: here, because the verifier follows numbers on the stack, and would follow a walk to its end. */
    __u32 at, end, wanted;
    __u32 found, bytes; /* the last one of the key; 0: none */
};

ARRAY(attribute_scratches, struct attribute_scratch, 0);
ARRAY(attribute_places, struct cs_attribute_place, BPF_F_MMAPABLE);
ARRAY(attribute_values, struct cs_attribute_value, BPF_F_MMAPABLE);
__u64 attribute_lost[CS_AGGREGATE_CPUS] = {};
__u32 attribute_used[CS_AGGREGATE_CPUS] = {}; /* slots of this half, about */
const volatile __u32 n_attribute_values = 0;  /* of a half; power of two */

#ifdef CS_OLD_KERNEL
#define attribute_row(pid, generation, cpu, half) (pid)
#else
static __always_inline __u64 word_at(__u64 addr)
{
    __u64 word = 0;
    return bpf_probe_read_user(&word, sizeof word, (const void *)addr) ? 0 : word;
}

/* glibc's vector of a thread's blocks: its length stands two words before it, an entry has two words. */
static __always_inline __u64 record_of(const struct cs_attribute_place *place)
{
    __u64 self = THREAD_SELF, module = place->module;
    if (!self)
        return 0;
    if (!module)
        return word_at(self + place->offset);
    __u64 vector = word_at(self + 8);
    if (!vector || module > word_at(vector - 16))
        return 0;
    __u64 block = word_at(vector + 16 * module);
    return block && block != ~0ULL ? word_at(block + place->offset) : 0;
}

struct attribute_walk {
    struct attribute_scratch *s;
};

static long attribute_step(__u32 i, void *context)
{
    struct attribute_scratch *s = ((struct attribute_walk *)context)->s;
    __u32 at = s->at;
    if (at + 2 > s->end)
        return 1;
    __u32 bytes = s->record[(at + 1) & RECORD_MASK];
    if (at + 2 + bytes > s->end)
        return 1;
    if (s->record[at & RECORD_MASK] == s->wanted) {
        s->found = at + 2;
        s->bytes = bytes;
    }
    s->at = at + 2 + bytes;
    return 0;
}

/* Reads the record; where in it the wanted value is, and how long: 0 is none. */
static __always_inline __u32 find_value(struct attribute_scratch *s, __u64 record, __u32 wanted, __u32 *bytes)
{
    __u32 have = RECORD_AT_ONCE;
    if (bpf_probe_read_user(s->record, RECORD_AT_ONCE, (const void *)record)) {
        have = RECORD_HEAD;
        if (bpf_probe_read_user(s->record, RECORD_HEAD, (const void *)record))
            return 0;
    }
    if (s->record[24] != 1)
        return 0;
    if (wanted >= CS_ATTRIBUTE_TRACE) {
        const __u64 *id = (const __u64 *)s->record;
        *bytes = wanted == CS_ATTRIBUTE_TRACE ? 16 : 8;
        if (wanted == CS_ATTRIBUTE_SPAN)
            return id[2] ? 16 : 0;
        return id[0] | id[1] ? RECORD_MASK + 1 : 0; /* which is 0, and no longer none */
    }
    __u32 size = *(const __u16 *)(s->record + 26);
    if (size > CS_ATTRIBUTE_RECORD - RECORD_HEAD)
        size = CS_ATTRIBUTE_RECORD - RECORD_HEAD;
    if (RECORD_HEAD + size > have &&
        bpf_probe_read_user(s->record + RECORD_HEAD, size, (const void *)(record + RECORD_HEAD)))
        return 0;
    struct attribute_walk walk = {s};
    s->at = RECORD_HEAD;
    s->end = RECORD_HEAD + size;
    s->wanted = wanted;
    s->found = s->bytes = 0;
    bpf_loop((CS_ATTRIBUTE_RECORD - RECORD_HEAD) / 2, attribute_step, &walk, 0);
    *bytes = s->bytes;
    return s->bytes ? s->found : 0;
}

struct value_walk {
    const struct attribute_scratch *s;
    struct cs_attribute_value *to; /* NULL: hashed alone */
    __u64 hash;
    __u32 at, bytes;
};

/* Eight bytes of the value, zeros behind its end. */
static long value_step(__u32 i, void *context)
{
    struct value_walk *walk = context;
    __u64 word = *(const __u64 *)(walk->s->record + ((walk->at + 8 * i) & RECORD_MASK));
    __u32 left = walk->bytes - 8 * i;
    if (left < 8)
        word &= (1ULL << (8 * (left & 7))) - 1;
    if (walk->to)
        walk->to->words[i & (CS_ATTRIBUTE_BYTES / 8 - 1)] = word;
    walk->hash = (walk->hash ^ word) * 0x9E3779B97F4A7C15ULL;
    walk->hash ^= walk->hash >> 29;
    return 0;
}

/* The slot that has the value, or may get it; NULL: none is free. */
static __always_inline struct cs_attribute_value *slot_of(__u32 pid, __u32 first, __u64 hash, __u32 *slot)
{
    for (__u32 i = 0; i < VALUE_PROBES; i++) {
        *slot = ((__u32)(hash >> 32) + pid + i) & (n_attribute_values - 1);
        __u32 index = first + *slot;
        struct cs_attribute_value *value = bpf_map_lookup_elem(&attribute_values, &index);
        if (!value)
            return 0;
        if (!value->hash || (value->hash == hash && value->pid == pid))
            return value;
    }
    return 0;
}

/* The row that a sample of this thread is counted by: the process's number where there is no value. */
__noinline __u32 attribute_row(__u32 pid, __u32 generation, __u32 cpu, __u32 half)
{
    __u32 number = pid & (CS_ATTRIBUTE_PLACES - 1), slot = 0;
    const struct cs_attribute_place *place = bpf_map_lookup_elem(&attribute_places, &number);
    if (!place || place->pid != pid || place->generation != generation)
        return pid;
    __u32 wanted = place->wanted;
    __u64 record = record_of(place);
    if (!record || place->pid != pid) /* it was another's meanwhile */
        return pid;
    struct attribute_scratch *s = bpf_map_lookup_elem(&attribute_scratches, &cpu);
    if (!s)
        return pid;
    struct value_walk walk = {.s = s, .hash = wanted};
    walk.at = find_value(s, record, wanted, &walk.bytes);
    if (!walk.at)
        return pid;
    walk.hash |= (__u64)walk.bytes << 32; /* zeros at its end are another value than none */
    bpf_loop((walk.bytes + 7) / 8, value_step, &walk, 0);
    __u64 hash = walk.hash | 1;
    struct cs_attribute_value *value = slot_of(pid, (cpu * 2 + (half & 1)) * n_attribute_values, hash, &slot);
    if (!value) {
        attribute_lost[cpu & (CS_AGGREGATE_CPUS - 1)]++;
        return pid;
    }
    if (!value->hash) {
        value->pid = pid;
        value->bytes = walk.bytes;
        value->wanted = wanted;
        walk.to = value;
        bpf_loop((walk.bytes + 7) / 8, value_step, &walk, 0);
        value->hash = hash;
        attribute_used[cpu & (CS_AGGREGATE_CPUS - 1)]++;
    }
    return cs_attribute_row(half, cpu, slot);
}
#endif
