/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work of a fixed amount that profilers may harm by time: `faults N` serves its own page faults by userfaultfd, N of them;
 * `threads N` computes in N threads that hand each other turns. Prints the seconds it took. */
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
#include <sys/syscall.h>
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

int main(int argc, char **argv)
{
    struct timespec from, until;
    if (argc < 3)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if ((strcmp(argv[1], "faults") == 0 ? faults : threads)((unsigned)atoi(argv[2]))) {
        perror(argv[1]);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    printf("%.6f\n", (double)(until.tv_sec - from.tv_sec) + 1e-9 * (double)(until.tv_nsec - from.tv_nsec));
    return 0;
}
