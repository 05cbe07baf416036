/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 12

const char *figures(double number, int digits, char text[48])
{
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
