/* SPDX-License-Identifier: GPL-2.0-or-later */
/* llvm-mca --json: {"CodeRegions":[{"Instructions":[text...], "SummaryView":{"DispatchWidth":n},
 * "TimelineView":{"TimelineInfo":[{"CycleDispatched":...} turn by turn]}}...]}. Seen alike in versions 14
 * and 19. */
#include "analysis/schedule/schedule.h"

#include <errno.h>
#include <jansson.h>

static bool cycle(const json_t *entry, const char *name, int *out)
{
    const json_t *v = json_object_get(entry, name);
    json_int_t n = json_integer_value(v);
    *out = (int)n;
    return json_is_integer(v) && n >= 0 && n < 100000000;
}

static bool region_lines(const json_t *region, size_t n, size_t turns, struct cs_schedule_timeline *lines)
{
    const json_t *line = json_object_get(json_object_get(region, "TimelineView"), "TimelineInfo");
    if (json_array_size(json_object_get(region, "Instructions")) != n || json_array_size(line) < n * turns)
        return false;
    for (size_t i = 0; i < n * turns; i++) {
        const json_t *e = json_array_get(line, i);
        struct cs_schedule_timeline *t = &lines[i];
        if (!cycle(e, "CycleDispatched", &t->dispatched) || !cycle(e, "CycleReady", &t->ready) ||
            !cycle(e, "CycleIssued", &t->issued) || !cycle(e, "CycleExecuted", &t->executed) ||
            !cycle(e, "CycleRetired", &t->retired))
            return false;
    }
    return true;
}

double cs_schedule_mca_parse(const char *json, size_t length, size_t n_before, size_t n_regions,
                             const size_t *n, const size_t *turns, struct cs_schedule_timeline *const *lines,
                             bool *ok)
{
    json_t *root = json_loadb(json, length, JSON_ALLOW_NUL, NULL);
    const json_t *regions = json_object_get(root, "CodeRegions");
    double width = -EINVAL;
    if (json_array_size(regions) == n_before + n_regions) {
        width = 0;
        for (size_t r = 0; r < n_regions; r++) {
            const json_t *region = json_array_get(regions, n_before + r);
            const json_t *w = json_object_get(json_object_get(region, "SummaryView"), "DispatchWidth");
            if (json_integer_value(w) > 0)
                width = (double)json_integer_value(w);
            ok[r] = region_lines(region, n[r], turns[r], lines[r]);
        }
        if (width == 0)
            width = -EINVAL;
    }
    json_decref(root);
    return width;
}
