/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A receiver of OpenTelemetry's profiles by OTLP/HTTP: an OpenTelemetry collector, or what speaks as it does. A
 * message is POSTed as binary protobuf, gzip'd unless asked otherwise. Nothing is sent twice where the receiver
 * took it, in part too. What it can't take now (429, 502, 503, 504, no connection) may be tried again.
 *
 *      cs_otlp_receiver_open("http://collector:4318", getenv("OTEL_EXPORTER_OTLP_HEADERS"), &r, &err);
 *      cs_otlp_receiver_send(r, message, n, &answer, &err);
 */
#ifndef CS_EXCHANGE_FLEET_OTLP_H
#define CS_EXCHANGE_FLEET_OTLP_H

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_OTLP_PATH "/v1development/profiles"

struct cs_otlp_receiver;

struct cs_otlp_answer {
    uint64_t sent_bytes; /* of the body as it went */
    int64_t rejected;    /* profiles that the receiver didn't take */
    char message[256];   /* its words, "" = none */
};

/* http[s]://[user[:password]@]host[:port][/path]; without a path CS_OTLP_PATH. `headers`: name=value, separated by commas,
 * values percent-encoded (as in OTEL_EXPORTER_OTLP_HEADERS); NULL = none. Connects to nothing yet. */
int cs_otlp_receiver_open(const char *url, const char *headers, struct cs_otlp_receiver **out,
                          struct cs_error *err);
void cs_otlp_receiver_close(struct cs_otlp_receiver *r);
/* How long one request may take; whether it is gzip'd. */
void cs_otlp_receiver_limits(struct cs_otlp_receiver *r, long timeout_s, bool gzip);
/* The URL without user and password, for messages. */
const char *cs_otlp_receiver_name(const struct cs_otlp_receiver *r);
/* One request. 0 = it was taken, as far as `answer` says. */
int cs_otlp_receiver_send(struct cs_otlp_receiver *r, const void *message, size_t n,
                          struct cs_otlp_answer *answer, struct cs_error *err);
/* Of the last failure: may it be gone in a moment, and after how many seconds the receiver wants to be asked
 * again (0 = it didn't say). */
bool cs_otlp_receiver_may_recover(const struct cs_otlp_receiver *r, long *after_s);

#endif
