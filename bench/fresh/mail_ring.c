/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two workers send each other messages through two rings. Each looks at the other's index for every message
 * and publishes its own at once. Variant 1: both happen once in 64 messages. */
#include "pair.h"

enum { RING = 1024, BATCH = 64, TRIES = 20000 };

struct ring {
    _Alignas(64) uint32_t sent;
    _Alignas(64) uint32_t taken;
    _Alignas(64) uint64_t message[RING];
};

struct worker {
    _Alignas(64) struct ring *out;
    struct ring *in;
    uint64_t sum;
    uint32_t batch;
};

HOT static uint64_t exchange(struct worker *w, uint32_t batch)
{
    struct ring *out = w->out, *in = w->in;
    uint32_t sent = out->sent, taken = in->taken, first = taken;
    uint64_t sum = w->sum;
    for (int i = 0; i < TRIES; i += (int)batch) {
        if (sent + batch - __atomic_load_n(&out->taken, __ATOMIC_ACQUIRE) <= RING) {
            for (uint32_t k = 0; k < batch; k++, sent++)
                out->message[sent % RING] = sent;
            __atomic_store_n(&out->sent, sent, __ATOMIC_RELEASE);
        }
        if (__atomic_load_n(&in->sent, __ATOMIC_ACQUIRE) - taken >= batch) {
            for (uint32_t k = 0; k < batch; k++, taken++)
                sum += in->message[taken % RING];
            __atomic_store_n(&in->taken, taken, __ATOMIC_RELEASE);
        }
    }
    w->sum = sum;
    return taken - first;
}

static uint64_t turn(void *argument)
{
    struct worker *w = argument;
    return exchange(w, w->batch);
}

int main(int argc, char **argv)
{
    static struct ring there, back;
    static struct worker a, b;
    uint32_t batch = variant(argc, argv) ? BATCH : 1;
    a = (struct worker){&there, &back, 0, batch};
    b = (struct worker){&back, &there, 0, batch};
    return run_pair("mail_ring", argc, argv, turn, &a, &b);
}
