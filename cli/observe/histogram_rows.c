/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms in the terminal: bins joined into rows, bars in eighths of a block. */
#include "cli/observe/observed.h"

#include <math.h>
#include <string.h>

void bar_draw(char *to, double share, unsigned width)
{
    static const char *const eighths[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double cells = share * width;
    cells = !(cells > 0) ? 0 : cells > width ? width : cells;
    unsigned n = (unsigned)lround(cells * 8);
    if (n == 0 && share > 0)
        n = 1; /* something is there */
    *to = '\0';
    for (; n >= 8; n -= 8)
        to = stpcpy(to, "█");
    strcpy(to, eighths[n]);
}

/* First and last bin of the middle 99.8 % of what lies in bins from `least` on. */
static void middle_range(const double *bins, unsigned least, unsigned n_bins, double total, unsigned *first,
                         unsigned *last)
{
    double seen = 0;
    *first = least;
    *last = n_bins - 1;
    for (unsigned b = least; b < n_bins; b++) {
        if (seen <= total * 0.001)
            *first = b;
        seen += bins[b];
        if (seen >= total * 0.999) {
            *last = b;
            break;
        }
    }
    while (*first < *last && !(bins[*first] > 0))
        ++*first;
}

unsigned histogram_rows(const double *bins, unsigned n_bins, double (*edge)(unsigned bin), unsigned rows,
                        struct histogram_row *out, double *outside)
{
    double total = 0, inside = 0, zero = bins[0];
    for (unsigned b = 0; b < n_bins; b++)
        total += bins[b];
    *outside = 0;
    unsigned n = 0, first, last;
    if (zero > 0) {
        out[n++] = (struct histogram_row){0, 0, zero / total};
        inside = zero;
    }
    if (!(total > zero))
        return n;
    middle_range(bins, 1, n_bins, total - zero, &first, &last);
    unsigned each = (last - first + rows - n) / (rows - n);
    for (unsigned b = first; b <= last; b += each, n++) {
        unsigned end = b + each <= last + 1 ? b + each : last + 1;
        double sum = 0;
        for (unsigned i = b; i < end; i++)
            sum += bins[i];
        out[n] = (struct histogram_row){edge(b), edge(end), sum / total};
        inside += sum;
    }
    *outside = 1 - inside / total;
    return n;
}
