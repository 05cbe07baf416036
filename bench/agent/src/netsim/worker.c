// SPDX-License-Identifier: GPL-2.0-or-later
// One worker: forwards its packets step by step.
#include "netsim.h"
#include <stdlib.h>

enum { SEND_TIME = 260, NEAR = 8 };

// Packets go along their row first, then along their column, but turn early at every fourth switch.
static int port_to(uint32_t at, uint32_t goal)
{
    uint32_t x = at % SIDE, y = at / SIDE, goal_x = goal % SIDE, goal_y = goal / SIDE;
    if (x != goal_x && (y == goal_y || (x & 3) != 0))
        return x < goal_x ? 0 : 2;
    if (y != goal_y)
        return y < goal_y ? 1 : 3;
    return x < goal_x ? 0 : 2;
}

static uint32_t neighbour(uint32_t at, int port)
{
    static const int offsets[PORTS] = {1, SIDE, -1, -SIDE};
    return at + (uint32_t)offsets[port];
}

// A switch of the neighbourhood: most traffic stays there.
static uint32_t near(uint32_t at, uint32_t place)
{
    uint32_t x = at % SIDE + place / 8 % NEAR, y = at / SIDE + place / 512 % NEAR;
    return y % SIDE * SIDE + x % SIDE;
}

static void deliver(Worker *worker, const Packet *packet)
{
    Network *network = worker->network;
    network->counters[worker->number].delivered++;
    ledger_add(&network->ledger, packet);
    Packet answer = *packet;
    answer.hops = 0;
    answer.number++;
    uint32_t place = (packet->number * 2654435761u ^ packet->flow * 40503u) >> 7;
    answer.goal = place % 5 ? near(packet->at, place) : place % SWITCHES;
    answer.time += 300 + place % 64;
    heap_put(&worker->heap, &answer);
}

static void forward(Worker *worker, Packet *packet)
{
    Network *network = worker->network;
    Counters *counters = &network->counters[worker->number];
    int port = port_to(packet->at, packet->goal);
    uint64_t *busy_until = &network->switches[packet->at].busy_until[port];
    uint64_t start = packet->time;
    if (*busy_until > start) {
        counters->queued++;
        if (*busy_until - start > counters->longest)
            counters->longest = *busy_until - start;
        start = *busy_until;
    }
    *busy_until = start + SEND_TIME;
    packet->time = start + LINK_TIME;
    packet->at = neighbour(packet->at, port);
    packet->hops++;
    counters->forwarded++;
    int owner = owner_of(packet->at);
    if (owner == worker->number)
        heap_put(&worker->heap, packet);
    else
        mailbox_post(&network->mailboxes[owner], packet);
}

void *worker_run(void *argument)
{
    Worker *worker = argument;
    Network *network = worker->network;
    for (uint64_t limit = STEP; limit <= network->end; limit += STEP) {
        Packet packet;
        while (heap_take(&worker->heap, limit, &packet)) {
            if (packet.at == packet.goal)
                deliver(worker, &packet);
            else
                forward(worker, &packet);
        }
        meeting_wait(&network->meeting);
        mailbox_collect(&network->mailboxes[worker->number], worker);
        meeting_wait(&network->meeting);
    }
    return NULL;
}
