/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/chains/mapping_lists.h"

#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>

static uint32_t pid_of(uint64_t word)
{
    return (uint32_t)(word >> CS_CHAIN_PID_SHIFT);
}

int cs_chain_lists_init(struct cs_chain_lists *l, uint64_t *words, struct cs_chain_mapping *mappings,
                        uint32_t n_mappings)
{
    assert(n_mappings > 0 && words && mappings);
    *l = (struct cs_chain_lists){.words = words, .mappings = mappings, .n_cells = n_mappings};
    int rc = cs_extents_init(&l->cells, n_mappings);
    return rc < 0 ? rc : cs_extents_take(&l->cells, 1, 1) < 0 ? -ENOMEM : 0;
}

void cs_chain_lists_fini(struct cs_chain_lists *l)
{
    cs_extents_fini(&l->cells);
    free(l->lists);
}

/* The place of the PID's word, or one for it; NULL: all are taken. */
static uint64_t *place_of(const struct cs_chain_lists *l, uint32_t pid)
{
    uint64_t *found = NULL;
    for (unsigned probe = 0; probe < CS_CHAIN_WORD_PROBES; probe++) {
        uint64_t *word = &l->words[(pid + probe) & (CS_CHAIN_WORDS - 1)],
                 is = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (is && pid_of(is) == pid)
            return word;
        if (!is && !found)
            found = word;
    }
    return found;
}

bool cs_chain_lists_has(const struct cs_chain_lists *l, uint32_t pid)
{
    const uint64_t *word = place_of(l, pid);
    return word && __atomic_load_n(word, __ATOMIC_RELAXED);
}

static uint32_t list_of(const struct cs_chain_lists *l, uint32_t pid)
{
    const uint64_t *word = place_of(l, pid);
    return word ? (uint32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) & CS_CHAIN_LIST_MASK) : 0;
}

bool cs_chain_lists_share(const struct cs_chain_lists *l, uint32_t pid, uint32_t other)
{
    return list_of(l, pid) == list_of(l, other);
}

static bool says(const struct cs_chain_lists *l, uint32_t list, const struct cs_chain_mapping *mappings,
                 uint32_t n)
{
    return list && l->mappings[list].pages == n &&
           memcmp(&l->mappings[list + 1], mappings, n * sizeof *mappings) == 0;
}

int cs_chain_lists_put(struct cs_chain_lists *l, uint32_t pid, uint32_t generation,
                       const struct cs_chain_mapping *mappings, uint32_t n)
{
    uint64_t *word = place_of(l, pid);
    int64_t at = -ENOSPC;
    if (n > CS_CHAIN_MAPPINGS_MOST)
        n = CS_CHAIN_MAPPINGS_MOST;
    uint64_t is = word ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;
    if (is && says(l, (uint32_t)(is & CS_CHAIN_LIST_MASK), mappings, n)) {
        at = (int64_t)(is & CS_CHAIN_LIST_MASK);
    } else if (word) {
        if (cs_array_room(l->lists, l->n, l->capacity) < 0)
            return -ENOMEM;
        at = cs_extents_take(&l->cells, n + 1, 1);
        if (at >= 0) {
            l->lists[l->n++] = (struct cs_chain_list){.cells = {(uint32_t)at, n + 1}, .named = true};
            l->mappings[at] = (struct cs_chain_mapping){.pages = n};
            memcpy(&l->mappings[at + 1], mappings, n * sizeof *mappings); // NOLINT: n + 1 cells were taken
        }
    }
    if (at < 0)
        l->refused++;
    if (word)
        __atomic_store_n(word, at < 0 ? 0 : cs_chain_word(pid, generation, (uint32_t)at), __ATOMIC_RELEASE);
    return at < 0 ? (int)at : 0;
}

CS_ORDER(by_place, struct cs_chain_list, cs_order(a->cells.at, b->cells.at))

static struct cs_chain_list *list_at(struct cs_chain_lists *l, uint32_t at)
{
    struct cs_chain_list like = {.cells = {.at = at}};
    return cs_find(&like, l->lists, l->n, by_place);
}

void cs_chain_lists_sweep(struct cs_chain_lists *l, bool (*lives)(void *arg, uint32_t pid), void *arg)
{
    cs_sort(l->lists, l->n, by_place);
    for (size_t i = 0; i < l->n; i++)
        l->lists[i].named = false;
    for (uint32_t w = 0; w < CS_CHAIN_WORDS; w++) {
        uint64_t is = __atomic_load_n(&l->words[w], __ATOMIC_ACQUIRE);
        if (is && !lives(arg, pid_of(is)) &&
            __atomic_compare_exchange_n(&l->words[w], &is, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        struct cs_chain_list *list = is ? list_at(l, (uint32_t)(is & CS_CHAIN_LIST_MASK)) : NULL;
        if (list)
            list->named = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct cs_chain_list list = l->lists[i];
        if (!list.named && list.doomed && cs_extents_give(&l->cells, list.cells) == 0)
            continue;
        list.doomed = !list.named;
        l->lists[kept++] = list;
    }
    l->n = kept;
}

bool cs_chain_lists_are_short(const struct cs_chain_lists *l)
{
    return l->cells.left < l->n_cells / 2;
}
