/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the fields of CSV text by a state machine with a table, a byte at a time. Variant: four parts of the text at
 * a time, each with its own state. */
#include "../kernels/kernel.h"

#define BYTES 16384u

struct csv {
    unsigned char *text;
    uint8_t next[8][256];
    uint64_t fields;
    int parts;
};

static HOT uint64_t count_fields(void *argument)
{
    struct csv *c = argument;
    const unsigned char *p = c->text;
    for (unsigned turn = 0; turn < 8; turn++) {
        uint64_t fields = 0;
        if (c->parts) {
            unsigned a = 0, b = 0, d = 0, e = 0, part = BYTES / 4;
            for (unsigned i = 0; i < part; i++) {
                a = c->next[a][p[i]], b = c->next[b][p[i + part]];
                d = c->next[d][p[i + 2 * part]], e = c->next[e][p[i + 3 * part]];
                fields += (a == 1) + (b == 1) + (d == 1) + (e == 1);
            }
        } else {
            unsigned state = 0;
            for (unsigned i = 0; i < BYTES; i++) {
                state = c->next[state][p[i]];
                fields += state == 1;
            }
        }
        c->fields += fields;
    }
    return 8 * BYTES;
}

int main(int argc, char **argv)
{
    static struct csv c;
    c.text = malloc(BYTES);
    c.parts = variant(argc, argv);
    uint64_t seed = 17;
    for (unsigned i = 0; i < BYTES; i++)
        c.text[i] = (unsigned char)"abcdefgh0123,,\"\n"[next_random(&seed) % 16];
    /* 0 within a field, 1 after a comma, 2 in quotes, 3 after a quote in quotes, 4 at a line's begin */
    for (unsigned s = 0; s < 5; s++)
        for (unsigned b = 0; b < 256; b++)
            c.next[s][b] = s == 2 ? (b == '"' ? 3 : 2) : b == ',' ? 1 : b == '\n' ? 4 : b == '"' ? 2 : 0;
    return run_kernel("csv_fields", argc, argv, count_fields, &c);
}
