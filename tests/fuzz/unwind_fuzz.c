/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as an ELF image, its frame table and a chain over memory that is the bytes themselves. The first two bytes
 * say what else: with the third bit the rest is the .eh_frame of an image that is made around it.
 * Sources: image/procedures/go_table.c image/unwind/go.c image/unwind/unwind.c image/unwind/build.c image/unwind/code.c image/unwind/frames.c image/isa/decode.c image/isa/decode_x86_64.c image/isa/unknown_x86_64.c image/isa/decode_aarch64.c image/isa/decode_riscv64.c image/isa/decode_riscv64_text.c image/unwind/gaps.c image/unwind/step.c image/unwind/cfi_rows.c image/file/eh_frame.c image/file/elf.c image/file/parts.c image/file/made_sections.c image/file/debug_file.c image/file/debuginfod.c image/file/identity.c image/file/segments.c store/base/cache.c store/base/regular_file.c store/base/foreign.c store/base/foreign_worker.c store/base/kernel_files.c store/base/error.c */
#include "image/unwind/step.h"
#include "image/unwind/unwind.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct space {
    const uint8_t *bytes;
    size_t size;
    const struct cs_unwind_header *table;
};

static bool read_word(void *arg, uint64_t addr, uint64_t *value)
{
    const struct space *s = arg;
    if (s->size < 8 || addr > s->size - 8)
        return false;
    memcpy(value, s->bytes + addr, 8);
    return true;
}

static const struct cs_unwind_header *table_at(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    *to_vaddr = 0;
    *code = true;
    return pc & 1 << 20 ? NULL : ((const struct space *)arg)->table;
}

/* An image with itself as code and that .eh_frame behind it. */
static char *around(const uint8_t *frames, size_t n, uint16_t machine, bool debug_frame, size_t *total)
{
    static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
        char names[sizeof names];
    } image = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = machine,
                          .e_version = EV_CURRENT,
                          .e_phoff = sizeof(Elf64_Ehdr),
                          .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
                          .e_ehsize = sizeof(Elf64_Ehdr),
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_phnum = 1,
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shnum = 3,
                          .e_shstrndx = 2}};
    *total = sizeof image + n;
    image.segment =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = *total, .p_memsz = *total};
    image.sections[1] = (Elf64_Shdr){.sh_name = debug_frame ? 11 : 1,
                                     .sh_type = SHT_PROGBITS,
                                     .sh_addr = sizeof image,
                                     .sh_offset = sizeof image,
                                     .sh_size = n,
                                     .sh_addralign = 1};
    image.sections[2] = (Elf64_Shdr){.sh_name = 24,
                                     .sh_type = SHT_STRTAB,
                                     .sh_offset = offsetof(__typeof__(image), names),
                                     .sh_size = sizeof names,
                                     .sh_addralign = 1};
    memcpy(image.names, names, sizeof names);
    char *whole = malloc(*total);
    memcpy(whole, &image, sizeof image);
    memcpy(whole + sizeof image, frames, n);
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_unwind *unwind = NULL;
    struct cs_error err;
    if (size < 2)
        return 0;
    uint16_t machine = bytes[0] & 1 ? EM_AARCH64 : EM_X86_64;
    size_t n = size - 2;
    char *copy = bytes[0] & 4 ? around(bytes + 2, n, machine, bytes[0] & 2, &n) : malloc(n + 1);
    if (!(bytes[0] & 4))
        memcpy(copy, bytes + 2, n);
    if (cs_unwind_open_memory(copy, n, &unwind, &err) < 0)
        return 0;
    size_t table_size, depth;
    const struct cs_unwind_header *table = cs_unwind_table(unwind, &table_size);
    const __u32 *first = cs_unwind_first(table);
    const struct cs_unwind_row *rows = cs_unwind_rows(table);
    assert(first[table->n_blocks] == table->n_rows);
    for (uint32_t b = 0; b < table->n_blocks; b++) {
        assert(first[b] < first[b + 1] && rows[first[b]].at == 0);
        for (uint32_t r = first[b]; r < first[b + 1]; r++)
            assert(rows[r].rule < table->n_rules && rows[r].at < CS_UNWIND_BLOCK &&
                   (r == first[b] || rows[r - 1].at < rows[r].at));
    }
    uint64_t pcs[64];
    for (uint64_t at = 0; at < 16; at++) {
        struct space memory = {bytes, size, table};
        const struct cs_unwind_space space = {read_word, table_at, &memory, table->machine};
        struct cs_unwind_frame frame = {
            .pc = table->base + at * bytes[1], .known = CS_UNWIND_KNOWS_ALL, .leaf = true};
        enum cs_unwind_end end = cs_unwind_chain(&frame, &space, pcs, 64, &depth);
        assert(depth >= 1 && depth <= 64 && end < CS_UNWIND_ENDS);
    }
    cs_unwind_close(unwind);
    return 0;
}
