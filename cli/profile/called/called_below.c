/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a library of a runtime does for its caller says more than the function that was called. A call of re.search may
 * search, or compile its pattern. */
#include "cli/profile/called/called.h"

enum { DEPTH_MAX = 64 };

static void add(struct called *c, uint32_t line, uint32_t name, uint64_t samples, unsigned depth)
{
    uint32_t i = 0;
    while (i < c->n_below && (c->below[i].line != line || c->below[i].name != name))
        i++;
    if (i == CALLED_BELOW_MAX)
        return;
    if (i == c->n_below)
        c->below[c->n_below++] = (struct called_below){.line = line, .name = name};
    c->below[i].samples += samples;
    c->below[i].depth += (double)samples * depth;
}

/* Each function once, however often it calls itself. */
void called_take_below(struct called *c, const struct cs_contexts *tree, const uint32_t *runtimes,
                       uint32_t own, uint32_t node, uint32_t line)
{
    const uint64_t samples = cs_contexts_at(tree, node)->self;
    uint32_t seen[DEPTH_MAX];
    unsigned n = 0, k;
    for (; node != own && n < DEPTH_MAX; node = cs_contexts_at(tree, node)->parent) {
        for (k = 0; k < n && seen[k] != runtimes[node]; k++)
            ;
        if (k == n && runtimes[node] != UINT32_MAX)
            seen[n++] = runtimes[node];
    }
    for (k = 0; k < n; k++)
        add(c, line, seen[k], samples, n - k);
}

const char *called_deepest(const struct called *c, uint32_t line, double least, double *samples)
{
    double deepest = 1.5; /* the called one itself is the first */
    const char *name = NULL;
    for (uint32_t i = 0; i < c->n_below; i++) {
        const struct called_below *b = &c->below[i];
        double n = 0, depth = 0;
        if (!called_same_function(c, b->line, line))
            continue;
        for (uint32_t k = 0; k < c->n_below; k++)
            if (c->below[k].name == b->name && called_same_function(c, c->below[k].line, line)) {
                n += (double)c->below[k].samples;
                depth += c->below[k].depth;
            }
        if (n < least || !(n > 0) || depth / n <= deepest)
            continue;
        deepest = depth / n;
        name = c->names[b->name];
        *samples = n;
    }
    return name;
}
