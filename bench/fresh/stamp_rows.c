/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An importer gives each row its time. The clock's fields are stored one by one, then the clock is copied
 * whole: eight bytes, four of which have only just been written. Variant 1: the clock is one word in a
 * register. */
#include "../kernels/kernel.h"

enum { ROWS = 2048 };

struct moment {
    uint32_t ms;
    uint8_t second, minute, hour, day;
};

struct row {
    struct moment when;
    uint64_t amount;
};

struct import {
    struct moment clock;
    int packed;
    struct row rows[ROWS];
};

static void carry(struct moment *c)
{
    c->ms -= 1000;
    if (++c->second < 60)
        return;
    c->second = 0;
    if (++c->minute < 60)
        return;
    c->minute = 0;
    if (++c->hour < 24)
        return;
    c->hour = 0;
    c->day++;
}

HOT static void stamp(struct row *rows, struct moment *clock, int packed)
{
    if (!packed) {
        for (int i = 0; i < ROWS; i++) {
            clock->ms += 7;
            if (clock->ms >= 1000)
                carry(clock);
            rows[i].when = *clock;
        }
        return;
    }
    uint64_t word;
    memcpy(&word, clock, sizeof word);
    for (int i = 0; i < ROWS; i++) {
        word += 7;
        if ((uint32_t)word >= 1000) {
            memcpy(clock, &word, sizeof word);
            carry(clock);
            memcpy(&word, clock, sizeof word);
        }
        memcpy(&rows[i].when, &word, sizeof word);
    }
    memcpy(clock, &word, sizeof word);
}

static uint64_t turn(void *argument)
{
    struct import *m = argument;
    stamp(m->rows, &m->clock, m->packed);
    return ROWS;
}

int main(int argc, char **argv)
{
    static struct import m;
    uint64_t sum = 0;
    m.packed = variant(argc, argv);
    int status = run_kernel("stamp_rows", argc, argv, turn, &m);
    for (int i = 0; i < ROWS; i++)
        sum = sum * 31 + m.rows[i].when.ms + m.rows[i].when.second * 7u + m.rows[i].when.minute +
              m.rows[i].when.hour;
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
