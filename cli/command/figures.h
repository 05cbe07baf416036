/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for people: a fixed number of significant digits, never an exponent. */
#pragma once

/* "1.15", "1150", "0.00042", "4194304": at least `digits` significant ones, those before the point all. Returns
 * `text`. */
const char *figures(double number, int digits, char text[48]);

struct figure {
    char text[48];
};

/* The same for one line of output: figure(x, 3).text. */
struct figure figure(double number, int digits);

/* A count: "1,234,567". */
struct figure thousands(double count);
