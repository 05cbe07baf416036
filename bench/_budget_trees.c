/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work of a fixed amount that profilers may harm by time: `faults N` serves its own page faults by userfaultfd, N of them;
 * `threads N` computes in N threads that hand each other turns.
 *
 * `around COMMAND...` runs it and prints on its last line: seconds by the clock; seconds of CPU time that it and all that
 * it started took; the same of the profiler (CS_OURS: its PID; 0: nobody) and all that it started, meanwhile. A server
 * that works for the command (CS_TREE: its PID) counts as its own. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 512
static int uffd;
static char *area;
static pthread_barrier_t barrier;
static volatile uint64_t sink;

static uint64_t compute(unsigned n)
{
    uint64_t x = 88172645463325252ULL;
    for (unsigned i = 0; i < n; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static void *serve(void *arg)
{
    static char page[4096];
    struct uffd_msg message;
    while (read(uffd, &message, sizeof message) == sizeof message) {
        struct uffdio_copy copy = {
            .dst = message.arg.pagefault.address & ~4095ULL, .src = (uintptr_t)page, .len = 4096};
        page[0]++;
        (void)ioctl(uffd, UFFDIO_COPY, &copy);
    }
    return arg;
}

static int faults(unsigned n)
{
    pthread_t server;
    uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    area = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register registered = {.range = {(uintptr_t)area, PAGES * 4096},
                                         .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || area == MAP_FAILED ||
        ioctl(uffd, UFFDIO_REGISTER, &registered) || pthread_create(&server, NULL, serve, NULL))
        return -1;
    for (unsigned i = 0; i < n; i++) {
        if (i % PAGES == 0)
            madvise(area, PAGES * 4096, MADV_DONTNEED);
        sink += (uint64_t)area[(size_t)(i % PAGES) * 4096] + compute(3000);
    }
    return 0;
}

static void *one(void *arg)
{
    for (unsigned turn = 0; turn < 20; turn++) {
        sink += compute(*(unsigned *)arg);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static int threads(unsigned n)
{
    pthread_t *all = calloc(n, sizeof *all);
    unsigned each = 100000;
    pthread_barrier_init(&barrier, NULL, n);
    for (unsigned i = 0; all && i < n; i++)
        if (pthread_create(&all[i], NULL, one, &each))
            return -1;
    for (unsigned i = 0; all && i < n; i++)
        pthread_join(all[i], NULL);
    free(all);
    return 0;
}

struct process {
    pid_t pid, parent;
    double seconds; /* its own, and its ended children's */
};

static struct process process_of(pid_t pid)
{
    struct process p = {pid, 0, 0};
    char path[64], text[1024] = "", state;
    unsigned long ended[2] = {0};
    int parent = 0;
    clockid_t clock;
    struct timespec own = {0, 0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return p;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    if (after)
        (void)!sscanf(after + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lu %lu", &state,
                      &parent, &ended[0], &ended[1]);
    if (clock_getcpuclockid(pid, &clock) == 0)
        (void)clock_gettime(clock, &own);
    p.parent = parent;
    p.seconds = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec +
                (double)(ended[0] + ended[1]) / (double)sysconf(_SC_CLK_TCK);
    return p;
}

/* CPU time of a process and all below it, but for us. */
static double seconds_of(pid_t root)
{
    static struct process all[8192];
    static char below[8192];
    size_t n = 0;
    double seconds = 0;
    DIR *dir = root > 0 ? opendir("/proc") : NULL;
    if (!dir)
        return 0;
    for (struct dirent *d; n < sizeof all / sizeof *all && (d = readdir(dir)) != NULL;)
        if (isdigit((unsigned char)*d->d_name) && atoi(d->d_name) != getpid())
            all[n++] = process_of(atoi(d->d_name));
    closedir(dir);
    for (size_t i = 0; i < n; i++)
        below[i] = all[i].pid == root;
    for (size_t changed = 1; changed;) {
        changed = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n && !below[i]; k++)
                if (below[k] && all[k].pid == all[i].parent)
                    below[i] = 1, changed = 1;
    }
    for (size_t i = 0; i < n; i++)
        seconds += below[i] ? all[i].seconds : 0;
    return seconds;
}

static pid_t named(const char *name, pid_t otherwise)
{
    const char *text = getenv(name);
    return text ? (pid_t)atoi(text) : otherwise;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int around(char **command)
{
    pid_t ours = named("CS_OURS", getppid()), server = named("CS_TREE", 0);
    struct rusage used = {0};
    int status;
    double our = seconds_of(ours), its = seconds_of(server), from = now();
    pid_t pid = fork();
    if (pid == 0) {
        execvp(*command, command);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    double took = now() - from;
    its = seconds_of(server) - its;
    our = seconds_of(ours) - our;
    getrusage(RUSAGE_CHILDREN, &used);
    its += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    printf("\n%.6f %.6f %.6f\n", took, its, our);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "around") == 0)
        return around(argv + 2);
    if ((strcmp(argv[1], "faults") == 0 ? faults : threads)((unsigned)atoi(argv[2]))) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
