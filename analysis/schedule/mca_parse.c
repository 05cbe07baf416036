/* SPDX-License-Identifier: GPL-2.0-or-later */
/* llvm-mca --json: {"CodeRegions":[{"Instructions":[text...], "SummaryView":{"DispatchWidth":n},
 * "TimelineView":{"TimelineInfo":[{"CycleDispatched":...} turn by turn]}}...]}. Seen alike in versions 14
 * and 19. Read as it stands: 30,000 instructions are six megabytes of text, whose tree took longer to build than the model
 * takes to simulate them. */
#include "analysis/schedule/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct scan {
    const char *at, *end;
    bool bad;
};

struct word {
    const char *text;
    size_t n;
};

static char peek(struct scan *s)
{
    while (s->at < s->end && isspace((unsigned char)*s->at))
        s->at++;
    return s->at < s->end ? *s->at : 0;
}

static bool take(struct scan *s, char c)
{
    bool there = !s->bad && peek(s) == c;
    s->at += there;
    return there;
}

static bool is(struct word w, const char *name)
{
    return w.n == strlen(name) && !memcmp(w.text, name, w.n);
}

/* As it is written, escapes and all. */
static struct word string(struct scan *s)
{
    s->bad |= !take(s, '"');
    struct word w = {s->at, 0};
    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    if (s->bad || s->at >= s->end) {
        s->bad = true;
        return (struct word){"", 0};
    }
    w.n = (size_t)(s->at++ - w.text);
    return w;
}

/* Whatever stands here, with all that is in it. */
static void skip(struct scan *s)
{
    size_t depth = 0;
    do {
        char c = peek(s);
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']', between = c == ',' || c == ':';
        s->bad |= !c || ((closes || between) && depth == 0);
        if (s->bad)
            return;
        depth += opens;
        depth -= closes;
        if (c == '"')
            (void)string(s);
        else if (opens || closes || between)
            s->at++;
        else
            while (s->at < s->end && !strchr("{}[],:\" \t\r\n", *s->at))
                s->at++;
    } while (depth > 0 && !s->bad);
}

/* Goes into what begins with `open`; what is something else is skipped. */
static bool enter(struct scan *s, char open)
{
    if (take(s, open))
        return true;
    skip(s);
    return false;
}

/* Is there another element? `close` is the end's. */
static bool element(struct scan *s, size_t *n, char close)
{
    if (s->bad || take(s, close))
        return false;
    s->bad |= *n > 0 && !take(s, ',');
    (*n)++;
    return !s->bad;
}

static bool member(struct scan *s, size_t *n, struct word *name)
{
    if (!element(s, n, '}'))
        return false;
    *name = string(s);
    s->bad |= !take(s, ':');
    return !s->bad;
}

/* A whole number from 0 to 99,999,999; else -1. */
static int number(struct scan *s)
{
    int n = -1;
    struct scan digits = *s;
    char c = peek(&digits);
    if (isdigit((unsigned char)c)) {
        for (n = 0; digits.at < digits.end && isdigit((unsigned char)*digits.at) && n < 100000000;
             digits.at++)
            n = 10 * n + (*digits.at - '0');
        if (n >= 100000000 || (digits.at < digits.end && strchr(".eE", *digits.at)))
            n = -1;
    }
    if (n < 0)
        skip(s);
    else
        *s = digits;
    return n;
}

/* One instruction of one turn. */
static bool timeline_entry(struct scan *s, struct cs_schedule_timeline *t)
{
    struct word name;
    size_t n = 0;
    struct cs_schedule_timeline e = {-1, -1, -1, -1, -1};
    if (!enter(s, '{'))
        return false;
    while (member(s, &n, &name)) {
        if (is(name, "CycleDispatched"))
            e.dispatched = number(s);
        else if (is(name, "CycleReady"))
            e.ready = number(s);
        else if (is(name, "CycleIssued"))
            e.issued = number(s);
        else if (is(name, "CycleExecuted"))
            e.executed = number(s);
        else if (is(name, "CycleRetired"))
            e.retired = number(s);
        else
            skip(s);
    }
    *t = e;
    return e.dispatched >= 0 && e.ready >= 0 && e.issued >= 0 && e.executed >= 0 && e.retired >= 0;
}

/* The first `wanted` entries; false where there are fewer, or one is not what it should be. */
static bool timeline(struct scan *s, size_t wanted, struct cs_schedule_timeline *lines)
{
    struct word name;
    size_t members = 0, n = 0;
    bool ok = true;
    if (!enter(s, '{'))
        return false;
    while (member(s, &members, &name)) {
        bool listed = is(name, "TimelineInfo") && enter(s, '[');
        while (listed && element(s, &n, ']')) {
            if (n <= wanted)
                ok = timeline_entry(s, &lines[n - 1]) && ok;
            else
                skip(s);
        }
        if (!is(name, "TimelineInfo"))
            skip(s);
    }
    return ok && n >= wanted;
}

static int dispatch_width(struct scan *s)
{
    struct word name;
    size_t n = 0;
    int width = -1;
    if (!enter(s, '{'))
        return -1;
    while (member(s, &n, &name))
        if (is(name, "DispatchWidth"))
            width = number(s);
        else
            skip(s);
    return width;
}

static bool region(struct scan *s, size_t n, size_t turns, struct cs_schedule_timeline *lines, double *width)
{
    struct word name;
    size_t members = 0, n_instructions = 0;
    bool have = false;
    if (!enter(s, '{'))
        return false;
    while (member(s, &members, &name)) {
        int w = is(name, "SummaryView") ? dispatch_width(s) : 0;
        if (w > 0)
            *width = w;
        bool listed = is(name, "Instructions") && enter(s, '[');
        while (listed && element(s, &n_instructions, ']'))
            skip(s);
        if (is(name, "TimelineView"))
            have = timeline(s, n * turns, lines);
        else if (!is(name, "SummaryView") && !is(name, "Instructions"))
            skip(s);
    }
    return have && n_instructions == n;
}

double cs_schedule_mca_parse(const char *json, size_t length, size_t n_before, size_t n_regions,
                             const size_t *n, const size_t *turns, struct cs_schedule_timeline *const *lines,
                             bool *ok)
{
    struct scan s = {json, json + length, false};
    struct word name;
    size_t members = 0, r = 0;
    double width = 0;
    s.bad = !take(&s, '{');
    while (member(&s, &members, &name)) {
        bool listed = is(name, "CodeRegions") && enter(&s, '[');
        while (listed && element(&s, &r, ']')) {
            size_t i = r - 1 - n_before; /* large before the first */
            if (i < n_regions)
                ok[i] = region(&s, n[i], turns[i], lines[i], &width);
            else
                skip(&s);
        }
        if (!is(name, "CodeRegions"))
            skip(&s);
    }
    bool whole = !s.bad && !peek(&s) && s.at == s.end;
    return whole && r == n_before + n_regions && width > 0 ? width : -EINVAL;
}
