/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/aliases.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

CS_ORDER(by_value, struct cs_observe_alias, cs_order(a->value, b->value))

CS_ORDER(by_value_and_order, struct cs_observe_alias, by_value(a, b), cs_order(a->stands_for, b->stands_for))

CS_ORDER(by_name, struct cs_observe_alias, strcmp(a->name, b->name), by_value(a, b))

static void add(struct cs_observe_aliases *a, uint64_t value, const char *name)
{
    if (value != CS_TAG_DESCHEDULED && value != CS_TAG_FURTHER)
        a->rows[a->n] = (struct cs_observe_alias){value, a->n, name}, a->n++;
}

/* Of several names of one value the last one holds. */
static void join(struct cs_observe_aliases *a)
{
    size_t n = 0;
    cs_sort(a->rows, a->n, by_value_and_order);
    for (size_t i = 0; i < a->n; i++)
        if (i + 1 == a->n || a->rows[i].value != a->rows[i + 1].value) {
            a->rows[n] = a->rows[i];
            a->rows[n].stands_for = a->rows[n].value;
            n++;
        }
    a->n = n;
    cs_sort(a->rows, n, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(a->rows[i].name, a->rows[i - 1].name) == 0)
            a->rows[i].stands_for = a->rows[i - 1].stands_for;
    cs_sort(a->rows, n, by_value);
}

int cs_observe_aliases_open(struct cs_observe_aliases *a, const struct cs_observe_log_reader *log,
                            unsigned tag)
{
    const size_t names = cs_observe_log_reader_names(log);
    *a = (struct cs_observe_aliases){malloc((names + 1) * sizeof *a->rows), 0};
    if (!a->rows)
        return -ENOMEM;
    for (size_t i = 0; i < names; i++) {
        unsigned of;
        uint64_t value;
        const char *name = cs_observe_log_reader_name(log, i, &of, &value);
        if (of == tag)
            add(a, value, name);
    }
    join(a);
    return 0;
}

int cs_observe_aliases_join(struct cs_tags *tags, unsigned tag, cs_observe_value_name *name, void *arg)
{
    assert(tag < CS_TAGS_MAX && name);
    const uint32_t n = tags->n_rows;
    struct cs_observe_aliases a = {calloc(n + 1, sizeof *a.rows), 0};
    char **copies = calloc(n + 1, sizeof *copies);
    int rc = a.rows && copies ? 0 : -ENOMEM;
    for (uint32_t r = 0; rc == 0 && r < n; r++) {
        const char *text = name(arg, tag, tags->rows[r].tag);
        if (text && !(copies[r] = strdup(text)))
            rc = -ENOMEM;
        else if (text)
            add(&a, tags->rows[r].tag, copies[r]);
    }
    if (rc == 0) {
        join(&a);
        cs_tags_rename(tags, cs_observe_aliases_region, &a);
    }
    for (uint32_t r = 0; copies && r < n; r++)
        free(copies[r]);
    free(copies);
    free(a.rows);
    return rc;
}

void cs_observe_aliases_fini(struct cs_observe_aliases *a)
{
    free(a->rows);
    *a = (struct cs_observe_aliases){0};
}

uint64_t cs_observe_aliases_region(void *arg, uint64_t value)
{
    const struct cs_observe_aliases *a = arg;
    const struct cs_observe_alias key = {.value = value}, *found = cs_find(&key, a->rows, a->n, by_value);
    return found ? found->stands_for : value;
}
