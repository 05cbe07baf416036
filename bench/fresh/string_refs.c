/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of strings that count their references is copied and dropped, as values of a scripting language are: the
 * counters are atomic though there is one thread. Variant 1: plain counters. */
#include "../kernels/kernel.h"

enum { STRINGS = 256 };

struct string {
    int64_t references;
    uint32_t length;
    char text[20];
};

struct work {
    struct string **list, **copy;
    uint64_t length;
    int plain;
};

HOT static uint64_t copy_list(struct string **list, struct string **copy)
{
    uint64_t length = 0;
    for (size_t i = 0; i < STRINGS; i++) {
        struct string *old = copy[i];
        __atomic_fetch_add(&list[i]->references, 1, __ATOMIC_ACQ_REL);
        copy[i] = list[i];
        length += list[i]->length;
        if (__atomic_sub_fetch(&old->references, 1, __ATOMIC_ACQ_REL) == 0)
            free(old);
    }
    return length;
}

HOT static uint64_t copy_list_plain(struct string **list, struct string **copy)
{
    uint64_t length = 0;
    for (size_t i = 0; i < STRINGS; i++) {
        struct string *old = copy[i];
        list[i]->references++;
        copy[i] = list[i];
        length += list[i]->length;
        if (--old->references == 0)
            free(old);
    }
    return length;
}

static uint64_t turn(void *argument)
{
    struct work *w = argument;
    for (int i = 0; i < 64; i++)
        w->length += (w->plain ? copy_list_plain : copy_list)(w->list, w->copy);
    return STRINGS * 64;
}

int main(int argc, char **argv)
{
    struct work w = {malloc(STRINGS * 8), malloc(STRINGS * 8), 0, variant(argc, argv)};
    for (size_t i = 0; i < STRINGS; i++) {
        w.list[i] = malloc(sizeof(struct string));
        *w.list[i] = (struct string){.references = 2, .length = (uint32_t)i % 20};
        w.copy[(i * 7 + 3) % STRINGS] = w.list[i];
    }
    return run_kernel("string_refs", argc, argv, turn, &w);
}
