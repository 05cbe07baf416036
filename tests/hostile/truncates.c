/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Truncates the file whose code it runs, again and again, while its profiler reads it for symbols. The page that runs is
 * never cut off.   Usage: truncates SECONDS FOLDER ELF-FILE */
#include "hostile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    static char bytes[1 << 22];
    char path[512];
    int from = open(argv[3], O_RDONLY);
    ssize_t size = from < 0 ? -1 : read(from, bytes, sizeof bytes);
    if (size < 8192)
        harmed("the ELF file");
    int round = 0;
    static const uint8_t loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
    memcpy(bytes + 4096, loop, sizeof loop); /* whatever it was */
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until; round++) {
        snprintf(path, sizeof path, "%s/code%d", argv[2], round % 50);
        unlink(path);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
        if (fd < 0 || pwrite(fd, bytes, (size_t)size, 0) != size)
            harmed("the file");
        void *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        if (code == MAP_FAILED)
            harmed("mmap");
        void (*run)(uint64_t) = (void (*)(uint64_t))((uintptr_t)code + 4096);
        for (int i = 0; i < 40; i++) {
            run(1000000);
            if (ftruncate(fd, 8192) || ftruncate(fd, size) ||
                (i % 8 == 0 && pwrite(fd, bytes, (size_t)size, 0) != size))
                harmed("ftruncate");
        }
        munmap(code, 8192);
        close(fd);
    }
    return unharmed();
}
