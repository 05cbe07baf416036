/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incarnations of PIDs (a fork, then each exec), in hash chains, newest first; each has a space. One writer; readers
 * go by RCU. What was unlinked is garbage until the next expiry, or until there is much of it.
 *
 *      function                     writer      other threads, within rcu_read_lock
 *      cs_incarnation_at            yes         yes
 *      all else                     yes         no
 *
 * Readers load `label` and `space` of what they find atomically; nothing else of it. */
#pragma once

#include "sampler/images/space.h"

#define CS_INCARNATION_BUCKETS 4096

struct cs_incarnation {
    struct cs_incarnation *next; /* of the bucket; of one PID the newest first */
    pid_t pid, parent;           /* parent: whose memory it had as it began; 0: its own, or not known */
    uint32_t label;
    uint64_t start_ns;
    struct cs_space *space;
    struct cs_space *draft; /* the writer's, until the batch of records ends; NULL = none */
    struct cs_incarnation *next_drafted;
    bool drafted, ending;
    bool user_known;
    uid_t user;   /* asked for when it makes code */
    bool has_jit; /* it has code without a file */
    bool lasts;   /* CS_LABEL_LASTING: the label is its own, not its command's */
};

struct cs_incarnation_end {
    struct cs_incarnation *incarnation;
    uint64_t time_ns;
};

/* All zero is empty. */
struct cs_incarnations {
    struct cs_incarnation *buckets[CS_INCARNATION_BUCKETS];
    struct cs_incarnation_end *endings; /* in the order of their times: a queue */
    size_t n_endings, first_ending, room_endings;
    void **garbage; /* unlinked, maybe still read */
    size_t n_garbage, room_garbage, garbage_bytes;
    struct cs_incarnation *drafted;
    unsigned n_mappings; /* of all spaces */
    unsigned n;
    void (*changed)(void *arg, pid_t pid); /* readers see other mappings of this PID; NULL = nobody asks */
    void *changed_arg;
};

/* ThreadSanitizer does not see what liburcu orders: its builds say so by a count. Before rcu_read_unlock. */
#ifdef __SANITIZE_THREAD__
extern unsigned cs_incarnation_reads;
#define CS_INCARNATION_READ() __atomic_fetch_add(&cs_incarnation_reads, 1, __ATOMIC_RELEASE)
#else
#define CS_INCARNATION_READ() ((void)0)
#endif

/* The one that `pid` was at `time_ns`. */
static inline struct cs_incarnation *cs_incarnation_at(struct cs_incarnations *all, pid_t pid,
                                                       uint64_t time_ns)
{
    struct cs_incarnation *i =
        __atomic_load_n(&all->buckets[(unsigned)pid % CS_INCARNATION_BUCKETS], __ATOMIC_CONSUME);
    while (i && (i->pid != pid || i->start_ns > time_ns))
        i = __atomic_load_n(&i->next, __ATOMIC_CONSUME);
    return i;
}

/* Ends the one before. Takes the reference to `space`; NULL, or none to be had: NULL. */
struct cs_incarnation *cs_incarnation_begin(struct cs_incarnations *all, pid_t pid, struct cs_space *space,
                                            uint32_t label, uint64_t time_ns);
/* It stays for samples from before; NULL is nothing to do. 0 or -ENOMEM. */
int cs_incarnation_end(struct cs_incarnations *all, struct cs_incarnation *i, uint64_t time_ns);

struct cs_space *cs_incarnations_space(struct cs_incarnations *all, unsigned capacity);
/* What the writer knows by now, and readers maybe not yet. */
static inline struct cs_space *cs_incarnation_newest(const struct cs_incarnation *i)
{
    return i->draft ? i->draft : i->space;
}
/* A space of this incarnation alone, with room for `add` (and more, where more will follow). */
struct cs_space *cs_incarnation_draft(struct cs_incarnations *all, struct cs_incarnation *i,
                                      const struct cs_mapping *add, uint64_t horizon_ns, bool more);
/* Readers see its draft; those of all. */
void cs_incarnation_publish(struct cs_incarnations *all, struct cs_incarnation *i);
void cs_incarnations_publish(struct cs_incarnations *all);

/* Waits for readers, where there is much that only they may still see. */
void cs_incarnations_relieve(struct cs_incarnations *all);
/* Forgets what ended before `horizon_ns`. */
void cs_incarnations_expire(struct cs_incarnations *all, uint64_t horizon_ns);
void cs_incarnations_fini(struct cs_incarnations *all);
