// SPDX-License-Identifier: GPL-2.0-or-later
// Sums of what was delivered. Nothing in it depends on the order.
#include "netsim.h"
#include <string.h>

void ledger_open(Ledger *ledger)
{
    memset(ledger, 0, sizeof *ledger);
    pthread_mutex_init(&ledger->lock, NULL);
}

void ledger_close(Ledger *ledger)
{
    pthread_mutex_destroy(&ledger->lock);
}

// The payload follows from flow and number; this is its digest as the receiver finds it.
static uint64_t payload_digest(const Packet *packet)
{
    uint64_t word = ((uint64_t)packet->flow << 32) + packet->number, sum = 0;
    for (int i = 0; i < PAYLOAD / 8; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        sum = (sum ^ word >> 29) * 0x9fb21c651e98df25u;
    }
    return sum;
}

void ledger_add(Ledger *ledger, const Packet *packet)
{
    uint64_t digest = payload_digest(packet);
    pthread_mutex_lock(&ledger->lock);
    Flow *flow = &ledger->flows[packet->flow];
    flow->packets++;
    flow->hops += packet->hops;
    flow->digest += digest;
    if (packet->time > flow->latest)
        flow->latest = packet->time;
    ledger->packets++;
    pthread_mutex_unlock(&ledger->lock);
}

uint64_t ledger_digest(const Ledger *ledger)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < FLOWS; i++) {
        const Flow *flow = &ledger->flows[i];
        hash = (hash ^ flow->digest ^ flow->hops << 20 ^ flow->latest) * 1099511628211u;
    }
    return hash;
}
