/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts hits in a file's records, atomically, where they lie: a magic number of four bytes, then 64 bytes a record, of
 * which the last eight are the counter. So each counter touches two lines. Variant 1: a magic number of eight bytes. The
 * counting stays atomic. */
#include "../kernels/kernel.h"

enum { RECORDS = 64, RECORD = 64, COUNTER = 56, HITS = 2000 };

struct file {
    _Alignas(64) char bytes[8 + RECORDS * RECORD];
    size_t magic;
    uint8_t hits[HITS];
};

HOT static void count_hits(char *records, const uint8_t *hits)
{
    for (int i = 0; i < HITS; i++)
        __atomic_fetch_add((uint64_t *)(void *)(records + hits[i] * RECORD + COUNTER), 1, __ATOMIC_RELAXED);
}

static uint64_t turn(void *argument)
{
    struct file *f = argument;
    count_hits(f->bytes + f->magic, f->hits);
    return HITS;
}

int main(int argc, char **argv)
{
    static struct file f;
    uint64_t sum = 0;
    f.magic = variant(argc, argv) ? 8 : 4;
    for (int i = 0; i < HITS; i++)
        f.hits[i] = (uint8_t)(i * 29 % RECORDS);
    int status = run_kernel("packed_counters", argc, argv, turn, &f);
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t counter;
        memcpy(&counter, f.bytes + f.magic + i * RECORD + COUNTER, sizeof counter);
        sum += i * counter;
    }
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
