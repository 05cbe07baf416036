/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of a tag that a log names as it names another one. They are points of one method or loop, or numbers that
 * threads chose for themselves. What a program gives one name is one region. One owner; pure once opened. */
#pragma once

#include "observer/log/log.h"
#include "observer/sample/tags.h"

struct cs_observe_aliases {
    struct cs_observe_alias {
        uint64_t value, stands_for; /* the least value of that name; while names are collected, their order */
        const char *name;           /* the reader's: not looked at after cs_observe_aliases_open */
    } * rows;                       /* by value */
    size_t n;
};

/* `log` has been read to its end. 0, or -ENOMEM. */
int cs_observe_aliases_open(struct cs_observe_aliases *a, const struct cs_observe_log_reader *log,
                            unsigned tag);
/* Joins the rows of tag number `tag` that `name` gives one name; of a value without one it returns NULL. After the last
 * sample. 0, or -ENOMEM and the rows are as they were. */
typedef const char *cs_observe_value_name(void *arg, unsigned tag, uint64_t value);
int cs_observe_aliases_join(struct cs_tags *tags, unsigned tag, cs_observe_value_name *name, void *arg);
void cs_observe_aliases_fini(struct cs_observe_aliases *a);
/* What the value stands for: itself, mostly. `arg` is a struct cs_observe_aliases: for cs_tags_rename. */
uint64_t cs_observe_aliases_region(void *arg, uint64_t value);
