/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translations are found by where the program has their code, and by where they trap. */
#include "sampler/count/space.h"

#ifdef __x86_64__
#include "sampler/images/proc_maps.h"
#include "store/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INSNS_MAX (CS_COUNT_BLOCKS_MAX * 16)
#define PROBES_MAX 2048

static int put_fresh(struct cs_count_space *s)
{
    const size_t n = s->fresh.n;
    s->fresh.n = 0;
    return n ? cs_count_put(s, s->fresh.start, s->fresh.bytes, n) : 0;
}

static int put_code(struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    if (s->fresh.n && addr - s->fresh.start >= s->fresh.n &&
        addr - s->fresh.start + n <= sizeof s->fresh.bytes) {
        const size_t at = (size_t)(addr - s->fresh.start);
        memset(s->fresh.bytes + s->fresh.n, 0xcc, at - s->fresh.n);
        memcpy(s->fresh.bytes + at, bytes, n);
        s->fresh.n = at + n;
        return 0;
    }
    int rc = put_fresh(s);
    s->fresh.start = addr;
    s->fresh.n = n;
    memcpy(s->fresh.bytes, bytes, n);
    return rc;
}

/* Into what is written later, or what was. */
static int change_code(struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    if (addr - s->fresh.start >= s->fresh.n)
        return cs_count_put(s, addr, bytes, n);
    memcpy(s->fresh.bytes + (addr - s->fresh.start), bytes, n);
    return 0;
}

/* The program's bytes at `pc`: their number. They are read a stretch at a time. */
static size_t code_at(struct cs_count_space *s, uint64_t pc, uint64_t left, const uint8_t **bytes)
{
    const size_t wanted = left < CS_COUNT_READ_MAX ? (size_t)left : CS_COUNT_READ_MAX;
    if (pc < s->stretch_at || pc + wanted > s->stretch_at + s->n_stretch) {
        const ssize_t n =
            pread(s->mem, s->stretch, left < sizeof s->stretch ? left : sizeof s->stretch, (off_t)pc);
        s->stretch_at = pc;
        s->n_stretch = n > 0 ? (size_t)n : 0;
    }
    *bytes = s->stretch + (pc - s->stretch_at);
    return s->n_stretch - (size_t)(pc - s->stretch_at);
}

static size_t cs_count_bucket(uint64_t addr)
{
    return (size_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 44) % CS_COUNT_BUCKETS;
}

struct mapping_to {
    struct cs_count_space *space;
    struct cs_images *images;
};

/* Code that is in no file, so that it may change. */
static bool is_made(const struct cs_mapped_file *file)
{
    static const char *const memory[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (strncmp(file->path, memory[i], strlen(memory[i])) == 0)
            return true;
    return file->inode == 0 && strcmp(file->path, "[vdso]") != 0;
}

static int add_mapping(void *arg, const struct cs_mapped_file *file)
{
    const struct mapping_to *to = arg;
    struct cs_count_space *s = to->space;
    if (cs_count_in_areas(s, file->start))
        return 0;
    if (cs_array_resize(s->mapping, s->n_mappings + 1) < 0)
        return -ENOMEM;
    if (is_made(file)) {
        s->mapping[s->n_mappings++] = (struct cs_count_mapping){.start = file->start, .end = file->end};
        return 0;
    }
    struct cs_mapped_image *image = cs_images_of_file(to->images, file);
    if (!image)
        return -ENOMEM;
    uint64_t vaddr = file->pgoff;
    if (image->layout.is_elf)
        vaddr = cs_image_vaddr_of_mapping(&image->layout, file->pgoff, file->end - file->start, 0);
    if (image->image.kind == CS_IMAGE_VDSO)
        vaddr = 0;
    s->mapping[s->n_mappings++] = (struct cs_count_mapping){file->start, file->end, vaddr, image};
    return 0;
}

static const struct cs_count_mapping *mapping_of(struct cs_count_space *s,
                                                 const struct cs_count_caller *caller, uint64_t pc)
{
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; s->mappings_known && i < s->n_mappings; i++)
            if (pc >= s->mapping[i].start && pc < s->mapping[i].end)
                return &s->mapping[i];
        if (round)
            break;
        struct mapping_to to = {s, caller->images};
        s->n_mappings = 0;
        s->mappings_known = cs_proc_mappings("/proc", caller->pid, add_mapping, &to) == 0;
    }
    return NULL;
}

static const struct cs_count_block *find_block(const struct cs_count_space *s, uint64_t pc)
{
    for (size_t b = cs_count_bucket(pc); s->by_start[b]; b = (b + 1) % CS_COUNT_BUCKETS)
        if (s->block[s->by_start[b] - 1].start == pc)
            return &s->block[s->by_start[b] - 1];
    return NULL;
}

static int remember(struct cs_count_space *s, const struct cs_count_translation *t,
                    const struct cs_count_block *block)
{
    if (cs_array_room(s->block, s->n_blocks, s->block_capacity) < 0 ||
        cs_array_reserve_in(s->insn, s->n_insns + t->n_insns, s->insn_capacity) < 0 ||
        cs_array_reserve_in(s->exit, s->n_exits + t->n_exits, s->exit_capacity) < 0)
        return -ENOMEM;
    memcpy(s->insn + s->n_insns, t->insn, t->n_insns * sizeof t->insn[0]);
    s->block[s->n_blocks] = *block;
    s->block[s->n_blocks].insns_at = (uint32_t)s->n_insns;
    s->n_insns += t->n_insns;
    size_t b = cs_count_bucket(block->start);
    while (s->by_start[b])
        b = (b + 1) % CS_COUNT_BUCKETS;
    s->by_start[b] = (uint32_t)++s->n_blocks;
    for (unsigned i = 0; i < t->n_exits; i++) {
        const struct cs_count_exit *x = &t->exit[i];
        s->exit[s->n_exits] = (struct cs_count_known_exit){block->code + x->trap, x->target,
                                                           block->code + x->link, block->code + x->far};
        for (b = cs_count_bucket(block->code + x->trap); s->by_trap[b];)
            b = (b + 1) % CS_COUNT_BUCKETS;
        s->by_trap[b] = (uint32_t)++s->n_exits;
    }
    return 0;
}

/* The block's number; UINT32_MAX, with a sentence: there is none. */
static uint32_t translate(struct cs_count_space *s, const struct cs_count_caller *caller, uint64_t pc,
                          struct cs_error *err)
{
    struct cs_count_translation t;
    const uint8_t *bytes;
    const struct cs_count_mapping *mapping = mapping_of(s, caller, pc);
    if (mapping && !mapping->image) {
        cs_fail(err, ENOTSUP, "it makes code as it runs");
        return UINT32_MAX;
    }
    if (!mapping) {
        cs_fail(err, EFAULT, "it jumps to 0x%" PRIx64 ", where no code is", pc);
        return UINT32_MAX;
    }
    if (s->n_blocks == CS_COUNT_BLOCKS_MAX || s->n_insns + CS_COUNT_INSTRUCTIONS_MAX > INSNS_MAX) {
        cs_fail(err, E2BIG, "it has more than %u blocks of code", CS_COUNT_BLOCKS_MAX);
        return UINT32_MAX;
    }
    const size_t n = code_at(s, pc, mapping->end - pc, &bytes);
    struct cs_count_block block = {
        .start = pc, .image = mapping->image, .offset = mapping->vaddr + (pc - mapping->start)};
    struct cs_count_area *area = cs_count_area_near(s, caller, pc, s->area[0].syscall, err);
    if (!area)
        return UINT32_MAX;
    block.code = area->start + area->used;
    cs_count_translate(bytes, n, pc, block.code, (uint32_t)s->n_blocks, area->start, &t);
    if (t.refused) {
        cs_fail(err, ENOTSUP, "%s (at 0x%" PRIx64 " of %s)", t.refused, block.offset,
                block.image->image.path);
        return UINT32_MAX;
    }
    block.n_insns = (uint16_t)t.n_insns;
    block.end = (uint8_t)t.end;
    if (put_code(s, block.code, t.code, t.n_code) < 0 || remember(s, &t, &block) < 0) {
        cs_fail(err, ENOMEM, "no memory for the translation at 0x%" PRIx64, pc);
        return UINT32_MAX;
    }
    area->used += (t.n_code + 15) / 16 * 16;
    return (uint32_t)s->n_blocks - 1;
}

/* From now on the jump goes there without us. */
static int link_exit(struct cs_count_space *s, const struct cs_count_known_exit *x, uint64_t code)
{
    int64_t distance = (int64_t)(code - (x->link + 4));
    if (distance != (int32_t)distance) {
        if (change_code(s, x->far + 6, &code, sizeof code) < 0)
            return -EFAULT;
        distance = (int64_t)(x->far - (x->link + 4));
    }
    const int32_t relative = (int32_t)distance;
    return change_code(s, x->link, &relative, sizeof relative);
}

/* With what it may go on to, so that it stops less often. What of that can't be translated will say so when it runs. */
uint64_t cs_count_code_of(struct cs_count_space *s, const struct cs_count_caller *caller, uint64_t pc,
                          struct cs_error *err)
{
    const struct cs_count_block *known = find_block(s, pc);
    if (known)
        return known->code;
    const size_t exits = s->n_exits;
    s->fresh.n = 0;
    const uint32_t first = translate(s, caller, pc, err);
    if (first == UINT32_MAX)
        return 0;
    for (size_t x = exits; x < s->n_exits && x < exits + CS_COUNT_AHEAD_MAX; x++) {
        struct cs_error ignored = {0};
        known = find_block(s, s->exit[x].target);
        const uint32_t next = known ? 0 : translate(s, caller, s->exit[x].target, &ignored);
        if (next == UINT32_MAX)
            continue;
        if (link_exit(s, &s->exit[x], known ? known->code : s->block[next].code) < 0)
            cs_fail(err, EFAULT, "its memory can't be written");
    }
    if (put_fresh(s) < 0)
        cs_fail(err, EFAULT, "its memory can't be written");
    if (*err->text)
        return 0;
    return s->block[first].code;
}

/* First its code, then its address: who finds the address finds the code. */
static int add_target(const struct cs_count_space *s, uint64_t target, uint64_t code)
{
    const uint64_t minus = -target;
    uint64_t at = s->region + (target & 0xffffff) * 16, there;
    for (unsigned i = 0; i < PROBES_MAX; i++, at += 16) {
        if (pread(s->mem, &there, sizeof there, (off_t)at) != sizeof there)
            return -EFAULT;
        if (there == minus)
            return 0;
        if (!there)
            return s->users == 1 ? cs_count_put(s, at, (const uint64_t[]){minus, code}, 16)
                   : cs_count_put(s, at + 8, &code, sizeof code) < 0 ||
                           cs_count_put(s, at, &minus, sizeof minus) < 0
                       ? -EFAULT
                       : 0;
    }
    return -E2BIG;
}

uint64_t cs_count_after_trap(struct cs_count_space *s, const struct cs_count_caller *caller, uint64_t trap,
                             uint64_t gs, struct cs_error *err)
{
    uint64_t target;
    for (unsigned i = 0; i < s->n_areas; i++) {
        if (trap != s->area[i].trap)
            continue;
        if (pread(s->mem, &target, sizeof target, (off_t)(gs + CS_COUNT_TARGET)) != sizeof target)
            return 0;
        const uint64_t code = cs_count_code_of(s, caller, target, err);
        if (code && add_target(s, target, code) < 0)
            cs_fail(err, E2BIG, "it has too many targets of indirect branches");
        return *err->text ? 0 : code;
    }
    for (size_t b = cs_count_bucket(trap); s->by_trap[b]; b = (b + 1) % CS_COUNT_BUCKETS) {
        const size_t x = s->by_trap[b] - 1;
        if (s->exit[x].trap != trap)
            continue;
        const uint64_t code = cs_count_code_of(s, caller, s->exit[x].target, err);
        if (code && link_exit(s, &s->exit[x], code) < 0)
            cs_fail(err, EFAULT, "its memory can't be written");
        return *err->text ? 0 : code;
    }
    return 0;
}
#endif
