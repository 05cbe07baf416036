/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree from where a function stands: who called it, what it called, and all of it from the inside out. */
#include "analysis/contexts/calls.h"

#include <assert.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* By node: on its path the outermost (or innermost) frame of the function, itself included. NULL: out of memory. */
static uint32_t *frame_of(const struct cs_calls *calls, uint32_t function, bool innermost)
{
    uint32_t n = cs_contexts_count(calls->tree), *frame = calloc(n, sizeof *frame);
    for (uint32_t i = 1; frame && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, i);
        bool it = c->offset == function;
        frame[i] = it && (innermost || !frame[c->parent]) ? i : frame[c->parent];
    }
    return frame;
}

uint64_t *cs_calls_callers(const struct cs_calls *calls, uint32_t function)
{
    assert(function < calls->n_functions);
    uint32_t *frame = frame_of(calls, function, false);
    uint64_t *by = calloc(calls->n_functions, sizeof *by);
    for (uint32_t i = 1; frame && by && i < cs_contexts_count(calls->tree); i++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, i);
        if (frame[i] == i)
            by[c->parent ? cs_contexts_at(calls->tree, c->parent)->offset : 0] += c->total;
    }
    free(frame);
    if (!frame) {
        free(by);
        by = NULL;
    }
    return by;
}

uint64_t *cs_calls_callees(const struct cs_calls *calls, uint32_t function)
{
    assert(function < calls->n_functions);
    uint32_t n = cs_contexts_count(calls->tree), *callee = malloc(n * sizeof *callee);
    uint64_t *by = calloc(calls->n_functions, sizeof *by);
    for (uint32_t i = 0; callee && by && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, i);
        if (i && c->offset == function)
            callee[i] = function;
        else if (i && c->parent && cs_contexts_at(calls->tree, c->parent)->offset == function)
            callee[i] = (uint32_t)c->offset;
        else
            callee[i] = i ? callee[c->parent] : NONE;
        if (callee[i] != NONE)
            by[callee[i]] += c->self;
    }
    free(callee);
    if (!callee) {
        free(by);
        by = NULL;
    }
    return by;
}

struct cs_contexts *cs_calls_inverted(const struct cs_calls *calls, uint32_t from)
{
    struct cs_contexts *inverted = cs_contexts_open();
    uint32_t *frame = from ? frame_of(calls, from, true) : NULL;
    bool failed = !inverted || (from && !frame) || cs_contexts_image(inverted, "inlined") < 0;
    for (uint32_t i = 1; !failed && i < cs_contexts_count(calls->tree); i++) {
        uint64_t self = cs_contexts_at(calls->tree, i)->self;
        uint32_t at = from ? frame[i] : i, to = CS_CONTEXTS_ROOT;
        if (!self || !at)
            continue;
        for (; at && !failed; at = cs_contexts_at(calls->tree, at)->parent) {
            const struct cs_context *c = cs_contexts_at(calls->tree, at);
            int64_t next = cs_contexts_child(inverted, to, c->image, c->offset);
            failed = next < 0;
            to = failed ? 0 : (uint32_t)next;
        }
        if (!failed)
            cs_contexts_add(inverted, to, self);
    }
    free(frame);
    if (failed) {
        cs_contexts_close(inverted);
        return NULL;
    }
    cs_contexts_sum(inverted);
    return inverted;
}

struct cs_contexts *cs_calls_below(const struct cs_calls *calls, uint32_t function)
{
    uint32_t n = cs_contexts_count(calls->tree), *frame = frame_of(calls, function, false);
    uint32_t *node = calloc(n, sizeof *node);
    struct cs_contexts *below = cs_contexts_open();
    bool failed = !frame || !node || !below || cs_contexts_image(below, "inlined") < 0;
    for (uint32_t i = 1; !failed && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, i);
        if (!frame[i])
            continue;
        int64_t at = cs_contexts_child(below, frame[i] == i ? 0 : node[c->parent],
                                       frame[i] == i ? 0 : c->image, c->offset);
        failed = at < 0;
        node[i] = failed ? 0 : (uint32_t)at;
        if (!failed)
            cs_contexts_add(below, node[i], c->self);
    }
    free(frame);
    free(node);
    if (failed) {
        cs_contexts_close(below);
        return NULL;
    }
    cs_contexts_sum(below);
    return below;
}
