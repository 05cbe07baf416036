/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Johnson, Pearson, Pingali: "The program structure tree", PLDI 1994, figure 4. In a strongly connected graph
 * two edges lie on the same cycles exactly when they do so in the undirected graph. There they do exactly
 * when the same set of back edges ("brackets") spans them in a depth-first tree. The set is named by its
 * topmost bracket and its size.
 *
 * Invariant while a node is left: its list holds the brackets of the tree edge to its parent, innermost last.
 * Lists are doubly linked with a handle at both ends, so that joining and deleting take constant time: linear
 * overall. */
#include "analysis/cfg/cfg.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* A bracket: a back edge, or a "capping" one that is added where branches join. */
struct bracket {
    uint32_t previous, next; /* in the list it is in */
    uint32_t recent_size;    /* size of the set when it last was topmost, 0 = never */
    uint32_t recent_class;
    uint32_t class_of_edge; /* NONE until given */
    uint32_t next_at_node;  /* next bracket that ends at the same node */
};

struct list {
    uint32_t bottom, top, size;
};

struct search {
    uint32_t n, n_edges;
    const uint32_t *from, *to;
    uint32_t *first, *adjacent; /* edges at each node, both directions */
    uint32_t *number;           /* node → depth-first number */
    uint32_t *node;             /* number → node */
    uint32_t *tree_edge;        /* node → edge to its parent */
    uint32_t *parent;
    uint32_t *high;           /* by node: smallest number reached from below by back edges */
    uint32_t *ends;           /* by node: first bracket that ends here */
    struct list *list;        /* by node */
    struct bracket *brackets; /* 0…n_edges-1 back edges by edge; then the capping ones */
    uint32_t n_brackets;
    uint32_t n_classes;
    uint32_t *class_of;
};

static void push(struct search *s, struct list *list, uint32_t b)
{
    s->brackets[b].previous = list->top;
    s->brackets[b].next = NONE;
    if (list->top != NONE)
        s->brackets[list->top].next = b;
    else
        list->bottom = b;
    list->top = b;
    list->size++;
}

static void drop(struct search *s, struct list *list, uint32_t b)
{
    struct bracket *it = &s->brackets[b];
    if (it->previous != NONE)
        s->brackets[it->previous].next = it->next;
    else
        list->bottom = it->next;
    if (it->next != NONE)
        s->brackets[it->next].previous = it->previous;
    else
        list->top = it->previous;
    list->size--;
}

/* `below` goes under `list`. */
static void join(struct search *s, struct list *list, const struct list *below)
{
    if (below->size == 0)
        return;
    if (list->size == 0) {
        *list = *below;
        return;
    }
    s->brackets[below->top].next = list->bottom;
    s->brackets[list->bottom].previous = below->top;
    list->bottom = below->bottom;
    list->size += below->size;
}

static uint32_t other_end(const struct search *s, uint32_t edge, uint32_t node)
{
    return s->from[edge] == node ? s->to[edge] : s->from[edge];
}

/* Numbers nodes depth first, without recursion. Returns how many were reached. */
static uint32_t depth_first(struct search *s, uint32_t *cursor)
{
    uint32_t reached = 0, at = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->number[i] = s->parent[i] = s->tree_edge[i] = NONE;
        cursor[i] = s->first[i];
    }
    s->number[0] = reached;
    s->node[reached++] = 0;
    while (at != NONE) {
        if (cursor[at] == s->first[at + 1]) {
            at = s->parent[at];
            continue;
        }
        uint32_t edge = s->adjacent[cursor[at]++], next = other_end(s, edge, at);
        if (s->number[next] != NONE)
            continue;
        s->number[next] = reached;
        s->node[reached++] = next;
        s->parent[next] = at;
        s->tree_edge[next] = edge;
        at = next;
    }
    return reached;
}

static void leave(struct search *s, uint32_t n, uint32_t *child_high, uint32_t *child_high2)
{
    uint32_t high0 = NONE; /* of this node's own back edges */
    struct list *list = &s->list[n];
    for (uint32_t k = s->first[n]; k < s->first[n + 1]; k++) {
        uint32_t edge = s->adjacent[k], to = other_end(s, edge, n);
        if (edge != s->tree_edge[n] && s->tree_edge[to] != edge && to != n && s->number[to] < s->number[n] &&
            s->number[to] < high0)
            high0 = s->number[to];
    }
    uint32_t high1 = child_high[n], high2 = child_high2[n];
    s->high[n] = high0 < high1 ? high0 : high1;
    for (uint32_t b = s->ends[n]; b != NONE; b = s->brackets[b].next_at_node) {
        drop(s, list, b);
        if (b < s->n_edges && s->brackets[b].class_of_edge == NONE)
            s->brackets[b].class_of_edge = s->n_classes++;
    }
    for (uint32_t k = s->first[n]; k < s->first[n + 1]; k++) {
        uint32_t edge = s->adjacent[k], to = other_end(s, edge, n);
        if (edge == s->tree_edge[n] || s->tree_edge[to] == edge || to == n || s->number[to] > s->number[n])
            continue;
        push(s, list, edge);
        s->brackets[edge].next_at_node = s->ends[to];
        s->ends[to] = edge;
    }
    if (high2 < high0 && high2 < s->number[n]) { /* a cap: two subtrees reach above this node */
        uint32_t b = s->n_brackets++, to = s->node[high2];
        s->brackets[b].class_of_edge = NONE;
        push(s, list, b);
        s->brackets[b].next_at_node = s->ends[to];
        s->ends[to] = b;
    }
    uint32_t up = s->parent[n];
    if (up == NONE)
        return;
    uint32_t edge = s->tree_edge[n];
    if (list->top == NONE) { /* a bridge: cannot be where the graph is strongly connected */
        s->class_of[edge] = s->n_classes++;
    } else {
        struct bracket *b = &s->brackets[list->top];
        if (b->recent_size != list->size) {
            b->recent_size = list->size;
            b->recent_class = s->n_classes++;
        }
        s->class_of[edge] = b->recent_class;
        if (b->recent_size == 1)
            b->class_of_edge = s->class_of[edge];
    }
    if (s->high[n] < child_high[up]) {
        child_high2[up] = child_high[up];
        child_high[up] = s->high[n];
    } else if (s->high[n] < child_high2[up])
        child_high2[up] = s->high[n];
    join(s, &s->list[up], list);
}

static int64_t classify(struct search *s, uint32_t *cursor, uint32_t *child_high, uint32_t *child_high2)
{
    uint32_t reached = depth_first(s, cursor);
    for (uint32_t i = 0; i < s->n; i++) {
        s->list[i] = (struct list){NONE, NONE, 0};
        s->ends[i] = s->high[i] = child_high[i] = child_high2[i] = NONE;
    }
    for (uint32_t i = 0; i < s->n_edges + s->n; i++)
        s->brackets[i] = (struct bracket){NONE, NONE, 0, NONE, NONE, NONE};
    s->n_brackets = s->n_edges;
    for (uint32_t k = reached; k-- > 0;)
        leave(s, s->node[k], child_high, child_high2);
    for (uint32_t e = 0; e < s->n_edges; e++) {
        bool tree = s->tree_edge[s->to[e]] == e || s->tree_edge[s->from[e]] == e;
        if (!tree) {
            if (s->brackets[e].class_of_edge == NONE) /* a self-loop, or not reached */
                s->brackets[e].class_of_edge = s->n_classes++;
            s->class_of[e] = s->brackets[e].class_of_edge;
        }
    }
    return s->n_classes;
}

int64_t cs_cfg_cycle_equivalence(uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t n_edges,
                                 uint32_t *class_of)
{
    struct search s = {.n = n, .n_edges = n_edges, .from = from, .to = to, .class_of = class_of};
    size_t words = (size_t)n + 2;
    int64_t rc = -ENOMEM;
    if (n == 0)
        return 0;
    uint32_t *scratch = calloc(10 * words + 2 * (size_t)n_edges + 2, sizeof *scratch), *p = scratch;
    s.brackets = malloc(((size_t)n_edges + n + 1) * sizeof *s.brackets);
    s.list = malloc(words * sizeof *s.list);
    if (!scratch || !s.brackets || !s.list)
        goto out;
    uint32_t **arrays[] = {&s.first, &s.number, &s.node, &s.tree_edge, &s.parent, &s.high, &s.ends};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++, p += words)
        *arrays[i] = p;
    uint32_t *cursor = p, *child_high = p + words, *child_high2 = p + 2 * words;
    s.adjacent = p + 3 * words;
    for (uint32_t e = 0; e < n_edges; e++) {
        s.first[from[e] + 1]++;
        if (to[e] != from[e])
            s.first[to[e] + 1]++;
    }
    for (uint32_t i = 0; i < n; i++)
        s.first[i + 1] += s.first[i];
    for (uint32_t i = 0; i < n; i++)
        cursor[i] = s.first[i];
    for (uint32_t e = 0; e < n_edges; e++) {
        s.adjacent[cursor[from[e]]++] = e;
        if (to[e] != from[e])
            s.adjacent[cursor[to[e]]++] = e;
    }
    rc = classify(&s, cursor, child_high, child_high2);
    for (uint32_t e = 0; e < n_edges; e++)
        assert(class_of[e] < rc);
out:
    free(scratch);
    free(s.brackets);
    free(s.list);
    return rc;
}
