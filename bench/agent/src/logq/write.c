// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a log of a few services for tests and demonstrations.
#include "logq.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const services[] = {"auth",  "cart", "search", "billing",
                                       "media", "mail", "proxy",  "stock"};
static const char *const levels[] = {"info", "info", "info", "debug", "debug", "warn", "error"};
static const char *const words[] = {"request", "accepted", "after",  "retry", "from",    "cache",
                                    "queue",   "full",     "slow",   "reply", "dropped", "session",
                                    "token",   "expired",  "opened", "closed"};

typedef struct {
    uint64_t state;
} Draw;

static uint32_t draw(Draw *draws, uint32_t limit)
{
    draws->state ^= draws->state << 13;
    draws->state ^= draws->state >> 7;
    draws->state ^= draws->state << 17;
    return (uint32_t)((draws->state >> 21) % limit);
}

static int clock_text(char *text, size_t size, int64_t milliseconds)
{
    int64_t seconds = milliseconds / 1000;
    int day = (int)(seconds / 86400 % 28) + 1, of_day = (int)(seconds % 86400);
    return snprintf(text, size, "2031-04-%02dT%02d:%02d:%02d.%03d", day, of_day / 3600, of_day / 60 % 60,
                    of_day % 60, (int)(milliseconds % 1000));
}

// A file without a name that has the lines. -1: it can't be made.
int log_write(uint32_t lines, uint64_t seed)
{
    Draw draws = {seed * 2685821657736338717u + 88172645463325252u};
    FILE *file = tmpfile();
    if (!file)
        return -1;
    int64_t time = 3600000;
    for (uint32_t i = 0; i < lines; i++) {
        char text[256];
        time += draw(&draws, 900);
        int length = clock_text(text, sizeof text, time);
        length += snprintf(text + length, sizeof text - (size_t)length,
                           " host%02u svc=%s level=%s user=u%06u req=%08u took=%u", draw(&draws, 24),
                           services[draw(&draws, 8)], levels[draw(&draws, 7)], draw(&draws, 20000),
                           100000 + i / 3, 1 + draw(&draws, 30) * draw(&draws, 30));
        for (uint32_t word = 2 + draw(&draws, 4); word > 0; word--)
            length += snprintf(text + length, sizeof text - (size_t)length, " %s", words[draw(&draws, 16)]);
        text[length++] = '\n';
        fwrite(text, 1, (size_t)length, file);
    }
    if (fflush(file) != 0) {
        fclose(file);
        return -1;
    }
    int copy = dup(fileno(file));
    fclose(file);
    return copy;
}
