/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of a warehouse: of each article, a record of 128 bytes, the number and the price. The table has 128 MB.
 * Variant 1: 64 articles, again and again. */
#include "../kernels/kernel.h"

enum { ARTICLES = 1 << 20, FEW = 64, BATCH = 1 << 14 };

struct article {
    uint32_t number;
    char name[76];
    uint32_t price;
    char supplier[44];
};

struct warehouse {
    const struct article *articles;
    size_t count, next;
    volatile uint64_t value;
};

HOT static uint64_t add_value(const struct article *articles, size_t from, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < BATCH; i++) {
        const struct article *a = &articles[(from + i) & (count - 1)];
        value += (uint64_t)a->number * a->price;
    }
    return value;
}

static uint64_t turn(void *argument)
{
    struct warehouse *w = argument;
    w->value += add_value(w->articles, w->next, w->count);
    w->next = (w->next + BATCH) & (w->count - 1);
    return BATCH;
}

int main(int argc, char **argv)
{
    size_t count = variant(argc, argv) ? FEW : ARTICLES;
    struct article *articles = memory(count * sizeof(struct article), 1);
    for (size_t i = 0; i < count; i++)
        articles[i].number = (uint32_t)i % 100, articles[i].price = (uint32_t)i % 1000;
    struct warehouse w = {articles, count, 0, 0};
    return run_kernel("stock_value", argc, argv, turn, &w);
}
