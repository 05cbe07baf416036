/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/file/identity.h"

#include "store/base/regular_file.h"

#include <assert.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define BYTES_MIN 4
#define HASHED_BYTES ((uint64_t)16 << 20)
#define HASHED_PARTS 256 /* behind these, evenly over the rest */
#define CONTENTS 'c'

void cs_image_build_id_text(const uint8_t *bytes, size_t n, char hex[CS_IMAGE_BUILD_ID_MAX])
{
    hex[0] = '\0';
    if (n < BYTES_MIN || 2 * n >= CS_IMAGE_BUILD_ID_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    assert(2 * n < CS_IMAGE_BUILD_ID_MAX);
    hex[2 * n] = '\0';
}

void cs_image_build_id_of_notes(const void *notes, size_t n, char hex[CS_IMAGE_BUILD_ID_MAX])
{
    Elf_Data data = {.d_buf = (void *)(uintptr_t)notes, .d_size = n, .d_type = ELF_T_NHDR};
    GElf_Nhdr note;
    size_t name, bytes;
    hex[0] = '\0';
    for (size_t at = 0; !hex[0] && (at = gelf_getnote(&data, at, &note, &name, &bytes)) > 0;)
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp((const char *)notes + name, "GNU", sizeof "GNU") == 0)
            cs_image_build_id_text((const uint8_t *)notes + bytes, note.n_descsz, hex);
}

void cs_image_identity_of_file(int fd, char id[CS_IMAGE_ID_MAX])
{
    XXH3_state_t state;
    struct stat st;
    unsigned char part[65536];
    uint64_t size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0, at = 0, step = sizeof part;
    XXH3_64bits_reset(&state);
    for (ssize_t got; at < size; at += at < HASHED_BYTES ? (uint64_t)got : step) {
        if (at >= HASHED_BYTES)
            step = (size - HASHED_BYTES) / HASHED_PARTS > sizeof part ? (size - HASHED_BYTES) / HASHED_PARTS
                                                                      : sizeof part;
        got = pread(fd, part, sizeof part, (off_t)at);
        if (got <= 0)
            break;
        XXH3_64bits_update(&state, part, (size_t)got);
    }
    XXH3_64bits_update(&state, &size, sizeof size);
    snprintf(id, CS_IMAGE_ID_MAX, "%c%016llx", CONTENTS, (unsigned long long)XXH3_64bits_digest(&state));
}

bool cs_image_is_file(const struct cs_store_image *image, const char *build_id, const char *path)
{
    char id[CS_IMAGE_ID_MAX];
    if (image->build_id[0])
        return strcmp(image->build_id, build_id) == 0;
    if (image->id[0] != CONTENTS)
        return true;
    int fd = cs_open_regular(NULL, path, INT64_MAX, NULL);
    if (fd < 0)
        return false;
    cs_image_identity_of_file(fd, id);
    close(fd);
    return strcmp(image->id, id) == 0;
}
