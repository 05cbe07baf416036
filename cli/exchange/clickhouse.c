/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is new in the store goes to the spool, and all that waits in the spool to the server. A server that is
 * away is tried again (retry.h); when that is over the rest waits for the next export.
 */
#include "exchange/fleet/clickhouse.h"
#include "cli/command/figures.h"
#include "cli/exchange/export.h"
#include "cli/exchange/retry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define SPOOL_BYTES 64e6
#define BATCH_ROWS 100000

struct exporting {
    struct cs_fleet_server *server;
    struct cs_fleet_spool *spool;
    struct cs_store *store;
    const char *host;
    struct retry retry;
    uint64_t sent_batches, sent_rows, sent_samples;
    bool tables_made;
};

/* After a failure: true when it is worth another try, and time for it has come. */
static bool again(struct exporting *e)
{
    return cs_fleet_server_may_recover(e->server) && retry_again(&e->retry, 0);
}

/* A server that lost its tables gets them anew. */
static int make_tables(struct exporting *e, struct cs_error *err)
{
    int rc;
    do
        rc = cs_fleet_server_make_tables(e->server, err);
    while (rc < 0 && again(e));
    e->tables_made = rc == 0;
    return rc;
}

static int send_batch(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err)
{
    struct exporting *e = arg;
    int rc;
    do
        rc = cs_fleet_server_send(e->server, batch, err);
    while (rc < 0 && again(e));
    if (rc < 0)
        return rc;
    e->retry.failures = 0;
    e->sent_batches++;
    e->sent_rows += batch->rows;
    e->sent_samples += batch->samples;
    return 0;
}

/* A spool that was just made asks the server first: nothing may be sent before that is known. */
static int begin(struct exporting *e, struct cs_error *err)
{
    int rc;
    if (!cs_fleet_spool_is_new(e->spool))
        return 0;
    rc = make_tables(e, err);
    while (rc == 0 && (rc = cs_fleet_server_notify(e->server, e->store, e->host, e->spool, err)) < 0)
        if (!again(e))
            break;
        else
            rc = 0;
    return rc == 0 ? cs_fleet_spool_begin(e->spool, err) : rc;
}

static int collect_and_send(struct exporting *e, uint64_t most_bytes, struct cs_error *err)
{
    struct cs_fleet_spool_settings settings = {
        .host = e->host, .now_s = (uint64_t)time(NULL), .most_bytes = most_bytes, .most_rows = BATCH_ROWS};
    struct cs_fleet_spool_made made = {.full = true};
    int rc = begin(e, err);
    /* Collected even when the server is away: then the counts keep their time. */
    while (rc == 0 && made.full) {
        rc = cs_fleet_spool_collect(e->spool, e->store, &settings, &made, err);
        if (rc == 0 && !e->tables_made)
            rc = make_tables(e, err);
        if (rc == 0)
            rc = cs_fleet_spool_each(e->spool, send_batch, e, err);
    }
    return rc;
}

static void default_spool(const char *store, const char *server, char *path, size_t capacity)
{
    snprintf(path, capacity, "%s/.fleet/%016" PRIx64, store, (uint64_t)XXH64(server, strlen(server), 0));
}

static int report(const struct exporting *e, int rc, const struct cs_error *err)
{
    uint64_t batches = 0, bytes = 0;
    struct cs_error ignored;
    if (e->spool && cs_fleet_spool_waiting(e->spool, &batches, &bytes, &ignored) < 0)
        batches = 0;
    if (rc < 0 && batches)
        return failed_with("%s; %" PRIu64 " batch%s (%.1f MB) wait%s for the next export", err->text, batches,
                           batches == 1 ? "" : "es", (double)bytes / 1e6, batches == 1 ? "s" : "");
    if (rc < 0)
        return failed(err);
    report_line(stdout, "%s: %s sample%s in %s row%s, %s batch%s", cs_fleet_server_name(e->server),
                thousands((double)e->sent_samples).text, plural((double)e->sent_samples),
                thousands((double)e->sent_rows).text, plural((double)e->sent_rows),
                thousands((double)e->sent_batches).text, e->sent_batches == 1 ? "" : "es");
    return CS_EXIT_OK;
}

int export_to_clickhouse(const struct parsed *args, const char *url)
{
    struct exporting e = {.host = option(args, "host"), .retry = retry_begin(args)};
    uint64_t most_bytes = (uint64_t)option_number(args, "spool-size", SPOOL_BYTES, 1, 1e15);
    struct cs_error err;
    char spool[4096];
    int rc = cs_fleet_server_open(url, &e.server, &err);
    if (rc == 0)
        rc = cs_store_open(store_location(args), CS_STORE_READ, &e.store, &err);
    if (rc == 0 && option(args, "spool"))
        snprintf(spool, sizeof spool, "%s", option(args, "spool"));
    else if (rc == 0)
        default_spool(cs_store_path(e.store), cs_fleet_server_name(e.server), spool, sizeof spool);
    if (rc == 0)
        rc = cs_fleet_spool_open(spool, &e.spool, &err);
    if (rc == 0)
        rc = collect_and_send(&e, most_bytes, &err);
    int exit_code = report(&e, rc, &err);
    cs_fleet_spool_close(e.spool);
    cs_store_close(e.store);
    cs_fleet_server_close(e.server);
    return exit_code;
}
