/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs code of a file, then puts something else at the file's path: a FIFO, a link to a terminal, a device, a socket.
 * A reader that opens it for symbols hangs, gains a terminal or reads for ever. The perf map and the jitdump
 * likewise. Usage: special_files SECONDS FOLDER fifo|tty|zero|loop */
#include "hostile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void put(const char *path, const char *what)
{
    unlink(path);
    if (!strcmp(what, "fifo")) {
        if (mkfifo(path, 0666))
            harmed("mkfifo");
    } else if (!strcmp(what, "tty")) {
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) || unlockpt(master) || symlink(ptsname(master), path))
            harmed("a terminal");
    } else if (symlink(!strcmp(what, "zero") ? "/dev/zero" : path, path)) {
        harmed("symlink");
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    char path[512], map[64];
    snprintf(path, sizeof path, "%s/code", argv[2]);
    static const uint8_t loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec rdi; jnz; ret */
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
    if (fd < 0 || ftruncate(fd, 4096) || pwrite(fd, loop, sizeof loop, 0) != (ssize_t)sizeof loop)
        harmed("the file");
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (code == MAP_FAILED)
        harmed("mmap");
    close(fd);
    put(path, argv[3]);
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
    put(map, argv[3]);
    void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until;)
        run(1000000);
    unlink(map);
    unlink(path);
    return unharmed();
}
