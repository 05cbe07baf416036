/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/sample/tags.h"

#include <assert.h>
#include <string.h>

#define LOOKED_AT 16 /* rows, for one with little time: not all, which would take a hundred microseconds */

static size_t bins_bytes(unsigned n_series)
{
    return (size_t)CS_TAG_HISTOGRAMS * n_series * CS_DTE_RATE_BINS * sizeof(uint64_t);
}

size_t cs_tags_size(unsigned n_series)
{
    return (sizeof(struct cs_tags) + bins_bytes(n_series) + 63) & ~(size_t)63;
}

void cs_tags_init(struct cs_tags *tags, unsigned n_counters, unsigned n_series)
{
    assert(n_counters <= n_series && n_series <= CS_SERIES_MAX);
    tags->n_counters = n_counters;
    tags->n_series = n_series;
    tags->bins = (uint64_t *)(tags + 1);
}

static uint64_t *row_bins(struct cs_tags *tags, uint32_t row)
{
    if (row >= CS_TAG_HISTOGRAMS || tags->n_series == 0)
        return NULL;
    return tags->bins + (size_t)row * tags->n_series * CS_DTE_RATE_BINS;
}

static void add_row(const struct cs_tags *tags, const struct cs_tag_row *row, struct cs_tag_row *total,
                    uint64_t *bins)
{
    total->samples += row->samples;
    total->visits += row->visits;
    total->half_cycles += row->half_cycles;
    total->before += row->before;
    total->probes += row->probes;
    total->probe_changes += row->probe_changes;
    total->probe_cycles += row->probe_cycles;
    total->kept += row->kept;
    total->kept_cycles += row->kept_cycles;
    total->blurred_cycles += row->blurred_cycles;
    total->exits += row->exits;
    total->exit_cycles += row->exit_cycles;
    total->entry_cycles += row->entry_cycles;
    total->edge_cycles += row->edge_cycles;
    for (unsigned c = 0; c < tags->n_counters; c++) {
        total->events[c] += row->events[c];
        total->blurred_events[c] += row->blurred_events[c];
        total->exit_events[c] += row->exit_events[c];
        total->exit_others[c] += row->exit_others[c];
        total->exit_lacks[c] += row->exit_lacks[c];
        total->edge_events[c] += row->edge_events[c];
        total->edge_others[c] += row->edge_others[c];
    }
    for (unsigned i = 0; i < tags->n_series; i++)
        total->squares[i] += row->squares[i];
    if (bins && row->bins)
        for (size_t i = 0; i < (size_t)tags->n_series * CS_DTE_RATE_BINS; i++)
            bins[i] += row->bins[i];
}

/* Frees the slot of a row, and moves those behind it that it kept from theirs (linear probing). */
static void forget(struct cs_tags *tags, const struct cs_tag_row *row)
{
    uint32_t hole = cs_tags_slot(row->tag);
    while (tags->slots[hole] != (uint32_t)(row - tags->rows) + 1)
        hole = (hole + 1) % CS_TAG_SLOTS;
    for (uint32_t at = (hole + 1) % CS_TAG_SLOTS; tags->slots[at]; at = (at + 1) % CS_TAG_SLOTS) {
        const uint32_t home = cs_tags_slot(tags->rows[tags->slots[at] - 1].tag);
        if ((at - home) % CS_TAG_SLOTS < (at - hole) % CS_TAG_SLOTS)
            continue;
        tags->slots[hole] = tags->slots[at];
        hole = at;
    }
    tags->slots[hole] = 0;
}

/* Rows with a histogram stay: their intervals would be in none. */
static struct cs_tag_row *with_least_time(struct cs_tags *tags)
{
    struct cs_tag_row *least = NULL;
    for (unsigned i = 0; i < LOOKED_AT; i++) {
        tags->hand = tags->hand < CS_TAG_HISTOGRAMS || tags->hand + 1 >= tags->n_rows ? CS_TAG_HISTOGRAMS
                                                                                      : tags->hand + 1;
        struct cs_tag_row *row = &tags->rows[tags->hand];
        if (row != tags->keep && row->tag != CS_TAG_DESCHEDULED &&
            (!least || row->before + row->half_cycles < least->before + least->half_cycles))
            least = row;
    }
    return least;
}

static struct cs_tag_row *take_row(struct cs_tags *tags, uint64_t tag)
{
    struct cs_tag_row *row = with_least_time(tags), *further = &tags->rows[CS_TAG_ROWS - 1];
    const uint64_t lost = row->before + row->half_cycles;
    tags->overflow = true;
    tags->most_lost = lost > tags->most_lost ? lost : tags->most_lost;
    further->tag = CS_TAG_FURTHER;
    add_row(tags, row, further, NULL);
    forget(tags, row);
    *row = (struct cs_tag_row){.tag = tag, .before = tags->most_lost};
    uint32_t slot = cs_tags_slot(tag);
    while (tags->slots[slot])
        slot = (slot + 1) % CS_TAG_SLOTS;
    tags->slots[slot] = (uint32_t)(row - tags->rows) + 1;
    return row;
}

struct cs_tag_row *cs_tags_find(struct cs_tags *tags, uint64_t tag)
{
    uint32_t slot = cs_tags_slot(tag);
    for (;; slot = (slot + 1) % CS_TAG_SLOTS) {
        uint32_t row = tags->slots[slot];
        if (row == 0)
            break;
        if (tags->rows[row - 1].tag == tag)
            return &tags->rows[row - 1];
    }
    if (tag == CS_TAG_FURTHER) {
        tags->overflow = true;
        tags->rows[CS_TAG_ROWS - 1].tag = tag;
        return &tags->rows[CS_TAG_ROWS - 1];
    }
    if (tags->n_rows == CS_TAG_ROWS - 1)
        return take_row(tags, tag);
    struct cs_tag_row *row = &tags->rows[tags->n_rows];
    row->tag = tag;
    row->bins = row_bins(tags, tags->n_rows);
    tags->slots[slot] = ++tags->n_rows;
    return row;
}

/* How much rarer events are just after an event than on average, over a mean interval: 1 where none can
 * follow that soon, 0 where events know nothing of each other. From the kept intervals alone: with N the
 * number of events in one, E[N(N-1)] / 2E[N] are expected within a random part of an interval after an event
 * (Palm), E[N] / 2 after any other moment. */
static double lack(const struct cs_tag_row *row, unsigned c)
{
    double n = (double)row->kept, mean = (double)row->events[c] / n;
    double square = row->squares[c] * (double)row->kept_cycles / (n * n);
    double share = mean > 0 ? 1 - (square - mean) / (mean * mean) : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static double rate(const struct cs_tag_row *row, unsigned c)
{
    return row->kept_cycles ? (double)row->events[c] / (double)row->kept_cycles : 0;
}

void cs_tags_mean_now(struct cs_tag_row *row, unsigned n_counters)
{
    for (unsigned c = 0; c < n_counters; c++) {
        row->mean[c] = rate(row, c);
        row->lack[c] = row->mean[c] * lack(row, c);
    }
    row->mean_due = row->kept + row->kept / 8 + 1;
}

/* What all edges of a tag have in common, from how many events they hold more than both rates would give:
 *  - `together`, the share of changes that come with an event, 0 to 1: an edge then holds that event, and
 * fewer others;
 *  - `late`, cycles by which a change is seen later than other writes. The last write before an observer's
 * reading is seen at once; the first one after it has to fetch the line back. Where a tag writes seldom its
 * change mostly is such a write, and the next tag's first events are seen in too short a time. Least squares
 * over the rows; `late` is bounded by what a line's way can take. */
struct cs_edges {
    double together, late;
};

#define LATE_MAX 500

static struct cs_edges edges_of(const struct cs_tags *tags, unsigned c)
{
    double mm = 0, mz = 0, zz = 0, mx = 0, zx = 0;
    for (uint32_t r = 0; r < tags->n_rows; r++) {
        const struct cs_tag_row *row = &tags->rows[r];
        if (row->kept == 0 || !(row->exits > 0))
            continue;
        double here = rate(row, c) * row->exit_cycles;
        double more = row->exit_events[c] - here - row->exit_others[c];
        double most = row->exits - here * lack(row, c) - row->exit_lacks[c];
        double faster = row->exits * (row->exit_others[c] / row->exit_cycles - rate(row, c));
        mm += most * most / row->exits;
        mz += most * faster / row->exits;
        zz += faster * faster / row->exits;
        mx += most * more / row->exits;
        zx += faster * more / row->exits;
    }
    double det = mm * zz - mz * mz, late = det > 1e-9 * mm * zz ? (mm * zx - mz * mx) / det : 0;
    late = late < 0 ? 0 : late > LATE_MAX ? LATE_MAX : late;
    double share = mm > 0 ? (mx - late * mz) / mm : 0;
    return (struct cs_edges){share < 0 ? 0 : share > 1 ? 1 : share, late};
}

/* An exit's events are the tag's, but for those of the next tag's part; an entry's half has what it has after
 * a change. Where change and event have nothing to do with each other, both come to the rates' own share. */
void cs_tags_settle(struct cs_tags *tags)
{
    for (unsigned c = 0; c < tags->n_counters; c++) {
        const struct cs_edges e = edges_of(tags, c);
        for (uint32_t r = 0; r < CS_TAG_ROWS; r++) {
            struct cs_tag_row *row = &tags->rows[r];
            if (r >= tags->n_rows && !(tags->overflow && r == CS_TAG_ROWS - 1))
                continue;
            double entered = row->kept ? row->entry_cycles : 0, others = 0;
            row->edge_cycles = row->blurred_cycles + row->exit_cycles + entered;
            row->edge_events[c] = row->blurred_events[c] + row->exit_events[c];
            if (row->exits > 0)
                others = row->exit_others[c] - e.together * row->exit_lacks[c] +
                         e.late * row->exits * (row->exit_others[c] / row->exit_cycles - rate(row, c));
            if (row->kept)
                others -= rate(row, c) * entered * (1 - e.together * lack(row, c));
            /* Both are kept as sums of what is never negative. */
            row->edge_others[c] = others > 0 ? others : 0;
            row->edge_events[c] -= others < 0 ? others : 0;
        }
    }
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
            memcpy(bins, row.bins, (size_t)tags->n_series * CS_DTE_RATE_BINS * sizeof *bins);
        row.tag = into->tag;
        row.bins = row.bins ? bins : NULL;
        *into = row;
    }
}
