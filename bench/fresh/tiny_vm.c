/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interprets a program of 60,000 random instructions, a switch each. Variant: the same instructions, sorted by kind. */
#include "../kernels/kernel.h"

#define CODE 60000u

struct vm {
    uint8_t *code;
    uint64_t reg[4];
};

static HOT uint64_t run_code(void *argument)
{
    struct vm *vm = argument;
    uint64_t a = vm->reg[0], b = vm->reg[1], c = vm->reg[2], d = vm->reg[3];
    for (unsigned pc = 0; pc < CODE; pc++)
        switch (vm->code[pc]) {
        case 0:
            a += b;
            break;
        case 1:
            b ^= c << 3;
            break;
        case 2:
            c -= d;
            break;
        case 3:
            d = a | 1;
            break;
        case 4:
            a = b & ~c;
            break;
        case 5:
            b = d + 7;
            break;
        case 6:
            c ^= a >> 5;
            break;
        case 7:
            d -= b ^ 9;
            break;
        case 8:
            vm->reg[0] = a;
            break;
        case 9:
            b += vm->reg[0];
            break;
        }
    vm->reg[0] = a, vm->reg[1] = b, vm->reg[2] = c, vm->reg[3] = d;
    return CODE;
}

static int ascending(const void *a, const void *b)
{
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

int main(int argc, char **argv)
{
    struct vm vm = {memory(CODE, 0), {1, 2, 3, 4}};
    uint64_t seed = 5;
    for (unsigned i = 0; i < CODE; i++)
        vm.code[i] = (uint8_t)(next_random(&seed) % 10);
    if (variant(argc, argv))
        qsort(vm.code, CODE, 1, ascending);
    return run_kernel("tiny_vm", argc, argv, run_code, &vm);
}
