/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the numbers of books by weights that a table has for each kind of number: twelve multiplications a book, and the
 * core starts one a cycle. Variant 1: the weights 1 and 3 are in the program, by additions. */
#include "../kernels/kernel.h"

enum { BOOKS = 1024, DIGITS = 12 };

struct library {
    uint8_t books[BOOKS][DIGITS];
    uint32_t weights[DIGITS];
    int known;
    uint64_t sum;
};

HOT static uint64_t check(const uint8_t (*books)[DIGITS], const uint32_t *w)
{
    uint64_t sum = 0;
    for (int i = 0; i < BOOKS; i++) {
        const uint8_t *d = books[i];
        uint32_t a = d[0] * w[0] + d[1] * w[1] + d[2] * w[2] + d[3] * w[3];
        uint32_t b = d[4] * w[4] + d[5] * w[5] + d[6] * w[6] + d[7] * w[7];
        uint32_t c = d[8] * w[8] + d[9] * w[9] + d[10] * w[10] + d[11] * w[11];
        sum += a + b + c;
    }
    return sum;
}

HOT static uint64_t check_known(const uint8_t (*books)[DIGITS])
{
    uint64_t sum = 0;
    for (int i = 0; i < BOOKS; i++) {
        const uint8_t *d = books[i];
        int a = d[0] + d[2] + d[4] + d[6] + d[8] + d[10];
        int b = d[1] + d[3] + d[5] + d[7] + d[9] + d[11];
        sum += (uint64_t)(a + b * 3);
    }
    return sum;
}

static uint64_t turn(void *argument)
{
    struct library *l = argument;
    for (int i = 0; i < 20; i++)
        l->sum += l->known ? check_known(l->books) : check(l->books, l->weights);
    return 20 * BOOKS;
}

int main(int argc, char **argv)
{
    static struct library l;
    uint64_t seed = 7540113804746346429u;
    for (int i = 0; i < BOOKS; i++)
        for (int k = 0; k < DIGITS; k++)
            l.books[i][k] = (uint8_t)((next_random(&seed) >> 40) % 10);
    for (int k = 0; k < DIGITS; k++)
        l.weights[k] = k % 2 ? 3 : 1;
    l.known = variant(argc, argv);
    int status = run_kernel("isbn_check", argc, argv, turn, &l);
    printf("result=%llu\n", (unsigned long long)l.sum);
    return status;
}
