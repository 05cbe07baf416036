/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk: fetch, find out where control goes, do what the instruction does. Instructions are decoded once
 * and kept in a table that forgets what another one displaces. */
#include "analysis/cfg/noreturn.h"
#include "analysis/interpret/abstract_run_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS 400 /* of a path, at most */
#define SLOTS 16384

struct decoded {
    const struct cs_image_code *code; /* NULL: free */
    uint64_t offset;
    struct path_op op;
};

struct cs_abstract_runner {
    cs_abstract_run_code_fn code_at;
    void *arg;
    struct path_state state;
    struct decoded slots[SLOTS];
};

int cs_abstract_runner_open(cs_abstract_run_code_fn code_at, void *arg, struct cs_abstract_runner **out,
                            struct cs_error *err)
{
    assert(code_at);
    struct cs_abstract_runner *runner = calloc(1, sizeof *runner);
    if (!runner)
        return cs_fail(err, ENOMEM, "no memory to interpret paths");
    runner->code_at = code_at;
    runner->arg = arg;
    *out = runner;
    return 0;
}

void cs_abstract_runner_close(struct cs_abstract_runner *runner)
{
    free(runner);
}

void cs_abstract_runner_forget(struct cs_abstract_runner *runner)
{
    memset(runner->slots, 0, sizeof runner->slots);
}

/* Within a procedure and its neighbours the code is the same as before. */
static bool enter(struct cs_abstract_runner *w, uint64_t pc)
{
    struct path_state *s = &w->state;
    uint64_t offset;
    size_t n;
    if (s->code && cs_image_bytes_at(s->code, pc - s->delta, &n, NULL))
        return true;
    s->code = w->code_at(w->arg, pc, &offset);
    s->delta = s->code ? pc - offset : 0;
    return s->code != NULL;
}

static const struct path_op *fetch(struct cs_abstract_runner *w, uint64_t pc)
{
    struct path_state *s = &w->state;
    if (!enter(w, pc))
        return NULL;
    uint64_t offset = pc - s->delta;
    struct decoded *slot = &w->slots[(offset ^ (uintptr_t)s->code >> 4) % SLOTS];
    if (slot->code == s->code && slot->offset == offset)
        return &slot->op;
    size_t n;
    bool executable = false;
    const uint8_t *bytes = cs_image_bytes_at(s->code, offset, &n, &executable);
    slot->code = NULL;
    if (!bytes || !executable || cs_image_isa(s->code) != CS_ISA_X86_64 ||
        !path_decode(bytes, n, offset, &slot->op))
        return NULL;
    slot->code = s->code;
    slot->offset = offset;
    return &slot->op;
}

static void begin(struct path_state *s, const struct cs_abstract_run_start *start)
{
    size_t bytes =
        start->stack_bytes < PATH_STACK - PATH_BELOW ? start->stack_bytes : PATH_STACK - PATH_BELOW;
    for (unsigned i = 0; i < 16; i++)
        s->reg[i] = (struct path_value){start->reg[i], ~UINT64_C(0)};
    s->flags = (struct path_value){start->flags & FLAGS_ALL, FLAGS_ALL};
    s->stack_low = start->reg[4] - PATH_BELOW;
    memset(s->is_known, 0, sizeof s->is_known);
    memset(&s->is_known[PATH_BELOW], 1, bytes);
    memcpy(&s->byte[PATH_BELOW], start->stack, bytes);
}

/* Where an indirect jump, call or return goes; 0: not known. */
static uint64_t target_of(const struct path_state *s, const struct path_op *op)
{
    if (op->target)
        return op->target + s->delta;
    struct path_value to = op->kind == PATH_RETURN ? path_load(s, s->reg[4], 64) : path_read(s, op, &op->src);
    return to.mask == ~UINT64_C(0) ? to.bits : 0;
}

static void end_open(struct cs_abstract_run *path, uint64_t pc, uint64_t target, uint64_t next)
{
    path->open = pc;
    if (target) {
        path->n_ways = 2;
        path->way[0] = target;
        path->way[1] = next;
    }
}

static bool note(struct cs_abstract_run *path, uint64_t from, uint64_t to)
{
    path->step[path->n++] = (struct cs_abstract_run_step){from, to};
    return path->n < CS_ABSTRACT_RUN_STEPS;
}

enum called { CALLED, STEPPED_OVER, NEVER_BACK };

static enum called call(struct cs_abstract_runner *w, const struct path_op *op, uint64_t next, uint64_t *to)
{
    struct path_state *s = &w->state;
    struct cs_image_code *code = s->code;
    uint64_t delta = s->delta;
    const char *import = NULL;
    const struct path_op self = *op; /* what is fetched may take its slot */
    *to = target_of(s, op);
    if (*to && fetch(w, *to)) {
        import = cs_image_import_at(s->code, *to - s->delta);
        if (!import) {
            path_execute(s, &self, next);
            return CALLED;
        }
    }
    s->code = code;
    s->delta = delta;
    path_step_over(s);
    return import && cs_cfg_never_returns(import) ? NEVER_BACK : STEPPED_OVER;
}

void cs_abstract_runner_run(struct cs_abstract_runner *w, const struct cs_abstract_run_start *start,
                            struct cs_abstract_run *path)
{
    struct path_state *s = &w->state;
    uint64_t pc = start->pc, to;
    *path = (struct cs_abstract_run){.n = 0};
    begin(s, start);
    s->code = NULL;
    for (unsigned i = 0; i < INSTRUCTIONS; i++) {
        const struct path_op *op = fetch(w, pc);
        uint64_t next = op ? pc + op->length : 0;
        if (!op || op->kind == PATH_END)
            return;
        switch (op->kind) {
        case PATH_BRANCH: {
            int taken = path_condition(s->flags, op->condition);
            to = taken ? op->target + s->delta : next;
            if (taken < 0) {
                end_open(path, pc, to, next);
                return;
            }
            break;
        }
        case PATH_BRANCH_UNKNOWN:
            end_open(path, pc, op->target + s->delta, next);
            return;
        case PATH_JUMP:
        case PATH_RETURN:
            to = target_of(s, op);
            if (!to) {
                end_open(path, pc, 0, 0);
                return;
            }
            path_execute(s, op, next);
            break;
        case PATH_CALL: {
            enum called called = call(w, op, next, &to);
            if (called == NEVER_BACK)
                return;
            if (called == CALLED)
                break;
            pc = next;
            continue;
        }
        default:
            path_execute(s, op, next);
            pc = next;
            continue;
        }
        if (!note(path, pc, to))
            return;
        pc = to;
    }
}
