/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of a tag that a log names as it names another one: points of one method or loop are one region.
 * Only code addresses: a program's own values are different things even where their names are not. One
 * owner; pure once opened. */
#ifndef CS_OBSERVER_LOG_ALIASES_H
#define CS_OBSERVER_LOG_ALIASES_H

#include "observer/log/log.h"

struct cs_observe_aliases {
    struct cs_observe_alias {
        uint64_t value, stands_for; /* the least value of that name */
        const char *name;           /* the reader's: not looked at after cs_observe_aliases_open */
    } * rows;                       /* by value */
    size_t n;
};

/* `log` has been read to its end. 0, or -ENOMEM. */
int cs_observe_aliases_open(struct cs_observe_aliases *a, const struct cs_observe_log_reader *log,
                            unsigned tag);
void cs_observe_aliases_fini(struct cs_observe_aliases *a);
/* What the value stands for: itself, mostly. `arg` is a struct cs_observe_aliases: for cs_tags_rename. */
uint64_t cs_observe_aliases_region(void *arg, uint64_t value);

#endif
