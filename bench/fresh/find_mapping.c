/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of 400 mappings of a process is an address in? A balanced tree of ranges, with an early end where the address lies
 * in one. The addresses come in no order. Variant 1: the same ones, sorted. */
#include "../kernels/kernel.h"

enum { MAPPINGS = 400, ADDRESSES = 20000, STEP = 1 << 16 };

struct mapping {
    uint64_t start, end;
    struct mapping *below, *above;
};

struct space {
    struct mapping mappings[MAPPINGS], *root;
    uint64_t addresses[ADDRESSES], sum;
};

static struct mapping *plant(struct mapping *first, int n)
{
    if (n == 0)
        return NULL;
    struct mapping *middle = first + n / 2;
    middle->below = plant(first, n / 2);
    middle->above = plant(middle + 1, n - n / 2 - 1);
    return middle;
}

HOT static const struct mapping *find(const struct mapping *m, uint64_t address)
{
    while (m) {
        if (address < m->start)
            m = m->below;
        else if (address >= m->end)
            m = m->above;
        else
            break;
    }
    return m;
}

static uint64_t resolve(const struct mapping *root, const uint64_t *addresses)
{
    uint64_t sum = 0;
    for (int i = 0; i < ADDRESSES; i++) {
        const struct mapping *m = find(root, addresses[i]);
        sum += m ? addresses[i] - m->start : 0;
    }
    return sum;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t turn(void *argument)
{
    struct space *s = argument;
    s->sum += resolve(s->root, s->addresses);
    return ADDRESSES;
}

int main(int argc, char **argv)
{
    static struct space s;
    uint64_t seed = 2685821657736338717u;
    for (uint64_t i = 0; i < MAPPINGS; i++)
        s.mappings[i] = (struct mapping){i * STEP, i * STEP + STEP * 3 / 4, NULL, NULL};
    s.root = plant(s.mappings, MAPPINGS);
    for (int i = 0; i < ADDRESSES; i++)
        s.addresses[i] = (next_random(&seed) >> 16) % (MAPPINGS * STEP);
    if (variant(argc, argv))
        qsort(s.addresses, ADDRESSES, sizeof *s.addresses, by_address);
    int status = run_kernel("find_mapping", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
