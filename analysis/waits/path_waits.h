/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Within this module: from a store's tables to what threads of each kind waited for, as critical_path.c follows it.
 */
#pragma once

#include "analysis/waits/critical_path.h"
#include "store/base/array.h"

/* Threads alike: of one name, that began in one function. */
struct path_kind {
    const char *name;
    const struct cs_call_function *root, *base; /* cs_wait_root's and cs_wait_base's; NULL: not known */
    bool first;                                 /* a process's first thread */
};

enum path_amount_of {
    OF_ROW,     /* a row of the path: `row` */
    OF_QUEUE,   /* the same; it waits for a CPU itself */
    OF_RUNNING, /* `holder` ran until it ended the wait at `context` */
    OF_UNKNOWN, /* `holder` waited, nobody knows for what */
};

struct path_amount { /* of the waits of a kind */
    size_t kind;
    enum path_amount_of of;
    size_t row;
    const char *holder;
    uint64_t context; /* in "wakers"; of a row in "waits", with its chain */
    double ns;
    double own_ns, open_ns; /* of it the path's one thread's; anybody's of that kind */
};

struct path_whose { /* waits of threads of one name in one context, for a CPU or not */
    double all_ns;
    double seen_ns, own_ns; /* of those that have a thread's number; of them the path's one thread's */
};

struct path_who { /* kinds of threads */
    const char *name;
    bool first, any; /* any: first threads and others can't be told apart */
    bool one;        /* the path's one thread */
};

struct path_blame { /* a row of the table */
    const char *holder, *what;
    uint64_t context;
    double ns;
    int64_t next; /* of the same wait; -1: none */
};

struct path_blamed { /* a wait: context, reason, object */
    int64_t first;
    double ns;
};

struct path_part { /* of a function: where it ran, or what it called */
    const char *thread;
    double ns;
    int64_t next; /* of the same function; -1: none */
};

struct path_builder {
    struct cs_critical_path *path;
    const struct cs_wait_groups *waits;
    const struct cs_calls *running;
    const char *label;                   /* of these alone; NULL: all */
    const struct cs_waiting_thread *one; /* the path is that thread's; NULL: of all of a name */
    struct cs_dictionary rows, functions, kinds, amounts, blamed, contexts, texts;
    CS_ARRAY(uint32_t) added; /* by function: to the piece at hand */
    uint32_t pieces;
    CS_ARRAY(int64_t) first_part; /* by function */
    CS_ARRAY(struct path_part) part;
    CS_ARRAY(struct path_kind) kind;
    CS_ARRAY(struct path_amount) amount;
    CS_ARRAY(struct path_blame) blame;
    CS_ARRAY(struct path_blamed) wait;
    CS_ARRAY(struct path_whose) whose; /* by context */
    bool sums_threads;                 /* times are of all threads of a name, as the daemon's */
    bool tells_first;                  /* chains of samples tell a process's first thread */
    bool skips_pools; /* threads that wait for work aren't on the path of another one that has their name */
    bool failed;      /* memory was short */
    struct cs_error *err;
};

/* Who was blamed, whose the waits were, then the waits. */
int path_take_profiles(struct path_builder *b, struct cs_store *store);

/* The row of the path for that, made if new. */
size_t path_row_of(struct path_builder *b, const char *what, const struct cs_call_function *f,
                   const char *thread);
/* A piece of the path, whose chain ends at `node`; 0: it has none. */
void path_add(struct path_builder *b, size_t row, const struct cs_calls *calls, uint32_t node, double ns);

/* Sets what half of each function saves. */
void path_bound_savings(struct path_builder *b);

bool path_is_same(const struct cs_call_function *a, const struct cs_call_function *b);
bool path_is_of(const struct path_kind *k, const struct path_who *who);
/* Threads of that name: first ones or others, where they can be told apart. */
struct path_who path_who_is(const struct path_builder *b, const char *name, bool first);
/* Whether a chain of samples, which have no name, is one of those threads'. */
bool path_began_as(const struct path_builder *b, const struct path_who *who, uint32_t node);
