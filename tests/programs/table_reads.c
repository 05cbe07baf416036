/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads lines of 256 MB in no order, which lie on huge pages or on small ones. Exit 77: the kernel gives no huge pages.
 *
 *     table_reads SECONDS huge|small */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE ((size_t)2 << 20)
#define BYTES ((size_t)256 << 20)

static uint64_t *table;

static __attribute__((noipa)) uint64_t add_up(uint64_t n, uint64_t seed)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        sum += table[(seed >> 39) % (BYTES / 64) * 8];
    }
    return sum;
}

static unsigned long huge_kb(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    unsigned long kb = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %lu", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const int huge = !strcmp(argv[2], "huge");
    char *area = mmap(NULL, BYTES + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return 1;
    area += (HUGE - (uintptr_t)area % HUGE) % HUGE;
    (void)madvise(area, BYTES, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(area, 1, BYTES);
    if (huge && huge_kb() < BYTES / 1024 * 9 / 10)
        return 77;
    table = (uint64_t *)area;
    uint64_t sum = 0;
    const clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);
    while (clock() < end)
        sum += add_up(100000, sum);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
