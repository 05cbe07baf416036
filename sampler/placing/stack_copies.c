/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/stack_copies.h"
#include "image/unwind/step.h"
#include "store/base/array.h"
#include "store/base/clock.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>

/* For a table: a large one takes half a second to make, ten at once five, and a starved or emulated CPU ten times as long. */
#define WAIT_NS_MAX 30000000000ULL
/* Of one drain. While it unwinds, more come, and the kernel's buffer has room for half a second: a drain of all that came during the
 * last one gets longer and longer. */
#define EMIT_NS_MAX 100000000ULL

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#define KNOWN (7U << 29)
#elif defined __riscv
#define MACHINE EM_RISCV
#define KNOWN (1U << 1 | 1U << 2 | 1U << 8)
#else
#define MACHINE EM_X86_64
#define KNOWN 0xffffU
#endif

struct kept {
    struct cs_driver_entry entry;
    struct cs_chain_copy *copy;
    unsigned absent; /* 1 + the image whose table it waits for; 0: no image */
};

struct cs_stack_copies {
    struct cs_session_places *places;
    struct cs_image_tables *tables;
    CS_ARRAY(struct kept) kept;
    size_t bytes, bytes_max;
    bool waits; /* some aren't unwound yet, though they could be, or a table is being made */
    /* of the one at hand */
    const struct cs_driver_entry *entry;
    const struct cs_chain_copy *copy;
    bool absent;                   /* a table is being made */
    bool forbidden;                /* the mapping's table may not be made now */
    bool cut;                      /* asked for what lies above the copy */
    struct cs_maps_location found; /* the mapping met last */
    const struct cs_unwind_header *table;
    uint64_t chain[CS_CHAIN_FRAMES];
};

struct cs_stack_copies *cs_stack_copies_open(struct cs_session_places *places, struct cs_image_tables *tables,
                                             size_t bytes_max)
{
    assert(places && tables);
    struct cs_stack_copies *c = calloc(1, sizeof *c);
    if (c)
        *c = (struct cs_stack_copies){.places = places, .tables = tables, .bytes_max = bytes_max};
    return c;
}

void cs_stack_copies_close(struct cs_stack_copies *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->kept.n; i++)
        free(c->kept.at[i].copy);
    cs_array_free(&c->kept);
    free(c);
}

static size_t bytes_of(const struct cs_chain_copy *copy)
{
    return offsetof(struct cs_chain_copy, stack) + copy->n_stack;
}

int cs_stack_copies_add(struct cs_stack_copies *c, const struct cs_driver_entry *entry)
{
    size_t n = bytes_of(entry->copy);
    struct kept *kept = c->bytes + n <= c->bytes_max ? cs_array_add(&c->kept) : NULL;
    if (!kept)
        return c->bytes + n <= c->bytes_max ? -ENOMEM : -ENOSPC;
    *kept = (struct kept){.entry = *entry, .copy = malloc(n)};
    if (!kept->copy) {
        c->kept.n--;
        return -ENOMEM;
    }
    memcpy(kept->copy, entry->copy, n);
    c->bytes += n;
    return 0;
}

/* ---- one chain ---- */

static bool read_copy(void *arg, uint64_t addr, uint64_t *value)
{
    struct cs_stack_copies *c = arg;
    const struct cs_chain_copy *copy = c->copy;
    uint64_t within = addr - copy->from;
    if (copy->n_stack < 8 || within > copy->n_stack - 8) {
        c->cut |= copy->cut && addr >= copy->from;
        return false;
    }
    memcpy(value, copy->stack + within, 8);
    return true;
}

static const struct cs_unwind_header *table_at(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    struct cs_stack_copies *c = arg;
    struct cs_driver_entry frame = *c->entry;
    const struct cs_mapped_image *image = c->found.image;
    size_t n;
    if (!image || pc - c->found.map_start >= c->found.map_end - c->found.map_start) {
        frame.pc = pc;
        frame.kernel = false;
        c->table = NULL;
        if (cs_session_resolve(c->places, &frame, &c->found) < 0) {
            c->found.image = NULL;
            return NULL;
        }
        image = c->found.image;
        c->found.offset -= pc; /* what makes a place of an address */
        int rc = 1;
        if (c->found.jit) {
            if (cs_image_tables_made(c->tables, (pid_t)frame.pid, c->found.map_start, c->found.map_end,
                                     &c->table, &n))
                c->found.offset = -c->found.map_start;
        } else {
            rc = cs_image_tables_get(c->tables, image, (pid_t)frame.pid, c->found.map_start, c->found.map_end,
                                     &c->table, &n);
        }
        c->absent |= rc == 0;
        c->forbidden = rc == -EAGAIN;
    }
    *code = true;
    *to_vaddr = c->found.offset;
    return c->table;
}

static void take_kernel_frames(struct cs_stack_copies *c, struct cs_driver_entry *out)
{
    for (unsigned i = 0; i < c->copy->n_kernel; i++)
        c->chain[i] = c->copy->kernel[i] - (i > 0);
    out->n_chain = out->n_kernel = c->copy->n_kernel;
}

/* Where one tells more than the other: that nothing was there yet, or what came of it. */
static unsigned end_of(const struct cs_stack_copies *c, unsigned end, unsigned n)
{
    if (end == CS_UNWIND_END_MEMORY && c->cut)
        return CS_CHAIN_END_COPY;
    return end == CS_UNWIND_END_NO_IMAGE && n <= 1 ? c->copy->end : end;
}

/* The user's frames behind `first` of the kernel's. False: it has to wait for a table. */
static bool unwind_user(struct cs_stack_copies *c, unsigned first, unsigned *n, unsigned *end)
{
    const struct cs_chain_copy *copy = c->copy;
    struct cs_unwind_space space = {read_copy, table_at, c, MACHINE};
    struct cs_unwind_frame frame = {.pc = copy->pc, .known = KNOWN, .leaf = true};
    *n = first;
    *end = CS_UNWIND_END_DEPTH;
    memcpy(frame.registers, copy->reg, sizeof frame.registers);
    c->absent = c->cut = false;
    c->found.image = NULL;
    bool unknown = false;
    while (*n < first + CS_CHAIN_USER_FRAMES) {
        uint64_t at = frame.pc - !frame.leaf, to_vaddr = 0;
        bool code = false;
        const struct cs_unwind_header *table = table_at(c, at, &to_vaddr, &code);
        c->chain[(*n)++] = at;
        unknown |= !code;
        if (c->absent)
            return false;
        unsigned without = CS_UNWIND_END_NO_IMAGE; /* what a file without its table is */
        if (code && !table && !c->found.jit && c->found.image->layout.is_elf)
            without = c->forbidden ? CS_UNWIND_END_NOT_LOADED : CS_CHAIN_END_NO_TABLE;
        unsigned step =
            cs_unwind_step(&frame, table ? cs_unwind_rule_at(table, at + to_vaddr) : NULL, &space);
        if (c->absent)
            return false;
        if (step != CS_UNWIND_GOES_ON) {
            *end = step == CS_UNWIND_END_NO_IMAGE              ? without
                   : step == CS_UNWIND_END_COMPLETE && unknown ? CS_UNWIND_END_OVER_UNKNOWN
                                                               : step;
            break;
        }
    }
    *end = end_of(c, *end, *n - first);
    return true;
}

/* As it would have been counted without a copy. */
static void without_chain(struct cs_stack_copies *c, struct cs_driver_entry *out)
{
    take_kernel_frames(c, out);
    c->chain[out->n_chain++] = c->copy->pc;
    out->chain_end = (uint8_t)c->copy->end;
}

static bool unwind(struct cs_stack_copies *c, struct cs_driver_entry *out)
{
    unsigned end;
    take_kernel_frames(c, out);
    out->chain_end = (uint8_t)c->copy->end;
    if (c->copy->end == CS_UNWIND_END_COMPLETE) /* the kernel's alone */
        return true;
    if (c->copy->end == CS_UNWIND_END_UNSUPPORTED) {
        without_chain(c, out);
        return true;
    }
    bool all = unwind_user(c, out->n_chain, &out->n_chain, &end);
    out->chain_end = (uint8_t)end;
    return all;
}

/* ---- all ---- */

void cs_stack_copies_emit(struct cs_stack_copies *c, uint64_t line_ns, bool all,
                          struct cs_chain_counts *counts, cs_driver_entry_fn emit, void *arg)
{
    const uint64_t until_ns = all ? UINT64_MAX : cs_monotonic_ns() + EMIT_NS_MAX;
    size_t left = 0;
    c->waits = false;
    for (size_t i = 0; i < c->kept.n; i++) {
        struct kept kept = c->kept.at[i];
        struct cs_driver_entry out = kept.entry;
        bool known = kept.copy->time_ns <= line_ns || all;
        if (known && cs_monotonic_ns() >= until_ns) {
            c->waits = true;
            c->kept.at[left++] = kept;
            continue;
        }
        const bool waits = kept.absent && cs_image_tables_waits(c->tables, kept.absent - 1);
        c->entry = &kept.entry;
        c->copy = kept.copy;
        if (!known || waits || !unwind(c, &out)) {
            if (known && !waits)
                kept.absent = c->found.image ? c->found.image->index + 1 : 0;
            if (!all && (!known || line_ns - kept.copy->time_ns < WAIT_NS_MAX)) {
                c->waits |= known;
                c->kept.at[left++] = kept;
                continue;
            }
            without_chain(c, &out);
        }
        out.copy = NULL;
        out.chain = c->chain;
        counts->ends[out.chain_end]++;
        counts->frames += out.n_chain - out.n_kernel;
        emit(arg, &out);
        c->bytes -= bytes_of(kept.copy);
        free(kept.copy);
    }
    c->kept.n = left;
    c->entry = NULL;
    c->copy = NULL;
}

bool cs_stack_copies_frames(struct cs_stack_copies *c, const struct cs_driver_entry *of,
                            const struct cs_chain_copy *copy, const uint64_t **frames, unsigned *n)
{
    unsigned end;
    c->entry = of;
    c->copy = copy;
    bool all = unwind_user(c, 0, n, &end);
    c->entry = NULL;
    c->copy = NULL;
    *frames = c->chain;
    return all;
}

bool cs_stack_copies_wait(const struct cs_stack_copies *c)
{
    return c->waits;
}

uint64_t cs_stack_copies_oldest(const struct cs_stack_copies *c)
{
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < c->kept.n; i++)
        if (c->kept.at[i].copy->time_ns < oldest)
            oldest = c->kept.at[i].copy->time_ns;
    return oldest;
}
