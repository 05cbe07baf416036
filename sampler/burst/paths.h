/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths: where bursts aren't permitted, what registers and the top of the stack tell of where a thread goes
 * next. A timer notes both (the kernel copies them, the thread isn't stopped and nothing needs ptrace).
 * Somebody above interprets the code ahead of that trigger (analysis/interpret/abstract_run.h) and says which
 * edges follow for certain. They become an edge profile:
 *
 *   "path-edges"   (kind "edges")    edges, their count and in how many paths
 *   "path-windows" (kind "windows")  the same by the first branch that a path came to
 *   "path-starts"  (kind "edges")    that branch, from itself to itself: how many paths came to it first
 *   "path-ends"    (kind "edges")    where paths may have gone on from a branch whose direction wasn't known
 *
 *     cs_paths_open(&config, &paths, &err);
 *     ... cs_paths_merge(paths, store, &err);
 *     cs_paths_stop(paths);
 *     cs_paths_merge(paths, store, &err);
 *     cs_paths_close(paths);
 *
 * Snapshots are in proportion to time, so that slow iterations are seen more often than they run. A path
 * knows less than a burst does, and not without bias.
 *
 * Threading: a thread of its own reads and follows; cs_paths_merge and cs_paths_statistics may be called from
 * one other. The sampler given must outlive cs_paths_close. Nothing here prints. */
#pragma once

#include "sampler/sampler.h"

#define CS_PATHS_STEPS_MAX 16

struct cs_thread_state {
    pid_t pid;
    uint64_t time_ns;            /* of CLOCK_MONOTONIC */
    uint64_t pc, flags, reg[16]; /* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15 */
    const uint8_t *stack;        /* from the stack pointer on */
    size_t stack_bytes;
};

struct cs_path_edge {
    uint64_t from, to; /* addresses */
};

struct cs_followed_path {
    unsigned n;
    struct cs_path_edge edge[CS_PATHS_STEPS_MAX];
    uint64_t open; /* the branch at which the rest isn't known; 0: another end */
    unsigned n_ways;
    uint64_t way[2]; /* where it may go from there; none: anywhere */
};

/* What follows for certain. Called on the thread of the paths. */
typedef void (*cs_follow_path_fn)(void *arg, struct cs_sampler *sampler, const struct cs_thread_state *state,
                                  struct cs_followed_path *path);

struct cs_paths_config {
    struct cs_sampler *sampler;    /* places addresses; told what it costs */
    enum cs_sampler_target target; /* CS_TARGET_COMMAND: a process like CS_TARGET_PID */
    pid_t pid;
    double
        rate_hz; /* snapshots a second of a busy CPU; 0: 251, or what half of the budget of bursts allows */
    cs_follow_path_fn follow;
    void *arg;
};

struct cs_paths_statistics {
    uint64_t snapshots, lost; /* noted; that found no room */
    uint64_t paths;           /* with at least one edge */
    uint64_t edges;
    uint64_t unplaced; /* edges from or to no known image */
};

struct cs_paths;

/* -ENOTSUP: not on this machine; -EPERM, -EACCES: no timer on that target. */
int cs_paths_open(const struct cs_paths_config *config, struct cs_paths **out, struct cs_error *err);
void cs_paths_stop(struct cs_paths *paths);
/* Merges what was gathered into the store's epoch. On failure nothing is lost: it is merged by the next call.
 */
int cs_paths_merge(struct cs_paths *paths, struct cs_store *store, struct cs_error *err);
void cs_paths_statistics(struct cs_paths *paths, struct cs_paths_statistics *out);
void cs_paths_close(struct cs_paths *paths);
