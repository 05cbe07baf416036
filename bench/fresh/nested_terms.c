/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A calculator whose three functions call one another: a sum has products, a product has factors, a factor is a digit or a
 * sum in parentheses. The formula has 70 sums in one another, 210 calls deep. Variant 1: as many parentheses one
 * after the other. */
#include "../kernels/kernel.h"

enum { PARENS = 70, PASSES = 64 };

struct formula {
    char text[8 * PARENS + 8];
    volatile uint64_t value;
};

static const char *at;
static uint64_t sum(void);

HOT static uint64_t factor(void)
{
    if (*at == '(') {
        at++;
        uint64_t v = sum();
        at++;
        return v;
    }
    return (uint64_t)(*at++ - '0');
}

HOT static uint64_t product(void)
{
    uint64_t v = factor();
    while (*at == '*') {
        at++;
        v *= factor();
    }
    return v;
}

HOT static uint64_t sum(void)
{
    uint64_t v = product();
    while (*at == '+') {
        at++;
        v += product();
    }
    return v;
}

static uint64_t turn(void *argument)
{
    struct formula *f = argument;
    for (int i = 0; i < PASSES; i++) {
        at = f->text;
        f->value += sum();
    }
    return PASSES * PARENS;
}

int main(int argc, char **argv)
{
    static struct formula f;
    char *p = f.text;
    if (variant(argc, argv)) {
        for (int i = 0; i < PARENS; i++)
            p += sprintf(p, "(%d)+", 1 + i % 4);
        *p++ = '2';
    } else {
        for (int i = 0; i < PARENS; i++)
            p += sprintf(p, "%d+(", 1 + i % 4);
        *p++ = '2';
        for (int i = 0; i < PARENS; i++)
            *p++ = ')';
    }
    return run_kernel("nested_terms", argc, argv, turn, &f);
}
