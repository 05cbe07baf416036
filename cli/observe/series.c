/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/series.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct cs_ratio *ratio_of(const struct observed *o, unsigned series)
{
    return series < o->sink->n_counters ? NULL : &o->sink->ratios[series - o->sink->n_counters];
}

struct series_name series_name(const struct observed *o, unsigned series)
{
    assert(series < cs_sink_series(o->sink));
    struct series_name name;
    const struct cs_ratio *ratio = ratio_of(o, series);
    if (ratio)
        cs_ratio_name(ratio, o->counters, name.text, sizeof name.text);
    else
        snprintf(name.text, sizeof name.text, "%s", o->counters[series]);
    return name;
}

/* The words between a counter and what it is divided by; of cycles, `cycles`. */
static struct series_name per(const struct observed *o, unsigned series, const char *between,
                              const char *cycles)
{
    struct series_name name;
    const struct cs_ratio *ratio = ratio_of(o, series);
    if (!ratio)
        snprintf(name.text, sizeof name.text, "%.140s%s%s", o->counters[series], between, cycles);
    else
        snprintf(name.text, sizeof name.text, "%.70s%s %.70s", o->counters[ratio->of], between,
                 o->counters[ratio->per]);
    return name;
}

struct series_name series_title(const struct observed *o, unsigned series)
{
    struct series_name title;
    if (!ratio_of(o, series) || series_scale(o, series) != 1)
        return per(o, series, " per 1000", " TSC cycles");
    snprintf(title.text, sizeof title.text, "%s",
             strcmp(series_name(o, series).text, "IPC") == 0 ? "IPC (instructions per cycle)"
                                                             : "CPI (cycles per instruction)");
    return title;
}

struct series_name series_head(const struct observed *o, unsigned series)
{
    return ratio_of(o, series) && series_scale(o, series) == 1 ? series_name(o, series)
                                                               : per(o, series, "/1000", "");
}

double series_scale(const struct observed *o, unsigned series)
{
    assert(series < cs_sink_series(o->sink));
    const struct cs_ratio *ratio = ratio_of(o, series);
    return ratio ? cs_ratio_scale(ratio, o->counters) : 1000;
}

bool series_is_hidden(const struct observed *o, unsigned series)
{
    bool hidden = false;
    for (unsigned r = 0; series < o->sink->n_counters && r < o->sink->n_ratios; r++)
        hidden |= o->sink->ratios[r].of == series || o->sink->ratios[r].per == series;
    return hidden && !o->raw;
}

int series_find(const struct observed *o, const char *name)
{
    const struct cs_sink *s = o->sink;
    struct cs_ratio asked;
    if (!name)
        return s->n_ratios ? (int)s->n_counters : s->n_counters ? 0 : -1;
    for (unsigned c = 0; c < s->n_counters; c++)
        if (strcmp(o->counters[c], name) == 0)
            return (int)c;
    if (cs_ratio_parse(name, o->counters, s->n_counters, &asked))
        for (unsigned r = 0; r < s->n_ratios; r++)
            if (s->ratios[r].of == asked.of && s->ratios[r].per == asked.per)
                return (int)(s->n_counters + r);
    return -1;
}
