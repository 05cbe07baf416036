/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path as a sentence. */
#include "analysis/waits/critical_path.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ROWS_TOLD 3
#define TOLD_FROM 0.1 /* of the path */

void cs_critical_path_text(const struct cs_critical_path *path, char *text, size_t size)
{
    assert(size > 0);
    *text = '\0';
    for (size_t i = 0; i < path->n && i < ROWS_TOLD && path->rows[i].ns >= TOLD_FROM * path->all_ns; i++) {
        const struct cs_path_row *row = &path->rows[i];
        const size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%.0f %% %s%s%.80s%s%.40s%s", i ? ", " : "",
                 100 * row->ns / path->all_ns, row->what, row->function ? " in " : "",
                 row->function ? row->function->brief : "", *row->thread ? " (" : "", row->thread,
                 *row->thread ? ")" : "");
    }
}

/* Processes, if there are several: their threads hand work to each other. */
static bool are_several(const struct cs_wait_groups *waits)
{
    for (size_t i = 1; i < waits->n_threads; i++)
        if (waits->threads[i].pid != waits->threads[0].pid)
            return true;
    return false;
}

int cs_critical_path_told(struct cs_store *store, const struct cs_wait_groups *waits, const char *event,
                          char *text, size_t size)
{
    struct cs_error ignored = {0};
    struct cs_calls running;
    struct cs_critical_path path;
    const struct cs_calls_wanted wanted = {.event = event, .inlines = true};
    char rows[384];
    *text = '\0';
    if (!are_several(waits))
        return 0;
    int rc = cs_calls_open(&running, store, &wanted, &ignored);
    if (rc < 0)
        return rc;
    rc = cs_critical_path_make(&path, store, &wanted, waits, &running, NULL, &ignored);
    if (rc == 0)
        cs_critical_path_text(&path, rows, sizeof rows);
    if (rc == 0 && *rows)
        snprintf(text, size, "%s's %.*f s: %s", path.thread, path.all_ns < 1e10 ? 2 : 1, path.all_ns * 1e-9,
                 rows);
    cs_critical_path_fini(&path);
    cs_calls_close(&running);
    return rc;
}
