/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file on a slow disk: `waiting_disk SECONDS DIRECTORY` mounts a file system of its own there (FUSE, in a mount
 * namespace that nobody else sees). Its one file is served by a process, "slow-disk", that sleeps 10 ms before each
 * read's answer. A thread, "victim", reads it. Logs as tests/programs/waiting does: "lived SECONDS", "waited file
 * SECONDS". Exit 77: this machine allows no such mount. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_NODE 2
#define BLOCK 4096U
#define BLOCKS 1024U

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the disk ---- */

__attribute__((noinline)) static void turn_the_platter(void)
{
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    __asm__ volatile(""); /* no tail call: the chain is to have this function */
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){.ino = node,
                              .size = node == FILE_NODE ? BLOCK * BLOCKS : 0,
                              .mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555,
                              .nlink = 1,
                              .blksize = BLOCK};
}

__attribute__((noinline)) static void answer(int fuse, uint64_t unique, int error, const void *body,
                                             uint32_t n)
{
    static char reply[sizeof(struct fuse_out_header) + BLOCK];
    struct fuse_out_header head = {.len = (uint32_t)sizeof head + n, .error = error, .unique = unique};
    memcpy(reply, &head, sizeof head);
    if (n)
        memcpy(reply + sizeof head, body, n);
    if (write(fuse, reply, head.len) < 0 && errno != ENOENT) /* whoever asked is gone */
        exit(1);
}

static void serve(int fuse)
{
    static _Alignas(8) char request[1 << 17];
    static const char block[BLOCK] = {0};
    while (read(fuse, request, sizeof request) >= (ssize_t)sizeof(struct fuse_in_header)) {
        const struct fuse_in_header *in = (const void *)request;
        if (in->opcode == FUSE_INIT) {
            struct fuse_init_out out = {
                .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = BLOCK};
            answer(fuse, in->unique, 0, &out, sizeof out);
        } else if (in->opcode == FUSE_LOOKUP) {
            struct fuse_entry_out out = {
                .nodeid = FILE_NODE, .attr_valid = 1000, .entry_valid = 1000, .attr = attributes(FILE_NODE)};
            answer(fuse, in->unique, 0, &out, sizeof out);
        } else if (in->opcode == FUSE_GETATTR) {
            struct fuse_attr_out out = {.attr_valid = 1000, .attr = attributes(in->nodeid)};
            answer(fuse, in->unique, 0, &out, sizeof out);
        } else if (in->opcode == FUSE_OPEN) {
            struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO}; /* each read comes here */
            answer(fuse, in->unique, 0, &out, sizeof out);
        } else if (in->opcode == FUSE_READ) {
            turn_the_platter();
            answer(fuse, in->unique, 0, block, BLOCK);
        } else if (in->opcode == FUSE_FLUSH || in->opcode == FUSE_RELEASE) {
            answer(fuse, in->unique, 0, NULL, 0);
        } else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET &&
                   in->opcode != FUSE_INTERRUPT) {
            answer(fuse, in->unique, -ENOSYS, NULL, 0);
        }
    }
}

/* ---- who reads it ---- */

struct reading {
    int file;
    double until, waited;
};

__attribute__((noinline)) static void read_a_block(struct reading *r, off_t block)
{
    char data[BLOCK];
    double before = now();
    if (pread(r->file, data, BLOCK, block * BLOCK) != BLOCK)
        abort();
    r->waited += now() - before;
}

static void *victim(void *arg)
{
    struct reading *r = arg;
    for (off_t block = 0; now() < r->until; block = (block + 1) % BLOCKS)
        read_a_block(r, block);
    return NULL;
}

static int mounted(int fuse, const char *directory)
{
    char options[128];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("slow", directory, "fuse.slow", MS_NOSUID | MS_NODEV, options) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const double began = now();
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0 || !mounted(fuse, argv[2])) {
        printf("no FUSE here: %s\n", strerror(errno));
        return 77;
    }
    pid_t disk = fork();
    if (disk == 0) {
        prctl(PR_SET_NAME, "slow-disk");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fuse);
        _exit(0);
    }
    close(fuse);
    char path[4096];
    snprintf(path, sizeof path, "%s/file", argv[2]);
    struct reading r = {.file = open(path, O_RDONLY), .until = began + atof(argv[1])};
    pthread_t thread;
    if (r.file < 0 || pthread_create(&thread, NULL, victim, &r) != 0)
        return 1;
    pthread_setname_np(thread, "victim");
    pthread_join(thread, NULL);
    kill(disk, SIGKILL);
    waitpid(disk, NULL, 0);
    printf("lived %.6f\nwaited file %.6f\n", now() - began, r.waited);
    return 0;
}
