/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals shopping carts: each line of a cart names an article, whose price is in a table of 128 MB.
 * Variant: the same lines, sorted by article. */
#include "../kernels/kernel.h"

#define ARTICLES (2u << 20)
#define LINES (4u << 20)

struct article {
    uint64_t price;
    char name[56];
};

struct shop {
    struct article *articles;
    uint32_t *lines;
    uint64_t at, total;
};

static HOT uint64_t add_prices(void *argument)
{
    struct shop *s = argument;
    const uint32_t *line = s->lines + s->at;
    uint64_t total = 0;
    for (unsigned i = 0; i < 1 << 18; i++)
        total += s->articles[line[i]].price;
    s->at = (s->at + (1 << 18)) % LINES;
    s->total += total;
    return 1 << 18;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct shop s = {memory(ARTICLES * sizeof *s.articles, 0), memory(LINES * sizeof *s.lines, 0), 0, 0};
    uint64_t seed = 7;
    for (unsigned i = 0; i < ARTICLES; i++)
        s.articles[i].price = i % 1000;
    for (unsigned i = 0; i < LINES; i++)
        s.lines[i] = (uint32_t)(next_random(&seed) % ARTICLES);
    if (variant(argc, argv))
        qsort(s.lines, LINES, sizeof *s.lines, ascending);
    return run_kernel("cart_total", argc, argv, add_prices, &s);
}
