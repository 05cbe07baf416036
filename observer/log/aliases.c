/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/aliases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct cs_observe_alias *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->value < y->value ? -1 : x->value > y->value;
}

static int by_value(const void *a, const void *b)
{
    const struct cs_observe_alias *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

#define ADDRESS_MIN ((uint64_t)1 << 32)

int cs_observe_aliases_open(struct cs_observe_aliases *a, const struct cs_observe_log_reader *log,
                            unsigned tag)
{
    size_t names = cs_observe_log_reader_names(log), n = 0;
    a->rows = malloc((names + 1) * sizeof *a->rows);
    if (!a->rows)
        return -ENOMEM;
    for (size_t i = 0; i < names; i++) {
        unsigned of;
        uint64_t value;
        const char *name = cs_observe_log_reader_name(log, i, &of, &value);
        if (of == tag && value >= ADDRESS_MIN)
            a->rows[n++] = (struct cs_observe_alias){value, value, name};
    }
    qsort(a->rows, n, sizeof *a->rows, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(a->rows[i].name, a->rows[i - 1].name) == 0)
            a->rows[i].stands_for = a->rows[i - 1].stands_for;
    qsort(a->rows, n, sizeof *a->rows, by_value);
    a->n = n;
    return 0;
}

void cs_observe_aliases_fini(struct cs_observe_aliases *a)
{
    free(a->rows);
    *a = (struct cs_observe_aliases){0};
}

uint64_t cs_observe_aliases_region(void *arg, uint64_t value)
{
    const struct cs_observe_aliases *a = arg;
    const struct cs_observe_alias key = {.value = value},
                                  *found = a->n ? bsearch(&key, a->rows, a->n, sizeof key, by_value) : NULL;
    return found ? found->stands_for : value;
}
