/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes Morse code that was heard as dots, dashes and gaps. Which one comes next can't be guessed. Variant 1: what each
 * sign does to the letter is looked up in a table, without a branch. */
#include "../kernels/kernel.h"

enum { SIGNS = 1 << 18 };
enum sign { DOT, DASH, GAP };

struct radio {
    uint8_t signs[SIGNS], letters[SIGNS + 1];
    int table;
    uint64_t sum;
};

HOT static size_t decode(const uint8_t *signs, uint8_t *letters)
{
    size_t n = 0;
    uint32_t letter = 1;
    for (int i = 0; i < SIGNS; i++)
        switch (signs[i]) {
        case DOT:
            letter = letter * 2;
            break;
        case DASH:
            letter = letter * 2 + 1;
            break;
        default:
            letters[n++] = (uint8_t)letter;
            letter = 1;
        }
    return n;
}

HOT static size_t decode_by_table(const uint8_t *signs, uint8_t *letters)
{
    static const uint8_t times[] = {[DOT] = 2, [DASH] = 2, [GAP] = 0},
                         plus[] = {[DOT] = 0, [DASH] = 1, [GAP] = 1},
                         ends[] = {[DOT] = 0, [DASH] = 0, [GAP] = 1};
    size_t n = 0;
    uint32_t letter = 1;
    for (int i = 0; i < SIGNS; i++) {
        letters[n] = (uint8_t)letter;
        n += ends[signs[i]];
        letter = letter * times[signs[i]] + plus[signs[i]];
    }
    return n;
}

static uint64_t turn(void *argument)
{
    struct radio *r = argument;
    r->sum += r->table ? decode_by_table(r->signs, r->letters) : decode(r->signs, r->letters);
    return SIGNS;
}

int main(int argc, char **argv)
{
    static struct radio r;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < SIGNS; i++)
        r.signs[i] = (uint8_t)((next_random(&seed) >> 33) % 3);
    r.signs[SIGNS - 1] = GAP;
    r.table = variant(argc, argv);
    int status = run_kernel("morse_decode", argc, argv, turn, &r);
    for (uint64_t i = 0; r.letters[i]; i++)
        r.sum += i * r.letters[i];
    printf("result=%llu\n", (unsigned long long)r.sum);
    return status;
}
