/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/more_evidence.h"

#include <string.h>

static int is_imported(const char *epoch, const char *meta, void *arg)
{
    (void)epoch, (void)arg;
    return strstr(meta, "\"imported\"") != NULL;
}

const char *more_evidence(struct cs_store *store)
{
    struct cs_error ignored = {0};
    uint64_t bursts = 0;
    if (cs_store_each_epoch(store, is_imported, NULL, &ignored) > 0)
        return "an imported recording has that from branch records alone (perf record -b), cyclescope record "
               "from bursts";
    if (cs_store_counter(store, "bursts", &bursts, &ignored) < 0 || bursts == 0)
        return "record without --no-bursts, and for a second at least";
    return "bursts saw other code: record longer, or with a higher --burst-rate";
}
