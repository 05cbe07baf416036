/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of one process, and those replaced lately. Bounded: at most CS_SPACE_LIVE_MAX and
 * CS_SPACE_PAST_MAX; what doesn't fit is found as CS_UNKNOWN_CUT, never as another image. A space that readers see
 * doesn't change. */
#pragma once

#include "sampler/images/images.h"
#include "sampler/images/labels_unknowns.h"
#include "store/base/bisect.h"

#define CS_SPACE_LIVE_MAX 8192
#define CS_SPACE_PAST_MAX 4096

struct cs_mapping {
    uint64_t start, end, pgoff;
    struct cs_mapped_image *image;
    uint64_t from_ns, to_ns; /* to_ns: UINT64_MAX while it is there */
    bool jit;
};

struct cs_space {
    unsigned references, n_live, n_past, capacity;
    uint64_t known_since_ns; /* what was replaced before is forgotten */
    bool cut;                /* live ones are missing */
    struct cs_mapping
        at[]; /* live ones ascending and disjoint from the front, past ones from the back, oldest last */
};

struct cs_space *cs_space_new(unsigned capacity);
size_t cs_space_bytes(const struct cs_space *space);
/* The room that `space` must have before `add` is put into it. */
unsigned cs_space_needs(const struct cs_space *space, const struct cs_mapping *add);
void cs_space_copy(struct cs_space *to, const struct cs_space *from, uint64_t horizon_ns);
/* What `add` covers is cut, and remembered while samples from after `horizon_ns` may come. False: `add` itself was one too
 * many (`full`: whatever room there is). Where something is that began later nothing happens: a look at /proc for an old
 * sample's sake tells what is there now, and records told that better. */
bool cs_space_put(struct cs_space *space, const struct cs_mapping *add, uint64_t horizon_ns, bool full);
/* The reader's side, inline: it is asked for each entry of a drain. */

/* The first that ends behind `addr`. */
static inline unsigned cs_space_first_behind(const struct cs_space *space, uint64_t addr)
{
    return cs_bisect(space->n_live, i, space->at[i].end <= addr);
}

static inline const struct cs_mapping *cs_space_live_at(const struct cs_space *space, uint64_t addr)
{
    unsigned low = cs_space_first_behind(space, addr);
    return low < space->n_live && space->at[low].start <= addr ? &space->at[low] : NULL;
}

/* The one mapping at `addr` throughout [from_ns, to_ns]. 0, or -(1 + enum cs_unknown). */
static inline int cs_space_find(const struct cs_space *space, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                                const struct cs_mapping **out)
{
    const struct cs_mapping *m = cs_space_live_at(space, addr);
    if (m && m->from_ns > to_ns)
        m = NULL;
    for (unsigned i = space->capacity - space->n_past; i < space->capacity; i++) {
        const struct cs_mapping *old = &space->at[i];
        if (addr < old->start || addr >= old->end || old->to_ns <= from_ns || old->from_ns > to_ns)
            continue;
        if (m && (m->image != old->image || m->start - m->pgoff != old->start - old->pgoff))
            return -(1 + CS_UNKNOWN_REPLACED);
        m = old;
    }
    if (from_ns <= space->known_since_ns && space->known_since_ns && (!m || m->from_ns > from_ns))
        return -(1 + CS_UNKNOWN_CUT);
    *out = m;
    return m ? 0 : -(1 + (space->cut ? CS_UNKNOWN_CUT : CS_UNKNOWN_NO_MAPPING));
}

/* The first time in (*from_ns, to_ns) at which another mapping takes the place of the one at `addr`; 0: none does. Where nothing
 * is mapped at *from_ns, that becomes the time of the first mapping. */
static inline uint64_t cs_space_change(const struct cs_space *space, uint64_t addr, uint64_t *from_ns,
                                       uint64_t to_ns)
{
    const struct cs_mapping *live = cs_space_live_at(space, addr);
    uint64_t first_ns = 0, second_ns = 0; /* at which one begins */
    bool was = false;
    for (unsigned i = space->capacity - space->n_past; i <= space->capacity; i++) {
        const struct cs_mapping *m = i < space->capacity ? &space->at[i] : live;
        if (!m || addr < m->start || addr >= m->end || m->from_ns >= to_ns || m->to_ns <= *from_ns)
            continue;
        if (m->from_ns <= *from_ns) {
            was = true;
        } else if (!first_ns || m->from_ns < first_ns) {
            second_ns = first_ns;
            first_ns = m->from_ns;
        } else if (m->from_ns > first_ns && (!second_ns || m->from_ns < second_ns)) {
            second_ns = m->from_ns;
        }
    }
    if (!was && second_ns)
        *from_ns = first_ns;
    return was ? first_ns : second_ns;
}
