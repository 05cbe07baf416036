/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a thread's memory, read from another CPU while the thread runs what its burst has followed. Each
 * changes when the thread gets to where the trace changes it. They are to it what SHIM's software signals are
 * to an observer (ISCA 2015, section 3), but the program doesn't know that it sends them. Nothing stops it,
 * and a read costs it no more than a line that another core asks for. */
#include "sampler/burst/holder/poll_words.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"

static uint32_t since_ns(const struct polled_words *polled, uint64_t ticks)
{
    return (uint32_t)((ticks - polled->released) * 1000 / polled->ticks_a_us);
}

/* Are all words as they were (as they will be at the trace's end)? */
static bool all(const struct polled_words *polled, const uint64_t *values, bool after)
{
    for (unsigned i = 0; i < polled->n_words; i++)
        if (values[i] != (after ? polled->word[i].after : polled->word[i].before))
            return false;
    return true;
}

/* Words of one page are read by one call. */
static struct piece {
    uint64_t from, to;
    uint8_t bytes[PAGE + 8];
} pieces[POLLED_WORDS_MAX];
static unsigned n_pieces, piece_of[POLLED_WORDS_MAX];

static void make_pieces(const struct polled_words *polled)
{
    n_pieces = 0;
    for (unsigned i = 0; i < polled->n_words; i++) {
        uint64_t from = polled->word[i].addr, to = from + 8;
        unsigned k = 0;
        while (k < n_pieces && pieces[k].from / PAGE != from / PAGE)
            k++;
        if (k == n_pieces) {
            pieces[n_pieces].from = from;
            pieces[n_pieces++].to = to;
        }
        pieces[k].from = from < pieces[k].from ? from : pieces[k].from;
        pieces[k].to = to > pieces[k].to ? to : pieces[k].to;
        piece_of[i] = k;
    }
}

static bool read_words(const struct polled_words *polled, uint64_t values[POLLED_WORDS_MAX])
{
    for (unsigned k = 0; k < n_pieces; k++) {
        uint64_t bytes = pieces[k].to - pieces[k].from;
        if (SYS(__NR_pread64, CS_BURST_FD_MEMORY, pieces[k].bytes, bytes, pieces[k].from) != (long)bytes)
            return false;
    }
    for (unsigned i = 0; i < polled->n_words; i++) {
        const struct piece *piece = &pieces[piece_of[i]];
        memcpy(&values[i], piece->bytes + (polled->word[i].addr - piece->from), 8);
    }
    return true;
}

void poll_words(struct polled_words *polled)
{
    static uint64_t values[POLLED_WORDS_MAX];
    make_pieces(polled);
    bool started = false;
    unsigned over = 0;
    uint64_t dense = CS_MODEL_POLLS_DENSE_NS / 1000 * polled->ticks_a_us, started_at = tsc();
    polled->released = started_at;
    for (uint64_t next = tsc(); polled->n_polls < POLLS_MAX && over < 2;) {
        while (tsc() < next)
            __asm__ volatile("pause");
        uint64_t begin = tsc();
        if (!read_words(polled, values))
            return;
        uint64_t end = tsc();
        bool waits = !started && all(polled, values, false);
        if (waits && since_ns(polled, end) > CS_MODEL_POLLED_START_NS)
            return;
        if (waits && polled->n_polls)
            polled->n_polls--; /* only the last before the start is of use */
        if (!started)
            started_at = begin;
        started = !waits;
        over = all(polled, values, true) ? over + 1 : 0;
        struct poll *poll = &polled->poll[polled->n_polls++];
        *poll = (struct poll){.begin_ns = since_ns(polled, begin), .end_ns = since_ns(polled, end)};
        memcpy(poll->value, values, sizeof values);
        uint64_t sparse =
            polled->n_polls < CS_MODEL_POLLS_DENSE ? 0 : (end - started_at) / CS_MODEL_POLLS_SPARSE;
        next = begin + (sparse > dense ? sparse : dense);
    }
}
