// SPDX-License-Identifier: GPL-2.0-or-later
// Who moves next: a heap of events, by time and then in the order they were put.
#include "tiles.h"
#include <stdlib.h>
#include <string.h>

void schedule_open(Schedule *schedule)
{
    memset(schedule, 0, sizeof *schedule);
}

void schedule_close(Schedule *schedule)
{
    free(schedule->events);
}

static bool before(const Event *a, const Event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void schedule_put(Schedule *schedule, uint64_t time, int32_t carrier)
{
    if (schedule->count == schedule->room) {
        schedule->room = schedule->room ? 2 * schedule->room : 64;
        schedule->events = realloc(schedule->events, (size_t)schedule->room * sizeof *schedule->events);
        if (!schedule->events)
            abort();
    }
    Event event = {time, schedule->order++, carrier};
    int at = schedule->count++;
    while (at > 0 && before(&event, &schedule->events[(at - 1) / 2])) {
        schedule->events[at] = schedule->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    schedule->events[at] = event;
}

bool schedule_take(Schedule *schedule, Event *event)
{
    if (schedule->count == 0)
        return false;
    *event = schedule->events[0];
    Event last = schedule->events[--schedule->count];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= schedule->count)
            break;
        if (child + 1 < schedule->count && before(&schedule->events[child + 1], &schedule->events[child]))
            child++;
        if (!before(&schedule->events[child], &last))
            break;
        schedule->events[at] = schedule->events[child];
        at = child;
    }
    if (schedule->count > 0)
        schedule->events[at] = last;
    return true;
}
