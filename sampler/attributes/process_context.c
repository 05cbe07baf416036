/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/attributes/process_context.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MAX (128U << 10)
#define KEYS_MAX 256 /* a key is one byte */
#define SCHEMA "threadlocal.schema_version"
#define KEY_MAP "threadlocal.attribute_key_map"

uint64_t cs_process_context_at(const char *proc, pid_t pid)
{
    static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"};
    char path[256], *line = NULL;
    size_t capacity = 0;
    uint64_t at = 0;
    snprintf(path, sizeof path, "%s/%d/maps", proc, (int)pid);
    FILE *f = cs_foreign_proc(path);
    while (f && !at && getline(&line, &capacity, f) > 0) {
        int name = 0;
        if (sscanf(line, "%*x-%*x %*s %*x %*s %*u %n", &name) < 0 || name == 0)
            continue;
        for (unsigned i = 0; i < sizeof names / sizeof *names && !at; i++)
            if (strncmp(line + name, names[i], strlen(names[i])) == 0)
                at = strtoull(line, NULL, 16);
    }
    if (f)
        fclose(f);
    free(line);
    return at;
}

/* ---- protobuf: messages and texts, other fields are skipped ---- */

struct bytes {
    const uint8_t *at, *end;
};

static bool varint(struct bytes *b, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        const uint8_t byte = *b->at++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* The next field with a length; false: the end, or no protobuf. */
static bool next_field(struct bytes *b, uint64_t *field, struct bytes *body)
{
    uint64_t tag, n;
    while (b->at < b->end && varint(b, &tag)) {
        *field = tag >> 3;
        switch (tag & 7) {
        case 0:
            if (!varint(b, &n))
                return false;
            continue;
        case 1:
        case 5:
            n = (tag & 7) == 1 ? 8 : 4;
            if ((size_t)(b->end - b->at) < n)
                return false;
            b->at += n;
            continue;
        case 2:
            if (!varint(b, &n) || (uint64_t)(b->end - b->at) < n)
                return false;
            *body = (struct bytes){b->at, b->at + n};
            b->at += n;
            return true;
        default:
            return false;
        }
    }
    return false;
}

static bool is_text(const struct bytes *b, const char *text)
{
    const size_t n = (size_t)(b->end - b->at);
    return n == strlen(text) && memcmp(b->at, text, n) == 0;
}

/* Field `wanted` of a message, the last one as protobuf has it. */
static bool field_of(struct bytes message, uint64_t wanted, struct bytes *out)
{
    struct bytes body;
    uint64_t field;
    bool found = false;
    while (next_field(&message, &field, &body))
        if (field == wanted) {
            *out = body;
            found = true;
        }
    return found;
}

static int key_in(struct bytes list, const char *name)
{
    struct bytes value, text;
    uint64_t field;
    for (int key = 0; key < KEYS_MAX && next_field(&list, &field, &value); key += field == 1)
        if (field == 1 && field_of(value, 1, &text) && is_text(&text, name))
            return key;
    return -1;
}

static void take_attribute(struct bytes pair, const char *name, struct cs_process_context *out)
{
    struct bytes key, value, body;
    if (!field_of(pair, 1, &key) || !field_of(pair, 2, &value))
        return;
    if (is_text(&key, SCHEMA) && field_of(value, 1, &body))
        out->has_threads = is_text(&body, "tlsdesc_v1_dev") || is_text(&body, "tls_v1");
    if (is_text(&key, KEY_MAP) && field_of(value, 5, &body))
        out->key = key_in(body, name);
}

/* ProcessContext has them in field 2; what was written before that message existed is a Resource, field 1. */
static void take_payload(struct bytes payload, const char *name, struct cs_process_context *out)
{
    struct bytes body;
    uint64_t field;
    while (next_field(&payload, &field, &body))
        if (field == 1 || field == 2)
            take_attribute(body, name, out);
}

int cs_process_context_read(const struct cs_process_memory *memory, uint64_t at, const char *name,
                            struct cs_process_context *out)
{
    assert(name && out);
    struct {
        char signature[8];
        uint32_t version, bytes;
        uint64_t published_ns, payload;
    } header;
    uint64_t again;
    *out = (struct cs_process_context){.key = -1};
    if (!memory->read(memory->arg, at, &header, sizeof header) ||
        memcmp(header.signature, "OTEL_CTX", 8) != 0 || header.version != 2 || header.bytes > PAYLOAD_MAX)
        return -EINVAL;
    if (!header.published_ns)
        return -EAGAIN;
    uint8_t *payload = malloc(header.bytes + 1U);
    if (!payload)
        return -ENOMEM;
    int rc = memory->read(memory->arg, header.payload, payload, header.bytes) &&
                     memory->read(memory->arg, at + offsetof(__typeof__(header), published_ns), &again,
                                  sizeof again) &&
                     again == header.published_ns
                 ? 0
                 : -EAGAIN;
    if (rc == 0) {
        out->published_ns = header.published_ns;
        take_payload((struct bytes){payload, payload + header.bytes}, name, out);
    }
    free(payload);
    return rc;
}
