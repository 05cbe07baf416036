/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KEY=VALUE terms joined by AND. Every value is quoted: a filter cannot leave its quotes. */
#include "cli/fleet/fleet_filter.h"
#include "exchange/fleet/clickhouse.h"
#include "store/base/clock.h"
#include "store/base/when.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A time as reports of a store take it; "30m", "12h", "7d": so long ago. */
static bool time_of(const char *text, int64_t *out)
{
    uint64_t ms, now_ms = cs_clock_ns(CLOCK_REALTIME) / 1000000;
    char ago[64];
    snprintf(ago, sizeof ago, "-%.60s", text);
    if (!cs_when_parse(text, now_ms, 0, &ms) && !cs_when_parse(ago, now_ms, 0, &ms))
        return false;
    *out = (int64_t)(ms / 1000);
    return true;
}

static int out_of_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory");
}

static int term(const char *key, const char *value, char **sql, struct cs_error *err)
{
    static const char *const texts[] = {"host", "label", "event", "epoch", NULL};
    char *quoted = cs_fleet_server_quote(value);
    int n = -1;
    int64_t at = 0;
    if (!quoted)
        return out_of_memory(err);
    unsigned i = 0;
    while (texts[i] && strcmp(texts[i], key) != 0)
        i++;
    if (texts[i]) {
        n = asprintf(sql, "%s = %s", key, quoted);
    } else if (strcmp(key, "image") == 0) {
        n = asprintf(sql,
                     "image IN (SELECT image FROM images WHERE path = %s OR build_id = %s OR id = %s OR "
                     "replaceRegexpOne(path, '^.*/', '') = %s)",
                     quoted, quoted, quoted, quoted);
    } else if (strcmp(key, "since") == 0 || strcmp(key, "until") == 0) {
        if (!time_of(value, &at)) {
            free(quoted);
            return cs_fail(
                err, EINVAL,
                "%s=%s: expected a day (2024-01-31), a time (14:40, 2024-01-31 12:00) or a length (12h, 7d)",
                key, value);
        }
        n = asprintf(sql, "toUInt32(time) %s %" PRId64, key[0] == 's' ? ">=" : "<", at < 0 ? 0 : at);
    } else {
        free(quoted);
        return cs_fail(
            err, EINVAL,
            "\"%s\" is no filter: there are host, label, event, epoch, image, since and until, as KEY=VALUE",
            key);
    }
    free(quoted);
    return n < 0 ? out_of_memory(err) : 0;
}

int fleet_condition(const char *filter, char **sql, struct cs_error *err)
{
    assert(sql);
    char *copy = strdup(filter ? filter : ""), *rest = copy, *word;
    *sql = strdup("1");
    int rc = copy && *sql ? 0 : out_of_memory(err);
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        char *value = strchr(word, '='), *one = NULL, *both = NULL;
        if (!*word)
            continue;
        if (value)
            *value++ = '\0';
        rc = term(word, value ? value : "", &one, err);
        if (rc == 0 && asprintf(&both, "%s AND %s", *sql, one) < 0)
            rc = out_of_memory(err);
        free(one);
        if (rc == 0) {
            free(*sql);
            *sql = both;
        }
    }
    free(copy);
    if (rc < 0) {
        free(*sql);
        *sql = NULL;
    }
    return rc;
}
