/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/figures.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 12

const char *figures(double number, int digits, char text[48])
{
    assert(digits > 0);
    double size = fabs(number);
    if (!isfinite(number) || size >= 1e30) {
        snprintf(text, 48, isfinite(number) ? "%.0e" : "%f", number);
        return text;
    }
    int places = size > 0 ? digits - 1 - (int)floor(log10(size)) : 0;
    places = places < 0 ? 0 : places > PLACES_MAX ? PLACES_MAX : places;
    snprintf(text, 48, "%.*f", places, number);
    if (strchr(text, '.')) { /* as %g does */
        size_t n = strlen(text);
        while (text[n - 1] == '0')
            text[--n] = '\0';
        if (text[n - 1] == '.')
            text[--n] = '\0';
    }
    return text;
}

struct figure figure(double number, int digits)
{
    struct figure f;
    figures(number, digits, f.text);
    return f;
}

struct figure thousands(double count)
{
    struct figure f;
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%.0f", count);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < sizeof f.text; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            f.text[used++] = ',';
        f.text[used++] = digits[i];
    }
    f.text[used] = '\0';
    return f;
}
