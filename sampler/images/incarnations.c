/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: what a reader can reach isn't freed before it has left; a space is freed with its last incarnation. */
#include "sampler/images/incarnations.h"
#include "store/base/array.h"

#include <urcu-bp.h>

#ifdef __SANITIZE_THREAD__
unsigned cs_incarnation_reads;
#define READS_ENDED() __atomic_load_n(&cs_incarnation_reads, __ATOMIC_ACQUIRE)
#else
#define READS_ENDED() ((void)0)
#endif

#define GARBAGE_BYTES_MAX ((size_t)4 << 20) /* then readers are waited for at once */

/* Without memory for the list it leaks a few bytes rather than free what is being read. */
static void discard(struct cs_incarnations *all, void *pointer)
{
    if (cs_array_room(all->garbage, all->n_garbage, all->room_garbage) == 0)
        all->garbage[all->n_garbage++] = pointer;
}

static void drop_space(struct cs_incarnations *all, struct cs_space *space)
{
    if (!space || --space->references > 0)
        return;
    all->n_mappings -= space->capacity;
    all->garbage_bytes += cs_space_bytes(space);
    discard(all, space);
}

struct cs_space *cs_incarnations_space(struct cs_incarnations *all, unsigned capacity)
{
    struct cs_space *space = cs_space_new(capacity);
    all->n_mappings += space ? space->capacity : 0;
    return space;
}

static void free_garbage(struct cs_incarnations *all)
{
    if (all->n_garbage == 0)
        return;
    synchronize_rcu();
    READS_ENDED();
    while (all->n_garbage)
        free(all->garbage[--all->n_garbage]);
    all->garbage_bytes = 0;
}

void cs_incarnations_relieve(struct cs_incarnations *all)
{
    if (all->garbage_bytes > GARBAGE_BYTES_MAX)
        free_garbage(all);
}

void cs_incarnation_publish(struct cs_incarnations *all, struct cs_incarnation *i)
{
    struct cs_space *old = i->space;
    if (!i->draft)
        return;
    __atomic_store_n(&i->space, i->draft, __ATOMIC_RELEASE);
    i->draft = NULL;
    drop_space(all, old);
    if (all->changed)
        all->changed(all->changed_arg, i->pid);
}

void cs_incarnations_publish(struct cs_incarnations *all)
{
    for (struct cs_incarnation *i = all->drafted, *next; i; i = next) {
        next = i->next_drafted;
        i->next_drafted = NULL;
        i->drafted = false;
        cs_incarnation_publish(all, i);
    }
    all->drafted = NULL;
    cs_incarnations_relieve(all);
}

struct cs_space *cs_incarnation_draft(struct cs_incarnations *all, struct cs_incarnation *i,
                                      const struct cs_mapping *add, uint64_t horizon_ns, bool more)
{
    const struct cs_space *old = cs_incarnation_newest(i);
    unsigned needs = cs_space_needs(old, add);
    if (i->draft && needs <= i->draft->capacity)
        return i->draft;
    struct cs_space *draft = cs_incarnations_space(all, more ? needs + needs / 2 : needs);
    if (!draft)
        return NULL;
    cs_space_copy(draft, old, horizon_ns);
    if (i->draft) { /* no reader has seen it */
        all->n_mappings -= i->draft->capacity;
        free(i->draft);
    }
    i->draft = draft;
    if (!i->drafted) {
        i->drafted = true;
        i->next_drafted = all->drafted;
        all->drafted = i;
    }
    return draft;
}

int cs_incarnation_end(struct cs_incarnations *all, struct cs_incarnation *i, uint64_t time_ns)
{
    if (!i || i->ending)
        return 0;
    if (all->n_endings == all->room_endings && all->first_ending > 0) {
        all->n_endings -= all->first_ending;
        memmove(all->endings, all->endings + all->first_ending, all->n_endings * sizeof *all->endings);
        all->first_ending = 0;
    }
    if (cs_array_room(all->endings, all->n_endings, all->room_endings) < 0)
        return -ENOMEM;
    i->ending = true;
    all->endings[all->n_endings++] = (struct cs_incarnation_end){i, time_ns};
    return 0;
}

struct cs_incarnation *cs_incarnation_begin(struct cs_incarnations *all, pid_t pid, struct cs_space *space,
                                            uint32_t label, uint64_t time_ns)
{
    struct cs_incarnation *i = space ? calloc(1, sizeof *i) : NULL;
    if (!i) {
        drop_space(all, space);
        return NULL;
    }
    struct cs_incarnation **bucket = &all->buckets[(unsigned)pid % CS_INCARNATION_BUCKETS];
    (void)cs_incarnation_end(all, cs_incarnation_at(all, pid, UINT64_MAX), time_ns);
    i->pid = pid;
    i->label = label;
    i->start_ns = time_ns;
    i->space = space;
    i->next = *bucket;
    __atomic_store_n(bucket, i, __ATOMIC_RELEASE);
    all->n++;
    return i;
}

void cs_incarnations_expire(struct cs_incarnations *all, uint64_t horizon_ns)
{
    while (all->first_ending < all->n_endings && all->endings[all->first_ending].time_ns < horizon_ns) {
        struct cs_incarnation *gone = all->endings[all->first_ending++].incarnation;
        struct cs_incarnation **link = &all->buckets[(unsigned)gone->pid % CS_INCARNATION_BUCKETS];
        while (*link != gone)
            link = &(*link)->next;
        __atomic_store_n(link, gone->next, __ATOMIC_RELEASE);
        drop_space(all, gone->space);
        discard(all, gone);
        all->n--;
    }
    if (all->first_ending == all->n_endings)
        all->first_ending = all->n_endings = 0;
    free_garbage(all);
}

void cs_incarnations_fini(struct cs_incarnations *all)
{
    cs_incarnations_publish(all);
    free_garbage(all);
    for (unsigned b = 0; b < CS_INCARNATION_BUCKETS; b++)
        for (struct cs_incarnation *i = all->buckets[b], *next; i; i = next) {
            next = i->next;
            if (--i->space->references == 0)
                free(i->space);
            free(i);
        }
    free(all->garbage);
    free(all->endings);
}
