// SPDX-License-Identifier: GPL-2.0-or-later
// The lines that have all terms of a query and lie in its time.
#include "logq.h"
#include <stdlib.h>
#include <string.h>

// The first place from `place` on whose line isn't below the wanted one.
static uint32_t advance(const Postings *postings, uint32_t place, uint32_t wanted)
{
    uint32_t step = 1, low = place;
    while (low + step < postings->count && postings->lines[low + step] < wanted) {
        low += step;
        step *= 2;
    }
    uint32_t high = low + step < postings->count ? low + step : postings->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (postings->lines[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int by_count(const void *a, const void *b)
{
    const Postings *first = *(const Postings *const *)a, *second = *(const Postings *const *)b;
    return (first->count > second->count) - (first->count < second->count);
}

// The number after took= in a line.
static uint64_t took_of(const char *text, uint32_t length)
{
    const char *place = memmem(text, length, "took=", 5);
    uint64_t value = 0;
    if (place)
        for (place += 5; place < text + length && *place >= '0' && *place <= '9'; place++)
            value = value * 10 + (uint64_t)(*place - '0');
    return value;
}

static void take(Log *log, uint32_t number, Result *result)
{
    const Line *line = &log->lines[number];
    const char *text = source_text(&log->source, line->offset, line->length);
    if (!text)
        abort();
    uint64_t last;
    memcpy(&last, text + line->length - sizeof last, sizeof last);
    result->matches++;
    result->milliseconds += took_of(text, line->length);
    result->digest = (result->digest ^ last ^ number) * 1099511628211u;
}

void query_run(Log *log, const Query *query, Result *result)
{
    const Postings *lists[QUERY_TERMS];
    uint32_t places[QUERY_TERMS] = {0};
    for (int i = 0; i < query->count; i++) {
        const Term *term = terms_find(&log->terms, query->terms[i], strlen(query->terms[i]));
        if (!term)
            return;
        lists[i] = &term->postings;
    }
    qsort(lists, (size_t)query->count, sizeof lists[0], by_count);
    for (uint32_t i = 0; i < lists[0]->count; i++) {
        uint32_t line = lists[0]->lines[i];
        bool all = true;
        for (int list = 1; all && list < query->count; list++) {
            places[list] = advance(lists[list], places[list], line);
            if (places[list] == lists[list]->count)
                return;
            all = lists[list]->lines[places[list]] == line;
        }
        if (all && log->lines[line].time >= query->from && log->lines[line].time < query->to)
            take(log, line, result);
    }
}
