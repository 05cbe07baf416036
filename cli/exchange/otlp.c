/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export --to otlp: the message of --format otlp to a receiver by OTLP/HTTP; with --once an epoch at a time, each
 * once. Secrets come by ~/.netrc or the environment, which other users can't read, unlike command lines. */
#include "exchange/fleet/otlp.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/exchange/export.h"
#include "cli/exchange/retry.h"
#include "exchange/export/export.h"
#include "exchange/fleet/otlp_sent.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MOST_S 120
#define MESSAGE_MOST (256u << 20) /* receivers take some 20 MB unless set up otherwise */

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT"

extern const struct cs_exporter cs_export_otlp;

struct sending {
    const struct parsed *args;
    struct cs_otlp_receiver *receiver;
    struct cs_otlp_sent *sent; /* of --once */
    struct retry retry;
    unsigned messages;
    uint64_t bytes;
    int64_t rejected;
    char words[256]; /* the receiver's */
};

static bool again(struct sending *s)
{
    long after_s;
    return cs_otlp_receiver_may_recover(s->receiver, &after_s) && retry_again(&s->retry, after_s);
}

static int send_message(struct sending *s, const char *message, size_t n, struct cs_error *err)
{
    struct cs_otlp_answer answer;
    int rc;
    do
        rc = cs_otlp_receiver_send(s->receiver, message, n, &answer, err);
    while (rc < 0 && again(s));
    if (rc < 0)
        return rc;
    s->retry.failures = 0;
    s->messages++;
    s->bytes += answer.sent_bytes;
    s->rejected += answer.rejected;
    if (*answer.message)
        memcpy(s->words, answer.message, sizeof s->words);
    return 0;
}

/* What the store shows now, as one message; a recording without samples is none. */
static int send_store(struct sending *s, struct cs_store *store, struct cs_error *err)
{
    const struct cs_export_watch watch = {0};
    struct cs_export from = {0};
    char *message = NULL;
    size_t n = 0;
    int rc = cs_export_open(store, option(s->args, "event"), option(s->args, "image"), &watch, &from, err);
    if (rc < 0)
        return rc;
    FILE *to = open_memstream(&message, &n);
    rc = to ? cs_export_otlp.write(&from, to, err) : cs_fail(err, errno, "no memory for a message");
    if (to && fclose(to) != 0 && rc == 0)
        rc = cs_fail(err, ENOMEM, "no memory for a message");
    cs_export_close(&from);
    if (rc == 0 && n > MESSAGE_MOST)
        rc = cs_fail(
            err, EFBIG,
            "the message would have %.0f MB, more than receivers take: choose by --epoch, --event or --image",
            (double)n / 1e6);
    if (rc == 0)
        rc = send_message(s, message, n, err);
    free(message);
    return rc;
}

/* Oldest first. The newest may still grow: it waits until another one has begun. */
static int send_each_once(struct sending *s, struct cs_error *err)
{
    struct cs_store *store = NULL;
    struct recording_names epochs = {0};
    int rc = cs_store_open(store_location(s->args), CS_STORE_READ, &store, err);
    if (rc == 0)
        rc = recording_names_open(&epochs, store, NULL, err);
    if (rc == 0)
        rc = cs_otlp_sent_open(cs_store_path(store), cs_otlp_receiver_name(s->receiver), &s->sent, err);
    for (size_t i = epochs.n; rc == 0 && i-- > 1;) {
        const char *name = epochs.at[i];
        if (cs_otlp_sent_has(s->sent, name))
            continue;
        rc = cs_store_see_only(store, &name, 1, err);
        if (rc == 0)
            rc = send_store(s, store, err);
        if (rc == -ENODATA || rc == -ENOENT) /* nothing sampled in it */
            rc = 0;
        if (rc == 0)
            rc = cs_otlp_sent_add(s->sent, name, err);
    }
    cs_otlp_sent_close(s->sent);
    cs_store_close(store);
    recording_names_close(&epochs);
    return rc;
}

static int send_selected(struct sending *s, struct cs_error *err)
{
    struct cs_store *store = NULL;
    int rc = recordings_open(store_location(s->args), recording_asked(s->args), RECORDINGS_OF_SAMPLES, &store,
                             NULL, err);
    if (rc == 0)
        rc = send_store(s, store, err);
    cs_store_close(store);
    return rc;
}

/* The environment's, to be freed; NULL: it has none. One for all kinds of telemetry is what their URLs begin with. */
static char *url_of_environment(void)
{
    const char *own = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"), *all = getenv(ENDPOINT);
    char *url = own ? strdup(own) : NULL;
    size_t n = all ? strlen(all) : 0;
    while (n && all[n - 1] == '/')
        n--;
    if (!own && n && asprintf(&url, "%.*s" CS_OTLP_PATH, (int)n, all) < 0)
        url = NULL;
    return url;
}

int export_to_otlp(const struct parsed *args, const char *url)
{
    const char *compression = getenv("OTEL_EXPORTER_OTLP_COMPRESSION");
    struct sending s = {.args = args, .retry = retry_begin(args)};
    struct cs_error err;
    if (option_given(args, "once") && option_given(args, "epoch"))
        return usage_error("--once takes each epoch in turn: it goes without --epoch");
    char *of_environment = url ? NULL : url_of_environment();
    if (!url && !of_environment)
        return usage_error("expected one URL: --to otlp http://HOST:4318, or in " ENDPOINT);
    int rc = cs_otlp_receiver_open(url ? url : of_environment, getenv("OTEL_EXPORTER_OTLP_HEADERS"),
                                   &s.receiver, &err);
    free(of_environment);
    if (rc < 0)
        return failed(&err);
    cs_otlp_receiver_limits(s.receiver, (long)fmin(fmax(s.retry.seconds, 1), TIMEOUT_MOST_S),
                            !compression || strcmp(compression, "none") != 0);
    rc = option_given(args, "once") ? send_each_once(&s, &err) : send_selected(&s, &err);
    int exit_code = rc < 0 ? failed(&err) : CS_EXIT_OK;
    if (rc == 0 && s.rejected)
        exit_code =
            failed_with("%s did not take %" PRId64 " profile%s%s%s", cs_otlp_receiver_name(s.receiver),
                        s.rejected, plural((double)s.rejected), *s.words ? ": " : "", s.words);
    else if (rc == 0)
        report_line(stdout, "%s: %u message%s, %.1f kB%s%s", cs_otlp_receiver_name(s.receiver), s.messages,
                    plural(s.messages), (double)s.bytes / 1e3, *s.words ? "; it says: " : "", s.words);
    cs_otlp_receiver_close(s.receiver);
    return exit_code;
}
