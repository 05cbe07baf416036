/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files receipts by date: year, month and day are stored one after the other, and read as one key of four bytes for the
 * number of the box. Variant 1: the key is put together in a register, and stored as a whole. */
#include "../kernels/kernel.h"

enum { RECEIPTS = 2048, BOXES = 256 };

struct date {
    uint16_t year;
    uint8_t month, day;
};

struct files {
    struct date dates[RECEIPTS];
    uint16_t years[RECEIPTS];
    uint8_t months[RECEIPTS], days[RECEIPTS];
    uint32_t boxes[BOXES];
    int register_key;
};

static uint32_t box(uint32_t key)
{
    return key * 2654435769u >> 24;
}

HOT static void file_receipts(struct files *f)
{
    uint32_t last = 0;
    for (int i = 0; i < RECEIPTS; i++) {
        struct date *d = &f->dates[i];
        uint32_t key;
        d->year = f->years[i];
        d->month = f->months[i];
        d->day = f->days[i];
        memcpy(&key, d, sizeof key);
        last = box(key ^ last);
        f->boxes[last]++;
    }
}

HOT static void file_by_register(struct files *f)
{
    uint32_t last = 0;
    for (int i = 0; i < RECEIPTS; i++) {
        uint32_t key = f->years[i] | (uint32_t)f->months[i] << 16 | (uint32_t)f->days[i] << 24;
        memcpy(&f->dates[i], &key, sizeof key);
        last = box(key ^ last);
        f->boxes[last]++;
    }
}

static uint64_t turn(void *argument)
{
    struct files *f = argument;
    for (int i = 0; i < 20; i++)
        if (f->register_key)
            file_by_register(f);
        else
            file_receipts(f);
    return 20 * RECEIPTS;
}

int main(int argc, char **argv)
{
    static struct files f;
    uint64_t seed = 2862933555777941757u, sum = 0;
    f.register_key = variant(argc, argv);
    for (int i = 0; i < RECEIPTS; i++) {
        f.years[i] = (uint16_t)(1990 + (next_random(&seed) >> 40) % 30);
        f.months[i] = (uint8_t)(1 + (next_random(&seed) >> 40) % 12);
        f.days[i] = (uint8_t)(1 + (next_random(&seed) >> 40) % 28);
    }
    int status = run_kernel("date_key", argc, argv, turn, &f);
    for (uint64_t i = 0; i < BOXES; i++)
        sum += i * f.boxes[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
