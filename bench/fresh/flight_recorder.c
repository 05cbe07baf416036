/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flight recorder keeps the last six seconds in slots of 4 KB, the time of the last change in the last eight bytes of each. The
 * file's header has four bytes, so that each of these times lies on two pages. Variant 1: it has eight. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { SLOTS = 6, SLOT = 4096, TIME = SLOT - 8, CHANGES = 600 };

struct recorder {
    char *slots;
    uint64_t time;
};

HOT static uint64_t stamp(char *slots, uint64_t time)
{
    for (int i = 0; i < CHANGES; i += SLOTS)
        for (size_t k = 0; k < SLOTS; k++) {
            time += 3;
            memcpy(slots + k * SLOT + TIME, &time, sizeof time);
        }
    return time;
}

static uint64_t turn(void *argument)
{
    struct recorder *r = argument;
    for (int i = 0; i < 20; i++)
        r->time = stamp(r->slots, r->time);
    return 20 * CHANGES;
}

int main(int argc, char **argv)
{
    static struct recorder r;
    uint64_t sum = 0;
    r.slots = (char *)memory((SLOTS + 1) * SLOT, 0) + (variant(argc, argv) ? 8 : 4);
    int status = run_kernel("flight_recorder", argc, argv, turn, &r);
    for (uint64_t k = 0; k < SLOTS; k++) {
        uint64_t time;
        memcpy(&time, r.slots + k * SLOT + TIME, sizeof time);
        sum += time * (k + 1);
    }
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
