/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTLP/HTTP (opentelemetry-proto, docs/specification.md): which answers may be tried again, what an answer says. */
#include "exchange/fleet/otlp.h"
#include "exchange/fleet/http.h"
#include "store/base/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TIMEOUT_S 60L
#define ANSWER_BYTES (64u << 10) /* a longer one is no answer */
#define HEADERS_MAX 32

struct cs_otlp_receiver {
    struct cs_fleet_http *http;
    char *url, *name;
    bool gzip, may_recover, says_gzip;
    long after_s;
};

static int no_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory while talking to the receiver");
}

/* "%3D" as "=": in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
            const char digits[3] = {from[1], from[2], '\0'};
            *to++ = (char)strtoul(digits, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    *to = '\0';
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
        text[n - 1] = '\0';
    return text;
}

/* One of "name=value": its words are never in a message, for it mostly is a secret. */
static int add_header(struct cs_otlp_receiver *r, char *pair, struct cs_error *err)
{
    static const char name_characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    char *equals = strchr(pair, '='), *header = NULL;
    if (!equals)
        return cs_fail(err, EINVAL, "OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE, separated by commas");
    *equals = '\0';
    char *name = trimmed(pair), *value = trimmed(equals + 1);
    unescape(value);
    bool plain = *name && strspn(name, name_characters) == strlen(name);
    for (const char *at = value; *at; at++)
        plain = plain && (unsigned char)*at >= ' ' && *at != 127;
    if (!plain)
        return cs_fail(err, EINVAL, "OTEL_EXPORTER_OTLP_HEADERS: a name or a value can't be in a header");
    if (asprintf(&header, "%s: %s", name, value) < 0)
        return no_memory(err);
    int rc = cs_fleet_http_header(r->http, header, err);
    free(header);
    return rc;
}

static int add_headers(struct cs_otlp_receiver *r, const char *headers, struct cs_error *err)
{
    char *copy = strdup(headers), *state = NULL;
    int rc = copy ? 0 : no_memory(err);
    unsigned n = 0;
    for (char *pair = copy ? strtok_r(copy, ",", &state) : NULL; rc == 0 && pair;
         pair = strtok_r(NULL, ",", &state)) {
        if (*trimmed(pair) == '\0')
            continue;
        rc = ++n > HEADERS_MAX
                 ? cs_fail(err, EINVAL, "OTEL_EXPORTER_OTLP_HEADERS: more than %d headers", HEADERS_MAX)
                 : add_header(r, pair, err);
    }
    free(copy);
    return rc;
}

int cs_otlp_receiver_open(const char *url, const char *headers, struct cs_otlp_receiver **out,
                          struct cs_error *err)
{
    const char *rest = strstr(url, "://");
    *out = NULL;
    if (!rest || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || !rest[3])
        return cs_fail(err, EINVAL, "%s is no URL of a receiver: expected http://HOST:4318",
                       strrchr(url, '@') ? strrchr(url, '@') + 1 : url); /* no password in messages */
    rest += 3;
    const size_t scheme = (size_t)(rest - url), place = strcspn(rest, "/?#");
    const char *path = rest + place, *at = memchr(rest, '@', place), *bare = at ? at + 1 : rest;
    struct cs_otlp_receiver *r = calloc(1, sizeof *r);
    if (!r)
        return no_memory(err);
    r->gzip = true;
    if (strcmp(path, "") == 0 || strcmp(path, "/") == 0)
        path = CS_OTLP_PATH;
    if (asprintf(&r->url, "%.*s%s", (int)(scheme + place), url, path) < 0)
        r->url = NULL;
    /* A query may hold a key. */
    if (asprintf(&r->name, "%.*s%.*s%.*s", (int)scheme, url, (int)(rest + place - bare), bare,
                 (int)strcspn(path, "?#"), path) < 0)
        r->name = NULL;
    int rc = r->url && r->name ? cs_fleet_http_open(&r->http, err) : no_memory(err);
    if (rc == 0)
        rc = cs_fleet_http_header(r->http, "Content-Type: application/x-protobuf", err);
    if (rc == 0 && headers)
        rc = add_headers(r, headers, err);
    if (rc < 0) {
        cs_otlp_receiver_close(r);
        return rc;
    }
    cs_fleet_http_limits(r->http, TIMEOUT_S, ANSWER_BYTES);
    *out = r;
    return 0;
}

void cs_otlp_receiver_close(struct cs_otlp_receiver *r)
{
    if (!r)
        return;
    cs_fleet_http_close(r->http);
    free(r->url);
    free(r->name);
    free(r);
}

void cs_otlp_receiver_limits(struct cs_otlp_receiver *r, long timeout_s, bool gzip)
{
    r->gzip = gzip;
    cs_fleet_http_limits(r->http, timeout_s, ANSWER_BYTES);
}

const char *cs_otlp_receiver_name(const struct cs_otlp_receiver *r)
{
    return r->name;
}

bool cs_otlp_receiver_may_recover(const struct cs_otlp_receiver *r, long *after_s)
{
    *after_s = r->after_s;
    return r->may_recover;
}

static int zipped(const void *message, size_t n, struct cs_bytes *to, struct cs_error *err)
{
    z_stream z = {0};
    if (n > UINT32_MAX ||
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return no_memory(err);
    const uLong bound = deflateBound(&z, (uLong)n);
    uint8_t *room = bound <= UINT32_MAX ? cs_bytes_put_room(to, bound) : NULL;
    z.next_in = (Bytef *)(uintptr_t)message;
    z.avail_in = (uInt)n;
    z.next_out = room;
    z.avail_out = (uInt)bound;
    const bool done = room && deflate(&z, Z_FINISH) == Z_STREAM_END;
    to->used -= done ? z.avail_out : 0;
    deflateEnd(&z);
    return done ? 0 : no_memory(err);
}

/* ---- what it answers ---- */

/* Field `wanted` of a message; its number, or where its bytes are. False where there is none. */
static bool field(const uint8_t *start, size_t n, unsigned wanted, uint64_t *number, const uint8_t **bytes)
{
    struct cs_bytes_cursor in = {start, start + n, false};
    bool found = false;
    while (!in.bad && in.at < in.end) {
        const uint64_t key = cs_bytes_take_varint(&in), kind = key & 7;
        uint64_t value = 0;
        const uint8_t *at = NULL;
        if (kind == 0)
            value = cs_bytes_take_varint(&in);
        else if (kind == 1)
            value = cs_bytes_take_u64(&in);
        else if (kind == 5)
            cs_bytes_take_raw(&in, 4);
        else if (kind == 2)
            at = cs_bytes_take_raw(&in, value = cs_bytes_take_varint(&in));
        else
            break;
        if (!in.bad && key >> 3 == wanted && (kind == 2) == (bytes != NULL)) {
            *number = value;
            if (bytes)
                *bytes = at;
            found = true;
        }
    }
    return found;
}

static void text_of(const uint8_t *start, size_t n, unsigned wanted, char *to, size_t size)
{
    uint64_t length = 0;
    const uint8_t *text = NULL;
    to[0] = '\0';
    if (field(start, n, wanted, &length, &text) && text)
        snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), (const char *)text);
}

/* ExportProfilesServiceResponse: partial_success = 1 {rejected_profiles = 1, error_message = 2}. */
static void take_success(const struct cs_fleet_http_answer *got, struct cs_otlp_answer *answer)
{
    uint64_t n = 0, rejected = 0;
    const uint8_t *partial = NULL;
    if (!field((const uint8_t *)got->text, got->n, 1, &n, &partial) || !partial)
        return;
    if (field(partial, (size_t)n, 1, &rejected, NULL))
        answer->rejected = (int64_t)rejected;
    text_of(partial, (size_t)n, 2, answer->message, sizeof answer->message);
}

/* google.rpc.Status {message = 2}, or the first line of a text. */
static int refused(struct cs_otlp_receiver *r, const struct cs_fleet_http_answer *got, struct cs_error *err)
{
    char said[256];
    text_of((const uint8_t *)got->text, got->n, 2, said, sizeof said);
    if (!*said)
        snprintf(said, sizeof said, "%.*s", (int)strcspn(got->text, "\r\n"), got->text);
    r->may_recover = got->status == 429 || (got->status >= 502 && got->status <= 504);
    r->after_s = got->retry_after_s;
    return cs_fail(err, EREMOTEIO, "%s answered %ld%s%s", r->name, got->status, *said ? ": " : "", said);
}

int cs_otlp_receiver_send(struct cs_otlp_receiver *r, const void *message, size_t n,
                          struct cs_otlp_answer *answer, struct cs_error *err)
{
    struct cs_bytes body = {0};
    struct cs_fleet_http_answer got = {0};
    struct cs_error inner;
    *answer = (struct cs_otlp_answer){0};
    r->may_recover = false;
    r->after_s = 0;
    int rc = r->gzip ? zipped(message, n, &body, err) : 0;
    if (rc == 0 && r->gzip && !r->says_gzip) {
        rc = cs_fleet_http_header(r->http, "Content-Encoding: gzip", err);
        r->says_gzip = rc == 0;
    }
    if (rc < 0)
        goto out;
    answer->sent_bytes = r->gzip ? body.used : n;
    rc = cs_fleet_http_post(r->http, r->url, r->gzip ? (const void *)body.start : message,
                            r->gzip ? body.used : n, &got, &inner);
    if (rc < 0) {
        r->may_recover = true;
        rc = cs_fail(err, inner.code, "%s can't be reached: %.300s", r->name, inner.text);
    } else if (got.status / 100 == 2) {
        take_success(&got, answer);
    } else {
        rc = refused(r, &got, err);
    }
out:
    free(got.text);
    cs_bytes_fini(&body);
    return rc;
}
