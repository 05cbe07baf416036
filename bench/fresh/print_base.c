/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes numbers in a base that the caller chooses, by division. Variant: the base is 10 and the compiler knows. */
#include "../kernels/kernel.h"

struct output {
    char text[72];
    uint64_t base, number, digits;
};

static HOT uint64_t write_numbers(void *argument)
{
    struct output *o = argument;
    uint64_t digits = 0, number = o->number, base = o->base;
    while (digits < ITERATIONS_A_CALL) {
        uint64_t rest = number;
        char *p = o->text + sizeof o->text;
        number = number * 6364136223846793005u + 1442695040888963407u;
        if (base == 0)
            for (; rest; rest /= 10, digits++)
                *--p = (char)('0' + rest % 10);
        else
            for (; rest; rest /= base, digits++)
                *--p = (char)('0' + rest % base);
    }
    o->number = number, o->digits += digits;
    return digits;
}

int main(int argc, char **argv)
{
    struct output o = {.base = variant(argc, argv) ? 0 : 10, .number = 12345678901234567u};
    return run_kernel("print_base", argc, argv, write_numbers, &o);
}
