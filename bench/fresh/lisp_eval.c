/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter of lists evaluates (+ 1 (max 2 (- 3 (+ 4 ...)))), 384 operators deep, by recursion: an operator's second
 * argument first. Each kind of operator calls from its own place. Variant 1: sixteen expressions that are 24 deep. */
#include "../kernels/kernel.h"

enum { OPERATORS = 384, SHALLOW = 24 };
enum kind { NUMBER, PLUS, GREATER, MINUS };

struct expression {
    enum kind kind;
    int32_t value;
    const struct expression *first, *second;
};

struct program {
    const struct expression *expressions[OPERATORS / SHALLOW];
    int count;
    uint64_t sum;
};

HOT static int32_t evaluate(const struct expression *e)
{
    int32_t a, b;
    switch (e->kind) {
    case PLUS:
        b = evaluate(e->second);
        a = e->first->value;
        return (a + b) & 0xffff;
    case GREATER:
        b = evaluate(e->second);
        a = e->first->value;
        return a > b ? a : b;
    case MINUS:
        b = evaluate(e->second);
        a = e->first->value;
        return (b - a) & 0xffff;
    default:
        return e->value;
    }
}

static const struct expression *parse(int depth, int number)
{
    struct expression *e = malloc(sizeof *e), *leaf = malloc(sizeof *leaf);
    if (!e || !leaf)
        exit(1);
    *leaf = (struct expression){NUMBER, number % 100, NULL, NULL};
    if (depth == 0)
        return leaf;
    *e = (struct expression){PLUS + (enum kind)(number % 3), 0, leaf, parse(depth - 1, number + 1)};
    return e;
}

static uint64_t turn(void *argument)
{
    struct program *p = argument;
    for (int repeat = 0; repeat < 64; repeat++)
        for (int i = 0; i < p->count; i++)
            p->sum += (uint64_t)evaluate(p->expressions[i]);
    return 64 * OPERATORS;
}

int main(int argc, char **argv)
{
    static struct program p;
    int depth = variant(argc, argv) ? SHALLOW : OPERATORS;
    p.count = OPERATORS / depth;
    for (int i = 0; i < p.count; i++)
        p.expressions[i] = parse(depth, i * depth);
    int status = run_kernel("lisp_eval", argc, argv, turn, &p);
    printf("result=%llu\n", (unsigned long long)p.sum);
    return status;
}
