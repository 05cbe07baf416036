/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree: all call chains with their shares, from the outermost frame inwards or the other way. */
#include "cli/contexts/contexts.h"

#include "store/base/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_PERCENT 1.0
#define INDENT_MAX 60 /* of the text, so that a deep chain still has room for names */

struct waiting {
    uint32_t node;
    unsigned depth, indent;
    uint64_t n_others, others; /* a row for siblings that were too small, in place of a node */
};

struct printing {
    const struct chains *chains;
    const struct cs_contexts *tree;
    struct table *table;
    uint64_t total, least;
    struct waiting *stack;
    size_t n, capacity;
};

static int greatest_last(const void *left, const void *right, void *arg)
{
    const struct waiting *a = left, *b = right;
    const struct cs_contexts *tree = arg;
    uint64_t x = cs_contexts_at(tree, a->node)->total, y = cs_contexts_at(tree, b->node)->total;
    if (x != y)
        return x < y ? -1 : 1;
    return (cs_contexts_at(tree, a->node)->key < cs_contexts_at(tree, b->node)->key) ? 1 : -1;
}

/* The children of `of` onto the stack, greatest on top; what is too small becomes one row, if that isn't. */
static int push_children(struct printing *p, const struct waiting *of)
{
    const struct cs_context *parent = cs_contexts_at(p->tree, of->node);
    size_t first = p->n, shown = 0;
    struct waiting others = {.depth = of->depth + 1};
    for (uint32_t c = parent->first_child; c; c = cs_contexts_at(p->tree, c)->next_sibling)
        if (cs_contexts_at(p->tree, c)->total >= p->least)
            shown++;
        else if (cs_contexts_at(p->tree, c)->total) {
            others.others += cs_contexts_at(p->tree, c)->total;
            others.n_others++;
        }
    bool others_shown = others.n_others && others.others >= p->least;
    /* A chain without branches goes straight down. */
    unsigned indent =
        of->node && (shown + others_shown > 1 || parent->self >= p->least) ? of->indent + 1 : of->indent;
    others.indent = indent;
    if (cs_array_reserve_in(p->stack, p->n + shown + 1, p->capacity) < 0)
        return -1;
    if (others_shown) {
        p->stack[p->n++] = others;
        first++;
    }
    for (uint32_t c = parent->first_child; c; c = cs_contexts_at(p->tree, c)->next_sibling)
        if (cs_contexts_at(p->tree, c)->total >= p->least)
            p->stack[p->n++] = (struct waiting){c, of->depth + 1, indent, 0, 0};
    qsort_r(p->stack + first, p->n - first, sizeof *p->stack, greatest_last, (void *)(uintptr_t)p->tree);
    return 0;
}

static double share(const struct printing *p, uint64_t n)
{
    return p->total ? 100.0 * (double)n / (double)p->total : (double)NAN;
}

static void print_row(struct printing *p, const struct waiting *w, bool text)
{
    char name[1100], line[1300];
    const struct cs_context *c = cs_contexts_at(p->tree, w->node);
    uint64_t total = w->n_others ? w->others : c->total;
    unsigned indent = w->indent < INDENT_MAX ? w->indent : INDENT_MAX;
    if (w->n_others)
        snprintf(name, sizeof name, "[%" PRIu64 " others]", w->n_others);
    else
        chains_frame(p->chains, p->tree, w->node, text, name, sizeof name);
    snprintf(line, sizeof line, "%*s%s", text ? (int)(2 * indent) : 0, "", name);
    table_count(p->table, total);
    table_number(p->table, share(p, total));
    table_count(p->table, w->n_others ? 0 : c->self);
    table_number(p->table, w->n_others || !c->self ? (text ? (double)NAN : 0.0) : share(p, c->self));
    table_count(p->table, w->depth - 1);
    table_text(p->table, line);
    const struct cs_call_function *f = w->n_others ? NULL : &p->chains->calls.functions[c->offset];
    table_text(p->table, f && f->image ? f->image->path : NULL);
    table_text(p->table, f ? chains_image(f) : NULL);
}

static const struct column columns[] = {
    {.key = "total", .kind = COLUMN_COUNT},
    {.key = "total_percent", .head = "total %", .kind = COLUMN_SHARE},
    {.key = "self", .kind = COLUMN_COUNT},
    {.key = "self_percent", .head = "self %", .kind = COLUMN_SHARE},
    {.key = "depth", .kind = COLUMN_COUNT},
    {.key = "procedure", .head = "call tree", .elastic = true},
    {.key = "image", .kind = COLUMN_TEXT},
    {.key = "image_name", .head = "image", .elastic = true, .spare = true},
};

static int report(const struct parsed *args, const struct chains *c, const struct cs_contexts *tree,
                  uint32_t function, bool inverted)
{
    struct output *out = output_open(args);
    double least = option_number(args, "min", MIN_PERCENT, 0, 100);
    struct printing p = {.chains = c, .tree = tree, .total = cs_contexts_at(tree, 0)->total};
    p.least = (uint64_t)ceil(least / 100 * (double)p.total);
    p.least = p.least ? p.least : 1;
    chains_describe(c, out);
    if (function)
        output_line(out, "%s: %" PRIu64 " of them (%.1f %%), which shares are of",
                    c->calls.functions[function].name, p.total,
                    100.0 * (double)p.total / (double)c->calls.total);
    output_line(out, "%s", "");
    output_set(out, "procedure", function ? json_text(c->calls.functions[function].name) : json_null());
    output_set(out, "inverted", json_boolean(inverted));
    output_set(out, "total", json_integer((json_int_t)p.total));
    struct column shown[sizeof columns / sizeof *columns];
    memcpy(shown, columns, sizeof shown);
    if (inverted) /* every chain ends in an outermost frame: nothing to see */
        shown[3].head = NULL;
    p.table = output_table(out, "rows", shown, sizeof columns / sizeof *columns);
    struct waiting w = {.depth = 0};
    int rc = push_children(&p, &w);
    while (rc == 0 && p.n) {
        w = p.stack[--p.n];
        print_row(&p, &w, output_form(out) == OUTPUT_TEXT);
        rc = w.n_others ? 0 : push_children(&p, &w);
    }
    free(p.stack);
    if (rc < 0) {
        output_drop(out);
        return failed_with("out of memory for the tree");
    }
    output_line(out, "%s", "");
    output_note(out, "Frames of less than %g %% are left out; --min 0 shows all.", least);
    output_next(out, args, "next:", "prof", NULL, "");
    return output_close(out);
}

static int run(const struct parsed *args)
{
    static const char *const by_names[] = {"function",  "process", "thread", "container",
                                           "attribute", "label",   NULL};
    bool by_label = option_choice(args, "by", by_names, 0) >= 1, inverted = option_given(args, "inverted");
    struct chains c;
    if (operand_count(args) > 1)
        return usage_error("%s: expected at most one function", operand(args, 1));
    int rc = chains_open(&c, args, true, by_label);
    if (rc)
        return rc;
    uint32_t function = operand_count(args) ? chains_function(&c, operand(args, 0)) : 0;
    if (operand_count(args) && !function) {
        chains_close(&c);
        return CS_EXIT_FAILED;
    }
    struct cs_contexts *made = inverted   ? cs_calls_inverted(&c.calls, function)
                               : function ? cs_calls_below(&c.calls, function)
                                          : NULL;
    if ((inverted || function) && !made)
        rc = failed_with("out of memory for the tree");
    else
        rc = report(args, &c, made ? made : c.calls.tree, function, inverted);
    cs_contexts_close(made);
    chains_close(&c);
    return rc;
}

static const struct option_entry options[] = {
    {"inverted", 0, NULL, "start from the innermost frames, towards their callers"},
    {"min", 0, "PERCENT", "hide frames with less of the total (1)"},
    OPTION_WAITS,
    OPTION_BY,
    OPTION_EVENT,
    OPTION_PROCESS,
    OPTIONS_WHEN,
    OPTION_NO_INLINES,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_tree = {
    "tree",
    "[FUNCTION]",
    "the call chains as a tree with shares, from outside in or from inside out",
    "Total counts the samples in a frame and in all that it called; self counts those in the frame itself. "
    "With a FUNCTION the tree shows its callees, merged over all its callers; with --inverted, its callers. "
    "A chain without branches isn't indented. --by process makes a separate tree for each process, --by "
    "thread for each thread (record --label process, --label thread).\n"
    "\n"
    "Example: where does the time go, and which code calls memcpy?\n"
    "\n"
    "    cyclescope record -- ./server\n"
    "    cyclescope tree\n"
    "    cyclescope tree memcpy --inverted --min 5",
    options,
    run,
};
