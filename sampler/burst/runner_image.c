/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst runner's executable, carried in ours: it is started from an anonymous file. It lies elsewhere each
 * time, so that who is repeated there doesn't know where. It can't move by itself, having to be alone in its
 * address space. So it is made an executable of a fixed address (ET_EXEC) here, and the kernel does it. */
#include "sampler/burst/runner_image.h"
#include "sampler/burst/wire.h"
#include "store/base/foreign.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#ifdef CS_BURST_RUNNER
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "cs_burst_image_bytes: .incbin \"" CS_BURST_RUNNER "\"\n"
        "cs_burst_image_end:\n"
        ".popsection\n");

extern const unsigned char cs_burst_image_bytes[], cs_burst_image_end[];

const unsigned char *cs_burst_image(size_t *size)
{
    *size = (size_t)(cs_burst_image_end - cs_burst_image_bytes);
    return cs_burst_image_bytes;
}
#else
const unsigned char *cs_burst_image(size_t *size)
{
    *size = 0; /* none for this architecture */
    return NULL;
}
#endif

/* Where programs seldom have anything: above sanitizers' shadows, below the kernel's choices for executables and
 * libraries. 25 million places, whose alignment is a huge page's. */
#define LOWEST 0x200000000000ULL
#define HIGHEST 0x500000000000ULL
#define APART 0x200000ULL
#define PLACES 8

/* 0: there is none. */
static uint64_t draw_place(pid_t pid)
{
    uint64_t place[PLACES], from, to, found = 0;
    bool taken[PLACES] = {false};
    char path[64], line[512];
    if (getrandom(place, sizeof place, 0) != sizeof place)
        return 0;
    for (unsigned i = 0; i < PLACES; i++)
        place[i] = LOWEST + place[i] % ((HIGHEST - LOWEST) / APART) * APART;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = cs_foreign_proc(path);
    if (!maps)
        return 0;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            for (unsigned i = 0; i < PLACES; i++)
                taken[i] |= from < place[i] + CS_BURST_SPAN && place[i] < to;
    fclose(maps);
    for (unsigned i = 0; i < PLACES; i++)
        found = taken[i] ? found : place[i];
    errno = EADDRINUSE;
    return found;
}

/* The byte of the file that will lie at this address; NULL: none. */
static unsigned char *file_byte(unsigned char *image, uint64_t addr, uint64_t bytes)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(image + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && addr >= part[i].p_vaddr &&
            addr + bytes <= part[i].p_vaddr + part[i].p_filesz)
            return image + part[i].p_offset + (addr - part[i].p_vaddr);
    return NULL;
}

/* The few pointers that its data has. */
static bool relocate(unsigned char *image, uint64_t base, const Elf64_Dyn *dynamic)
{
    uint64_t rela = 0, bytes = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_RELA)
            rela = dynamic->d_un.d_ptr;
        else if (dynamic->d_tag == DT_RELASZ)
            bytes = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELR)
            return false;
    }
    for (; bytes >= sizeof(Elf64_Rela); bytes -= sizeof(Elf64_Rela), rela += sizeof(Elf64_Rela)) {
        const Elf64_Rela *one = (const Elf64_Rela *)file_byte(image, rela, sizeof *one);
        unsigned char *place = one ? file_byte(image, one->r_offset, 8) : NULL;
        if (!place || ELF64_R_TYPE(one->r_info) != R_X86_64_RELATIVE)
            return false;
        uint64_t value = base + (uint64_t)one->r_addend;
        memcpy(place, &value, sizeof value);
    }
    return true;
}

unsigned char *cs_burst_image_for(pid_t pid, size_t *size)
{
    const unsigned char *bytes = cs_burst_image(size);
    errno = ENOSYS;
    uint64_t base = bytes ? draw_place(pid) : 0;
    unsigned char *image = base ? malloc(*size) : NULL;
    if (!image)
        return NULL;
    memcpy(image, bytes, *size);
    Elf64_Ehdr *head = (Elf64_Ehdr *)image;
    Elf64_Phdr *part = (Elf64_Phdr *)(image + head->e_phoff);
    bool well = true;
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_DYNAMIC)
            well = relocate(image, base, (const Elf64_Dyn *)(image + part[i].p_offset));
    head->e_type = ET_EXEC;
    head->e_entry += base;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        part[i].p_vaddr += base;
        part[i].p_paddr += base;
    }
    if (well)
        return image;
    free(image);
    errno = ENOEXEC;
    return NULL;
}
