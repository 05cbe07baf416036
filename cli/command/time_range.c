/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/time_range.h"

#include "store/base/clock.h"
#include "store/base/when.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_OF_TIME_MS UINT64_C(253402300799000)

static uint64_t now_ms(void)
{
    return cs_clock_ns(CLOCK_REALTIME) / 1000000;
}

static uint64_t time_asked(const char *option, const char *text, uint64_t after_ms)
{
    uint64_t ms;
    if (cs_when_parse(text, now_ms(), after_ms, &ms))
        return ms;
    usage_error("--%s %s: expected a time, as 14:40, \"2026-11-28 14:40\" or -2h", option, text);
    exit(CS_EXIT_USAGE);
}

static uint64_t begin_of_last(const char *text)
{
    char ago[64];
    uint64_t ms;
    snprintf(ago, sizeof ago, "-%.60s", text);
    if (cs_when_parse(ago, now_ms(), 0, &ms))
        return ms;
    usage_error("--last %s: expected a length of time, as 2h or 10m", text);
    exit(CS_EXIT_USAGE);
}

static struct cs_store_times times_of(const char *from_option, const char *from, const char *to_option,
                                      const char *to)
{
    struct cs_store_times t = {0, END_OF_TIME_MS};
    if (from && *from)
        t.from_ms = time_asked(from_option, from, 0);
    if (to && *to)
        t.to_ms = time_asked(to_option, to, t.from_ms);
    if (t.to_ms > t.from_ms)
        return t;
    usage_error("--%s %s is not before --%s %s", from_option, from, to_option, to);
    exit(CS_EXIT_USAGE);
}

/* false: none of the three is given. */
static bool times_asked(const struct parsed *args, struct cs_store_times *times)
{
    const char *from = option(args, "from"), *until = option(args, "until"), *last = option(args, "last");
    if (last && (from || until)) {
        usage_error("--last ends now: it doesn't go with --from and --until");
        exit(CS_EXIT_USAGE);
    }
    if (last)
        *times = (struct cs_store_times){begin_of_last(last), END_OF_TIME_MS};
    else if (from || until)
        *times = times_of("from", from, "until", until);
    return from || until || last;
}

const char *recording_asked(const struct parsed *args)
{
    static char text[512];
    const char *epoch = option(args, "epoch");
    struct cs_store_times t;
    if (!times_asked(args, &t))
        return epoch;
    snprintf(text, sizeof text, "%.400s@%" PRIu64 "..%" PRIu64, epoch ? epoch : "", t.from_ms, t.to_ms);
    return text;
}

const char *time_range_asked(const struct parsed *args, const char *name, char text[TIME_RANGE_MAX])
{
    assert(name && text);
    const char *given = option(args, name), *dots = given ? strstr(given, "..") : NULL;
    char from[64] = "";
    if (!given)
        return NULL;
    if (!dots || dots - given >= (long)sizeof from || !(given[0] != '.' || dots[2])) {
        usage_error("--%s %s: expected two times, as 14:00..14:30 or -2h..-1h", name, given);
        exit(CS_EXIT_USAGE);
    }
    memcpy(from, given, (size_t)(dots - given));
    struct cs_store_times t = times_of(name, from, name, dots + 2);
    snprintf(text, TIME_RANGE_MAX, "@%" PRIu64 "..%" PRIu64, t.from_ms, t.to_ms);
    return text;
}
