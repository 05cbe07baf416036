/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts short random lists by insertion: where each element belongs can't be guessed. Variant: the same list
 * again and again. */
#include "../kernels/kernel.h"

enum { LISTS = 2048, LENGTH = 12 };

struct lists {
    int32_t from[LISTS][LENGTH];
    int32_t mask;
    int64_t sum;
};

static HOT uint64_t sort_lists(void *argument)
{
    struct lists *l = argument;
    for (int32_t n = 0; n < LISTS; n++) {
        int32_t list[LENGTH];
        memcpy(list, l->from[n & l->mask], sizeof list);
        for (int i = 1; i < LENGTH; i++) {
            int32_t v = list[i];
            int k = i;
            for (; k > 0 && list[k - 1] > v; k--)
                list[k] = list[k - 1];
            list[k] = v;
        }
        l->sum += list[LENGTH / 2];
    }
    return LISTS;
}

int main(int argc, char **argv)
{
    static struct lists l;
    uint64_t seed = 88172645463325252;
    l.mask = variant(argc, argv) ? 0 : LISTS - 1;
    for (unsigned n = 0; n < LISTS; n++)
        for (unsigned i = 0; i < LENGTH; i++)
            l.from[n][i] = (int32_t)(next_random(&seed) >> 40);
    return run_kernel("insert_sort", argc, argv, sort_lists, &l);
}
