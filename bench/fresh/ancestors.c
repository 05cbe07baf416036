/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the ages along a line of 400 ancestors by recursion. Of each person a father, a mother or a guardian is known, and
 * asked from a place of its own. Variant 1: twenty lines of 20 ancestors. */
#include "../kernels/kernel.h"

enum { PERSONS = 400, SHORT = 20, KINDS = 3 };
enum kind { FATHER, MOTHER, GUARDIAN };

struct person {
    struct person *known[KINDS];
    uint32_t age;
};

struct family {
    struct person persons[PERSONS];
    int line;
    uint64_t sum;
};

HOT static uint32_t ages(const struct person *p)
{
    uint32_t before;
    if (p->known[FATHER]) {
        before = ages(p->known[FATHER]);
        return before + p->age;
    }
    if (p->known[MOTHER]) {
        before = ages(p->known[MOTHER]);
        return before + p->age + 1;
    }
    if (p->known[GUARDIAN]) {
        before = ages(p->known[GUARDIAN]);
        return before + p->age / 2;
    }
    return 0;
}

static uint64_t turn(void *argument)
{
    struct family *f = argument;
    for (int repeat = 0; repeat < 64; repeat++)
        for (int i = 0; i < PERSONS; i += f->line)
            f->sum += ages(f->persons + i);
    return 64 * PERSONS;
}

int main(int argc, char **argv)
{
    static struct family f;
    uint64_t seed = 1442695040888963407u;
    f.line = variant(argc, argv) ? SHORT : PERSONS;
    for (int i = 0; i < PERSONS; i++) {
        enum kind kind = (enum kind)((next_random(&seed) >> 40) % KINDS);
        f.persons[i].age = (i + 1) % SHORT ? 20 + (uint32_t)i % 60 : 0;
        if ((i + 1) % SHORT == 0)
            kind = FATHER;
        if ((i + 1) % f.line)
            f.persons[i].known[kind] = f.persons + i + 1;
    }
    int status = run_kernel("ancestors", argc, argv, turn, &f);
    printf("result=%llu\n", (unsigned long long)f.sum);
    return status;
}
