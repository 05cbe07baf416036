/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protobuf's wire format as exporters need it: a few shapes of field, written message by message without a schema compiler. */
#pragma once

#include "store/base/bytes.h"

/* 0 is what an absent field means. */
static inline void cs_proto_number(struct cs_bytes *w, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    cs_bytes_put_varint(w, field << 3);
    cs_bytes_put_varint(w, value);
}

static inline void cs_proto_fixed64(struct cs_bytes *w, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    cs_bytes_put_varint(w, field << 3 | 1);
    cs_bytes_put_u64(w, value);
}

static inline void cs_proto_bytes(struct cs_bytes *w, unsigned field, const void *bytes, size_t n)
{
    cs_bytes_put_varint(w, field << 3 | 2);
    cs_bytes_put_varint(w, n);
    cs_bytes_put_raw(w, bytes, n);
}

/* Takes a finished message in and empties it for the next. */
static inline void cs_proto_message(struct cs_bytes *w, unsigned field, struct cs_bytes *message)
{
    cs_proto_bytes(w, field, message->start ? message->start : (uint8_t *)"", message->used);
    w->failed |= message->failed;
    message->used = 0;
}
