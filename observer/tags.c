/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/tags.h"

#include <string.h>

static size_t bins_bytes(unsigned n_counters)
{
    return (size_t)CS_TAG_HISTOGRAMS * n_counters * CS_RATE_BINS * sizeof(uint64_t);
}

size_t cs_tags_size(unsigned n_counters)
{
    return (sizeof(struct cs_tags) + bins_bytes(n_counters) + 63) & ~(size_t)63;
}

void cs_tags_init(struct cs_tags *tags, unsigned n_counters)
{
    tags->n_counters = n_counters;
    tags->bins = (uint64_t *)(tags + 1);
}

static uint64_t *row_bins(struct cs_tags *tags, uint32_t row)
{
    if (row >= CS_TAG_HISTOGRAMS || tags->n_counters == 0)
        return NULL;
    return tags->bins + (size_t)row * tags->n_counters * CS_RATE_BINS;
}

struct cs_tag_row *cs_tags_find(struct cs_tags *tags, uint64_t tag)
{
    uint32_t slot = (uint32_t)((tag * 0x9e3779b97f4a7c15ull) >> 49); /* 15 bits: CS_TAG_SLOTS */
    for (;; slot = (slot + 1) % CS_TAG_SLOTS) {
        uint32_t row = tags->slots[slot];
        if (row == 0)
            break;
        if (tags->rows[row - 1].tag == tag)
            return &tags->rows[row - 1];
    }
    if (tags->n_rows == CS_TAG_ROWS - 1) { /* the last row takes all further values */
        tags->overflow = true;
        return &tags->rows[CS_TAG_ROWS - 1];
    }
    struct cs_tag_row *row = &tags->rows[tags->n_rows];
    row->tag = tag;
    row->bins = row_bins(tags, tags->n_rows);
    tags->slots[slot] = ++tags->n_rows;
    return row;
}

void cs_tags_mean_now(struct cs_tag_row *row, unsigned n_counters)
{
    for (unsigned c = 0; c < n_counters; c++)
        row->mean[c] = (double)row->events[c] / (double)row->kept_cycles;
    row->mean_due = row->kept + row->kept / 8 + 1;
}

static void add_row(const struct cs_tags *tags, const struct cs_tag_row *row, struct cs_tag_row *total,
                    uint64_t *bins)
{
    total->samples += row->samples;
    total->visits += row->visits;
    total->half_cycles += row->half_cycles;
    total->kept += row->kept;
    total->kept_cycles += row->kept_cycles;
    total->edge_cycles += row->edge_cycles;
    for (unsigned c = 0; c < tags->n_counters; c++) {
        total->events[c] += row->events[c];
        total->squares[c] += row->squares[c];
        total->edge_events[c] += row->edge_events[c];
        total->edge_others[c] += row->edge_others[c];
    }
    if (bins && row->bins)
        for (size_t i = 0; i < (size_t)tags->n_counters * CS_RATE_BINS; i++)
            bins[i] += row->bins[i];
}

void cs_tags_total(const struct cs_tags *tags, struct cs_tag_row *total, uint64_t *bins)
{
    *total = (struct cs_tag_row){.bins = bins};
    for (uint32_t r = 0; r < tags->n_rows; r++)
        add_row(tags, &tags->rows[r], total, bins);
    if (tags->overflow)
        add_row(tags, &tags->rows[CS_TAG_ROWS - 1], total, bins);
}

void cs_tags_rename(struct cs_tags *tags, uint64_t (*to)(void *arg, uint64_t tag), void *arg)
{
    const uint32_t n = tags->n_rows;
    memset(tags->slots, 0, sizeof tags->slots);
    tags->n_rows = 0;
    for (uint32_t r = 0; r < n; r++) {
        struct cs_tag_row row = tags->rows[r];
        const uint32_t before = tags->n_rows;
        struct cs_tag_row *into = cs_tags_find(tags, to(arg, row.tag));
        if (tags->n_rows == before) {
            add_row(tags, &row, into, into->bins);
            continue;
        }
        uint64_t *bins = into->bins; /* of a row at or before this one, which has been moved on already */
        if (bins && row.bins && bins != row.bins)
            memcpy(bins, row.bins, (size_t)tags->n_counters * CS_RATE_BINS * sizeof *bins);
        row.tag = into->tag;
        row.bins = row.bins ? bins : NULL;
        *into = row;
    }
}
