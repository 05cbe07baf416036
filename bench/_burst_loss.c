/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in small pieces, and when each was done: CLOCK_MONOTONIC, ns, 8 bytes each.
 *
 *      _burst_loss FILE SECONDS KILOBYTES
 *
 * A piece reads and writes 1000 random bytes of so many kilobytes (a power of two). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PIECES_MAX (48u << 20)
#define ACCESSES 1000

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t bytes = (size_t)atoi(argv[3]) << 10;
    uint8_t *data = malloc(bytes);
    uint64_t *done = mmap(NULL, PIECES_MAX * sizeof *done, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    FILE *file = fopen(argv[1], "w");
    if (!bytes || (bytes & (bytes - 1)) || !data || done == MAP_FAILED || !file)
        return free(data), 2;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)i;
    uint64_t random = 88172645463325252u, sum = 0, end = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
    size_t n = 0;
    while (n < PIECES_MAX && (n == 0 || done[n - 1] < end)) {
        for (unsigned i = 0; i < ACCESSES; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            sum += data[random & (bytes - 1)]++;
        }
        done[n++] = now_ns();
    }
    if (fwrite(done, sizeof *done, n, file) != n || fclose(file) != 0)
        return 1;
    return sum == 0;
}
