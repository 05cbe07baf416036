/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far was the thread at each poll? It only goes forward, and what each word held says in which pieces of
 * the trace it may have been. A walk forward over all readings gives the least, one backward the most. Pure.
 */
#include "sampler/burst/replayer/trace/trace_position.h"
#include "sampler/burst/runner/timing_model.h"

struct piece { /* of the trace, in which a word keeps its value */
    uint64_t from, to, value;
    bool any; /* value unknown */
};

static struct piece piece_of(const struct history *h, uint32_t i, uint64_t length)
{
    return (struct piece){
        .from = i ? h->change[i - 1].position : 0,
        .to = i < h->n ? h->change[i].position + BLOCK_INSNS_MAX : length,
        .value = i < h->n ? h->change[i].value : h->after,
        .any = h->some && i && i < h->n,
    };
}

static bool holds(const struct piece *piece, uint64_t value)
{
    return piece->any || value == piece->value;
}

/* The first place at or behind `low` where the word may hold the value; *at only grows. */
static uint64_t first_place(const struct history *h, uint32_t *at, uint64_t value, uint64_t low,
                            uint64_t length)
{
    for (uint32_t i = *at; i <= h->n; i++) {
        struct piece piece = piece_of(h, i, length);
        if (piece.to < low)
            *at = i + 1;
        else if (holds(&piece, value))
            return piece.from > low ? piece.from : low;
    }
    return UINT64_MAX;
}

static uint64_t last_place(const struct history *h, uint32_t *at, uint64_t value, uint64_t high,
                           uint64_t length)
{
    for (uint32_t i = *at + 1; i-- > 0;) {
        struct piece piece = piece_of(h, i, length);
        if (piece.from > high)
            *at = i ? i - 1 : 0;
        else if (holds(&piece, value))
            return piece.to < high ? piece.to : high;
    }
    return UINT64_MAX;
}

/* A reading that fits nowhere ends what is known: the thread was past the trace's end, or went another way.
 * At the last poll that was surely within the trace a word holds what it doesn't in the end. */
struct trace_positions trace_positions(const struct polled_words *polled, const struct history *h,
                                       uint64_t length)
{
    struct trace_positions known = {0};
    uint32_t at[POLLED_WORDS_MAX];
    uint64_t low = 0, high = length;
    bool fits = true;
    for (unsigned i = 0; i < POLLED_WORDS_MAX; i++)
        at[i] = 0;
    for (unsigned p = 0; p < polled->n_polls && fits; p++) {
        bool before_end = false;
        for (unsigned i = 0; i < polled->n_words && fits; i++) {
            if (!h[i].known)
                continue;
            uint64_t value = polled->poll[p].value[i], place = first_place(&h[i], &at[i], value, low, length);
            fits = place != UINT64_MAX;
            low = fits ? place : low;
            before_end |= value != h[i].after;
        }
        known.least[p] = low;
        known.fit += fits;
        known.within = fits && before_end ? p + 1 : known.within;
    }
    for (unsigned i = 0; i < polled->n_words; i++)
        at[i] = h[i].n;
    for (unsigned p = known.within; p-- > 0;) {
        for (unsigned i = polled->n_words; i-- > 0;) {
            if (!h[i].known)
                continue;
            uint64_t place = last_place(&h[i], &at[i], polled->poll[p].value[i], high, length);
            high = place != UINT64_MAX ? place : high;
        }
        known.most[p] = high > known.least[p] ? high : known.least[p];
    }
    return known;
}

struct known_position {
    uint64_t ns_least, ns_most, least, most;
};

struct window { /* of time */
    uint64_t from, to;
};

static bool is_in(const struct known_position *m, struct window w)
{
    return m->ns_least >= w.from && m->ns_least <= w.to;
}

/* The best interval between two snapshots, the first of them in one window, the second in another. */
static struct position_interval best_interval(const struct known_position *m, unsigned n, struct window first,
                                              struct window second)
{
    struct position_interval best = {.off = UINT64_MAX};
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = i + 1; k < n && is_in(&m[i], first); k++) {
            /* all twice, as sums of least and most */
            uint64_t ns = m[k].ns_least + m[k].ns_most - m[i].ns_least - m[i].ns_most;
            uint64_t instructions = m[k].least + m[k].most - m[i].least - m[i].most;
            if (!is_in(&m[k], second) || (int64_t)ns <= 0 || (int64_t)instructions <= 0)
                continue;
            uint64_t ns_off = m[i].ns_most - m[i].ns_least + m[k].ns_most - m[k].ns_least;
            uint64_t off =
                ns_off * 1000 / ns + (m[i].most - m[i].least + m[k].most - m[k].least) * 1000 / instructions;
            if (off < best.off)
                best = (struct position_interval){
                    (m[i].ns_least + m[i].ns_most) / 2, (m[k].ns_least + m[k].ns_most) / 2,
                    (m[i].least + m[i].most) / 2, (m[k].least + m[k].most) / 2, off};
        }
    return best;
}

void position_intervals(const struct polled_words *polled, const struct trace_positions *known,
                        struct position_interval *early, struct position_interval *late)
{
    struct known_position m[2 * POLLS_MAX];
    unsigned n_snapshots = 0, p = 0;
    while (p < known->fit && !known->least[p])
        p++;
    for (; p < known->fit && p <= known->within; p++) {
        const struct poll *poll = &polled->poll[p];
        uint64_t low = known->least[p];
        /* A piece of the trace that was crossed between two polls: the time may be off by what lies between
         * them, and the place hardly. */
        if (p && low + BLOCK_INSNS_MAX >= known->most[p - 1]) {
            uint64_t high = known->most[p - 1];
            m[n_snapshots++] = (struct known_position){poll[-1].begin_ns, poll->end_ns,
                                                       low < high ? low : high, low < high ? high : low};
        }
        if (p < known->within)
            m[n_snapshots++] = (struct known_position){poll->begin_ns, poll->end_ns, low, known->most[p]};
    }
    uint64_t start = n_snapshots ? m[0].ns_least : 0, warm = start;
    if (n_snapshots && m[0].least < CS_MODEL_WARM_INSTRUCTIONS) {
        uint64_t half = (m[n_snapshots - 1].ns_least - start) / 2,
                 least = polled->warm ? CS_MODEL_WARM_NS : CS_MODEL_COLD_NS;
        warm += half > least ? half : least;
    }
    *late =
        best_interval(m, n_snapshots, (struct window){warm, UINT64_MAX}, (struct window){warm, UINT64_MAX});
    uint64_t early_end = UINT64_MAX;
    if (late->off < 1000)
        early_end = late->from_ns < start + CS_MODEL_EARLY_NS ? late->from_ns : start + CS_MODEL_EARLY_NS;
    *early = warm > start ? best_interval(m, n_snapshots, (struct window){start, start + CS_MODEL_START_NS},
                                          (struct window){start, early_end})
                          : (struct position_interval){.off = UINT64_MAX};
}
