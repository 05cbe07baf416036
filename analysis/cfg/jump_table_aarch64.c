/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64. Forms that GCC and clang make (T table, B base, I index). Entries of 1, 2 or 4 bytes count
 * instructions or bytes from B, entries of 8 are addresses. The code is ldrb/ldrh/ldr/ldrs* R, [T, I, ...];
 * add R, B,
 * R, sxt*|uxt*|lsl #0|2;  br R       B = adr, or T itself ldr R, [T, I, lsl #3];  br R T is adrp + add or
 * adr, perhaps hoisted out of a loop. The bound is the `cmp I, #N; b.hi` (or .ls, .hs, .lo), or the `and`
 * that made I, narrowed by a test of one bit before. A table without a bound stays unresolved: nearly every
 * small entry would lead to some instruction. Encodings: Arm ARM C4.1. */
#include "analysis/cfg/jump_table_internal.h"

#include <string.h>

#define LOOK_BACK 40
#define BASE_LOOK_BACK 2000
#define SP 31

static uint32_t word_at(const struct jump_scan *s, uint32_t i)
{
    size_t n_bytes;
    uint32_t word = 0;
    const uint8_t *bytes = cs_image_bytes_at(s->code, s->insns[i].offset, &n_bytes, NULL);
    if (bytes && n_bytes >= sizeof word)
        memcpy(&word, bytes, sizeof word);
    return word;
}

static unsigned rd(uint32_t word)
{
    return word & 31;
}

static unsigned rn(uint32_t word)
{
    return word >> 5 & 31;
}

static unsigned rm(uint32_t word)
{
    return word >> 16 & 31;
}

/* The nearest instruction before `at` that writes `reg`; register moves are followed. s->n = none. A call
 * changes x0 to x18. */
static uint32_t definition(const struct jump_scan *s, uint32_t at, unsigned *reg, unsigned most)
{
    for (uint32_t i = at, steps = 0; i-- > 0 && steps < most; steps++) {
        if (s->insns[i].flow == CS_ISA_FLOW_CALL && *reg <= 18)
            return s->n;
        if (!jump_writes(s, i, *reg))
            continue;
        uint32_t word = word_at(s, i);
        if ((word & 0x7fe0ffe0) != 0x2a0003e0) /* mov */
            return i;
        *reg = rm(word);
    }
    return s->n;
}

static int64_t adr_immediate(uint32_t word)
{
    int64_t immediate = (int64_t)(int32_t)((word >> 5 & 0x7ffff) << 13) >> 13;
    return immediate * 4 + (word >> 29 & 3);
}

/* What `reg` holds at `at` when it is an address made of adr, or adrp and add. */
static bool address(const struct jump_scan *s, uint32_t at, unsigned reg, uint64_t *value)
{
    uint64_t added = 0;
    for (int pieces = 0; pieces < 2; pieces++) {
        uint32_t i = definition(s, at, &reg, BASE_LOOK_BACK);
        if (i == s->n)
            return false;
        uint32_t word = word_at(s, i);
        if ((word & 0x9f000000) == 0x10000000) {
            *value = s->insns[i].offset + (uint64_t)adr_immediate(word) + added;
            return true;
        }
        if ((word & 0x9f000000) == 0x90000000) {
            *value = (s->insns[i].offset & ~UINT64_C(4095)) + (uint64_t)(adr_immediate(word) * 4096) + added;
            return true;
        }
        if ((word & 0xff800000) != 0x91000000) /* add immediate */
            return false;
        added = (uint64_t)(word >> 10 & 4095) << (word >> 22 & 1 ? 12 : 0);
        reg = rn(word);
        at = i;
    }
    return false;
}

struct table {
    struct jump_entries entries;
    unsigned index; /* register */
    uint32_t load;
};

/* add R, B, R: which is the load's, how its value is extended. False for all else. */
static bool is_sum(uint32_t word, unsigned *shift, bool *is_signed)
{
    if ((word & 0xffe00000) == 0x8b200000) {
        *shift = word >> 10 & 7;
        *is_signed = word >> 13 & 4;
        return true;
    }
    *shift = word >> 10 & 63;
    *is_signed = false;
    return (word & 0xffe00000) == 0x8b000000 && *shift <= 2;
}

static bool is_table_load(uint32_t word)
{
    return (word & 0x3f200c00) == 0x38200800 && (word >> 22 & 3) != 0;
}

static bool read_load(const struct jump_scan *s, uint32_t i, struct table *t)
{
    uint32_t word = word_at(s, i);
    if (!is_table_load(word))
        return false;
    t->load = i;
    t->entries.bytes = 1u << (word >> 30);
    t->entries.is_signed |= (word >> 22 & 3) > 1;
    t->index = rm(word);
    return address(s, i, rn(word), &t->entries.start);
}

/* 1 found, 0 a table that can't be read, 2 no table. */
static int find_table(const struct jump_scan *s, uint32_t jump, struct table *t)
{
    *t = (struct table){0};
    unsigned reg = rn(word_at(s, jump));
    uint32_t sum = definition(s, jump, &reg, LOOK_BACK);
    if (sum == s->n)
        return 2;
    if (is_table_load(word_at(s, sum)))
        return read_load(s, sum, t) && t->entries.bytes == 8;
    uint32_t word = word_at(s, sum);
    if (!is_sum(word, &t->entries.shift, &t->entries.is_signed))
        return 2;
    unsigned offset = rm(word);
    uint32_t load = definition(s, sum, &offset, LOOK_BACK);
    if (load == s->n || !is_table_load(word_at(s, load)))
        return 2;
    return read_load(s, load, t) && t->entries.bytes < 8 && address(s, sum, rn(word), &t->entries.base);
}

/* A mask of low bits (`and`, `tst` by an immediate): how many bits, or 0. */
static unsigned mask_bits(uint32_t word)
{
    bool rotated = word >> 16 & 63, whole = (word >> 10 & 32) == 0 || word >> 22 & 1;
    return !rotated && whole ? (word >> 10 & 63) + 1 : 0;
}

/* The one bit that `tbz`, `tbnz` or a `tst` of one bit looks at, in *reg; 64 = none. */
static unsigned tested_bit(uint32_t word, unsigned *reg)
{
    if ((word & 0x7e000000) == 0x36000000) {
        *reg = rd(word);
        return (word >> 26 & 32) | (word >> 19 & 31);
    }
    *reg = rn(word);
    if ((word & 0xff80001f) == 0x7200001f && (word >> 10 & 63) == 0)
        return (32 - (word >> 16 & 31)) & 31;
    return 64;
}

/* How many entries; 0 = unknown. */
static uint32_t bound(const struct jump_scan *s, const struct table *t)
{
    uint32_t limit = 0, extra = 0;
    unsigned masked = SP, reg;
    for (uint32_t i = t->load, steps = 0; i-- > 0 && steps < LOOK_BACK; steps++) {
        uint32_t word = word_at(s, i);
        if (!limit && (word & 0x7f800000) == 0x12000000 && rd(word) == t->index) {
            unsigned bits = mask_bits(word);
            if (bits == 0 || bits > 12)
                return 0;
            limit = UINT32_C(1) << bits;
            masked = rn(word);
        }
        unsigned bit = tested_bit(word, &reg);
        if (limit && bit < 12 && reg == masked && UINT32_C(1) << bit < limit)
            return UINT32_C(1) << bit;
        if (s->insns[i].flow == CS_ISA_FLOW_CALL || s->insns[i].flow == CS_ISA_FLOW_RETURN)
            continue;
        if (word >> 24 == 0x54)
            switch (word & 15) {
            case 8: /* hi */
            case 9: /* ls */
                extra = 1;
                break;
            case 2: /* hs */
            case 3: /* lo */
                extra = 2;
                break;
            default:
                break;
            }
        if (!limit && extra && (word & 0x7f80001f) == 0x7100001f && !(word >> 22 & 1))
            return (word >> 10 & 4095) + (extra == 1);
    }
    return limit;
}

int jump_table_aarch64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets)
{
    struct table t;
    int found = find_table(s, jump, &t);
    if (found != 1)
        return found;
    t.entries.n = bound(s, &t);
    return jump_follow(s, &t.entries, targets);
}
