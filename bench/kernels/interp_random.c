/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack machine of eight operations whose programs are random: the one jump that dispatches them can't be
 * guessed. Variant: the eight in order, over and over. */
#include "kernel.h"

enum { OPERATIONS = 1 << 16 };

struct interpreter {
    uint8_t program[OPERATIONS];
    uint64_t stack[16];
};

static HOT uint64_t interpret(void *argument)
{
    struct interpreter *in = argument;
    uint64_t a = in->stack[0], b = in->stack[1];
    for (unsigned pc = 0; pc < OPERATIONS; pc++) {
        switch (in->program[pc]) {
        case 0:
            a += b;
            break;
        case 1:
            b ^= a << 3;
            break;
        case 2:
            a = in->stack[b & 15];
            break;
        case 3:
            in->stack[a & 15] = b;
            break;
        case 4:
            a = a * 3 + 1;
            break;
        case 5:
            b -= a >> 2;
            break;
        case 6:
            a = ~a;
            b++;
            break;
        default:
            b = a ^ pc;
        }
    }
    in->stack[0] = a, in->stack[1] = b;
    return OPERATIONS;
}

int main(int argc, char **argv)
{
    static struct interpreter in;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < OPERATIONS; i++)
        in.program[i] = variant(argc, argv) ? i & 7 : next_random(&seed) >> 33 & 7;
    return run_kernel("interp_random", argc, argv, interpret, &in);
}
