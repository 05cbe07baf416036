/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which values tags have in a log: what is worth a name. */
#include "observer/log/log.h"
#include "observer/sample/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int collect(struct cs_observe_log_reader *log, unsigned tags, struct cs_tags *const seen[CS_TAGS_MAX],
                   struct cs_error *err)
{
    const unsigned n_tags = cs_observe_log_reader_head(log)->n_tags;
    uint64_t before[CS_TAGS_MAX];
    struct cs_sample sample;
    bool after_gap;
    int rc;
    for (unsigned t = 0; t < CS_TAGS_MAX; t++)
        before[t] = CS_TAG_DESCHEDULED;
    while ((rc = cs_observe_log_next(log, &sample, &after_gap, err)) > 0)
        for (unsigned t = 0; t < n_tags && t < CS_TAGS_MAX; t++)
            if ((tags & 1u << t) && sample.tags[t] != before[t] && sample.tags[t] != CS_TAG_DESCHEDULED)
                cs_tags_find(seen[t], before[t] = sample.tags[t]);
    return rc;
}

static int visit_rows(const struct cs_tags *seen, unsigned tag,
                      int (*visit)(void *arg, unsigned tag, uint64_t value), void *arg)
{
    int rc = 0;
    for (uint32_t r = 0; rc >= 0 && r < seen->n_rows; r++)
        rc = visit(arg, tag, seen->rows[r].tag);
    return rc;
}

int cs_observe_log_values(const char *path, unsigned tags,
                          int (*visit)(void *arg, unsigned tag, uint64_t value), void *arg,
                          struct cs_error *err)
{
    struct cs_observe_log_reader *log = NULL;
    struct cs_tags *seen[CS_TAGS_MAX] = {0};
    int rc = cs_observe_log_open(path, &log, err);
    for (unsigned t = 0; rc >= 0 && t < CS_TAGS_MAX; t++) {
        if (!(tags & 1u << t))
            continue;
        seen[t] = aligned_alloc(64, (cs_tags_size(0) + 63) & ~(size_t)63);
        if (!seen[t])
            rc = cs_fail(err, ENOMEM, "no memory for the values in %s", path);
        else
            cs_tags_init(memset(seen[t], 0, cs_tags_size(0)), 0, 0);
    }
    if (rc >= 0)
        rc = collect(log, tags, seen, err);
    for (unsigned t = 0; rc >= 0 && t < CS_TAGS_MAX; t++)
        rc = seen[t] ? visit_rows(seen[t], t, visit, arg) : 0;
    for (unsigned t = 0; t < CS_TAGS_MAX; t++)
        free(seen[t]);
    cs_observe_log_reader_close(log);
    return rc < 0 ? rc : 0;
}
