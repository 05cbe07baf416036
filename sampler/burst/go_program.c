/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/go_program.h"
#include "store/base/regular_file.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX 64
#define NOTE_BYTES 4096
#define GO_BUILD_ID 4 /* type of the note */

static bool is_go_note(const unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) + 4 <= n;) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof note);
        if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 &&
            memcmp(bytes + at + sizeof note, "Go\0", 4) == 0)
            return true;
        at += sizeof note + (((size_t)note.n_namesz + 3) & ~3UL) + (((size_t)note.n_descsz + 3) & ~3UL);
    }
    return false;
}

bool cs_burst_is_go(pid_t pid)
{
    char path[64];
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    unsigned char bytes[NOTE_BYTES];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = cs_open_regular(NULL, path, UINT64_MAX, NULL);
    if (fd < 0)
        return false;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof segment)
        for (unsigned i = 0; i < header.e_phnum && i < HEADERS_MAX && !found; i++) {
            off_t at = (off_t)(header.e_phoff + i * sizeof segment);
            if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment ||
                segment.p_type != PT_NOTE)
                continue;
            size_t most = segment.p_filesz < sizeof bytes ? segment.p_filesz : sizeof bytes;
            ssize_t n = pread(fd, bytes, most, (off_t)segment.p_offset);
            found = n > 0 && is_go_note(bytes, (size_t)n);
        }
    close(fd);
    return found;
}
