/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_peers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORKS 50 /* of its time, a part that it waits within its work */

/* By the kind alone: the thread is at work. */
static bool is_within_work(const struct cs_wait_group *g)
{
    static const char *const others[] = {"run-queue", "page-fault", "poll", "child", "join", NULL};
    for (const char *const *kind = others; *kind; kind++)
        if (strcmp(g->kind, *kind) == 0)
            return false;
    return !cs_wait_is_for_work(g->kind) && !cs_wait_is_idle(g->kind);
}

static int64_t thread_of(struct cs_wait_peers *p, struct cs_wait_peer_name who)
{
    char key[80];
    int length = snprintf(key, sizeof key, "%d%.64s", who.first, who.name);
    int64_t n = cs_dictionary_add(&p->threads, key, (size_t)length);
    uint64_t *more = n == (int64_t)p->work_ns.n ? cs_array_add(&p->work_ns) : NULL;
    if (more)
        *more = 0;
    return n >= 0 && (size_t)n < p->work_ns.n ? n : -ENOMEM;
}

static int add(struct cs_wait_peers *p, size_t group, size_t thread, uint64_t ns, uint64_t ended_ns)
{
    const size_t key[] = {group, thread};
    int64_t n = cs_dictionary_add(&p->keys, (const char *)key, sizeof key);
    struct cs_wait_peer *more = n == (int64_t)p->at.n ? cs_array_add(&p->at) : NULL;
    if (more)
        *more = (struct cs_wait_peer){group, thread, 0, 0};
    if (n < 0 || (size_t)n >= p->at.n)
        return -ENOMEM;
    p->at.at[n].ns += ns;
    p->at.at[n].ended_ns += ended_ns;
    return 0;
}

int cs_wait_peers_note(struct cs_wait_peers *p, const struct cs_wait_group *group, size_t number,
                       struct cs_wait_peer_name thread, struct cs_wait_peer_name waker, uint64_t ns)
{
    assert(group->kind);
    const bool for_work = cs_wait_is_for_work(group->kind);
    if (!for_work && !is_within_work(group))
        return 0;
    int64_t waits = thread_of(p, thread), ends = for_work ? thread_of(p, waker) : 0;
    if (waits < 0 || ends < 0)
        return -ENOMEM;
    if (!for_work) {
        p->work_ns.at[waits] += ns;
        return 0;
    }
    int rc = add(p, number, (size_t)waits, ns, 0);
    return rc < 0 ? rc : add(p, number, (size_t)ends, 0, ns);
}

void cs_wait_peers_tell(const struct cs_wait_peers *p, struct cs_wait_groups *groups,
                        uint64_t (*all_ns)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < p->at.n; i++) {
        const struct cs_wait_peer *peer = &p->at.at[i];
        struct cs_wait_facts *facts = &groups->at[peer->group].facts;
        uint64_t all = all_ns(context, p->threads.strings[peer->thread] + 1);
        facts->handed_ns += peer->ns ? peer->ended_ns : 0;
        facts->working_ns += p->work_ns.at[peer->thread] > all / WORKS ? peer->ns : 0;
    }
}

void cs_wait_peers_fini(struct cs_wait_peers *p)
{
    cs_dictionary_fini(&p->keys);
    cs_dictionary_fini(&p->threads);
    cs_array_free(&p->at);
    cs_array_free(&p->work_ns);
}
