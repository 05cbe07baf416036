/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTP request after the other to one server, by libcurl, which is loaded when it is first needed. */
#ifndef CS_CLI_HTTP_H
#define CS_CLI_HTTP_H

#include "store/error.h"

#include <stddef.h>

struct http;
struct http_answer {
    long status; /* 200, 404, ... */
    char *text;  /* NUL after its n bytes */
    size_t n;
};

int http_open(struct http **out, struct cs_error *err);
void http_close(struct http *http);
/* POSTs n bytes. 0 = there is an answer, whatever its status: the caller frees its text. */
int http_post(struct http *http, const char *url, const void *body, size_t n, struct http_answer *answer,
              struct cs_error *err);
/* `text` percent-encoded; the caller frees it. NULL when memory is short. */
char *http_escape(const char *text);

#endif
