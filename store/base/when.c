/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/when.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS_MAX INT64_C(253402300799) /* of the year 9999 */

/* Without a day that isn't there: the 30th of February would be the 2nd of March. */
static bool seconds_of(struct tm tm, bool utc, int64_t *s)
{
    int day = tm.tm_mday;
    tm.tm_isdst = -1;
    *s = utc ? timegm(&tm) : mktime(&tm);
    return tm.tm_mday == day && *s >= 0 && *s <= SECONDS_MAX;
}

/* The clock's time on the day of `about_s`, and as many days later. */
static bool on_day(const struct tm *clock, int64_t about_s, int days, bool utc, int64_t *s)
{
    const time_t about = (time_t)about_s;
    struct tm tm;
    if (!(utc ? gmtime_r(&about, &tm) : localtime_r(&about, &tm)))
        return false;
    tm.tm_mday += days;
    tm.tm_hour = 12;
    tm.tm_isdst = -1;
    const time_t noon = utc ? timegm(&tm) : mktime(&tm); /* now a day of the calendar */
    if (!(utc ? gmtime_r(&noon, &tm) : localtime_r(&noon, &tm)))
        return false;
    tm.tm_hour = clock->tm_hour;
    tm.tm_min = clock->tm_min;
    tm.tm_sec = clock->tm_sec;
    return seconds_of(tm, utc, s);
}

static bool relative(const char *text, uint64_t now_ms, uint64_t *ms)
{
    char *end;
    double ago = strtod(text + 1, &end);
    double unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 0;
    double ago_ms = ago * unit * 1000;
    if (end == text + 1 || end != text + 1 + strspn(text + 1, "0123456789.") || unit <= 0 || end[1] ||
        !(ago_ms >= 0 && ago_ms <= (double)now_ms))
        return false;
    *ms = now_ms - (uint64_t)ago_ms;
    return true;
}

bool cs_when_parse(const char *text, uint64_t now_ms, uint64_t after_ms, uint64_t *ms)
{
    assert(text && ms);
    static const char *const forms[] = {
        "%H:%M",          "%H:%M:%S",         "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    const int64_t now = (int64_t)(now_ms / 1000), after = (int64_t)(after_ms / 1000);
    if (*text == '-')
        return relative(text, now_ms, ms);
    if (strcmp(text, "now") == 0) {
        *ms = now_ms;
        return true;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm = {0};
        const char *end = *text >= '0' && *text <= '9' ? strptime(text, forms[i], &tm) : NULL;
        const bool utc = end && *end == 'Z';
        int64_t s;
        if (!end || end[utc])
            continue;
        if (i > 1 && !seconds_of(tm, utc, &s))
            return false;
        if (i < 2 && !on_day(&tm, after ? after : now, 0, utc, &s))
            return false;
        if (i < 2 && (after ? s <= after : s > now) &&
            !on_day(&tm, after ? after : now, after ? 1 : -1, utc, &s))
            return false;
        *ms = (uint64_t)s * 1000;
        return true;
    }
    return false;
}

void cs_when_range(uint64_t from_ms, uint64_t to_ms, char text[CS_WHEN_RANGE_MAX])
{
    const time_t from = (time_t)(from_ms / 1000), to = (time_t)((to_ms + 999) / 1000);
    struct tm a = {0}, b = {0};
    char end[32];
    localtime_r(&from, &a);
    localtime_r(&to, &b);
    const bool same_day = a.tm_year == b.tm_year && a.tm_yday == b.tm_yday;
    strftime(text, CS_WHEN_RANGE_MAX, "%Y-%m-%d %H:%M:%S", &a);
    strftime(end, sizeof end, same_day ? " to %H:%M:%S" : " to %Y-%m-%d %H:%M:%S", &b);
    strncat(text, end, CS_WHEN_RANGE_MAX - 1 - strlen(text));
}
