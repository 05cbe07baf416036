/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads libZydis's shared object at an address of ours. It needs nothing but memcpy, memset and strlen, so
 * segments and four kinds of relocation are all there is to do. Debian has no static libZydis. */
#include "sampler/burst/replayer/translator/decoder.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <elf.h>
#include <sys/mman.h>

#define LOAD_AT (CS_BURST_BASE + 0x30000000ULL)
#define LOAD_MAX 0x4000000ULL

struct decoder_calls decoder;

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void missing(void)
{
    die(74);
}

static uint64_t ours(const char *name)
{
    if (same(name, "memcpy"))
        return (uint64_t)memcpy;
    if (same(name, "memset"))
        return (uint64_t)memset;
    if (same(name, "strlen"))
        return (uint64_t)strlen;
    return (
        uint64_t)missing; /* __stack_chk_fail, __assert_fail and weak ones: never called in a healthy run */
}

struct object {
    const Elf64_Sym *symbols;
    const char *strings;
    uint64_t n_symbols;
};

static void relocate(const struct object *object, const Elf64_Rela *rela, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / sizeof *rela; i++) {
        const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(rela[i].r_info)];
        uint64_t value =
            symbol->st_shndx ? LOAD_AT + symbol->st_value : ours(object->strings + symbol->st_name);
        uint64_t *place = (uint64_t *)(LOAD_AT + rela[i].r_offset);
        switch (ELF64_R_TYPE(rela[i].r_info)) {
        case R_X86_64_RELATIVE:
            *place = LOAD_AT + (uint64_t)rela[i].r_addend;
            break;
        case R_X86_64_64:
            *place = value + (uint64_t)rela[i].r_addend;
            break;
        case R_X86_64_GLOB_DAT:
        case R_X86_64_JUMP_SLOT:
            *place = value;
            break;
        default:
            die(75);
        }
    }
}

static void *find(const struct object *object, const char *name)
{
    for (uint64_t i = 1; i < object->n_symbols; i++)
        if (object->symbols[i].st_shndx && same(object->strings + object->symbols[i].st_name, name))
            return (void *)(LOAD_AT + object->symbols[i].st_value);
    return NULL;
}

bool decoder_load(int fd)
{
    static uint8_t head[4096];
    if (SYS(__NR_pread64, fd, head, sizeof head, 0) < (long)sizeof(Elf64_Ehdr))
        return false;
    const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)head;
    const Elf64_Phdr *phdr = (const Elf64_Phdr *)(head + ehdr->e_phoff);
    if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) || ehdr->e_machine != EM_X86_64 || ehdr->e_phnum > 32)
        return false;
    const Elf64_Dyn *dynamic = NULL;
    for (unsigned i = 0; i < ehdr->e_phnum; i++) {
        if (phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(LOAD_AT + phdr[i].p_vaddr);
        if (phdr[i].p_type != PT_LOAD)
            continue;
        if (phdr[i].p_vaddr + phdr[i].p_memsz > LOAD_MAX)
            return false;
        uint64_t from = (LOAD_AT + phdr[i].p_vaddr) & ~(PAGE - 1);
        uint64_t to = (LOAD_AT + phdr[i].p_vaddr + phdr[i].p_memsz + PAGE - 1) & ~(PAGE - 1);
        if (phdr[i].p_flags & PF_X) { /* as the file has it: nothing in it depends on where it lies */
            uint64_t at_page = phdr[i].p_offset & ~(PAGE - 1);
            if (SYS(__NR_mmap, from, to - from, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                    at_page) != (long)from)
                return false;
            continue;
        }
        long at = SYS(__NR_mmap, from, to - from, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
        if (at != (long)from || SYS(__NR_pread64, fd, LOAD_AT + phdr[i].p_vaddr, phdr[i].p_filesz,
                                    phdr[i].p_offset) != (long)phdr[i].p_filesz)
            return false;
    }
    if (!dynamic)
        return false;
    struct object object = {0};
    const Elf64_Rela *rela = NULL, *plt = NULL;
    uint64_t rela_bytes = 0, plt_bytes = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t value = dynamic->d_un.d_val;
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object.symbols = (const Elf64_Sym *)(LOAD_AT + value);
            break;
        case DT_STRTAB:
            object.strings = (const char *)(LOAD_AT + value);
            break;
        case DT_RELA:
            rela = (const Elf64_Rela *)(LOAD_AT + value);
            break;
        case DT_RELASZ:
            rela_bytes = value;
            break;
        case DT_JMPREL:
            plt = (const Elf64_Rela *)(LOAD_AT + value);
            break;
        case DT_PLTRELSZ:
            plt_bytes = value;
            break;
        default:
            break;
        }
    }
    /* The string table follows the symbol table, as every linker lays them out. */
    object.n_symbols = (uint64_t)(object.strings - (const char *)object.symbols) / sizeof *object.symbols;
    relocate(&object, rela, rela_bytes);
    relocate(&object, plt, plt_bytes);
    *(void **)&decoder.init = find(&object, "ZydisDecoderInit");
    *(void **)&decoder.decode = find(&object, "ZydisDecoderDecodeFull");
    *(void **)&decoder.enclosing = find(&object, "ZydisRegisterGetLargestEnclosing");
    return decoder.init && decoder.decode && decoder.enclosing &&
           ZYAN_SUCCESS(decoder.init(&decoder.state, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}
