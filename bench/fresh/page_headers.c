/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the headers of messages into a ring whose places begin four bytes before the end of a page. Variant:
 * places eight bytes before the end. */
#include "../kernels/kernel.h"

enum { PLACES = 8 };

struct ring {
    char *first;
    uint64_t next;
};

static HOT uint64_t post(void *argument)
{
    struct ring *r = argument;
    uint64_t next = r->next;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++, next++)
        *(volatile uint64_t *)(r->first + next % PLACES * 4096) = next;
    r->next = next;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    char *base = memory(1 << 16, 0);
    struct ring r = {base + 4096 - (variant(argc, argv) ? 8 : 4), 0};
    return run_kernel("page_headers", argc, argv, post, &r);
}
