/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl, loaded when it is first needed: cyclescope runs without it. */
#include "exchange/fleet/http.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECT_TIMEOUT_S 5L
#define REQUEST_TIMEOUT_S 120L
#define ANSWER_BYTES_MAX ((size_t)128 << 20) /* two million rows of an epoch */

struct cs_fleet_http {
    CURL *handle;
    struct curl_slist *headers;
    long timeout_s;
    size_t answer_bytes;
    bool http2;
};

/* Loading libcurl and what it needs takes milliseconds that other subcommands should not pay. */
static struct {
    CURL *(*easy_init)(void);
    CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*perform)(CURL *handle);
    CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
    const char *(*strerror)(CURLcode code);
    void (*cleanup)(CURL *handle);
    struct curl_slist *(*append)(struct curl_slist *list, const char *text);
    void (*free_list)(struct curl_slist *list);
} curl;

static int load(struct cs_error *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {{"curl_easy_init", &curl.easy_init},    {"curl_easy_setopt", &curl.setopt},
                   {"curl_easy_perform", &curl.perform},   {"curl_easy_getinfo", &curl.getinfo},
                   {"curl_easy_strerror", &curl.strerror}, {"curl_easy_cleanup", &curl.cleanup},
                   {"curl_slist_append", &curl.append},    {"curl_slist_free_all", &curl.free_list}};
    void *library = NULL;
    for (unsigned i = 0; !library && names[i]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            library = NULL;
        else
            memcpy(symbols[i].to, &found, sizeof found);
    }
    return library
               ? 0
               : cs_fail(err, ENOENT, "libcurl is not installed, which talks to servers: install libcurl4");
}

int cs_fleet_http_open(struct cs_fleet_http **out, struct cs_error *err)
{
    *out = NULL;
    if (!curl.easy_init) {
        int rc = load(err);
        if (rc < 0)
            return rc;
    }
    struct cs_fleet_http *http = calloc(1, sizeof *http);
    if (http) {
        http->handle = curl.easy_init();
        http->timeout_s = REQUEST_TIMEOUT_S;
        http->answer_bytes = ANSWER_BYTES_MAX;
    }
    /* Without "Expect:" each large request would wait a second for servers that don't know it. */
    if (http)
        http->headers = curl.append(NULL, "Expect:");
    if (!http || !http->handle || !http->headers) {
        cs_fleet_http_close(http);
        return cs_fail(err, ENOMEM, "out of memory for a connection");
    }
    *out = http;
    return 0;
}

void cs_fleet_http_close(struct cs_fleet_http *http)
{
    if (!http)
        return;
    if (http->handle)
        curl.cleanup(http->handle);
    if (http->headers)
        curl.free_list(http->headers);
    free(http);
}

int cs_fleet_http_header(struct cs_fleet_http *http, const char *header, struct cs_error *err)
{
    struct curl_slist *longer = curl.append(http->headers, header);
    if (!longer)
        return cs_fail(err, ENOMEM, "out of memory for a connection");
    http->headers = longer;
    return 0;
}

void cs_fleet_http_limits(struct cs_fleet_http *http, long timeout_s, size_t answer_bytes)
{
    assert(timeout_s > 0);
    http->timeout_s = timeout_s;
    http->answer_bytes = answer_bytes;
}

void cs_fleet_http_2(struct cs_fleet_http *http)
{
    http->http2 = true;
}

struct taking {
    struct cs_fleet_http_answer *answer;
    size_t most;
    bool too_long;
};

static size_t take(char *bytes, size_t one, size_t n, void *arg)
{
    struct taking *taking = arg;
    struct cs_fleet_http_answer *answer = taking->answer;
    taking->too_long = n > taking->most || answer->n + one * n > taking->most;
    if (taking->too_long)
        return 0;
    char *grown = realloc(answer->text, answer->n + one * n + 1);
    if (!grown)
        return 0;
    memcpy(grown + answer->n, bytes, one * n);
    answer->text = grown;
    answer->n += one * n;
    grown[answer->n] = '\0';
    return one * n;
}

/* The value of a header "name: value"; NULL: it is another one. */
static const char *value_of(const char *header, size_t n, const char *name, size_t *length)
{
    const size_t name_length = strlen(name);
    if (n <= name_length || strncasecmp(header, name, name_length) != 0 || header[name_length] != ':')
        return NULL;
    const char *at = header + name_length + 1, *end = header + n;
    while (at < end && *at == ' ')
        at++;
    while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    *length = (size_t)(end - at);
    return at;
}

/* gRPC's words, in the headers or after the body. */
static size_t take_header(char *header, size_t one, size_t n, void *arg)
{
    struct cs_fleet_http_answer *answer = arg;
    size_t length;
    const char *status = value_of(header, one * n, "grpc-status", &length);
    if (status && length > 0 && length < 3 && isdigit((unsigned char)status[0]))
        answer->grpc_status = strtol(status, NULL, 10);
    const char *message = value_of(header, one * n, "grpc-message", &length);
    if (message)
        snprintf(answer->grpc_message, sizeof answer->grpc_message, "%.*s",
                 (int)(length < 255 ? length : 255), message);
    answer->grpc_details |= value_of(header, one * n, "grpc-status-details-bin", &length) != NULL;
    return one * n;
}

int cs_fleet_http_post(struct cs_fleet_http *http, const char *url, const void *body, size_t n,
                       struct cs_fleet_http_answer *answer, struct cs_error *err)
{
    assert(body || n == 0);
    char why[CURL_ERROR_SIZE] = "";
    struct taking taking = {answer, http->answer_bytes, false};
    curl_off_t later = 0;
    *answer = (struct cs_fleet_http_answer){.text = calloc(1, 1), .grpc_status = -1};
    if (http->http2) { /* libcurl 7.88 can't use a connection of HTTP/2 twice */
        curl.cleanup(http->handle);
        http->handle = curl.easy_init();
    }
    if (!answer->text || !http->handle) {
        free(answer->text);
        answer->text = NULL;
        return cs_fail(err, ENOMEM, "out of memory for an answer");
    }
    CURL *h = http->handle;
    curl.setopt(h, CURLOPT_URL, url);
    curl.setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
    curl.setopt(h, CURLOPT_POSTFIELDS, body);
    curl.setopt(h, CURLOPT_HTTPHEADER, http->headers);
    curl.setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL); /* a password that is in no command line */
    curl.setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl.setopt(h, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    curl.setopt(h, CURLOPT_TIMEOUT, http->timeout_s);
    curl.setopt(h, CURLOPT_ERRORBUFFER, why);
    curl.setopt(h, CURLOPT_WRITEFUNCTION, take);
    curl.setopt(h, CURLOPT_WRITEDATA, &taking);
    curl.setopt(h, CURLOPT_HEADERFUNCTION, take_header);
    curl.setopt(h, CURLOPT_HEADERDATA, answer);
    /* Else libcurl leaves before the trailers where a length is given. */
    curl.setopt(h, CURLOPT_IGNORE_CONTENT_LENGTH, (long)http->http2);
    CURLcode code = http->http2
                        ? curl.setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
                        : CURLE_OK;
    if (code == CURLE_OK)
        code = curl.perform(h);
    else
        snprintf(why, sizeof why, "this libcurl has no HTTP/2, which gRPC needs");
    /* A server that has refused may end the stream before it has all of the request. */
    if (code == CURLE_HTTP2_STREAM && answer->grpc_status > 0)
        code = CURLE_OK;
    if (code == CURLE_OK)
        code = curl.getinfo(h, CURLINFO_RESPONSE_CODE, &answer->status);
    if (code == CURLE_OK && curl.getinfo(h, CURLINFO_RETRY_AFTER, &later) == CURLE_OK)
        answer->retry_after_s = later > 0 && later < 1000000 ? (long)later : later > 0 ? 1000000 : 0;
    curl.setopt(h, CURLOPT_ERRORBUFFER, NULL);
    if (code == CURLE_OK)
        return 0;
    free(answer->text);
    answer->text = NULL;
    if (taking.too_long)
        return cs_fail(err, EMSGSIZE, "its answer has more than %.3g MB", (double)taking.most / 1e6);
    const bool other_version = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_HTTP2;
    return cs_fail(err, other_version ? EPROTO : EIO, "%s", why[0] ? why : curl.strerror(code));
}

char *cs_fleet_http_escape(const char *text)
{
    char *out = malloc(3 * strlen(text) + 1), *at = out;
    for (; out && *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x80 && (isalnum(byte) || strchr("_-.", byte)))
            *at++ = (char)byte;
        else
            at += sprintf(at, "%%%02X", byte);
    }
    if (out)
        *at = '\0';
    return out;
}
