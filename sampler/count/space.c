/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/count/space.h"

#ifdef __x86_64__
#include "sampler/images/proc_maps.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AREA_BYTES (64U << 20)
#define AREA_REACH (INT64_C(1536) << 20)
#define TABLE_BYTES (UINT64_C(1) << 20) /* 65,536 entries of 16 bytes, by an address's low 16 bits */
#define TABLES_BYTES (256 * TABLE_BYTES + (UINT64_C(1) << 16))
#define PROBES_MAX 2048
#define AHEAD_MAX 32 /* exits that are followed at once */
#define SLOT_BYTES (CS_COUNT_COUNTERS + 8 * (uint64_t)CS_COUNT_BLOCKS_MAX)
#define BUCKETS (4 * CS_COUNT_BLOCKS_MAX)
#define INSNS_MAX (CS_COUNT_BLOCKS_MAX * 16)

static int put(const struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    return pwrite(s->mem, bytes, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

/* Translations of one go lie side by side: they are written at once, before anything of them runs. */
static struct {
    uint64_t start;
    size_t n;
    uint8_t bytes[(AHEAD_MAX + 1) * (CS_COUNT_CODE_MAX + 16)];
} fresh;

static int put_fresh(const struct cs_count_space *s)
{
    const size_t n = fresh.n;
    fresh.n = 0;
    return n ? put(s, fresh.start, fresh.bytes, n) : 0;
}

static int put_code(const struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    if (fresh.n && addr - fresh.start >= fresh.n && addr - fresh.start + n <= sizeof fresh.bytes) {
        const size_t at = (size_t)(addr - fresh.start);
        memset(fresh.bytes + fresh.n, 0xcc, at - fresh.n);
        memcpy(fresh.bytes + at, bytes, n);
        fresh.n = at + n;
        return 0;
    }
    int rc = put_fresh(s);
    fresh.start = addr;
    fresh.n = n;
    memcpy(fresh.bytes, bytes, n);
    return rc;
}

/* Into what is written later, or what was. */
static int change_code(const struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    if (addr - fresh.start >= fresh.n)
        return put(s, addr, bytes, n);
    memcpy(fresh.bytes + (addr - fresh.start), bytes, n);
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

static size_t bucket_of(uint64_t addr)
{
    return (size_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 44) % BUCKETS;
}

static uint64_t slot_at(const struct cs_count_space *s, unsigned i)
{
    return s->region + TABLES_BYTES + i * SLOT_BYTES;
}

int cs_count_slot_clear(struct cs_count_space *s, uint64_t gs)
{
    static const char zero[65536];
    int rc = 0;
    for (uint64_t at = 0, n = 8 * (uint64_t)s->n_blocks; rc == 0 && at < n; at += sizeof zero)
        rc = put(s, gs + CS_COUNT_COUNTERS + at, zero, n - at < sizeof zero ? n - at : sizeof zero);
    return rc;
}

uint64_t cs_count_slot(struct cs_count_space *s)
{
    uint64_t table[256];
    for (unsigned i = 0; i < CS_COUNT_SLOTS; i++) {
        if (s->slot_used[i])
            continue;
        for (unsigned t = 0; t < 256; t++)
            table[t] = s->region + t * TABLE_BYTES;
        if (put(s, slot_at(s, i) + CS_COUNT_TABLES, table, sizeof table) < 0 ||
            cs_count_slot_clear(s, slot_at(s, i)) < 0)
            return 0;
        s->slot_used[i] = true;
        return slot_at(s, i);
    }
    return 0;
}

unsigned cs_count_slot_number(const struct cs_count_space *s, uint64_t gs)
{
    const uint64_t i = (gs - slot_at(s, 0)) / SLOT_BYTES;
    assert(i < CS_COUNT_SLOTS);
    return (unsigned)i;
}

void cs_count_slot_free(struct cs_count_space *s, uint64_t gs)
{
    s->slot_used[cs_count_slot_number(s, gs)] = false;
}

static int64_t map(const struct cs_count_caller *caller, uint64_t at, uint64_t place, uint64_t bytes,
                   int protection)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (place ? MAP_FIXED_NOREPLACE : 0);
    return caller->call(
        caller->arg, at, SYS_mmap,
        (const uint64_t[]){place, bytes, (uint64_t)protection, (uint64_t)flags, UINT64_MAX, 0});
}

static bool near(uint64_t a, uint64_t b)
{
    const int64_t distance = (int64_t)(a - b);
    return distance > -AREA_REACH && distance < AREA_REACH;
}

/* One that code at `pc` can reach, and that can reach what it reaches. */
static struct cs_count_area *area_of(struct cs_count_space *s, const struct cs_count_caller *caller,
                                     uint64_t pc, uint64_t syscall, struct cs_error *err)
{
    static const int64_t away[] = {-(INT64_C(1) << 30), -(INT64_C(1) << 29), INT64_C(1) << 30,
                                   INT64_C(1) << 29};
    for (unsigned i = 0; i < s->n_areas; i++)
        if (near(s->area[i].start, pc) && s->area[i].used + 2 * CS_COUNT_CODE_MAX < AREA_BYTES)
            return &s->area[i];
    if (s->n_areas == sizeof s->area / sizeof s->area[0]) {
        cs_fail(err, E2BIG, "its code is too far apart, or too much");
        return NULL;
    }
    for (unsigned i = 0; i < sizeof away / sizeof away[0]; i++) {
        const uint64_t place = (pc & ~UINT64_C(0xfffff)) + (uint64_t)away[i];
        if ((int64_t)place < 0x10000 || place >> 47 ||
            map(caller, syscall, place, AREA_BYTES, PROT_READ | PROT_EXEC) != (int64_t)place)
            continue;
        struct cs_count_area *a = &s->area[s->n_areas];
        uint8_t code[256];
        unsigned trap, call, n = cs_count_lookup(code, &trap, &call);
        *a = (struct cs_count_area){
            .start = place, .used = (n + 63) / 64 * 64, .trap = place + trap, .syscall = place + call};
        if (put(s, place, code, n) < 0)
            break;
        s->n_areas++;
        return a;
    }
    cs_fail(err, ENOMEM, "no memory near its code at 0x%" PRIx64, pc);
    return NULL;
}

static int open_memory(pid_t pid, struct cs_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    return fd >= 0 ? fd : cs_fail(err, errno, "%s: %s", path, strerror(errno));
}

struct cs_count_space *cs_count_space_open(const struct cs_count_caller *caller, uint64_t entry,
                                           struct cs_error *err)
{
    static const uint8_t syscall_bytes[] = {0x0f, 0x05};
    uint8_t was[2];
    struct cs_count_space *s = calloc(1, sizeof *s);
    if (s) {
        s->by_start = calloc(BUCKETS, sizeof *s->by_start);
        s->by_trap = calloc(BUCKETS, sizeof *s->by_trap);
        s->users = 1;
        s->mem = -1;
    }
    if (!s || !s->by_start || !s->by_trap) {
        cs_fail(err, ENOMEM, "out of memory for an address space");
        goto out;
    }
    s->mem = open_memory(caller->pid, err);
    if (s->mem < 0)
        goto out;
    if (pread(s->mem, was, 2, (off_t)entry) != 2 || put(s, entry, syscall_bytes, 2) < 0) {
        cs_fail(err, EFAULT, "its memory can't be written");
        goto out;
    }
    const int64_t region =
        map(caller, entry, 0, TABLES_BYTES + CS_COUNT_SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE);
    s->region = (uint64_t)region;
    const bool ready = region > 0 && area_of(s, caller, entry, entry, err);
    if (put(s, entry, was, 2) == 0 && ready)
        return s;
    if (region <= 0)
        cs_fail(err, ENOMEM, "no address space for its counters: %s", strerror((int)-region));
out:
    cs_count_space_close(s);
    return NULL;
}

static void *copy_of(const void *from, size_t n)
{
    void *to = malloc(n + 1);
    if (to && n)
        memcpy(to, from, n);
    return to;
}

/* Between the fork and us other threads may have made us add code: the child hasn't got that. */
static int bring_code(const struct cs_count_space *from, const struct cs_count_space *to)
{
    char bytes[65536];
    for (unsigned i = 0; i < from->n_areas; i++)
        for (uint64_t at = 0; at < from->area[i].used; at += sizeof bytes) {
            const uint64_t left = from->area[i].used - at;
            const size_t n = left < sizeof bytes ? left : sizeof bytes;
            if (pread(from->mem, bytes, n, (off_t)(from->area[i].start + at)) != (ssize_t)n ||
                put(to, from->area[i].start + at, bytes, n) < 0)
                return -EFAULT;
        }
    return 0;
}

struct cs_count_space *cs_count_space_copy(const struct cs_count_space *s, pid_t child, struct cs_error *err)
{
    struct cs_count_space *c = copy_of(s, sizeof *s);
    if (!c) {
        cs_fail(err, ENOMEM, "out of memory for an address space");
        return NULL;
    }
    c->users = 1;
    c->block_capacity = s->n_blocks;
    c->insn_capacity = s->n_insns;
    c->exit_capacity = s->n_exits;
    c->block = copy_of(s->block, s->n_blocks * sizeof *s->block);
    c->insn = copy_of(s->insn, s->n_insns * sizeof *s->insn);
    c->exit = copy_of(s->exit, s->n_exits * sizeof *s->exit);
    c->mapping = copy_of(s->mapping, s->n_mappings * sizeof *s->mapping);
    c->by_start = copy_of(s->by_start, BUCKETS * sizeof *s->by_start);
    c->by_trap = copy_of(s->by_trap, BUCKETS * sizeof *s->by_trap);
    c->mem = open_memory(child, err);
    if (c->mem >= 0 && c->block && c->insn && c->exit && c->mapping && c->by_start && c->by_trap) {
        if (s->users == 1 || bring_code(s, c) == 0)
            return c;
        cs_fail(err, EFAULT, "the memory of a child can't be written");
    } else if (c->mem >= 0) {
        cs_fail(err, ENOMEM, "out of memory for an address space");
    }
    cs_count_space_close(c);
    return NULL;
}

void cs_count_space_close(struct cs_count_space *s)
{
    if (!s || (s->users > 0 && --s->users > 0))
        return;
    if (s->mem >= 0)
        close(s->mem);
    free(s->block);
    free(s->insn);
    free(s->exit);
    free(s->by_start);
    free(s->by_trap);
    free(s->mapping);
    free(s);
}

bool cs_count_in_areas(const struct cs_count_space *s, uint64_t addr)
{
    for (unsigned i = 0; i < s->n_areas; i++)
        if (addr - s->area[i].start < AREA_BYTES)
            return true;
    return false;
}

bool cs_count_mapped(struct cs_count_space *s, uint64_t start, uint64_t bytes)
{
    s->mappings_known = false;
    s->n_stretch = 0;
    for (size_t i = 0; i < s->n_blocks; i++)
        if (s->block[i].start - start < bytes)
            return false;
    return true;
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
    for (size_t b = bucket_of(pc); s->by_start[b]; b = (b + 1) % BUCKETS)
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
    size_t b = bucket_of(block->start);
    while (s->by_start[b])
        b = (b + 1) % BUCKETS;
    s->by_start[b] = (uint32_t)++s->n_blocks;
    for (unsigned i = 0; i < t->n_exits; i++) {
        const struct cs_count_exit *x = &t->exit[i];
        s->exit[s->n_exits] = (struct cs_count_known_exit){block->code + x->trap, x->target,
                                                           block->code + x->link, block->code + x->far};
        for (b = bucket_of(block->code + x->trap); s->by_trap[b];)
            b = (b + 1) % BUCKETS;
        s->by_trap[b] = (uint32_t)++s->n_exits;
    }
    return 0;
}

/* The block's number; UINT32_MAX, with a sentence: there is none. */
static uint32_t translate(struct cs_count_space *s, const struct cs_count_caller *caller, uint64_t pc,
                          struct cs_error *err)
{
    static struct cs_count_translation t;
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
    struct cs_count_area *area = area_of(s, caller, pc, s->area[0].syscall, err);
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
static int link_exit(const struct cs_count_space *s, const struct cs_count_known_exit *x, uint64_t code)
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
    fresh.n = 0;
    const uint32_t first = translate(s, caller, pc, err);
    if (first == UINT32_MAX)
        return 0;
    for (size_t x = exits; x < s->n_exits && x < exits + AHEAD_MAX; x++) {
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
            return s->users == 1 ? put(s, at, (const uint64_t[]){minus, code}, 16)
                   : put(s, at + 8, &code, sizeof code) < 0 || put(s, at, &minus, sizeof minus) < 0 ? -EFAULT
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
    for (size_t b = bucket_of(trap); s->by_trap[b]; b = (b + 1) % BUCKETS) {
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
