/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file system that answers only its own program. Another process that looks a name up, opens a file or reads a page
 * outside the cache waits for ever, and can't be killed. By the protocol of /dev/fuse. Not a program of the storms: it
 * needs the right to mount.
 *
 * Usage: silent SECONDS FOLDER WHAT... mounts in FOLDER and becomes
 *     code       code of a file there, that runs: its next page was never read
 *     path       a program whose executable mapping lies there, and whose perf map is a link there
 *     exec WORDS...  another program, with CS_SILENT=FOLDER/file: it has the file open and mapped; its end is the file system's
 * It prints the longest time for which it was stopped, in seconds, without the time that it waited for a CPU. */
#include "hostile.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PAGE 4096
#define FILE_PAGES 16

static pid_t friend;
static int device;

static void reply(const struct fuse_in_header *in, int error, const void *bytes, size_t n)
{
    static char out[sizeof(struct fuse_out_header) + FILE_PAGES * PAGE];
    struct fuse_out_header head = {(uint32_t)(sizeof head + n), error, in->unique};
    memcpy(out, &head, sizeof head);
    if (n)
        memcpy(out + sizeof head, bytes, n);
    if (write(device, out, sizeof head + n) < 0 && errno != ENOENT)
        _exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = PAGE};
    a.mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755;
    a.size = node == 1 ? 0 : FILE_PAGES * PAGE;
    return a;
}

/* Endless loops, and one that is left: mov eax, 5000; dec eax; jnz; ret. */
static const unsigned char loop_code[] = {0xb8, 0x88, 0x13, 0, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3};

static void serve_one(const struct fuse_in_header *in)
{
    const void *body = in + 1;
    bool known = in->pid == (uint32_t) friend || in->pid == 0;
    switch (in->opcode) {
    case FUSE_INIT: {
        struct fuse_init_out out = {
            .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = PAGE};
        reply(in, 0, &out, sizeof out);
        return;
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        return;
    case FUSE_LOOKUP: { /* valid for nobody: each walk asks again */
        struct fuse_entry_out out = {.nodeid = 2, .generation = 1, .attr = attributes(2)};
        if (known)
            reply(in, strcmp(body, "file") == 0 ? 0 : -ENOENT, &out,
                  strcmp(body, "file") == 0 ? sizeof out : 0);
        return;
    }
    case FUSE_GETATTR: {
        struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
        if (known || in->nodeid == 1)
            reply(in, 0, &out, sizeof out);
        return;
    }
    case FUSE_OPEN: {
        struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};
        if (known)
            reply(in, 0, &out, sizeof out);
        return;
    }
    case FUSE_READ: {
        static unsigned char page[PAGE];
        const struct fuse_read_in *read = body;
        memset(page, 0x90, sizeof page);
        memcpy(page, loop_code, sizeof loop_code);
        if (known && read->offset == 0)
            reply(in, 0, page, read->size < PAGE ? read->size : PAGE);
        return;
    }
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        if (known)
            reply(in, 0, NULL, 0);
        return;
    default:
        reply(in, -ENOSYS, NULL, 0);
    }
}

static _Noreturn void serve(void)
{
    static char request[FUSE_MIN_READ_BUFFER + FILE_PAGES * PAGE];
    for (;;) {
        ssize_t n = read(device, request, sizeof request);
        if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
            continue;
        if (n < (ssize_t)sizeof(struct fuse_in_header))
            _exit(0);
        serve_one((const void *)request);
    }
}

static void mount_at(const char *folder)
{
    char options[128];
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", device,
             (int)getuid(), (int)getgid());
    if (device < 0 || mount("silent", folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        printf("can't mount: %s\n", strerror(errno));
        exit(77);
    }
    friend = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "silent-server");
        signal(SIGTERM, SIG_IGN);
        serve();
    }
}

/* How long this thread was ready and had no CPU, in all: then it stands for what else runs here, not for us. */
static double unscheduled(void)
{
    static int fd = -1;
    char line[64] = "";
    if (fd < 0)
        fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    const char *second = fd >= 0 && pread(fd, line, sizeof line - 1, 0) > 0 ? strchr(line, ' ') : NULL;
    return second ? 1e-9 * strtod(second, NULL) : 0;
}

/* Runs `turn` for so long; the longest one, without what it waited for a CPU in it and in the 5 ms before. */
static double longest(double seconds, void (*turn)(void *), void *arg)
{
    double most = 0, now = seconds_now(), looked = now, waited = unscheduled();
    for (double until = now + seconds; now < until;) {
        turn(arg);
        double then = now;
        now = seconds_now();
        if (now - looked < 0.005)
            continue;
        const double before = waited;
        waited = unscheduled();
        looked = now;
        most = now - then - (waited - before) > most ? now - then - (waited - before) : most;
    }
    return most;
}

static void call(void *code)
{
    ((void (*)(void))(uintptr_t)code)();
}

static void spin(void *unused)
{
    (void)unused;
    for (volatile int i = 0; i < 5000; i++)
        ;
}

int main(int argc, char **argv)
{
    char path[256];
    double seconds = argument_seconds(argc, argv, 1, 2), most;
    if (argc < 4)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof path, "%s/file", argv[2]);
    mount_at(argv[2]);
    int fd = open(path, O_RDONLY);
    char *map =
        fd >= 0 ? mmap(NULL, FILE_PAGES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED || map[0] != (char)loop_code[0])
        harmed("no file system");
    if (strcmp(argv[3], "exec") == 0) {
        setenv("CS_SILENT", path, 1);
        fcntl(fd, F_SETFD, 0);
        execvp(argv[4], argv + 4);
        harmed(argv[4]);
    }
    if (strcmp(argv[3], "path") == 0) {
        char link[64];
        snprintf(link, sizeof link, "/tmp/perf-%d.map", (int)getpid());
        char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(code, loop_code, sizeof loop_code);
        if (symlink(path, link) != 0)
            harmed(link);
        most = longest(seconds, call, code);
        unlink(link);
    } else {
        most = longest(seconds, strcmp(argv[3], "code") == 0 ? call : spin, map);
    }
    printf("%.3f\n", most);
    umount2(argv[2], MNT_DETACH);
    return unharmed();
}
