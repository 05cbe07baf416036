/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes lines of 100 characters by FNV-1a, a multiplication a character. Variant: four lines at a time. */
#include "../kernels/kernel.h"

#define LINE 100u
#define LINES 120u

struct text {
    unsigned char *lines;
    uint64_t hash[LINES];
    int together;
};

static HOT uint64_t hash_lines(void *argument)
{
    struct text *t = argument;
    const uint64_t prime = 1099511628211u, start = 14695981039346656037u;
    for (unsigned turn = 0; turn < 10; turn++)
        for (unsigned l = 0; l < LINES;) {
            const unsigned char *p = t->lines + l * LINE;
            uint64_t a = start, b = start, c = start, d = start;
            if (t->together) {
                for (unsigned i = 0; i < LINE; i++) {
                    a = (a ^ p[i]) * prime, b = (b ^ p[i + LINE]) * prime;
                    c = (c ^ p[i + 2 * LINE]) * prime, d = (d ^ p[i + 3 * LINE]) * prime;
                }
                t->hash[l] = a, t->hash[l + 1] = b, t->hash[l + 2] = c, t->hash[l + 3] = d;
                l += 4;
            } else {
                for (unsigned i = 0; i < LINE; i++)
                    a = (a ^ p[i]) * prime;
                t->hash[l++] = a;
            }
        }
    return 10 * LINES * LINE;
}

int main(int argc, char **argv)
{
    static struct text t;
    t.lines = malloc(LINES * LINE);
    t.together = variant(argc, argv);
    for (unsigned i = 0; i < LINES * LINE; i++)
        t.lines[i] = (unsigned char)(' ' + i * 7 % 90);
    return run_kernel("line_hash", argc, argv, hash_lines, &t);
}
