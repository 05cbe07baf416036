/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/chains/row_tables.h"

#include "store/base/array.h"

#include <assert.h>

#define RULE_WORDS 4U
#define WORDS_MOST (CS_CHAIN_SEGMENTS * CS_CHAIN_SEGMENT_WORDS)

_Static_assert(sizeof(struct cs_unwind_rule) == RULE_WORDS * 4 && sizeof(struct cs_unwind_row) == 4, "words");

int cs_chain_tables_init(struct cs_chain_tables *t, struct cs_chain_image *images, uint32_t n_images,
                         uint32_t most_segments, const struct cs_chain_segments *segments)
{
    *t = (struct cs_chain_tables){.images = images,
                                  .n_images = n_images,
                                  .segments = *segments,
                                  .most_segments =
                                      most_segments < CS_CHAIN_SEGMENTS ? most_segments : CS_CHAIN_SEGMENTS};
    t->tables = calloc(n_images, sizeof *t->tables);
    int rc = cs_extents_init(&t->words, t->most_segments * CS_CHAIN_SEGMENT_WORDS);
    return !t->tables || rc < 0 ? -ENOMEM : 0;
}

void cs_chain_tables_fini(struct cs_chain_tables *t)
{
    cs_extents_fini(&t->words);
    free(t->tables);
}

/* ---- memory ---- */

static void release(struct cs_chain_tables *t, struct cs_extent words)
{
    for (uint32_t at = words.at, end = words.at + words.n; at < end;) {
        uint32_t number = at / CS_CHAIN_SEGMENT_WORDS, next = (number + 1) * CS_CHAIN_SEGMENT_WORDS;
        assert(t->in_use[number] >= (next < end ? next : end) - at);
        t->in_use[number] -= (next < end ? next : end) - at;
        if (t->in_use[number] == 0) {
            t->segments.drop(t->segments.arg, number);
            t->n_segments--;
        }
        at = next;
    }
    (void)cs_extents_give(&t->words, words);
}

static int reserve(struct cs_chain_tables *t, uint32_t n, struct cs_extent *words)
{
    int64_t at = cs_extents_take(&t->words, n, RULE_WORDS);
    if (at < 0)
        return (int)at;
    *words = (struct cs_extent){(uint32_t)at, 0};
    for (uint32_t from = words->at, end = words->at + n; from < end;) {
        uint32_t number = from / CS_CHAIN_SEGMENT_WORDS, next = (number + 1) * CS_CHAIN_SEGMENT_WORDS;
        int rc = t->in_use[number] ? 0 : t->segments.make(t->segments.arg, number);
        if (rc < 0) {
            (void)cs_extents_give(&t->words, (struct cs_extent){from, end - from});
            if (words->n)
                release(t, *words);
            return rc;
        }
        t->n_segments += t->in_use[number] == 0;
        uint32_t part = (next < end ? next : end) - from;
        t->in_use[number] += part;
        words->n += part;
        from += part;
    }
    return 0;
}

static int copy(struct cs_chain_tables *t, uint32_t at, const void *from, uint32_t n_words)
{
    const uint32_t *words = from;
    while (n_words > 0) {
        uint32_t within = at % CS_CHAIN_SEGMENT_WORDS, part = CS_CHAIN_SEGMENT_WORDS - within;
        struct cs_chain_segment *segment = t->segments.open(t->segments.arg, at / CS_CHAIN_SEGMENT_WORDS);
        if (!segment)
            return -ENOMEM;
        if (part > n_words)
            part = n_words;
        memcpy(&segment->word[within], words,
               part * sizeof *words); // NOLINT: `part` is what is left of the segment
        t->segments.close(t->segments.arg, segment);
        at += part;
        words += part;
        n_words -= part;
    }
    return 0;
}

/* ---- tables ---- */

/* Sizes as the header says them, if they fit into `n` bytes. */
static bool is_whole(const struct cs_unwind_header *h, size_t n)
{
    if (n < sizeof *h || h->n_rules == 0 || h->n_rules > CS_UNWIND_RULES_MAX ||
        h->n_blocks > WORDS_MOST / 2 || h->n_rows > WORDS_MOST / 2 ||
        h->end > (uint64_t)h->n_blocks << CS_UNWIND_BLOCK_BITS)
        return false;
    return n >= sizeof *h + 4ULL * (h->n_blocks + 1) + 4ULL * h->n_rows +
                    sizeof(struct cs_unwind_rule) * h->n_rules;
}

int cs_chain_tables_load(struct cs_chain_tables *t, uint32_t image, const struct cs_unwind_header *h,
                         size_t n)
{
    if (image >= t->n_images || !is_whole(h, n))
        return -EINVAL;
    struct cs_chain_image *out = &t->images[image];
    struct cs_chain_table *table = &t->tables[image];
    if (out->state != CS_CHAIN_IMAGE_ABSENT || table->words.n)
        return out->state == CS_CHAIN_IMAGE_ABSENT ? -ENOSPC : 0;
    const uint32_t *first = (const void *)(h + 1), *rows = first + h->n_blocks + 1, *rules = rows + h->n_rows;
    uint32_t n_rules = h->n_rules * RULE_WORDS;
    struct cs_extent words;
    int rc = reserve(t, n_rules + h->n_blocks + 1 + h->n_rows, &words);
    if (rc < 0) {
        t->refused += rc == -ENOSPC;
        return rc;
    }
    out->base = h->base;
    out->end = h->end;
    out->rules = words.at;
    out->first = out->rules + n_rules;
    out->rows = out->first + h->n_blocks + 1;
    out->n_blocks = h->n_blocks;
    out->n_rules = h->n_rules;
    if ((rc = copy(t, out->rules, rules, n_rules)) < 0 ||
        (rc = copy(t, out->first, first, h->n_blocks + 1)) < 0 ||
        (rc = copy(t, out->rows, rows, h->n_rows)) < 0) {
        release(t, words);
        return rc;
    }
    table->words = words;
    t->loaded++;
    out->asked = 0;
    out->used = t->turn;
    __atomic_store_n(&out->state, CS_CHAIN_IMAGE_LOADED, __ATOMIC_RELEASE);
    return 0;
}

void cs_chain_tables_none(struct cs_chain_tables *t, uint32_t image)
{
    if (image < t->n_images && t->images[image].state == CS_CHAIN_IMAGE_ABSENT)
        __atomic_store_n(&t->images[image].state, CS_CHAIN_IMAGE_NO_TABLE, __ATOMIC_RELEASE);
}

void cs_chain_tables_evict(struct cs_chain_tables *t, uint32_t turns, uint32_t words)
{
    uint32_t going = t->words.left;
    while (going < words) {
        uint32_t oldest = t->n_images, age = turns;
        for (uint32_t i = 0; i < t->n_images; i++)
            if (t->images[i].state == CS_CHAIN_IMAGE_LOADED && t->turn - t->images[i].used > age) {
                age = t->turn - t->images[i].used;
                oldest = i;
            }
        if (oldest == t->n_images)
            return;
        __atomic_store_n(&t->images[oldest].state, CS_CHAIN_IMAGE_ABSENT, __ATOMIC_RELEASE);
        t->images[oldest].asked = 0;
        t->tables[oldest].going = true;
        t->loaded--;
        going += t->tables[oldest].words.n;
    }
}

void cs_chain_tables_sweep(struct cs_chain_tables *t)
{
    for (uint32_t i = 0; i < t->n_images; i++)
        if (t->tables[i].going) {
            release(t, t->tables[i].words);
            t->tables[i] = (struct cs_chain_table){.going = false};
        }
}
