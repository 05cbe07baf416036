// SPDX-License-Identifier: GPL-2.0-or-later
// What the workers share: packets for each other, and where they meet after each step.
#include "netsim.h"
#include <stdlib.h>
#include <string.h>

void mailbox_open(Mailbox *mailbox)
{
    memset(mailbox, 0, sizeof *mailbox);
    pthread_mutex_init(&mailbox->lock, NULL);
}

void mailbox_close(Mailbox *mailbox)
{
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox->packets);
}

void mailbox_post(Mailbox *mailbox, const Packet *packet)
{
    pthread_mutex_lock(&mailbox->lock);
    if (mailbox->count == mailbox->room) {
        mailbox->room = mailbox->room ? 2 * mailbox->room : 256;
        mailbox->packets = realloc(mailbox->packets, (size_t)mailbox->room * sizeof *mailbox->packets);
        if (!mailbox->packets)
            abort();
    }
    mailbox->packets[mailbox->count++] = *packet;
    pthread_mutex_unlock(&mailbox->lock);
}

// Moves all packets of a mailbox to the worker's heap.
void mailbox_collect(Mailbox *mailbox, Worker *worker)
{
    pthread_mutex_lock(&mailbox->lock);
    Packet *packets = mailbox->packets;
    int count = mailbox->count, room = mailbox->room;
    mailbox->packets = worker->taken;
    mailbox->room = worker->taken_room;
    mailbox->count = 0;
    pthread_mutex_unlock(&mailbox->lock);
    for (int i = 0; i < count; i++)
        heap_put(&worker->heap, &packets[i]);
    worker->taken = packets;
    worker->taken_room = room;
}

void meeting_open(Meeting *meeting)
{
    memset(meeting, 0, sizeof *meeting);
    pthread_mutex_init(&meeting->lock, NULL);
    pthread_cond_init(&meeting->turned, NULL);
}

void meeting_close(Meeting *meeting)
{
    pthread_cond_destroy(&meeting->turned);
    pthread_mutex_destroy(&meeting->lock);
}

// Returns when all workers are here.
void meeting_wait(Meeting *meeting)
{
    pthread_mutex_lock(&meeting->lock);
    uint64_t turn = meeting->turn;
    if (++meeting->waiting == WORKERS) {
        meeting->waiting = 0;
        meeting->turn++;
        pthread_cond_broadcast(&meeting->turned);
    }
    while (meeting->turn == turn)
        pthread_cond_wait(&meeting->turned, &meeting->lock);
    pthread_mutex_unlock(&meeting->lock);
}
