/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread makes records and writes a line of each to a log. The head brings the log to the disk after every so many of them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS = 400, BYTES = 90000 };
#ifndef EVERY
#define EVERY 66 /* records */
#endif
static int to;

__attribute__((noinline)) static uint64_t make_record(uint64_t x)
{
    for (unsigned i = 0; i < BYTES; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

__attribute__((noinline)) static void append_line(unsigned record, uint64_t x)
{
    char line[64];
    const int n = snprintf(line, sizeof line, "%u %016llx\n", record, (unsigned long long)x);
    if (write(to, line, (size_t)n) != n)
        abort();
    if (HEAD && (record + 1) % EVERY == 0 && fdatasync(to) != 0)
        abort();
}

int main(void)
{
    char name[] = "/var/tmp/journalXXXXXX";
    uint64_t x = 88172645463325252;
    to = mkstemp(name);
    if (to < 0 || unlink(name) != 0)
        return 1;
    for (unsigned record = 0; record < RECORDS; record++) {
        x = make_record(x);
        append_line(record, x);
    }
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
