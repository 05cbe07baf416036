/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A monitor reads the headers of packets off a wire and keeps sums for each kind. Kinds follow in no order.
 * Variant 1: the receive queue was sorted by kind before. */
#include "../kernels/kernel.h"

enum { PACKETS = 16384, KINDS = 12 };

struct packet {
    uint8_t kind, ttl;
    uint16_t length;
    uint32_t flow;
};

struct monitor {
    struct packet queue[PACKETS];
    uint64_t bytes, hops, flows, errors;
};

HOT static void read_headers(struct monitor *m)
{
    uint64_t bytes = 0, hops = 0, flows = 0, errors = 0;
    for (int i = 0; i < PACKETS; i++) {
        const struct packet *p = &m->queue[i];
        switch (p->kind) {
        case 0:
            bytes += p->length;
            break;
        case 1:
            hops += 64u - p->ttl;
            bytes += 20;
            break;
        case 2:
            flows ^= p->flow;
            break;
        case 3:
            bytes += p->length - 8u;
            hops += p->ttl & 7u;
            break;
        case 4:
            errors += p->length > 1500;
            break;
        case 5:
            flows ^= (uint64_t)p->flow << 16;
            bytes += 40;
            break;
        case 6:
            bytes += p->length * 2u;
            break;
        case 7:
            hops += p->flow & 3;
            break;
        case 8:
            errors += p->ttl < 2;
            bytes += p->length;
            break;
        case 9:
            flows ^= ~(uint64_t)p->flow;
            break;
        case 10:
            bytes += p->flow >> 24;
            hops++;
            break;
        default:
            errors++;
        }
    }
    m->bytes += bytes, m->hops += hops, m->flows ^= flows, m->errors += errors;
}

static uint64_t turn(void *argument)
{
    read_headers(argument);
    return PACKETS;
}

static int by_kind(const void *a, const void *b)
{
    return ((const struct packet *)a)->kind - ((const struct packet *)b)->kind;
}

int main(int argc, char **argv)
{
    static struct monitor m;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < PACKETS; i++) {
        uint64_t r = next_random(&seed);
        m.queue[i] = (struct packet){(uint8_t)((r >> 40) % KINDS), (uint8_t)(r >> 10) % 64,
                                     (uint16_t)(40 + (r >> 20) % 1480), (uint32_t)(r >> 32)};
    }
    if (variant(argc, argv))
        qsort(m.queue, PACKETS, sizeof m.queue[0], by_kind);
    int status = run_kernel("packet_kinds", argc, argv, turn, &m);
    printf("result=%llu\n", (unsigned long long)(m.bytes + m.hops + m.flows + m.errors));
    return status;
}
