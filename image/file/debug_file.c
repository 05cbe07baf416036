/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where else an image or its debug information may be. It may be found by build-id under /usr/lib/debug (and
 * in the folder named by CYCLESCOPE_DEBUG_PATH), or by .gnu_debuglink. There the file only counts when its
 * build-id, else the link's checksum fits. Other places are a debuginfod server's files and the xz-compressed
 * symbol table .gnu_debugdata.
 *
 * The library libdwfl does this too, but only inside a module with a symbol table of its own. Our cached
 * lists of procedures name them by their place in the mapped file, and say which table named them. */
#include "image/file/elf.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MINI_BYTES_MAX ((size_t)256 << 20)

static struct elf_file *open_with_id(const char *path, const char *build_id)
{
    struct cs_error ignored = {0};
    struct elf_file *file;
    if (elf_file_open(path, &file, &ignored) < 0)
        return NULL;
    if (strcmp(file->build_id, build_id) == 0)
        return file;
    elf_file_close(file);
    return NULL;
}

struct elf_file *elf_file_of_id(const char *build_id, const char *suffix)
{
    const char *folders[] = {getenv("CYCLESCOPE_DEBUG_PATH"), "/usr/lib/debug", "/usr/local/lib/debug"};
    if (strlen(build_id) < 4)
        return NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[PATH_MAX];
        struct elf_file *file;
        if (!folders[i] || !*folders[i])
            continue;
        snprintf(path, sizeof path, "%s/.build-id/%.2s/%s%s", folders[i], build_id, build_id + 2, suffix);
        if ((file = open_with_id(path, build_id)) != NULL)
            return file;
    }
    return elf_file_from_debuginfod(build_id, !*suffix);
}

/* The file at `path` when it is the one that the link of `file` means. */
static struct elf_file *open_linked(const char *path, const struct elf_file *file, GElf_Word crc)
{
    struct cs_error ignored = {0};
    struct elf_file *found;
    if (strcmp(path, file->path) == 0 || elf_file_open(path, &found, &ignored) < 0)
        return NULL;
    if (file->build_id[0] ? strcmp(found->build_id, file->build_id) == 0
                          : crc32_z(0, (const unsigned char *)found->map, found->size) == crc)
        return found;
    elf_file_close(found);
    return NULL;
}

struct elf_file *elf_file_find_debug(const struct elf_file *file)
{
    struct elf_file *found = elf_file_of_id(file->build_id, ".debug");
    GElf_Word crc = 0;
    const char *name = found ? NULL : dwelf_elf_gnu_debuglink(file->elf, &crc);
    const char *slash = strrchr(file->path, '/');
    int folder = slash ? (int)(slash - file->path) : 0;
    static const char *const before[] = {"", "", "/usr/lib/debug"}, *const after[] = {"", ".debug/", ""};
    for (size_t i = 0; name && !strchr(name, '/') && !found && i < sizeof before / sizeof *before; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%.*s/%s%s", before[i], folder, file->path, after[i], name);
        found = open_linked(path, file, crc);
    }
    return found;
}

struct elf_file *elf_file_open_mini(const struct elf_file *file)
{
    const struct elf_section *section = elf_file_section(file, ".gnu_debugdata");
    size_t n, capacity = 1 << 20;
    const uint8_t *packed = section ? elf_file_contents(file, section, &n) : NULL;
    lzma_stream stream = LZMA_STREAM_INIT;
    struct cs_error ignored = {0};
    struct elf_file *mini = NULL;
    char *plain = NULL;
    if (!packed || lzma_stream_decoder(&stream, 64 << 20, 0) != LZMA_OK)
        return NULL;
    stream.next_in = packed;
    stream.avail_in = n;
    lzma_ret ret = LZMA_OK;
    while (ret == LZMA_OK && capacity <= MINI_BYTES_MAX) {
        char *grown = realloc(plain, capacity);
        if (!grown)
            break;
        plain = grown;
        stream.next_out = (uint8_t *)plain + stream.total_out;
        stream.avail_out = capacity - stream.total_out;
        ret = lzma_code(&stream, LZMA_FINISH);
        capacity *= 2;
    }
    size_t size = stream.total_out;
    lzma_end(&stream);
    if (ret != LZMA_STREAM_END) {
        free(plain);
        return NULL;
    }
    return elf_file_from_memory(plain, size, ".gnu_debugdata", &mini, &ignored) < 0 ? NULL : mini;
}
