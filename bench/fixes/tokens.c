/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first pass over JSON-like text: counts characters of each class, and words. Fixed: the class comes out
 * of a table, the counts are added to by it, no branch asks. */
#include "../kernels/kernel.h"

enum { BYTES = 1 << 16, CLASSES = 5 };

struct text {
    uint8_t bytes[BYTES];
    uint8_t class_of[256];
    uint64_t counts[CLASSES], starts;
};

static HOT uint64_t scan_text(void *argument)
{
    struct text *t = argument;
    int inside = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        uint8_t c = t->bytes[i];
        if (c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':') {
            t->counts[0]++;
            inside = 0;
        } else if (c >= '0' && c <= '9') {
            t->counts[1]++;
            if (!inside)
                t->starts++;
            inside = 1;
        } else if (c == '"') {
            t->counts[2]++;
            inside = 0;
        } else if (c == ' ' || c == '\n') {
            t->counts[3]++;
            inside = 0;
        } else {
            t->counts[4]++;
            if (!inside)
                t->starts++;
            inside = 1;
        }
    }
    return BYTES;
}

static HOT uint64_t scan_by_table(void *argument)
{
    struct text *t = argument;
    static const uint8_t word[CLASSES] = {0, 1, 0, 0, 1};
    uint64_t starts = 0;
    unsigned inside = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        unsigned c = t->class_of[t->bytes[i]], is = word[c];
        t->counts[c]++;
        starts += is & ~inside;
        inside = is;
    }
    t->starts += starts;
    return BYTES;
}

int main(int argc, char **argv)
{
    static struct text t;
    static const char some[] = "{\"id\":17,\"n\": [3,4]} {\"k\":\"ab\", \"v\":5}\n";
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < BYTES; i++)
        t.bytes[i] = (uint8_t)some[next_random(&seed) % (sizeof some - 1)];
    for (unsigned c = 0; c < 256; c++)
        t.class_of[c] = c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':' ? 0
                        : c >= '0' && c <= '9'                                               ? 1
                        : c == '"'                                                           ? 2
                        : c == ' ' || c == '\n'                                              ? 3
                                                                                             : 4;
    return run_kernel("tokens", argc, argv, variant(argc, argv) ? scan_by_table : scan_text, &t);
}
