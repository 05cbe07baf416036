/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample holds: user registers by the kernel's numbers (asm/perf_regs.h), and a copy of the stack from SP on. Words that lie
 * elsewhere can't be read, so a chain through a second stack ends there, by name. */
#include "exchange/import/recorded_stacks.h"

#include "image/unwind/unwind.h"
#include "store/base/array.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MARK_USER ((uint64_t)-512)
#define VDSO_BYTES_MAX 65536

struct table {
    bool tried;
    struct cs_image_segments layout;
    struct cs_unwind *unwind;
    const struct cs_unwind_header *header;
};

struct cs_recorded_stacks {
    const struct cs_import_spaces *spaces;
    const struct cs_imported_images *images;
    CS_ARRAY(struct table) tables; /* by image */
    uint64_t *chain;
    size_t chain_room;
    uint64_t ended[CS_UNWIND_ENDS];
    /* the sample being unwound */
    const struct cs_perfdata_record *record;
    uint64_t sp;
};

struct cs_recorded_stacks *cs_recorded_stacks_open(const struct cs_import_spaces *spaces,
                                                   const struct cs_imported_images *images)
{
    struct cs_recorded_stacks *s = calloc(1, sizeof *s);
    if (s) {
        s->spaces = spaces;
        s->images = images;
    }
    return s;
}

void cs_recorded_stacks_close(struct cs_recorded_stacks *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->tables.n; i++)
        cs_unwind_close(s->tables.at[i].unwind);
    cs_array_free(&s->tables);
    free(s->chain);
    free(s);
}

uint64_t cs_recorded_stacks_ended(const struct cs_recorded_stacks *s, enum cs_unwind_end end)
{
    assert((size_t)end < sizeof s->ended / sizeof *s->ended);
    return s->ended[end];
}

/* Of the vDSO there is no file: this kernel's own, where it is the same. */
static void open_vdso(struct table *table, const struct cs_imported_image *image)
{
    const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
    struct cs_image_segments layout;
    struct cs_error ignored;
    char *bytes = vdso ? malloc(VDSO_BYTES_MAX) : NULL;
    if (!bytes)
        return;
    const Elf64_Ehdr *header = (const void *)vdso;
    size_t n = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    if (n > VDSO_BYTES_MAX) {
        free(bytes);
        return;
    }
    memcpy(bytes, vdso, n);
    cs_image_segments_of_memory(&layout, bytes, n);
    if (!layout.build_id[0] || strcmp(layout.build_id, image->build_id) != 0)
        free(bytes);
    else if (cs_unwind_open_memory(bytes, n, &table->unwind, &ignored) < 0)
        table->unwind = NULL;
}

/* A file whose build-id the recording doesn't tell is taken by its name, as elsewhere. */
static void open_file(struct table *table, const struct cs_imported_image *image)
{
    struct cs_error ignored;
    table->layout = image->layout;
    int fd = !image->build_id[0] && image->path[0] == '/'
                 ? cs_open_regular(NULL, image->path, INT64_MAX, NULL)
                 : -1;
    if (fd >= 0 && cs_image_segments_of_file(&table->layout, fd) < 0)
        table->layout.is_elf = false;
    if (fd >= 0)
        close(fd);
    if (table->layout.is_elf && cs_unwind_open(image->path, &table->unwind, &ignored) < 0)
        table->unwind = NULL;
}

/* NULL: none. `header` in it is NULL where there are no rows. */
static const struct table *table_of(struct cs_recorded_stacks *s, unsigned index)
{
    const struct cs_imported_image *image = &s->images->at[index];
    size_t n;
    while (s->tables.n <= index)
        if (!cs_array_add(&s->tables))
            return NULL;
    struct table *table = &s->tables.at[index];
    if (!table->tried) {
        table->tried = true;
        if (image->image.kind == CS_IMAGE_VDSO)
            open_vdso(table, image);
        else
            open_file(table, image);
        if (table->unwind)
            table->header = cs_unwind_table(table->unwind, &n);
    }
    return table->header ? table : NULL;
}

static bool read_word(void *arg, uint64_t addr, uint64_t *value)
{
    const struct cs_recorded_stacks *s = arg;
    uint64_t at = addr - s->sp;
    if (addr < s->sp || s->record->stack_bytes < 8 || at > s->record->stack_bytes - 8)
        return false;
    memcpy(value, s->record->stack + at, 8);
    return true;
}

static const struct cs_unwind_header *table_at(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    struct cs_recorded_stacks *s = arg;
    const struct cs_import_mapping *m = cs_import_spaces_find(s->spaces, s->record->pid, pc);
    *to_vaddr = 0;
    *code = m != NULL;
    const struct table *table = m ? table_of(s, m->image) : NULL;
    if (!table)
        return NULL;
    uint64_t in_file = pc - m->start + m->page_offset;
    uint64_t vaddr = table->layout.is_elf ? cs_image_vaddr(&table->layout, in_file) : in_file;
    if (vaddr == UINT64_MAX)
        return NULL;
    *to_vaddr = vaddr - pc;
    return table->header;
}

/* By DWARF's numbers from the kernel's. */
static bool registers_of(const struct cs_perfdata_record *record, uint32_t machine,
                         struct cs_unwind_frame *frame)
{
    static const uint8_t x86[24] = {0,   3,   2,   1,   4, 5, 6,  7,  255, 255, 255, 255,
                                    255, 255, 255, 255, 8, 9, 10, 11, 12,  13,  14,  15};
    const unsigned pc = machine == EM_AARCH64 ? 32 : 8, sp = machine == EM_AARCH64 ? 31 : 7;
    bool has_pc = false;
    *frame = (struct cs_unwind_frame){.leaf = true};
    for (unsigned i = 0, next = 0; i < 64; i++) {
        if (!(record->registers_mask >> i & 1))
            continue;
        uint64_t value = record->registers[next++];
        unsigned number = machine == EM_AARCH64 ? i : i < sizeof x86 ? x86[i] : 255;
        if (i == pc) {
            frame->pc = value;
            has_pc = true;
        } else if (number < CS_UNWIND_REGISTERS) {
            frame->registers[number] = value;
            frame->known |= 1U << number;
        }
    }
    return has_pc && (frame->known >> sp & 1);
}

size_t cs_recorded_stacks_chain(struct cs_recorded_stacks *s, const struct cs_perfdata_record *record,
                                const char *arch, const uint64_t **chain)
{
    const uint32_t machine = strcmp(arch, "aarch64") == 0 ? EM_AARCH64 : EM_X86_64;
    const struct cs_unwind_space space = {read_word, table_at, s, machine};
    struct cs_unwind_frame frame;
    size_t n = 0, unwound = 0;
    if (cs_array_reserve_in(s->chain, record->n_chain + 1 + CS_RECORDED_FRAMES_MAX, s->chain_room) < 0)
        return 0;
    while (n < record->n_chain && record->chain[n] != MARK_USER) {
        s->chain[n] = record->chain[n];
        n++;
    }
    *chain = s->chain;
    if (!registers_of(record, machine, &frame))
        return n;
    s->record = record;
    s->sp = frame.registers[machine == EM_AARCH64 ? 31 : 7];
    s->chain[n++] = MARK_USER;
    enum cs_unwind_end end = cs_unwind_chain(&frame, &space, s->chain + n, CS_RECORDED_FRAMES_MAX, &unwound);
    s->ended[end]++;
    return n + unwound;
}
