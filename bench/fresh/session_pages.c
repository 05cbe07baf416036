/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the list of 6,000 sessions, each on a page of its own with its buffers; only the line with the link is
 * read, so that all lines fit into the second level. Variant: the links lie next to one another. */
#include "../kernels/kernel.h"

#define SESSIONS 6000u

struct session {
    struct session *next;
    uint64_t expires;
};

struct sessions {
    struct session *first;
    uint64_t sum;
};

static HOT uint64_t expire(void *argument)
{
    struct sessions *s = argument;
    struct session *at = s->first;
    uint64_t sum = 0;
    for (unsigned i = 0; i < 8 * SESSIONS; i++, at = at->next)
        sum += at->expires;
    s->sum += sum;
    return 8 * SESSIONS;
}

int main(int argc, char **argv)
{
    size_t page = variant(argc, argv) ? 64 : 4096;
    char *pages = memory(SESSIONS * page, 0);
    static uint32_t order[SESSIONS];
    uint64_t seed = 4103;
    for (uint32_t i = 0; i < SESSIONS; i++) {
        uint32_t j = (uint32_t)(next_random(&seed) % (i + 1));
        order[i] = order[j], order[j] = i;
    }
    struct session *before = NULL, *first = NULL;
    for (uint32_t i = 0; i < SESSIONS; i++) {
        struct session *at = (struct session *)(pages + order[i] * page + order[i] % (page / 64) * 64);
        if (before)
            before->next = at;
        else
            first = at;
        at->expires = i, at->next = first;
        before = at;
    }
    struct sessions s = {first, 0};
    return run_kernel("session_pages", argc, argv, expire, &s);
}
