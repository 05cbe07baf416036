/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait at a place, and threads that end waits there. Where they are the same, something goes from one to the
 * next, as a lock does. Waits for work are ended by others. */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "store/base/array.h"

struct cs_wait_peer { /* threads of a name at a place; internal */
    size_t group, thread;
    uint64_t ns, ended_ns;
};

struct cs_wait_peers {
    struct cs_dictionary keys, threads;
    CS_ARRAY(struct cs_wait_peer) at;
    CS_ARRAY(uint64_t) work_ns; /* by thread: waits within its work, as for a file */
};

struct cs_wait_peer_name { /* threads of a name; a process's first threads apart */
    const char *name;
    bool first;
};

/* A wait of `group`, which is number `number`. `waker`: a thread's name, or what no thread is called. -ENOMEM. */
int cs_wait_peers_note(struct cs_wait_peers *peers, const struct cs_wait_group *group, size_t number,
                       struct cs_wait_peer_name thread, struct cs_wait_peer_name waker, uint64_t ns);
/* Once all are noted: sets `handed_ns` and `working_ns`. `all_ns`: the time of the threads of that name. */
void cs_wait_peers_tell(const struct cs_wait_peers *peers, struct cs_wait_groups *groups,
                        uint64_t (*all_ns)(void *context, const char *name), void *context);
void cs_wait_peers_fini(struct cs_wait_peers *peers);
