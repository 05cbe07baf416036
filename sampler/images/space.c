/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/images/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 2 /* a mapping in the middle of another adds two */

struct cs_space *cs_space_new(unsigned capacity)
{
    struct cs_space *space = malloc(sizeof *space + capacity * sizeof *space->at);
    if (space)
        *space = (struct cs_space){.references = 1, .capacity = capacity};
    return space;
}

size_t cs_space_bytes(const struct cs_space *space)
{
    return sizeof *space + space->capacity * sizeof *space->at;
}

static unsigned covered(const struct cs_space *space, const struct cs_mapping *add, unsigned first)
{
    unsigned last = first;
    while (last < space->n_live && space->at[last].start < add->end)
        last++;
    return last - first;
}

unsigned cs_space_needs(const struct cs_space *space, const struct cs_mapping *add)
{
    return space->n_live + space->n_past + PIECES + 1 +
           covered(space, add, cs_space_first_behind(space, add->start));
}

static void forget(struct cs_space *space, uint64_t to_ns)
{
    if (to_ns > space->known_since_ns)
        space->known_since_ns = to_ns;
}

void cs_space_copy(struct cs_space *to, const struct cs_space *from, uint64_t horizon_ns)
{
    to->n_live = from->n_live;
    to->known_since_ns = from->known_since_ns;
    to->cut = from->cut;
    if (from->n_live)
        memcpy(to->at, from->at, from->n_live * sizeof *to->at); // NOLINT: room is at least cs_space_needs
    for (unsigned i = from->capacity; i-- > from->capacity - from->n_past;) /* the oldest first */
        if (from->at[i].to_ns >= horizon_ns)
            to->at[to->capacity - ++to->n_past] = from->at[i];
}

/* Makes place for one more among the past ones: what nobody can ask about goes, else the oldest quarter. */
static void thin_past(struct cs_space *space, uint64_t horizon_ns)
{
    unsigned kept = 0, quarter = space->n_past / 4 + 1, first = space->capacity - space->n_past;
    for (unsigned i = space->capacity; i-- > first;)
        if (space->at[i].to_ns >= horizon_ns)
            space->at[space->capacity - ++kept] = space->at[i];
    if (kept == space->n_past) {
        for (unsigned i = 0; i < quarter; i++)
            forget(space, space->at[space->capacity - 1 - i].to_ns);
        memmove(&space->at[first + quarter], &space->at[first], (kept - quarter) * sizeof *space->at);
        kept -= quarter;
    }
    space->n_past = kept;
}

static void remember(struct cs_space *space, const struct cs_mapping *m, uint64_t to_ns, uint64_t horizon_ns)
{
    struct cs_mapping past = *m;
    past.to_ns = to_ns;
    if (space->n_past >= CS_SPACE_PAST_MAX)
        thin_past(space, horizon_ns);
    if (space->n_live + space->n_past + PIECES + 1 > space->capacity)
        forget(space, to_ns);
    else
        space->at[space->capacity - ++space->n_past] = past;
}

bool cs_space_put(struct cs_space *space, const struct cs_mapping *add, uint64_t horizon_ns, bool full)
{
    unsigned first = cs_space_first_behind(space, add->start), last = first + covered(space, add, first),
             pieces = 0;
    struct cs_mapping piece[PIECES + 1];
    for (unsigned i = first; i < last; i++)
        if (space->at[i].from_ns > add->from_ns)
            return true;
    if (first < last && space->at[first].start < add->start) {
        piece[pieces] = space->at[first];
        piece[pieces++].end = add->start;
    }
    bool fits = !full && space->n_live - (last - first) + PIECES < CS_SPACE_LIVE_MAX;
    if (fits)
        piece[pieces++] = *add;
    else
        space->cut = true;
    if (first < last && space->at[last - 1].end > add->end) {
        piece[pieces] = space->at[last - 1];
        piece[pieces].pgoff += add->end - piece[pieces].start;
        piece[pieces++].start = add->end;
    }
    for (unsigned i = first; i < last; i++)
        remember(space, &space->at[i], add->from_ns, horizon_ns);
    memmove(&space->at[first + pieces], &space->at[last], (space->n_live - last) * sizeof *space->at);
    memcpy(&space->at[first], piece, pieces * sizeof *piece); // NOLINT: cs_space_needs
    space->n_live = space->n_live - (last - first) + pieces;
    assert(space->n_live + space->n_past <= space->capacity);
    return fits;
}
