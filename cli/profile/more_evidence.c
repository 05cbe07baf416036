/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/more_evidence.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* What the newest of the recordings that are read says of itself. */
struct said {
    const struct cs_store *store;
    bool imported, told, bursts, command;
    double burst_rate_hz; /* asked for; 0: none was */
};

static int read_meta(const char *epoch, const char *meta, void *arg)
{
    struct said *said = arg;
    if (!cs_store_sees(said->store, epoch))
        return 0;
    json_t *root = json_loads(meta, 0, NULL), *bursts = json_object_get(root, "bursts");
    const char *command = json_string_value(json_object_get(root, "command"));
    *said = (struct said){.store = said->store,
                          .imported = strstr(meta, "\"imported\"") != NULL,
                          .told = json_is_boolean(bursts),
                          .bursts = json_is_true(bursts),
                          .command = command && *command,
                          .burst_rate_hz = json_number_value(json_object_get(root, "burst_rate_hz"))};
    json_decref(root);
    return 1;
}

const char *more_evidence(struct cs_store *store)
{
    struct cs_error ignored = {0};
    uint64_t bursts = 0;
    struct said said = {.store = store};
    cs_store_each_epoch(store, read_meta, &said, &ignored);
    if (said.imported)
        return "an imported recording has that from branch records alone (perf record -b), cyclescope record "
               "from bursts";
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
