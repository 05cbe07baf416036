/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of frames of a network protocol: filled in field by field, then appended to the send buffer with one copy of
 * 16 bytes. Variant 1: appended field by field. */
#include "../kernels/kernel.h"

enum { FRAMES = 4096, BUFFER = 256 };

struct header {
    uint16_t kind, flags;
    uint32_t length, stream, checksum;
};

struct connection {
    struct header header, *buffer;
    uint32_t stream;
    int fields;
};

static inline __attribute__((always_inline)) struct header *filled_in(struct connection *c, uint32_t i)
{
    struct header *h = &c->header;
    h->kind = (uint16_t)(i & 15);
    h->flags = (uint16_t)(i >> 4 & 3);
    h->length = 64 + i;
    h->stream = c->stream;
    h->checksum = i ^ c->stream;
    __asm__ volatile("" ::: "memory");
    return h;
}

HOT static void send_frames(struct connection *c)
{
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct header *h = filled_in(c, i);
        memcpy(&c->buffer[i % BUFFER], h, sizeof *h);
    }
}

HOT static void send_by_fields(struct connection *c)
{
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct header *h = filled_in(c, i);
        const volatile struct header *from = h;
        volatile struct header *to = &c->buffer[i % BUFFER];
        to->kind = from->kind;
        to->flags = from->flags;
        to->length = from->length;
        to->stream = from->stream;
        to->checksum = from->checksum;
    }
}

static uint64_t turn(void *argument)
{
    struct connection *c = argument;
    c->stream++;
    (c->fields ? send_by_fields : send_frames)(c);
    return FRAMES;
}

int main(int argc, char **argv)
{
    static _Alignas(64) struct connection c;
    c.buffer = memory(BUFFER * sizeof(struct header), 0);
    c.fields = variant(argc, argv);
    return run_kernel("frame_header", argc, argv, turn, &c);
}
