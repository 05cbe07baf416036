// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates packets in a network of switches. Two workers have half of the switches each and go on in steps of time
// that are shorter than a packet takes from one half to the other.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WORKERS = 2,
    SIDE = 48,
    SWITCHES = SIDE * SIDE,
    PORTS = 4,
    FLOWS = 1024,
    PAYLOAD = 3072,
    LINK_TIME = 900,
    STEP = 900
};

typedef struct {
    uint64_t time;
    uint32_t at, goal; // switches
    uint32_t number;   // in its flow
    uint16_t flow, hops;
} Packet;

typedef struct {
    Packet *packets;
    int count, room;
} Heap;

// Packets from the other worker.
typedef struct {
    pthread_mutex_t lock;
    Packet *packets;
    int count, room;
} Mailbox;

typedef struct {
    uint64_t forwarded, delivered, queued, longest;
} __attribute__((aligned(64))) Counters;

typedef struct {
    uint64_t busy_until[PORTS];
} Switch;

typedef struct {
    uint64_t packets, hops, digest, latest;
} Flow;

// What came out of all flows, from both workers.
typedef struct {
    pthread_mutex_t lock;
    Flow flows[FLOWS];
    uint64_t packets;
} Ledger;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t turned;
    int waiting;
    uint64_t turn;
} Meeting;

struct Network;

typedef struct {
    struct Network *network;
    int number;
    Heap heap;
    Packet *taken; // a spare piece of memory for the mailbox
    int taken_room;
    pthread_t thread;
} __attribute__((aligned(64))) Worker;

typedef struct Network {
    Switch switches[SWITCHES];
    Counters counters[WORKERS];
    Mailbox mailboxes[WORKERS];
    Worker workers[WORKERS];
    Ledger ledger;
    Meeting meeting;
    uint64_t end;
} Network;

// heap.c
void heap_put(Heap *heap, const Packet *packet);
bool heap_take(Heap *heap, uint64_t before, Packet *packet);

// mailbox.c
void mailbox_open(Mailbox *mailbox);
void mailbox_close(Mailbox *mailbox);
void mailbox_post(Mailbox *mailbox, const Packet *packet);
void mailbox_collect(Mailbox *mailbox, Worker *worker);
void meeting_open(Meeting *meeting);
void meeting_close(Meeting *meeting);
void meeting_wait(Meeting *meeting);

// ledger.c
void ledger_open(Ledger *ledger);
void ledger_close(Ledger *ledger);
void ledger_add(Ledger *ledger, const Packet *packet);
uint64_t ledger_digest(const Ledger *ledger);

// worker.c
void *worker_run(void *argument);
static inline int owner_of(uint32_t place)
{
    return place % SIDE >= SIDE / 2;
}
