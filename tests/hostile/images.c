/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becomes an executable file that who reads it pays for dearly: a large one that has an interpreter's name; a small one
 * whose frame descriptions unpack to 150 times their bytes.   Usage: images SECONDS large|packed MEGABYTES */
#include "hostile.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#define RUN 258 /* bytes of one match */

struct stream {
    uint8_t *at;
    uint32_t bits;
    unsigned n;
};

static void put(struct stream *s, uint32_t value, unsigned n)
{
    s->bits |= value << s->n;
    for (s->n += n; s->n >= 8; s->n -= 8, s->bits >>= 8)
        *s->at++ = (uint8_t)s->bits;
}

/* RFC 1950 and 1951, fixed codes: a zero, then matches of 258 bytes at distance 1. Bytes that it took. */
static size_t pack_zeros(uint8_t *to, size_t matches)
{
    struct stream s = {.at = to};
    const uint64_t bytes = 1 + RUN * (uint64_t)matches;
    const uint32_t sum = (uint32_t)(bytes % 65521) << 16 | 1;
    put(&s, 0x0178, 16);
    put(&s, 3, 3);    /* the last block, fixed codes */
    put(&s, 0x0c, 8); /* codes lie with their first bit lowest: 00110000 */
    for (size_t i = 0; i < matches; i++)
        put(&s, 0xa3, 13); /* 11000101 00000 */
    put(&s, 0, 7);
    put(&s, 0, (8 - s.n) % 8);
    for (int i = 3; i >= 0; i--)
        put(&s, sum >> 8 * i & 255, 8);
    return (size_t)(s.at - to);
}

/* Another image than this one: the last bytes of its build-id. */
static void rename_image(uint8_t *file)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
    const char *names = (const char *)file + sections[head->e_shstrndx].sh_offset;
    const pid_t pid = getpid();
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, ".note.gnu.build-id") == 0)
            memcpy(file + sections[i].sh_offset + sections[i].sh_size - sizeof pid, &pid, sizeof pid);
}

/* .comment becomes .debug_frame, and .eh_frame loses its name. The file's size then. */
static size_t add_frames(uint8_t *file, size_t size, size_t bytes)
{
    const Elf64_Ehdr *head = (const void *)file;
    Elf64_Shdr *sections = (void *)(file + head->e_shoff), *names = &sections[head->e_shstrndx];
    const Elf64_Chdr packed = {
        .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1 + RUN * (bytes / RUN), .ch_addralign = 8};
    uint8_t *text = file + size;
    memcpy(text, file + names->sh_offset, names->sh_size);
    memcpy(text + names->sh_size, ".debug_frame", 13);
    const size_t frames = (size + names->sh_size + 13 + 7) & ~(size_t)7;
    memcpy(file + frames, &packed, sizeof packed);
    const size_t n = sizeof packed + pack_zeros(file + frames + sizeof packed, bytes / RUN);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const char *name = (const char *)text + sections[i].sh_name;
        if (strcmp(name, ".eh_frame") == 0)
            sections[i].sh_name = 0;
        if (strcmp(name, ".comment") != 0)
            continue;
        sections[i].sh_name = (uint32_t)names->sh_size;
        sections[i].sh_flags = SHF_COMPRESSED;
        sections[i].sh_offset = frames;
        sections[i].sh_size = n;
        sections[i].sh_addralign = 8;
    }
    names->sh_offset = size;
    names->sh_size += 13;
    return frames + n;
}

static void write_all(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t part = write(fd, (const char *)bytes + done, n - done);
        if (part <= 0)
            harmed("the image");
        done += (size_t)part;
    }
}

int main(int argc, char **argv)
{
    char path[64];
    struct stat st;
    if (argc < 4)
        return 2;
    if (strcmp(argv[2], "run") == 0) {
        burn(strtod(argv[1], NULL));
        unlink(argv[3]);
        return unharmed();
    }
    const bool large = strcmp(argv[2], "large") == 0;
    const size_t bytes = strtoull(argv[3], NULL, 10) << 20;
    int from = open("/proc/self/exe", O_RDONLY);
    if (from < 0 || fstat(from, &st) != 0)
        harmed("itself");
    size_t size = (size_t)st.st_size;
    uint8_t *file = calloc(1, size + (large ? 0 : bytes / 128 + 65536));
    if (!file || pread(from, file, size, 0) != (ssize_t)size)
        harmed("itself");
    close(from);
    snprintf(path, sizeof path, "/tmp/python3-%d", (int)getpid());
    unlink(path);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
    if (to < 0)
        harmed("the image");
    rename_image(file);
    if (!large)
        size = add_frames(file, size, bytes);
    write_all(to, file, size);
    memset(file, 'x', (size_t)st.st_size);
    for (size_t n = 0; large && n < bytes; n += (size_t)st.st_size)
        write_all(to, file, (size_t)st.st_size);
    free(file);
    close(to);
    execl(path, path, argv[1], "run", path, (char *)NULL);
    harmed("exec");
}
