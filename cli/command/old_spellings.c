/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options by the names that they once had: still understood, no longer told. */
#include "cli/command/parsed.h"

#include <string.h>

static const struct old_spelling {
    const char *command; /* NULL = every one that has the option */
    const char *name;    /* NULL = only the letter is old */
    char letter;
    const char *now;
    const char *argument; /* for what only the old spelling has: an option of its own; else that of `now` */
} spellings[] = {
    {NULL, "output", 0, "store", NULL},
    {NULL, NULL, 'a', "all", NULL},
    {NULL, NULL, 'p', "process", NULL},
    {"calc", "source", 0, "lines", NULL},
    {"daemon", "events", 0, "event", NULL},
    {"daemon", "log", 0, "remarks", NULL},
    {"daemon", NULL, 'f', "config", NULL},
    {"diff", "least", 0, "least-change", NULL},
    {"export", "wait", 0, "retry", NULL},
    {"hist", NULL, 'a', "against", NULL},
    {"hist", NULL, 'c', "counter", NULL},
    {"hist", "sites", 0, "sections", NULL},
    {"list", "whole", 'w', "all", NULL},
    {"observe", "events", 0, "event", NULL},
    {"record", "all", 0, "whole-machine", NULL},
    {"record", "count", 0, "period", NULL},
    {"signals", "file", 0, "segment", NULL},
    {"stats", "least", 0, "least-share", NULL},
    {"store", "keep-bytes", 0, "keep-size", NULL},
    {"store", "keep-days", 0, "keep-days", "DAYS"},
    {"timeline", NULL, 'n', "buckets", NULL},
    {"timeline", NULL, 't', "time", NULL},
    {"top", "all", 0, "whole-machine", NULL},
    {"top", NULL, 'd', "interval", NULL},
};

static const struct option_entry *find(const struct option_entry *e, const char *name, char letter)
{
    for (; e->name; e++)
        if ((name && strcmp(e->name, name) == 0) || (letter && e->letter == letter))
            return e;
    return NULL;
}

unsigned old_spellings(const struct command *c, struct option_entry *entries, const char **now, unsigned most)
{
    unsigned n = 0;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings && n < most; i++) {
        const struct old_spelling *s = &spellings[i];
        const struct option_entry *target = find(c->options, s->now, 0);
        if (s->command ? strcmp(s->command, c->name) != 0 : !target)
            continue;
        if (find(c->options, s->name, s->letter)) /* it means something else here */
            continue;
        entries[n] = (struct option_entry){s->name ? s->name : s->now, s->letter,
                                           target ? target->argument : s->argument, NULL};
        now[n++] = s->now;
    }
    return n;
}
