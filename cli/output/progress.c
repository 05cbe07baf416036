/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress bar: only on a terminal, only for work of more than a second. */
#include "cli/output/output.h"

#include "store/base/clock.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

void progress_init(struct progress *bar, const char *what, const char *unit, uint64_t total)
{
    *bar = (struct progress){.what = what, .unit = unit, .total = total};
    bar->started_ns = bar->drawn_ns = cs_monotonic_ns();
    bar->possible = isatty(STDERR_FILENO);
}

/* "2.5 M ": of a unit that follows. */
static const char *scaled(double n, char text[24])
{
    const char *prefix = n >= 1e9 ? " G" : n >= 1e6 ? " M" : n >= 1e4 ? " k" : " ";
    double unit = n >= 1e9 ? 1e9 : n >= 1e6 ? 1e6 : n >= 1e4 ? 1e3 : 1;
    snprintf(text, 24, n / unit >= 100 || unit == 1 ? "%.0f%s" : "%.1f%s", n / unit, prefix);
    return text;
}

static void draw(const struct progress *bar, uint64_t done, uint64_t now)
{
    double seconds = (double)(now - bar->started_ns) / 1e9, rate = (double)done / seconds;
    struct winsize size = {.ws_col = 80};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    char tail[96], room_a[24], room_b[24];
    const char *gap = bar->unit[1] ? " " : ""; /* "MB", but "M records" */
    if (bar->total && done) {
        uint64_t left = bar->total > done ? bar->total - done : 0;
        double remaining = (double)left / rate;
        snprintf(tail, sizeof tail, " %3.0f %%, %s%s%s/s, %.0f s left",
                 100.0 * (double)done / (double)bar->total, scaled(rate, room_a), rate >= 1e4 ? gap : "",
                 bar->unit, remaining);
    } else {
        snprintf(tail, sizeof tail, " %s%s%s, %s%s%s/s", scaled((double)done, room_a),
                 done >= 10000 ? gap : "", bar->unit, scaled(rate, room_b), rate >= 1e4 ? gap : "",
                 bar->unit);
    }
    int room = (int)size.ws_col - snprintf(NULL, 0, "%s [] %s", bar->what, tail) - 1;
    room = room > 30 ? 30 : room;
    fprintf(stderr, "\r\033[K%s", bar->what);
    if (bar->total && room >= 8) {
        uint64_t shown = done < bar->total ? done : bar->total;
        int eighths = (int)((double)room * 8 * (double)shown / (double)bar->total);
        static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
        fputs(" [", stderr);
        for (int i = 0; i < eighths / 8; i++)
            fputs("█", stderr);
        fprintf(stderr, "%s%*s]", part[eighths % 8], room - eighths / 8 - (eighths % 8 ? 1 : 0), "");
    }
    fputs(tail, stderr);
    fflush(stderr);
    messages_over_line(true);
}

void progress_step(struct progress *bar, uint64_t done)
{
    if (!bar->possible)
        return;
    uint64_t now = cs_monotonic_ns();
    if (now - bar->started_ns < SECOND_NS || now - bar->drawn_ns < SECOND_NS / 10)
        return;
    bar->drawn_ns = now;
    bar->shown = true;
    draw(bar, done, now);
}

void progress_of(void *bar, uint64_t done, uint64_t total)
{
    ((struct progress *)bar)->total = total;
    progress_step(bar, done);
}

void progress_fini(struct progress *bar)
{
    if (bar->shown)
        fputs("\r\033[K", stderr);
    messages_over_line(false);
    bar->shown = false;
}
