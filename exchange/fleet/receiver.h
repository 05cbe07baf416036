/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A receiver of profiles: an OpenTelemetry collector, Pyroscope, Parca, or anything that speaks as they do. A message is
 * POSTed as binary protobuf, by HTTP or as a call of gRPC. Nothing is sent twice where the receiver took it, in part too.
 * A failure that may pass (429, 502, 503, 504, UNAVAILABLE, no connection) may be tried again.
 *
 *      cs_receiver_open(&cs_receiver_otlp, "http://collector:4318", false, getenv("OTEL_EXPORTER_OTLP_HEADERS"), &r, &err);
 *      cs_receiver_send(r, message, n, &answer, &err);
 */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_receiver_kind {
    const char *name;
    const char *http_path; /* NULL: gRPC only */
    const char *http_type; /* Content-Type by HTTP */
    const char *method;    /* gRPC's path */
    const char *headers;   /* the environment's variable of headers, for messages */
    const char *example;   /* a URL */
    bool whole_path;       /* a path in the URL takes the place of http_path; else it comes before */
    bool gzip;             /* messages are packed; else what is in them is */
};
extern const struct cs_receiver_kind cs_receiver_otlp, cs_receiver_pyroscope, cs_receiver_parca;

struct cs_receiver;

struct cs_receiver_answer {
    uint64_t sent_bytes; /* of the body as it went */
    int64_t rejected;    /* profiles that the receiver didn't take */
    char message[256];   /* its words, "" = none */
};

/* http[s]://[user[:password]@]host[:port][/path], or grpc[s]:// for gRPC; `grpc`: http[s]:// means gRPC too. `headers`:
 * name=value, separated by commas, values percent-encoded (as in OTEL_EXPORTER_OTLP_HEADERS); NULL = none. Connects to
 * nothing yet. */
int cs_receiver_open(const struct cs_receiver_kind *kind, const char *url, bool grpc, const char *headers,
                     struct cs_receiver **out, struct cs_error *err);
void cs_receiver_close(struct cs_receiver *r);
/* How long one request may take; whether a message of a kind with `gzip` is packed. */
void cs_receiver_limits(struct cs_receiver *r, long timeout_s, bool gzip);
/* The URL without user and password, for messages. */
const char *cs_receiver_name(const struct cs_receiver *r);
/* One request. 0 = it was taken, as far as `answer` says. */
int cs_receiver_send(struct cs_receiver *r, const void *message, size_t n, struct cs_receiver_answer *answer,
                     struct cs_error *err);
/* Of the last failure: may it be gone in a moment, and after how many seconds the receiver wants to be asked
 * again (0 = it didn't say). */
bool cs_receiver_may_recover(const struct cs_receiver *r, long *after_s);
