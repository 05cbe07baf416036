/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The credit of the clients of a server: each earns `rate` tokens a period, up to a limit. Variant 1: the period's
 * reciprocal is computed before, and multiplied by. */
#include "../kernels/kernel.h"

enum { CLIENTS = 256, REPEATS = 128 };

struct client {
    uint64_t seen, rate, tokens, limit;
};

struct server {
    struct client clients[CLIENTS];
    uint64_t now, period;
    int reciprocal;
};

HOT static void earn(struct server *s)
{
    uint64_t now = s->now, period = s->period;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &s->clients[i];
        uint64_t tokens = c->tokens + (now - c->seen) * c->rate / period;
        c->tokens = tokens < c->limit ? tokens : c->limit;
        c->seen = now;
    }
}

HOT static void earn_by_reciprocal(struct server *s)
{
    uint64_t now = s->now, inverse = UINT64_MAX / s->period;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &s->clients[i];
        uint64_t tokens =
            c->tokens + (uint64_t)((unsigned __int128)((now - c->seen) * c->rate) * inverse >> 64);
        c->tokens = tokens < c->limit ? tokens : c->limit;
        c->seen = now;
    }
}

static uint64_t turn(void *argument)
{
    struct server *s = argument;
    for (int i = 0; i < REPEATS; i++) {
        s->now += 30000000;
        (s->reciprocal ? earn_by_reciprocal : earn)(s);
    }
    return CLIENTS * REPEATS;
}

int main(int argc, char **argv)
{
    static struct server s = {.period = 1000000000};
    for (uint64_t i = 0; i < CLIENTS; i++)
        s.clients[i] = (struct client){0, 100 + i, 0, 1 << 20};
    s.reciprocal = variant(argc, argv);
    return run_kernel("rate_limit", argc, argv, turn, &s);
}
