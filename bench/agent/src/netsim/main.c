// SPDX-License-Identifier: GPL-2.0-or-later
// Sends packets of some flows through a grid of switches: main ROUNDS STEPS
#include "netsim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void network_open(Network *network, uint64_t steps)
{
    memset(network, 0, sizeof *network);
    network->end = steps * STEP;
    ledger_open(&network->ledger);
    meeting_open(&network->meeting);
    for (int i = 0; i < WORKERS; i++) {
        mailbox_open(&network->mailboxes[i]);
        network->workers[i].network = network;
        network->workers[i].number = i;
    }
    for (uint32_t flow = 0; flow < FLOWS; flow++)
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t from = (flow * 7919 + i * 601) % SWITCHES, to = (flow * 104729 + i * 7 + 5) % SWITCHES;
            Packet packet = {
                .time = flow % 97, .at = from, .goal = to, .number = i << 24, .flow = (uint16_t)flow};
            heap_put(&network->workers[owner_of(from)].heap, &packet);
        }
}

static void network_close(Network *network)
{
    for (int i = 0; i < WORKERS; i++) {
        mailbox_close(&network->mailboxes[i]);
        free(network->workers[i].heap.packets);
        free(network->workers[i].taken);
    }
    meeting_close(&network->meeting);
    ledger_close(&network->ledger);
}

static void show(const Network *network)
{
    uint64_t forwarded = 0, delivered = 0, queued = 0, longest = 0;
    for (int i = 0; i < WORKERS; i++) {
        const Counters *counters = &network->counters[i];
        forwarded += counters->forwarded;
        delivered += counters->delivered;
        queued += counters->queued;
        longest = counters->longest > longest ? counters->longest : longest;
    }
    printf("%" PRIu64 " forwarded, %" PRIu64 " delivered, %" PRIu64 " queued, at most for %" PRIu64 "\n",
           forwarded, delivered, queued, longest);
    printf("%016" PRIx64 "\n", ledger_digest(&network->ledger));
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    uint64_t steps = count > 2 ? (uint64_t)atoi(arguments[2]) : 5000;
    for (int round = 0; round < rounds; round++) {
        static Network network;
        network_open(&network, steps + (uint64_t)round);
        for (int i = 0; i < WORKERS; i++)
            if (pthread_create(&network.workers[i].thread, NULL, worker_run, &network.workers[i]) != 0) {
                fprintf(stderr, "netsim: no thread\n");
                return 1;
            }
        for (int i = 0; i < WORKERS; i++)
            pthread_join(network.workers[i].thread, NULL);
        show(&network);
        network_close(&network);
    }
    return 0;
}
