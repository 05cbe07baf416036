/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of a table's columns by two threads, each with half of the rows and totals of its own. The head's totals lie on one
 * line of the cache, the base's don't. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60000, PASSES = 16 };
#ifndef EVERY
#define EVERY 24 /* columns of a row for one note */
#endif
struct totals {
    uint64_t values, sum;
#if !HEAD
    char gap[240];
#endif
};
static _Alignas(256) struct totals totals[2];
static char *text;
static size_t row_bytes[ROWS + 1];

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

static void make_text(void)
{
    uint64_t x = 88172645463325252;
    char *to = text = malloc((size_t)ROWS * 128);
    for (size_t r = 0; r < ROWS; r++) {
        row_bytes[r] = (size_t)(to - text);
        for (unsigned c = 0; c < 12; c++)
            to += sprintf(to, c == 11 ? "%llu\n" : "%llu,", (unsigned long long)(next(&x) % 1000000));
    }
    row_bytes[ROWS] = (size_t)(to - text);
}

__attribute__((noinline)) static void note_values(struct totals *t, uint64_t n, uint64_t sum)
{
    t->values += n;
    t->sum += sum;
}

__attribute__((noinline)) static const char *read_number(const char *at, uint64_t *value)
{
    uint64_t n = 0;
    while (*at >= '0' && *at <= '9')
        n = n * 10 + (uint64_t)(*at++ - '0');
    *value = n;
    return at + 1;
}

static void read_rows(struct totals *t, const char *at, const char *end)
{
    uint64_t sum = 0, n = 0, value;
    while (at < end) {
        at = read_number(at, &value);
        sum += value;
        if (++n == EVERY) {
            note_values(t, n, sum);
            n = sum = 0;
        }
    }
    note_values(t, n, sum);
}

static void *work(void *which)
{
    const unsigned i = (unsigned)(uintptr_t)which;
    for (unsigned pass = 0; pass < PASSES; pass++)
        read_rows(&totals[i], text + row_bytes[i ? ROWS / 2 : 0], text + row_bytes[i ? ROWS : ROWS / 2]);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    make_text();
    pthread_create(&thread, NULL, work, (void *)1);
    work(NULL);
    pthread_join(thread, NULL);
    printf("%llu values, sum %llu\n", (unsigned long long)(totals[0].values + totals[1].values),
           (unsigned long long)(totals[0].sum + totals[1].sum));
    free(text);
    return 0;
}
