/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTLP (opentelemetry-proto, docs/specification.md): which answers may be tried again, what an answer says. Pyroscope's
 * push.v1 by HTTP is the Connect protocol: an error is JSON. gRPC over HTTP/2: a head of five bytes, a flag for gzip and a
 * length, comes before a message. The status comes after the answer's body. */
#include "exchange/fleet/receiver.h"
#include "exchange/fleet/http.h"
#include "store/base/bytes.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TIMEOUT_S 60L
#define ANSWER_BYTES (64u << 10) /* a longer one is no answer */
#define HEADERS_MAX 32

#define FRAME_HEAD 5 /* of gRPC */

const struct cs_receiver_kind cs_receiver_otlp = {
    "otlp",
    "/v1development/profiles",
    "application/x-protobuf",
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "http://HOST:4318 or grpc://HOST:4317",
    true,
    true};
const struct cs_receiver_kind cs_receiver_pyroscope = {"pyroscope",
                                                       "/push.v1.PusherService/Push",
                                                       "application/proto",
                                                       "/push.v1.PusherService/Push",
                                                       "CYCLESCOPE_EXPORT_HEADERS",
                                                       "http://HOST:4040",
                                                       false,
                                                       false};
const struct cs_receiver_kind cs_receiver_parca = {
    "parca",
    NULL,
    NULL,
    "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
    "CYCLESCOPE_EXPORT_HEADERS",
    "grpc://HOST:7070",
    false,
    false};

struct cs_receiver {
    const struct cs_receiver_kind *kind;
    struct cs_fleet_http *http;
    char *url, *name;
    bool grpc, gzip, may_recover, says_gzip;
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
static int add_header(struct cs_receiver *r, char *pair, struct cs_error *err)
{
    static const char name_characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    char *equals = strchr(pair, '='), *header = NULL;
    if (!equals)
        return cs_fail(err, EINVAL, "%s: expected NAME=VALUE, separated by commas", r->kind->headers);
    *equals = '\0';
    char *name = trimmed(pair), *value = trimmed(equals + 1);
    unescape(value);
    bool plain = *name && strspn(name, name_characters) == strlen(name);
    for (const char *at = value; *at; at++)
        plain = plain && (unsigned char)*at >= ' ' && *at != 127;
    if (!plain)
        return cs_fail(err, EINVAL, "%s: a name or a value can't be in a header", r->kind->headers);
    if (asprintf(&header, "%s: %s", name, value) < 0)
        return no_memory(err);
    int rc = cs_fleet_http_header(r->http, header, err);
    free(header);
    return rc;
}

static int add_headers(struct cs_receiver *r, const char *headers, struct cs_error *err)
{
    char *copy = strdup(headers), *state = NULL;
    int rc = copy ? 0 : no_memory(err);
    unsigned n = 0;
    for (char *pair = copy ? strtok_r(copy, ",", &state) : NULL; rc == 0 && pair;
         pair = strtok_r(NULL, ",", &state)) {
        if (*trimmed(pair) == '\0')
            continue;
        rc = ++n > HEADERS_MAX
                 ? cs_fail(err, EINVAL, "%s: more than %d headers", r->kind->headers, HEADERS_MAX)
                 : add_header(r, pair, err);
    }
    free(copy);
    return rc;
}

/* "grpcs" is https to libcurl. The path of gRPC, and of a kind without whole_path, comes after the URL's own. */
static int take_url(struct cs_receiver *r, const char *url, const char *rest)
{
    const bool secure = rest[-4] == 's';
    const size_t scheme = (size_t)(rest - url), place = strcspn(rest, "/?#");
    const char *path = rest + place, *at = memrchr(rest, '@', place), *bare = at ? at + 1 : rest;
    const char *own = r->grpc ? r->kind->method : r->kind->http_path, *query = path + strcspn(path, "?#");
    size_t n = (size_t)(query - path);
    while (n && path[n - 1] == '/')
        n--;
    if (r->kind->whole_path && !r->grpc && n)
        n = (size_t)(query - path), own = "";
    if (asprintf(&r->url, "%s://%.*s%.*s%s%s", secure ? "https" : "http", (int)place, rest, (int)n, path, own,
                 query) < 0)
        r->url = NULL;
    /* A query may hold a key. */
    if (asprintf(&r->name, "%.*s%.*s%.*s%s", (int)scheme, url, (int)(rest + place - bare), bare, (int)n, path,
                 own) < 0)
        r->name = NULL;
    return r->url && r->name ? 0 : -ENOMEM;
}

static int take_headers(struct cs_receiver *r, const char *headers, struct cs_error *err)
{
    char type[64];
    snprintf(type, sizeof type, "Content-Type: %s", r->grpc ? "application/grpc" : r->kind->http_type);
    int rc = cs_fleet_http_header(r->http, type, err);
    if (rc == 0 && r->grpc) {
        cs_fleet_http_2(r->http);
        rc = cs_fleet_http_header(r->http, "TE: trailers", err);
    }
    return rc == 0 && headers ? add_headers(r, headers, err) : rc;
}

int cs_receiver_open(const struct cs_receiver_kind *kind, const char *url, bool grpc, const char *headers,
                     struct cs_receiver **out, struct cs_error *err)
{
    static const char *const schemes[] = {"http://", "https://", "grpc://", "grpcs://"};
    unsigned i = 0;
    *out = NULL;
    while (i < 4 && strncmp(url, schemes[i], strlen(schemes[i])) != 0)
        i++;
    if (i == 4 || !url[strlen(schemes[i])]) { /* no password and no key in messages */
        const char *shown = strrchr(url, '@') ? strrchr(url, '@') + 1 : url;
        return cs_fail(err, EINVAL, "%.*s is no URL of a receiver: expected %s", (int)strcspn(shown, "?#"),
                       shown, kind->example);
    }
    struct cs_receiver *r = calloc(1, sizeof *r);
    if (!r)
        return no_memory(err);
    r->kind = kind;
    r->gzip = kind->gzip;
    r->grpc = grpc || i >= 2 || !kind->http_path;
    int rc =
        take_url(r, url, url + strlen(schemes[i])) == 0 ? cs_fleet_http_open(&r->http, err) : no_memory(err);
    if (rc == 0)
        rc = take_headers(r, headers, err);
    if (rc < 0) {
        cs_receiver_close(r);
        return rc;
    }
    cs_fleet_http_limits(r->http, TIMEOUT_S, ANSWER_BYTES);
    *out = r;
    return 0;
}

void cs_receiver_close(struct cs_receiver *r)
{
    if (!r)
        return;
    cs_fleet_http_close(r->http);
    free(r->url);
    free(r->name);
    free(r);
}

void cs_receiver_limits(struct cs_receiver *r, long timeout_s, bool gzip)
{
    r->gzip = gzip && r->kind->gzip;
    cs_fleet_http_limits(r->http, timeout_s, ANSWER_BYTES);
}

const char *cs_receiver_name(const struct cs_receiver *r)
{
    return r->name;
}

bool cs_receiver_may_recover(const struct cs_receiver *r, long *after_s)
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

/* ExportProfilesServiceResponse: partial_success = 1 {rejected_profiles = 1, error_message = 2}. Those of the others are
 * empty. */
static void take_success(const uint8_t *start, size_t size, struct cs_receiver_answer *answer)
{
    uint64_t n = 0, rejected = 0;
    const uint8_t *partial = NULL;
    if (!field(start, size, 1, &n, &partial) || !partial)
        return;
    if (field(partial, (size_t)n, 1, &rejected, NULL))
        answer->rejected = rejected <= INT32_MAX ? (int64_t)rejected : 0; /* a number of profiles */
    text_of(partial, (size_t)n, 2, answer->message, sizeof answer->message);
}

/* google.rpc.Status {message = 2}, JSON of Connect, or the first line of a text. */
static int refused(struct cs_receiver *r, const struct cs_fleet_http_answer *got, struct cs_error *err)
{
    char said[256];
    json_t *json = json_loadb(got->text, got->n, 0, NULL);
    const char *words = json_string_value(json_object_get(json, "message"));
    text_of((const uint8_t *)got->text, got->n, 2, said, sizeof said);
    if (words || !*said)
        snprintf(said, sizeof said, "%.*s", (int)strcspn(words ? words : got->text, "\r\n"),
                 words ? words : got->text);
    json_decref(json);
    r->may_recover = got->status == 429 || (got->status >= 502 && got->status <= 504);
    r->after_s = got->retry_after_s;
    return cs_fail(err, EREMOTEIO, "%s answered %ld%s%s", r->name, got->status, *said ? ": " : "", said);
}

/* Of a call: OTLP's specification says which of its 17 statuses may pass. RESOURCE_EXHAUSTED may where details say when;
 * a message that is too long has none. */
static int take_status(struct cs_receiver *r, struct cs_fleet_http_answer *got,
                       struct cs_receiver_answer *answer, struct cs_error *err)
{
    static const struct {
        const char *name;
        bool may_recover;
    } statuses[] = {{"OK", false},
                    {"CANCELLED", true},
                    {"UNKNOWN", false},
                    {"INVALID_ARGUMENT", false},
                    {"DEADLINE_EXCEEDED", true},
                    {"NOT_FOUND", false},
                    {"ALREADY_EXISTS", false},
                    {"PERMISSION_DENIED", false},
                    {"RESOURCE_EXHAUSTED", false},
                    {"FAILED_PRECONDITION", false},
                    {"ABORTED", true},
                    {"OUT_OF_RANGE", true},
                    {"UNIMPLEMENTED", false},
                    {"INTERNAL", false},
                    {"UNAVAILABLE", true},
                    {"DATA_LOSS", true},
                    {"UNAUTHENTICATED", false}};
    const size_t n = sizeof statuses / sizeof *statuses, status = (size_t)got->grpc_status;
    if (got->status != 200)
        return refused(r, got, err);
    if (got->grpc_status < 0)
        return cs_fail(err, EPROTO, "%s answered without a status of gRPC: expected %s", r->name,
                       r->kind->example);
    if (status == 0 && got->n > FRAME_HEAD && got->text[0] == 0)
        take_success((const uint8_t *)got->text + FRAME_HEAD, got->n - FRAME_HEAD, answer);
    if (status == 0)
        return 0;
    r->may_recover = status < n && (statuses[status].may_recover || (status == 8 && got->grpc_details));
    unescape(got->grpc_message);
    return cs_fail(err, EREMOTEIO, "%s answered %s (%zu)%s%s", r->name,
                   status < n ? statuses[status].name : "status", status, *got->grpc_message ? ": " : "",
                   got->grpc_message);
}

/* What goes: the message, packed or not, behind the head of a frame or not. */
static int make_body(const struct cs_receiver *r, const void *message, size_t n, struct cs_bytes *body,
                     struct cs_error *err)
{
    if (r->grpc)
        cs_bytes_put_raw(body, (const uint8_t[FRAME_HEAD]){r->gzip}, FRAME_HEAD);
    if (!r->gzip)
        cs_bytes_put_raw(body, message, n);
    int rc = r->gzip ? zipped(message, n, body, err) : 0;
    if (rc < 0 || body->failed)
        return rc < 0 ? rc : no_memory(err);
    for (size_t i = 1; r->grpc && i < FRAME_HEAD; i++)
        body->start[i] = (uint8_t)((body->used - FRAME_HEAD) >> (8 * (FRAME_HEAD - 1 - i)));
    return 0;
}

int cs_receiver_send(struct cs_receiver *r, const void *message, size_t n, struct cs_receiver_answer *answer,
                     struct cs_error *err)
{
    assert(message || n == 0);
    struct cs_bytes body = {0};
    struct cs_fleet_http_answer got = {0};
    struct cs_error inner;
    *answer = (struct cs_receiver_answer){0};
    r->may_recover = false;
    r->after_s = 0;
    int rc = make_body(r, message, n, &body, err);
    if (rc == 0 && r->gzip && !r->says_gzip) {
        rc = cs_fleet_http_header(r->http, r->grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip", err);
        r->says_gzip = rc == 0;
    }
    if (rc < 0)
        goto out;
    answer->sent_bytes = body.used;
    rc = cs_fleet_http_post(r->http, r->url, body.start, body.used, &got, &inner);
    if (rc == -EPROTO) {
        rc = cs_fail(err, EPROTO, "%s speaks no HTTP/%s (%.200s): expected %s", r->name,
                     r->grpc ? "2" : "1.1", inner.text, r->kind->example);
    } else if (rc < 0) {
        r->may_recover = rc != -EMSGSIZE; /* whose answer is too long may have taken it */
        rc = cs_fail(err, inner.code, "%s can't be reached%s: %.300s", r->name, r->grpc ? " by HTTP/2" : "",
                     inner.text);
    } else if (r->grpc) {
        rc = take_status(r, &got, answer, err);
    } else if (got.status / 100 == 2) {
        take_success((const uint8_t *)got.text, got.n, answer);
    } else {
        rc = refused(r, &got, err);
    }
out:
    free(got.text);
    cs_bytes_fini(&body);
    return rc;
}
