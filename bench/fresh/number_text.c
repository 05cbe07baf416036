/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An export writes the grey levels of a picture as text: digit by digit into a field of eight letters, which is then copied
 * to the output at once. Variant 1: a field is copied when fifteen others have been written after it. */
#include "../kernels/kernel.h"

enum { NUMBERS = 2048, FIELD = 8, FIELDS = 16, DIGITS = 3 };

struct export
{
    uint32_t numbers[NUMBERS];
    char text[NUMBERS * FIELD], fields[FIELDS][FIELD];
    int late;
};

HOT static void write_numbers(struct export *e, int late)
{
    for (int i = 0; i < NUMBERS + late; i++) {
        uint32_t n = e->numbers[i % NUMBERS];
        char *field = e->fields[i % FIELDS];
        for (int k = 0; k < DIGITS; k++, n /= 10)
            field[FIELD - 1 - k] = (char)('0' + n % 10);
        if (i >= late)
            memcpy(e->text + (i - late) * FIELD, e->fields[(i - late) % FIELDS], FIELD);
    }
}

static uint64_t turn(void *argument)
{
    struct export *e = argument;
    for (int i = 0; i < 20; i++)
        write_numbers(e, e->late);
    return 20 * NUMBERS;
}

int main(int argc, char **argv)
{
    static struct export e;
    uint64_t seed = 7046029254386353131u, sum = 0;
    memset(e.fields, ' ', sizeof e.fields);
    e.late = variant(argc, argv) ? FIELDS - 1 : 0;
    for (int i = 0; i < NUMBERS; i++)
        e.numbers[i] = (uint32_t)(next_random(&seed) >> 40) % 1000;
    int status = run_kernel("number_text", argc, argv, turn, &e);
    for (unsigned i = 0; i < sizeof e.text; i++)
        sum = sum * 31 + (uint64_t)e.text[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
