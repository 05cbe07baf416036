/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export --to otlp, pyroscope, parca: what the store shows as one message to a receiver; with --once an epoch at a time,
 * each once. Secrets come by ~/.netrc or the environment, which other users can't read, unlike command lines. */
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/exchange/export.h"
#include "cli/exchange/retry.h"
#include "exchange/export/export.h"
#include "exchange/fleet/batch.h"
#include "exchange/fleet/receiver.h"
#include "exchange/fleet/receiver_sent.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MOST_S 120
#define MESSAGE_MOST (256u << 20) /* receivers take some 20 MB unless set up otherwise */

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT"
#define SERVICE "cyclescope"

static const struct {
    const struct cs_receiver_kind *kind;
    const struct cs_exporter *exporter;
    const char *format; /* of the same in a file */
} receivers[] = {{&cs_receiver_otlp, &cs_export_otlp, "otlp"},
                 {&cs_receiver_pyroscope, &cs_export_pyroscope, "pprof"},
                 {&cs_receiver_parca, &cs_export_parca, "pprof"}};
#define RECEIVERS (sizeof receivers / sizeof *receivers)

struct sending {
    const struct parsed *args;
    const struct cs_exporter *exporter;
    struct cs_receiver *receiver;
    struct cs_receiver_sent *sent; /* of --once */
    struct retry retry;
    unsigned messages;
    uint64_t bytes;
    int64_t rejected;
    char words[256]; /* the receiver's */
};

static bool again(struct sending *s)
{
    long after_s;
    return cs_receiver_may_recover(s->receiver, &after_s) && retry_again(&s->retry, after_s);
}

static int send_message(struct sending *s, const char *message, size_t n, struct cs_error *err)
{
    struct cs_receiver_answer answer;
    int rc;
    do
        rc = cs_receiver_send(s->receiver, message, n, &answer, err);
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

/* Epochs of several hosts have none in common. */
static void take_host(const struct parsed *args, struct cs_store *store, char host[256])
{
    const struct cs_catalog *catalog;
    struct cs_error ignored;
    char other[256];
    host[0] = '\0';
    if (option(args, "host"))
        snprintf(host, 256, "%s", option(args, "host"));
    else if (cs_store_catalog(store, &catalog, &ignored) == 0)
        for (size_t i = 0; i < catalog->n_profiles; i++) {
            cs_fleet_epoch_host(catalog->profiles[i].epoch, other, sizeof other);
            if (i == 0)
                memcpy(host, other, sizeof other);
            else if (strcmp(host, other) != 0)
                host[0] = '\0';
        }
}

void export_name_source(const struct parsed *args, struct cs_export *from)
{
    const char *own = option(args, "service"), *all = getenv("OTEL_SERVICE_NAME");
    from->service = own ? own : all && *all ? all : SERVICE;
    take_host(args, from->store, from->host);
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
    export_name_source(s->args, &from);
    FILE *to = open_memstream(&message, &n);
    rc = to ? s->exporter->write(&from, to, err) : cs_fail(err, errno, "no memory for a message");
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

/* No other try of the same message would be taken. */
static bool is_refused(const struct sending *s, int rc)
{
    long after_s;
    return rc == -EFBIG || (rc == -EREMOTEIO && !cs_receiver_may_recover(s->receiver, &after_s));
}

/* Oldest first. The newest may still grow: it waits until another one has begun. One that is refused doesn't keep the next from
 * being sent; it is tried again next time. */
static int send_each_once(struct sending *s, struct cs_error *err)
{
    const bool whole = !option(s->args, "event") && !option(s->args, "image");
    struct cs_error refused = {0};
    struct cs_store *store = NULL;
    struct recording_names epochs = {0};
    int rc = cs_store_open(store_location(s->args), CS_STORE_READ, &store, err);
    if (rc == 0)
        rc = recording_names_open(&epochs, store, NULL, err);
    if (rc == 0)
        rc = cs_receiver_sent_open(cs_store_path(store), cs_receiver_name(s->receiver), &s->sent, err);
    for (size_t i = epochs.n; rc == 0 && i-- > 1;) {
        const char *name = epochs.at[i];
        if (cs_receiver_sent_has(s->sent, name))
            continue;
        rc = cs_store_see_only(store, &name, 1, err);
        if (rc == 0)
            rc = send_store(s, store, err);
        const bool empty = rc == -ENODATA || rc == -ENOENT, is_over = !is_refused(s, rc) && (whole || !empty);
        if (!is_over && !empty)
            refused = *err;
        if (!is_over || empty)
            rc = 0;
        if (rc == 0 && is_over)
            rc = cs_receiver_sent_add(s->sent, name, err);
    }
    if (rc == 0 && refused.code) {
        *err = refused;
        rc = -refused.code;
    }
    cs_receiver_sent_close(s->sent);
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
static char *url_of_environment(const struct cs_receiver_kind *kind, bool grpc)
{
    const char *ours = getenv("CYCLESCOPE_EXPORT_URL"), *all = getenv(ENDPOINT);
    const char *own =
        kind == &cs_receiver_otlp && !ours ? getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT") : ours;
    char *url = own ? strdup(own) : NULL;
    size_t n = all && kind == &cs_receiver_otlp ? strlen(all) : 0;
    while (n && all[n - 1] == '/')
        n--;
    if (!own && n &&
        asprintf(&url, "%.*s%s", (int)n, all, grpc || strncmp(all, "grpc", 4) == 0 ? "" : kind->http_path) <
            0)
        url = NULL;
    return url;
}

static bool is_grpc(const struct cs_receiver_kind *kind)
{
    const char *own = getenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL"),
               *all = getenv("OTEL_EXPORTER_OTLP_PROTOCOL");
    const char *protocol = own ? own : all;
    return kind == &cs_receiver_otlp && protocol && strcmp(protocol, "grpc") == 0;
}

bool export_is_receiver(const char *name)
{
    for (size_t i = 0; i < RECEIVERS; i++)
        if (strcmp(receivers[i].kind->name, name) == 0)
            return true;
    return false;
}

static int report(const struct sending *s)
{
    const char *name = cs_receiver_name(s->receiver);
    if (s->rejected)
        return failed_with("%s did not take %" PRId64 " profile%s%s%s", name, s->rejected,
                           plural((double)s->rejected), *s->words ? ": " : "", s->words);
    report_line(stdout, "%s: %u message%s, %.1f kB%s%s", name, s->messages, plural(s->messages),
                (double)s->bytes / 1e3, *s->words ? "; it says: " : "", s->words);
    return CS_EXIT_OK;
}

int export_to_receiver(const struct parsed *args, const char *name)
{
    assert(export_is_receiver(name));
    const char *compression = getenv("OTEL_EXPORTER_OTLP_COMPRESSION"), *format = option(args, "format");
    size_t i = 0;
    while (strcmp(receivers[i].kind->name, name) != 0)
        i++;
    const struct cs_receiver_kind *kind = receivers[i].kind;
    struct sending s = {.args = args, .exporter = receivers[i].exporter, .retry = retry_begin(args)};
    struct cs_error err;
    if (operand_count(args) > 1)
        return usage_error("expected one URL: --to %s %s", name, kind->example);
    if (format && strcmp(format, receivers[i].format) != 0)
        return usage_error("--to %s sends --format %s", name, receivers[i].format);
    if (option_given(args, "once") && option_given(args, "epoch"))
        return usage_error("--once takes each epoch in turn: it goes without --epoch");
    const bool grpc = is_grpc(kind);
    char *url = operand_count(args) ? strdup(operand(args, 0)) : url_of_environment(kind, grpc);
    if (!url)
        return usage_error("expected one URL: --to %s %s, or in %s", name, kind->example,
                           kind == &cs_receiver_otlp ? ENDPOINT : "CYCLESCOPE_EXPORT_URL");
    int rc = cs_receiver_open(kind, url, grpc, getenv(kind->headers), &s.receiver, &err);
    free(url);
    if (rc < 0)
        return failed(&err);
    cs_receiver_limits(s.receiver, (long)fmin(fmax(s.retry.seconds, 1), TIMEOUT_MOST_S),
                       !compression || strcmp(compression, "none") != 0);
    rc = option_given(args, "once") ? send_each_once(&s, &err) : send_selected(&s, &err);
    int exit_code = rc < 0 ? failed(&err) : report(&s);
    cs_receiver_close(s.receiver);
    return exit_code;
}
