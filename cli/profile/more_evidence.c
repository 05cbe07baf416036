/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/more_evidence.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* What the newest of the recordings that are read says of itself. */
struct said {
    bool imported, told, bursts, command;
    double burst_rate_hz; /* asked for; 0: none was */
};

static struct said newest_says(struct cs_store *store)
{
    struct cs_error ignored = {0};
    const struct cs_store_epoch *epochs;
    size_t n, i = 0;
    if (cs_store_epochs(store, &epochs, &n, &ignored) < 0)
        return (struct said){0};
    while (i < n && !cs_store_sees(store, epochs[i].name))
        i++;
    const char *meta = i < n ? epochs[i].meta : "";
    json_t *root = json_loads(meta, 0, NULL), *bursts = json_object_get(root, "bursts");
    const char *command = json_string_value(json_object_get(root, "command"));
    struct said said = {.imported = strstr(meta, "\"imported\"") != NULL,
                        .told = json_is_boolean(bursts),
                        .bursts = json_is_true(bursts),
                        .command = command && *command,
                        .burst_rate_hz = json_number_value(json_object_get(root, "burst_rate_hz"))};
    json_decref(root);
    return said;
}

bool newest_is_imported(struct cs_store *store)
{
    return newest_says(store).imported;
}

const char *more_evidence(struct cs_store *store)
{
    struct cs_error ignored = {0};
    uint64_t bursts = 0;
    struct said said = newest_says(store);
    if (said.imported)
        return "an imported recording has branches only from branch records (perf record -b); cyclescope "
               "record takes them from bursts";
    if (cs_store_counter(store, "bursts", &bursts, &ignored) < 0 || bursts == 0)
        return said.burst_rate_hz >= 30
                   ? "no burst was made: the program must run for two seconds at least; else record said why"
               : said.bursts  ? "no burst was made: the program must run for two seconds at least, or with "
                                "--burst-rate 30 for one; else record said why"
               : !said.told   ? "record with --bursts, and for two seconds at least"
               : said.command ? "record without --no-bursts, and for two seconds at least"
                              : "record with --bursts: without a command they are off";
    return "bursts saw other code: record longer, or with a higher --burst-rate";
}
