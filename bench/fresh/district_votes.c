/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of an election, place after place: the votes of 40 parties, each in an array of its own of 64 KB, one behind the other.
 * A place's 40 lines are in one set of the first and of the second cache. Variant 1: an array has another line at its end. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { PARTIES = 40, PLACES = 16384, LINE = 16, PART = 1024 };

struct election {
    const uint32_t *votes;
    size_t pitch, place;
    uint64_t valid;
};

HOT static uint64_t total(const uint32_t *votes, size_t pitch)
{
    uint64_t valid = 0;
    for (size_t i = 0; i < PART; i++)
        for (size_t k = 0; k < PARTIES; k++)
            valid += votes[k * pitch + i];
    return valid;
}

static uint64_t turn(void *argument)
{
    struct election *e = argument;
    e->valid += total(e->votes + e->place, e->pitch);
    e->place = (e->place + PART) % PLACES;
    return PART * PARTIES;
}

int main(int argc, char **argv)
{
    static struct election e;
    e.pitch = PLACES + (variant(argc, argv) ? LINE : 0);
    uint32_t *votes = memory(PARTIES * (PLACES + LINE) * sizeof *votes, 1);
    for (uint32_t k = 0; k < PARTIES; k++)
        for (uint32_t i = 0; i < PLACES; i++)
            votes[k * e.pitch + i] = (i * 11 + k * 7) % 255;
    e.votes = votes;
    int status = run_kernel("district_votes", argc, argv, turn, &e);
    printf("result=%llu\n", (unsigned long long)e.valid);
    return status;
}
