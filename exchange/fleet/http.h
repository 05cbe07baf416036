/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTP request after the other to one server, by libcurl, which is loaded when it is first needed. */
#ifndef CS_EXCHANGE_FLEET_HTTP_H
#define CS_EXCHANGE_FLEET_HTTP_H

#include "store/base/error.h"

#include <stddef.h>

struct cs_fleet_http;
struct cs_fleet_http_answer {
    long status; /* 200, 404, ... */
    char *text;  /* NUL after its n bytes */
    size_t n;
};

int cs_fleet_http_open(struct cs_fleet_http **out, struct cs_error *err);
void cs_fleet_http_close(struct cs_fleet_http *http);
/* POSTs n bytes. 0 = there is an answer, whatever its status: the caller frees its text. */
int cs_fleet_http_post(struct cs_fleet_http *http, const char *url, const void *body, size_t n,
                       struct cs_fleet_http_answer *answer, struct cs_error *err);
/* `text` percent-encoded; the caller frees it. NULL when memory is short. */
char *cs_fleet_http_escape(const char *text);

#endif
