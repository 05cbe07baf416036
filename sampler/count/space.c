/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/count/space.h"

#ifdef __x86_64__

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
#define SLOT_BYTES (CS_COUNT_COUNTERS + 8 * (uint64_t)CS_COUNT_BLOCKS_MAX)

int cs_count_put(const struct cs_count_space *s, uint64_t addr, const void *bytes, size_t n)
{
    return pwrite(s->mem, bytes, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
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
        rc = cs_count_put(s, gs + CS_COUNT_COUNTERS + at, zero, n - at < sizeof zero ? n - at : sizeof zero);
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
        if (cs_count_put(s, slot_at(s, i) + CS_COUNT_TABLES, table, sizeof table) < 0 ||
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

struct cs_count_area *cs_count_area_near(struct cs_count_space *s, const struct cs_count_caller *caller,
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
        if (cs_count_put(s, place, code, n) < 0)
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
        s->by_start = calloc(CS_COUNT_BUCKETS, sizeof *s->by_start);
        s->by_trap = calloc(CS_COUNT_BUCKETS, sizeof *s->by_trap);
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
    if (pread(s->mem, was, 2, (off_t)entry) != 2 || cs_count_put(s, entry, syscall_bytes, 2) < 0) {
        cs_fail(err, EFAULT, "its memory can't be written");
        goto out;
    }
    const int64_t region =
        map(caller, entry, 0, TABLES_BYTES + CS_COUNT_SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE);
    s->region = (uint64_t)region;
    const bool ready = region > 0 && cs_count_area_near(s, caller, entry, entry, err);
    if (cs_count_put(s, entry, was, 2) == 0 && ready)
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
                cs_count_put(to, from->area[i].start + at, bytes, n) < 0)
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
    c->by_start = copy_of(s->by_start, CS_COUNT_BUCKETS * sizeof *s->by_start);
    c->by_trap = copy_of(s->by_trap, CS_COUNT_BUCKETS * sizeof *s->by_trap);
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
#endif
