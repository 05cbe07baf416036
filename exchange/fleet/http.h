/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTP request after the other to one server, by libcurl, which is loaded when it is first needed. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cs_fleet_http;
struct cs_fleet_http_answer {
    long status;            /* 200, 404, ... */
    long retry_after_s;     /* what the server asks for; 0 = nothing */
    long grpc_status;       /* -1: the answer has none */
    char grpc_message[256]; /* percent-encoded */
    bool grpc_details;      /* the answer has "grpc-status-details-bin" */
    char *text;             /* NUL after its n bytes */
    size_t n;
};

int cs_fleet_http_open(struct cs_fleet_http **out, struct cs_error *err);
void cs_fleet_http_close(struct cs_fleet_http *http);
/* A header "Name: value" of all further requests. */
int cs_fleet_http_header(struct cs_fleet_http *http, const char *header, struct cs_error *err);
/* How long a request may take in all (120 s unless asked), and how long an answer may be (0 = any length). */
void cs_fleet_http_limits(struct cs_fleet_http *http, long timeout_s, size_t answer_bytes);
/* From now on HTTP/2 without asking first, as gRPC needs it. */
void cs_fleet_http_2(struct cs_fleet_http *http);
/* POSTs n bytes. -EPROTO: the server speaks the other version of HTTP. 0 = there is an answer, whatever its status: the caller frees its text. */
int cs_fleet_http_post(struct cs_fleet_http *http, const char *url, const void *body, size_t n,
                       struct cs_fleet_http_answer *answer, struct cs_error *err);
/* `text` percent-encoded; the caller frees it. NULL when memory is short. */
char *cs_fleet_http_escape(const char *text);
