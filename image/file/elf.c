/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every offset and size that comes from the file is checked against the file before it is used. Only headers and symbol
 * entries are left to libelf. */
#include "image/file/elf.h"
#include "image/file/made_sections.h"
#include "image/file/parts.h"
#include "image/file/segments.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX 100000
#define SEGMENTS_MAX 10000
#define COPIED_MAX (4ULL << 30) /* and a quarter of the machine's memory */

static int read_headers(struct elf_file *file)
{
    size_t n = 0, strings = 0;
    if (elf_getphdrnum(file->elf, &n) == 0 && n && n <= SEGMENTS_MAX) {
        file->segments = calloc(n, sizeof *file->segments);
        if (!file->segments)
            return -ENOMEM;
        for (size_t i = 0; i < n; i++)
            if (gelf_getphdr(file->elf, (int)i, &file->segments[file->n_segments]))
                file->n_segments++;
    }
    if (elf_getshdrnum(file->elf, &n) < 0 || n == 0 || n > SECTIONS_MAX)
        return 0;
    if (elf_getshdrstrndx(file->elf, &strings) < 0)
        strings = SIZE_MAX;
    file->sections = calloc(n, sizeof *file->sections);
    if (!file->sections)
        return -ENOMEM;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(file->elf, s)) != NULL && file->n_sections < n;) {
        struct elf_section *section = &file->sections[file->n_sections];
        if (!gelf_getshdr(s, &section->header))
            continue;
        section->section = s;
        section->name = strings == SIZE_MAX ? NULL : elf_strptr(file->elf, strings, section->header.sh_name);
        if (!section->name)
            section->name = "";
        file->n_sections++;
    }
    return 0;
}

/* libelf makes 200 bytes of room for each section that a file says it has: past 65,279 of them the number is the file's own word,
 * and no image has so many. */
static void drop_extended_count(struct elf_file *file)
{
    if (file->size < sizeof(Elf64_Ehdr))
        return;
    Elf64_Ehdr *wide = (void *)file->map;
    Elf32_Ehdr *narrow = (void *)file->map;
    if (file->map[EI_CLASS] == ELFCLASS64 && wide->e_shoff && !wide->e_shnum)
        wide->e_shoff = 0;
    else if (file->map[EI_CLASS] == ELFCLASS32 && narrow->e_shoff && !narrow->e_shnum)
        narrow->e_shoff = 0;
}

/* Its sections are made where it has none. */
static void give_sections(struct elf_file *file)
{
    size_t n;
    char *made = cs_elf_with_sections(file->map, file->size, &n);
    if (!made)
        return;
    if (file->mapped)
        munmap(file->map, file->size);
    else
        free(file->map);
    file->map = made;
    file->size = n;
    file->mapped = file->lent = false;
}

/* Takes over file->map. */
static int start(struct elf_file *file, struct elf_file **out, struct cs_error *err)
{
    int rc;
    struct cs_image_segments layout;
    elf_version(EV_CURRENT);
    drop_extended_count(file);
    give_sections(file);
    file->elf = elf_memory(file->map, file->size);
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header)) {
        rc = cs_fail(err, ENOEXEC, "%s is no ELF file (or its header is damaged)", file->path);
        goto out;
    }
    if (read_headers(file) < 0) {
        rc = cs_fail(err, ENOMEM, "no memory for the headers of %s", file->path);
        goto out;
    }
    cs_image_segments_of_memory(&layout, file->map, file->size);
    memcpy(file->build_id, layout.build_id, sizeof file->build_id);
    *out = file;
    return 0;
out:
    elf_file_close(file);
    return rc;
}

/* Root's files under /usr are replaced as a whole (by rename), never written in place: they may be mapped. */
static bool stays_as_it_is(int fd, const struct stat *st)
{
    char link[64], path[8] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)) && readlink(link, path, 5) == 5 &&
           memcmp(path, "/usr/", 5) == 0;
}

static uint64_t copied_most(void)
{
    uint64_t quarter = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
    return quarter && quarter < COPIED_MAX ? quarter : COPIED_MAX;
}

/* A copy, because a mapped file that somebody truncates ends its reader by SIGBUS, and one that changes while it is read makes
 * every check void. What was cut off meanwhile is zero. Private and writable in either case, because libelf converts headers in
 * place where the byte order differs. Of a file beyond copied_most() the largest sections are left out. */
static char *contents_of(int fd, const struct stat *st, bool map_it)
{
    size_t size = (size_t)st->st_size;
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_NORESERVE | (map_it ? 0 : MAP_ANONYMOUS), map_it ? fd : -1, 0);
    if (map == MAP_FAILED || map_it)
        return map == MAP_FAILED ? NULL : map;
    if ((uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size)
        (void)madvise(map, size, MADV_HUGEPAGE);
    if (size <= copied_most()) {
        cs_elf_copy_range(fd, map, 0, size);
    } else if (!cs_elf_copy_parts(fd, map, size, copied_most())) {
        munmap(map, size);
        errno = EFBIG;
        return NULL;
    }
    return map;
}

uint64_t elf_file_bytes_to_copy(const char *path)
{
    struct stat st;
    int fd = cs_open_regular(NULL, path, UINT64_MAX, &st);
    if (fd < 0)
        return 0;
    uint64_t bytes = stays_as_it_is(fd, &st) ? 0 : (uint64_t)st.st_size;
    close(fd);
    return bytes;
}

int elf_file_open(const char *path, struct elf_file **out, struct cs_error *err)
{
    struct stat st;
    int fd = cs_open_regular(NULL, path, UINT64_MAX, &st);
    if (fd == -EINVAL)
        return cs_fail(err, ENOEXEC, "%s is no ELF file", path);
    if (fd < 0)
        return cs_fail(err, -fd, "can't open %s: %s", path, strerror(-fd));
    if (st.st_size < (off_t)sizeof(Elf32_Ehdr)) {
        close(fd);
        return cs_fail(err, ENOEXEC, "%s is no ELF file", path);
    }
    const bool lent = stays_as_it_is(fd, &st);
    char *map = contents_of(fd, &st, lent);
    int saved = errno;
    close(fd);
    if (!map && saved == EFBIG)
        return cs_fail(err, EFBIG,
                       "%s is too large to be copied (more than %llu MB) and has no section headers", path,
                       (unsigned long long)copied_most() >> 20);
    if (!map)
        return cs_fail(err, saved, "can't read %s: %s", path, strerror(saved));
    struct elf_file *file = calloc(1, sizeof *file);
    char *copy = strdup(path);
    if (!file || !copy) {
        free(file);
        free(copy);
        munmap(map, (size_t)st.st_size);
        return cs_fail(err, ENOMEM, "no memory to open %s", path);
    }
    *file = (struct elf_file){.path = copy,
                              .map = map,
                              .size = (size_t)st.st_size,
                              .changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec,
                              .mapped = true,
                              .lent = lent};
    return start(file, out, err);
}

int elf_file_from_descriptor(int fd, struct elf_file **out, struct cs_error *err)
{
    assert(fd >= 0);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf32_Ehdr))
        return cs_fail(err, ENOEXEC, "no ELF file");
    size_t size = (size_t)st.st_size;
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    struct elf_file *file = map == MAP_FAILED ? NULL : calloc(1, sizeof *file);
    char *copy = file ? strdup("an open file") : NULL;
    if (!copy) {
        if (map != MAP_FAILED)
            munmap(map, size);
        free(file);
        return cs_fail(err, ENOMEM, "no memory for an ELF file");
    }
    *file = (struct elf_file){.path = copy, .map = map, .size = size, .mapped = true};
    return start(file, out, err);
}

int elf_file_from_memory(char *bytes, size_t size, const char *name, struct elf_file **out,
                         struct cs_error *err)
{
    assert(bytes || size == 0);
    struct elf_file *file = calloc(1, sizeof *file);
    char *copy = strdup(name);
    if (!file || !copy || size < sizeof(Elf32_Ehdr)) {
        free(file);
        free(copy);
        free(bytes);
        return cs_fail(err, size < sizeof(Elf32_Ehdr) ? ENOEXEC : ENOMEM, "%s: too short for an ELF file",
                       name);
    }
    *file = (struct elf_file){.path = copy, .map = bytes, .size = size};
    return start(file, out, err);
}

enum cs_isa elf_file_isa(const struct elf_file *file)
{
    if (file->header.e_ident[EI_CLASS] != ELFCLASS64 || file->header.e_ident[EI_DATA] != ELFDATA2LSB)
        return CS_ISA_NONE;
    return file->header.e_machine == EM_X86_64    ? CS_ISA_X86_64
           : file->header.e_machine == EM_AARCH64 ? CS_ISA_AARCH64
           : file->header.e_machine == EM_RISCV   ? CS_ISA_RISCV64
                                                  : CS_ISA_NONE;
}

void elf_file_close(struct elf_file *file)
{
    if (!file)
        return;
    elf_end(file->elf);
    if (file->mapped)
        munmap(file->map, file->size);
    else
        free(file->map);
    free(file->segments);
    free(file->sections);
    free(file->path);
    free(file);
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->n_sections; i++)
        if (strcmp(file->sections[i].name, name) == 0 && file->sections[i].header.sh_type != SHT_NOBITS)
            return &file->sections[i];
    return NULL;
}

const struct elf_section *elf_file_section_of_type(const struct elf_file *file, uint32_t type)
{
    for (size_t i = 0; i < file->n_sections; i++)
        if (file->sections[i].header.sh_type == type)
            return &file->sections[i];
    return NULL;
}

const uint8_t *elf_file_contents(const struct elf_file *file, const struct elf_section *section, size_t *n)
{
    const GElf_Shdr *h = &section->header;
    *n = 0;
    if (h->sh_type == SHT_NOBITS || h->sh_offset > file->size || h->sh_size > file->size - h->sh_offset)
        return NULL;
    *n = h->sh_size;
    return (const uint8_t *)file->map + h->sh_offset;
}

const uint8_t *elf_file_at(const struct elf_file *file, uint64_t offset, size_t *n, bool *executable)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const GElf_Phdr *p = &file->segments[i];
        if (p->p_type != PT_LOAD || offset < p->p_vaddr || offset - p->p_vaddr >= p->p_filesz ||
            p->p_offset > file->size || p->p_filesz > file->size - p->p_offset)
            continue;
        *n = p->p_filesz - (offset - p->p_vaddr);
        if (executable)
            *executable = (p->p_flags & PF_X) != 0;
        return (const uint8_t *)file->map + p->p_offset + (offset - p->p_vaddr);
    }
    *n = 0;
    return NULL;
}

bool elf_file_is_writable(const struct elf_file *file, uint64_t offset, bool *relocated)
{
    bool writable = false;
    *relocated = false;
    for (size_t i = 0; i < file->n_segments; i++) {
        const GElf_Phdr *p = &file->segments[i];
        if (offset < p->p_vaddr || offset - p->p_vaddr >= p->p_memsz)
            continue;
        writable |= p->p_type == PT_LOAD && (p->p_flags & PF_W);
        *relocated |= p->p_type == PT_GNU_RELRO;
    }
    return writable && !*relocated;
}
