/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A viewer maps a file of 32 MB, reads the header of each of its 512 pictures, and unmaps it again, whenever the folder is
 * shown. Variant 1: the file stays mapped. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <unistd.h>

enum { PICTURES = 512, PICTURE = 1 << 16 };

struct folder {
    int fd;
    const char *kept;
    uint64_t sum;
};

HOT static uint64_t read_headers(const char *file)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < PICTURES; i++)
        sum += *(const uint32_t *)(file + i * PICTURE) + *(const uint32_t *)(file + i * PICTURE + 4);
    return sum;
}

static const char *map_file(struct folder *f)
{
    const char *file = mmap(NULL, PICTURES * PICTURE, PROT_READ, MAP_SHARED, f->fd, 0);
    if (file == MAP_FAILED)
        exit(1);
    return file;
}

static uint64_t turn(void *argument)
{
    struct folder *f = argument;
    const char *file = f->kept ? f->kept : map_file(f);
    f->sum += read_headers(file);
    if (!f->kept)
        munmap((void *)file, PICTURES * PICTURE);
    return PICTURES;
}

int main(int argc, char **argv)
{
    static struct folder f;
    static char picture[PICTURE];
    f.fd = memfd_create("pictures", 0);
    for (uint32_t i = 0; i < PICTURES; i++) {
        memcpy(picture, (uint32_t[]){640 + i, 480}, 8);
        if (write(f.fd, picture, PICTURE) != PICTURE)
            return 1;
    }
    f.kept = variant(argc, argv) ? map_file(&f) : NULL;
    int status = run_kernel("map_headers", argc, argv, turn, &f);
    printf("result=%llu\n", (unsigned long long)f.sum);
    return status;
}
